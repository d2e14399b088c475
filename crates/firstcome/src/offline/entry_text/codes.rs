//! Commands on codes as people and scripts read them.
//!
//! A code shows as the rank it was issued at, or only as an imported one: tags, hashes and sealed texts are left out, so that
//! this text is of no use to who has a key.

use firstcome_core::codes::CodeKey;
use firstcome_core::command::{CodeCommand, CodeStep, Order};
use firstcome_core::settings::CodeSettings;
use firstcome_http::clock_text::rfc3339;
use serde_json::{Value, json};

fn code(code: &CodeKey) -> Value {
    match code {
        CodeKey::Generated { unit, .. } | CodeKey::Rank(unit) => json!(unit),
        CodeKey::Imported { .. } => json!("imported"),
    }
}

fn stepped(name: &str, step: &CodeStep<'_>, subject: Option<&str>) -> Value {
    let CodeStep { campaign, pool, code: of, reference } = step;
    json!({
        "command": name, "campaign": campaign, "pool": pool, "code": code(of), "reference": reference,
        "subject": subject,
    })
}

fn ordered(mut value: Value, order: &Order<'_>) -> Value {
    (value["id"], value["who"]) = (json!(order.id), json!(order.who));
    value
}

/// Returns a command on codes as JSON.
pub(super) fn text(command: &CodeCommand<'_>) -> Value {
    match command {
        CodeCommand::Reserve { step, subject, ttl_us } => {
            let mut value = stepped("reserve", step, *subject);
            value["ttl_us"] = json!(ttl_us);
            value
        }
        CodeCommand::Redeem { step, subject } => stepped("redeem", step, *subject),
        CodeCommand::RollBack { step } => stepped("roll_back", step, None),
        CodeCommand::EndReservation { step } => stepped("end_reservation", step, None),
        CodeCommand::Mark { campaign, pool, codes, verdict, reason, order } => {
            let codes: Vec<Value> = codes.iter().map(code).collect();
            let value = json!({
                "command": "mark_codes", "campaign": campaign, "pool": pool, "codes": codes,
                "verdict": verdict.as_str(), "reason": reason,
            });
            ordered(value, order)
        }
        CodeCommand::RevokeImport { campaign, pool, import, reason, order } => {
            let value = json!({
                "command": "revoke_import", "campaign": campaign, "pool": pool, "import": import,
                "reason": reason,
            });
            ordered(value, order)
        }
        CodeCommand::Reissue { campaign, pool, subject, rank, issue, tag: _, reason, order } => {
            let value = json!({
                "command": "reissue", "campaign": campaign, "pool": pool, "subject": subject,
                "rank": rank, "issue": issue, "reason": reason,
            });
            ordered(value, order)
        }
        CodeCommand::Stage { campaign, pool, import, first, codes, order } => {
            let value = json!({
                "command": "stage_codes", "campaign": campaign, "pool": pool, "import": import,
                "first": first, "lines": codes.len(),
            });
            ordered(value, order)
        }
        CodeCommand::Commit { campaign, pool, import, lines, order } => {
            let value = json!({
                "command": "commit_codes", "campaign": campaign, "pool": pool, "import": import,
                "lines": lines,
            });
            ordered(value, order)
        }
        CodeCommand::Discard { campaign, pool, import, order } => {
            let value = json!({
                "command": "discard_codes", "campaign": campaign, "pool": pool, "import": import,
            });
            ordered(value, order)
        }
    }
}

/// Returns the settings of codes as JSON.
pub(super) fn settings(codes: &CodeSettings) -> Value {
    let CodeSettings { source, key, uses, uses_per_subject, valid_until, .. } = codes;
    json!({
        "source": source.as_str(), "key": key, "uses": uses, "uses_per_subject": uses_per_subject,
        "valid_until": valid_until.map(rfc3339), "valid_for_us": codes.valid_for_us,
        "only_by_holder": codes.only_by_holder,
    })
}
