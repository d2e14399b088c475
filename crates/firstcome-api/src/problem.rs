//! The problem document: every answer that is not a yes (RFC 9457).

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
    /// Whether the same request may be answered otherwise later.
    #[serde(default)]
    pub retry: bool,
    /// `no`, `yes`, or `unknown` where the request may have changed something.
    #[serde(default = "no")]
    pub changed: Cow<'a, str>,
    /// The position this is as of, where the state was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// `journal`, or `replica` when this node's state was enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Cow<'a, str>>,
    /// What else is known of it, by name.
    #[serde(flatten, serialize_with = "write_extra", deserialize_with = "read_extra")]
    pub extra: Cow<'a, [Extra]>,
}

/// The members that only some outcomes have: name, type in JSON Schema (or what a list is of), what it says.
pub const EXTRA: [(&str, &str, &str); 20] = [
    ("campaign", "string", "The campaign it is about."),
    ("pool", "string", "Of seats that came with a campaign, the pool they were for."),
    ("subject", "string", "Of `refund_due`, whose hold it was."),
    ("hold", "string", "The hold it is about: of `has_hold` the one that the subject has."),
    ("units", "units", "The units it is about: of `unit_taken` every one that is taken."),
    ("at", "string", "Of `refund_due`, when it was decided."),
    ("opens_at", "string", "Of `not_open`, when the campaign opens, if that is decided."),
    ("version", "integer", "Of `version_mismatch`, the campaign's version."),
    ("field", "string", "Of `not_changeable`, the setting that cannot change."),
    ("errors", "errors", "Of `bad_seat`, what is wrong, by line."),
    ("level", "integer", "Of `level_too_low`, the level of the space."),
    ("needed", "integer", "Of `level_too_low`, the level that is needed."),
    ("reason", "string", "Of `not_eligible`, what the team's own service said; of `barred`, why."),
    ("barred_at", "string", "Of `barred`, since when."),
    ("barred_by", "string", "Of `barred`, the name of the key it was done with."),
    ("free_name", "string", "Of a PUT on an archived name, one that nobody has used."),
    ("limit", "string", "Of `too_many_requests` and `too_many_streams`, which limit."),
    (
        "retry_after_ms",
        "integer",
        "Of `too_many_requests`, after how many milliseconds to ask again.",
    ),
    ("needed_bytes", "integer", "Of `too_big_for_memory`, the memory that would be needed."),
    ("limit_bytes", "integer", "Of `too_big_for_memory`, the memory that this node may use."),
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
