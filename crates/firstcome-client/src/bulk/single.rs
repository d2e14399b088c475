//! A command of a line as a request of its own.

use super::super::routes::{Ask, CancelAsk};
use firstcome_api::bulk::{CommandLine, Do};
use firstcome_api::hold::{ChangeRequest, ConfirmRequest, ExtendRequest};
use firstcome_api::waitlist::Wish;

/// Returns the same command as a request of its own.
pub(super) fn ask(line: &CommandLine) -> Ask {
    let line = line.clone();
    let (campaign, subject, id) = (line.campaign, line.subject, line.id.unwrap_or_default());
    let hold = line.hold.unwrap_or_default();
    let (units, pool, picks) = (line.units, line.pool, line.picks);
    let step = |verb, body: serde_json::Result<serde_json::Value>| {
        let body = body.expect("a request can be written as JSON");
        Ask::hold_step(&campaign, &hold, verb, body, Some(&id))
    };
    match line.verb {
        Do::Claim if line.wait => {
            let (quantity, adjacent) = (line.quantity, line.adjacent);
            let (grade, channel, area) = (line.grade, line.channel, line.area);
            let wish = Wish { quantity, grade, channel, area, adjacent };
            Ask::join(&campaign, &subject, pool.as_deref(), &wish)
        }
        Do::Claim => Ask::claim(&campaign, &subject, pool.as_deref()),
        Do::Leave => Ask::leave(&campaign, &subject, pool.as_deref()),
        Do::Cancel => {
            let by_subject = line.by.as_deref() != Some("operator");
            let (rank, reason) = (line.rank.unwrap_or_default(), line.reason);
            let mut ask =
                Ask::cancel(&CancelAsk { campaign, subject, pool, rank, reason, by_subject });
            if line.by.is_none() {
                // The line left it to the role of the key.
                let end = ask.path.rfind("&by=").unwrap_or(ask.path.len());
                ask.path.truncate(end);
            }
            ask
        }
        Do::Hold => Ask::hold(&campaign, &id, &subject, picks, 0),
        Do::Extend => {
            let body = ExtendRequest { subject: Some(subject), ttl_ms: line.ttl_ms };
            step("extend", serde_json::to_value(body))
        }
        Do::Confirm => {
            let late = line.late.unwrap_or_default();
            let body = ConfirmRequest { subject, units, pool, picks, late };
            step("confirm", serde_json::to_value(body))
        }
        Do::Release => {
            let body = ChangeRequest { subject: Some(subject), units, pool, picks };
            step("release", serde_json::to_value(body))
        }
    }
}
