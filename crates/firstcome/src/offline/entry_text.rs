//! An entry as people and scripts read it. No code stands in it, nor anything one could be made from.

mod codes;

use firstcome_core::Settings;
use firstcome_core::command::{
    BadBody, Body, Command, Expect, Head, Late, Order, Pick, Steer, Step, Wanted,
};
use firstcome_core::hall::SeatChange;
use firstcome_core::settings::{GradeLimit, Opens, PoolSettings};
use firstcome_http::clock_text::rfc3339;
use firstcome_journal::Entry;
use serde_json::{Value, json};

/// Returns an entry with its commands as JSON; of one that ends its space, `moved` in their place.
///
/// # Errors
///
/// The body is torn, altered, or of a level above this build's.
pub fn to_json(entry: &Entry) -> Result<Value, BadBody> {
    let body = Body::open(&entry.body)?;
    let Head { level, durable, .. } = body.head;
    let mut value = json!({
        "position": entry.position,
        "at": rfc3339(entry.at),
        "epoch": entry.epoch,
        "name": body.head.name().to_string(),
        "batch": body.head.batch().to_string(),
        "before": entry.before.to_string(),
        "level": level,
        "durable": durable,
        "bytes": entry.body.len(),
    });
    if entry.is_end() {
        value["moved"] = json!(true);
    } else {
        value["commands"] = body.commands()?.iter().map(command).collect();
    }
    Ok(value)
}

fn command(command: &Command<'_>) -> Value {
    match command {
        Command::Claim { campaign, pool, subject, limit, tag: _ } => json!({
            "command": "claim", "campaign": campaign, "pool": pool, "subject": subject,
            "limit": limit,
        }),
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
        Command::Hold { campaign, id, subject, picks: wanted, limit } => json!({
            "command": "hold", "campaign": campaign, "hold": id, "subject": subject,
            "picks": picks(wanted), "limit": limit,
        }),
        Command::Change { step, add, drop, limit } => {
            let mut value = stepped("change", step);
            (value["add"], value["drop"]) = (picks(add), picks(drop));
            value["limit"] = json!(limit);
            value
        }
        Command::Extend { step, by_us } => {
            let mut value = stepped("extend", step);
            value["by_us"] = json!(by_us);
            value
        }
        Command::Release { step, units } => {
            let mut value = stepped("release", step);
            value["units"] = picks(units);
            value
        }
        Command::Confirm { step, units, late } => {
            let mut value = stepped("confirm", step);
            value["units"] = picks(units);
            value["late"] = json!(match late {
                Late::Refuse => "refuse",
                Late::Retake => "retake",
            });
            value
        }
        Command::Seats { campaign, pool, chunk, order } => json!({
            "command": "seats", "campaign": campaign, "pool": pool,
            "seats": chunk.seats.iter().map(|seat| seat.name).collect::<Vec<_>>(),
            "areas": chunk.areas.iter().map(|area| area.name).collect::<Vec<_>>(),
            "id": order.id, "who": order.who,
        }),
        Command::Block { campaign, units, blocked, reason, order } => json!({
            "command": if *blocked { "block" } else { "unblock" }, "campaign": campaign,
            "units": picks(units), "reason": reason, "id": order.id, "who": order.who,
        }),
        Command::Move { campaign, pool, from, to, reason, order } => json!({
            "command": "move", "campaign": campaign, "pool": pool, "from": from, "to": to,
            "reason": reason, "id": order.id, "who": order.who,
        }),
        Command::ChangeSeats { campaign, pool, seats, order } => {
            let seat = |seat: &SeatChange<'_>| {
                let price = seat.price.map(|price| {
                    let currency = String::from_utf8_lossy(&price.currency);
                    json!({"price_minor": price.minor, "currency": currency})
                });
                json!({"name": seat.name, "new_name": seat.new_name, "grade": seat.grade, "price": price})
            };
            json!({
                "command": "change-seats", "campaign": campaign, "pool": pool,
                "seats": seats.iter().map(seat).collect::<Vec<_>>(), "id": order.id, "who": order.who,
            })
        }
        Command::Code(code) => codes::text(code),
        Command::Bar { campaign, subject, reason, order } => json!({
            "command": "bar", "campaign": campaign, "subject": subject, "reason": reason,
            "id": order.id, "who": order.who,
        }),
        Command::Unbar { campaign, subject, order } => json!({
            "command": "unbar", "campaign": campaign, "subject": subject, "id": order.id,
            "who": order.who,
        }),
        Command::Join { campaign, pool, subject, wish, limit } => json!({
            "command": "join", "campaign": campaign, "pool": pool, "subject": subject,
            "quantity": wish.quantity, "grade": wish.grade, "channel": wish.channel,
            "area": wish.area, "adjacent": wish.adjacent, "limit": limit,
        }),
        Command::Leave { campaign, pool, subject } => json!({
            "command": "leave", "campaign": campaign, "pool": pool, "subject": subject,
        }),
        Command::Raise { level, who } => json!({ "command": "raise", "level": level, "who": who }),
        Command::Tick { mark } => json!({
            "command": "tick", "position": mark.position, "digest": format!("{:016x}", mark.digest),
        }),
        Command::Settled { through, term, mark } => json!({
            "command": "settled", "through": through, "term": term,
            "position": mark.position, "digest": format!("{:016x}", mark.digest),
        }),
    }
}

fn stepped(command: &str, step: &Step<'_>) -> Value {
    json!({
        "command": command, "campaign": step.campaign, "hold": step.hold, "subject": step.subject,
        "id": step.id,
    })
}

fn picks(picks: &[Pick<'_>]) -> Value {
    let pick = |pick: &Pick<'_>| {
        let mut value = match &pick.wanted {
            Wanted::Units(names) => json!({"units": names}),
            Wanted::Quantity { count, area } => json!({"quantity": count, "area": area}),
            Wanted::Best(best) => json!({
                "best": best.count, "grade": best.grade,
                "price_minor": best.price.map(|price| price.minor),
                "adjacent": best.adjacent, "accessible": best.accessible,
            }),
        };
        (value["pool"], value["channel"]) = (json!(pick.pool), json!(pick.channel));
        value
    };
    picks.iter().map(pick).collect()
}

fn steered(campaign: &str, steer: Steer, order: Order<'_>) -> Value {
    let (command, drop_unsettled) = match steer {
        Steer::Pause => ("pause", false),
        Steer::Resume => ("resume", false),
        Steer::Close => ("close", false),
        Steer::Archive { drop_unsettled } => ("archive", drop_unsettled),
        Steer::Delete => ("delete", false),
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
        .map(|pool| {
            let PoolSettings { name, capacity, kind, limit, waitlist, codes: of_codes } = pool;
            let mut value = json!({
                "name": name, "kind": kind.as_str(), "capacity": capacity, "limit": limit,
                "waitlist": waitlist,
            });
            if let Some(of_codes) = of_codes {
                value["codes"] = codes::settings(of_codes);
            }
            value
        })
        .collect();
    let holding = &settings.holding;
    let grade = |limit: &GradeLimit| (limit.grade.to_string(), json!(limit.limit));
    let grades: serde_json::Map<String, Value> = holding.grades.iter().map(grade).collect();
    json!({
        "title": settings.title,
        "opens_at": opens_at,
        "closes_at": settings.closes_at.map(rfc3339),
        "limits": {"campaign": settings.limit, "grades": grades},
        "claim_again": settings.claim_again,
        "units_return": settings.units_return,
        "public": settings.public,
        "pools": pools,
        "hold_ttl_us": holding.ttl_us,
        "hold_max_us": holding.max_us,
        "offer_us": holding.offer_us,
        "holds": holding.each.as_str(),
        "holds_per_hour": holding.per_hour,
        "allow_orphans": holding.allow_orphans,
    })
}
