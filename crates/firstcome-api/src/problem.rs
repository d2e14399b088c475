//! The problem document: every answer that is not a success (RFC 9457).

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The media type of a problem document.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// A problem document. A reader takes one with nothing but its outcome.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Problem<'a> {
    /// The page that explains it: `/problems/` and the outcome.
    #[serde(rename = "type", default)]
    pub page: Cow<'a, str>,
    /// One sentence about every problem with this outcome.
    #[serde(default)]
    pub title: Cow<'a, str>,
    /// The HTTP status.
    #[serde(default)]
    pub status: u16,
    /// One sentence about this one.
    #[serde(default)]
    pub detail: Cow<'a, str>,
    /// The outcome's stable name, such as `sold_out`.
    pub outcome: Cow<'a, str>,
    /// Whether the same request may get another answer later.
    #[serde(default)]
    pub retry: bool,
    /// `no`, `yes`, or `unknown` if the request may have changed something.
    #[serde(default = "no")]
    pub changed: Cow<'a, str>,
    /// The position to which this answer belongs, if the state was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Cow<'a, str>>,
    /// `journal`, or `replica` if the state of this server was enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Cow<'a, str>>,
    /// Other members, by name.
    #[serde(flatten, serialize_with = "write_extra", deserialize_with = "read_extra")]
    pub extra: Cow<'a, [Extra]>,
}

/// The members that only some outcomes have: name, type in JSON Schema (or what a list is of), what it says.
pub const EXTRA: [(&str, &str, &str); 23] = [
    ("campaign", "string", "The campaign."),
    ("pool", "string", "For seats sent with a campaign, their pool."),
    ("subject", "string", "For `refund_due`, the owner of the hold."),
    ("hold", "string", "The hold; for `has_hold` the one that the subject has."),
    ("units", "units", "The units; for `unit_taken` all taken ones."),
    ("at", "string", "For `refund_due`, when it was decided."),
    ("opens_at", "string", "For `not_open`, the opening time, if there is one."),
    ("version", "integer", "For `version_mismatch`, the version of the campaign."),
    ("field", "string", "For `not_changeable`, the setting that cannot change."),
    ("errors", "errors", "For `bad_seat` and `bad_code`, the errors, by line."),
    ("level", "integer", "For `level_too_low`, the level of the space."),
    ("needed", "integer", "For `level_too_low`, the required level."),
    (
        "reason",
        "string",
        "For `not_eligible`, the reason of the team's own service; for `barred`, that of the operator.",
    ),
    ("barred_at", "string", "For `barred`, when the bar was set."),
    ("barred_by", "string", "For `barred`, the name of the key that set the bar."),
    ("free_name", "string", "For a PUT with an archived name, an unused name."),
    (
        "limit",
        "string",
        "For `too_many_requests`, `too_many_streams` and `too_many_wrong_codes`, the limit.",
    ),
    (
        "retry_after_ms",
        "integer",
        "For `too_many_requests` and `too_many_wrong_codes`, the milliseconds after which to try again.",
    ),
    ("next", "integer", "For `chunk_missing`, how many lines the import has."),
    ("lines", "integer", "For `import_incomplete`, how many lines the import has."),
    ("issue", "integer", "For `reissued_since`, the issue number of the present code."),
    ("needed_bytes", "integer", "For `too_big_for_memory`, the required memory."),
    ("limit_bytes", "integer", "For `too_big_for_memory`, the memory that this server may use."),
];

/// A member of a problem document that only some outcomes have.
pub type Extra = (Cow<'static, str>, Value);

fn no<'a>() -> Cow<'a, str> {
    "no".into()
}

fn write_extra<S: Serializer>(extra: &[Extra], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(extra.iter().map(|(name, value)| (name, value)))
}

fn read_extra<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'static, [Extra]>, D::Error> {
    let members = Map::<String, Value>::deserialize(from)?;
    Ok(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::Problem;

    #[test]
    fn a_problem_reads_back_as_it_was_written_and_needs_its_outcome_only() {
        let text = r#"{"type":"/problems/not_open","title":"The campaign has not opened yet","status":409,"detail":"campaign \"spring\" opens later","outcome":"not_open","retry":true,"changed":"no","position":"0.7","decided":"replica","campaign":"spring","opens_at":"2027-03-01T01:00:00Z"}"#;
        let read: Problem<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        let short: Problem<'_> = serde_json::from_str(r#"{"outcome":"busy"}"#).unwrap();
        assert_eq!((&*short.changed, short.retry), ("no", false));
        assert!(serde_json::from_str::<Problem<'_>>("{}").is_err());
    }
}
