//! An entry as people and scripts read it.

use crate::http::clock_text::rfc3339;
use firstcome_core::Settings;
use firstcome_core::command::{BadBody, Command, Expect, Order, Steer};
use firstcome_core::settings::Opens;
use firstcome_journal::Entry;
use serde_json::{Value, json};

/// Gives an entry with its commands as JSON.
///
/// # Errors
///
/// The body is torn, altered, or of a level above this build's.
pub fn to_json(entry: &Entry) -> Result<Value, BadBody> {
    let (stamp, body) = entry.open()?;
    let commands: Vec<Value> = body.commands()?.iter().map(command).collect();
    Ok(json!({
        "position": entry.position,
        "at": rfc3339(entry.at),
        "epoch": entry.epoch,
        "name": format!("{}/{}", stamp.node, stamp.number),
        "before": entry.before.to_string(),
        "level": body.head.level,
        "durable": body.head.durable,
        "bytes": entry.body.len(),
        "commands": commands,
    }))
}

fn command(command: &Command<'_>) -> Value {
    match command {
        Command::Claim { campaign, pool, subject } => {
            json!({"command": "claim", "campaign": campaign, "pool": pool, "subject": subject})
        }
        Command::Cancel { campaign, pool, subject, rank, by, reason, who } => json!({
            "command": "cancel", "campaign": campaign, "pool": pool, "subject": subject,
            "rank": rank, "by": by.as_str(), "reason": reason, "who": who,
        }),
        Command::Put { campaign, settings: wanted, expect, order } => {
            let expect = match expect {
                Expect::Anything => Value::Null,
                Expect::Absent => json!("absent"),
                Expect::Version(version) => json!(version),
            };
            json!({
                "command": "put", "campaign": campaign, "settings": settings(wanted),
                "expect": expect, "id": order.id, "who": order.who,
            })
        }
        Command::Steer { campaign, steer, order } => steered(campaign, *steer, *order),
        Command::Tick { mark } => json!({
            "command": "tick", "position": mark.position, "digest": format!("{:016x}", mark.digest),
        }),
        Command::Settled { through, term, mark } => json!({
            "command": "settled", "through": through, "term": term,
            "position": mark.position, "digest": format!("{:016x}", mark.digest),
        }),
    }
}

fn steered(campaign: &str, steer: Steer, order: Order<'_>) -> Value {
    let (command, drop_unsettled) = match steer {
        Steer::Pause => ("pause", false),
        Steer::Resume => ("resume", false),
        Steer::Close => ("close", false),
        Steer::Archive { drop_unsettled } => ("archive", drop_unsettled),
    };
    let mut value =
        json!({"command": command, "campaign": campaign, "id": order.id, "who": order.who});
    if drop_unsettled {
        value["drop_unsettled"] = json!(true);
    }
    value
}

fn settings(settings: &Settings) -> Value {
    let opens_at = match settings.opens {
        Opens::Undecided => Value::Null,
        Opens::Now => json!("now"),
        Opens::At(at) => json!(rfc3339(at)),
    };
    let pools: Vec<Value> = settings
        .pools
        .iter()
        .map(|pool| json!({"name": pool.name, "kind": "counted", "capacity": pool.capacity}))
        .collect();
    json!({
        "title": settings.title,
        "opens_at": opens_at,
        "closes_at": settings.closes_at.map(rfc3339),
        "limits": {"campaign": settings.limit},
        "claim_again": settings.claim_again,
        "units_return": settings.units_return,
        "pools": pools,
    })
}
