//! What scripts say about holds and seats.
//!
//! ```text
//! 0s   op  puts hall: main seated; ttl 60s; max 90s; many; orphans; perhour 3; grade R 2; main max 4
//! 0s   op  adds hall/main: A1 A2 A3; B1 B2 grade=R price=900KRW; T1a T1b group=T1; GA area=50  -> imported 7 seats 1 areas
//! 0s   ann holds h1 hall A1 A2                -> held A1 A2 until 60s
//! 0s   ann holds h2 hall GA*2 + vip 3 + best 2 grade=R -> held ...
//! 1s   ann changes h1 hall A3 drop A1         -> held A2 A3 until 60s
//! 1s   ann changes h1 hall B1 within 2        -> limit_reached    # she may have 2 units, as somebody said before
//! 1s   ann extends h1 hall by 60s             -> extended until 61s
//! 1s   ann releases h1 hall A2                -> released A2 left 1
//! 2s   ann confirms h1 hall                   -> confirmed A3=1
//! 2s   ann confirms h1 hall late              -> ...     # taking the units again if it expired
//! 3s   op  blocks hall A1                     -> blocked 1
//! 3s   op  unblocks hall A1                   -> unblocked 1
//! 3s   op  reseats hall/main: A2 name=A9 grade=R price=900KRW; B1 grade=S -> seats_changed 2
//! 3s   op  moves hall/main A3 A1 for view     -> moved A3 to A1 rank 1
//!      look hold h1 hall                      -> confirmed A1=1
//!      look units hall/main                   -> 4 free, 0 held, 1 confirmed, 2 blocked
//! ```
//!
//! Picks are joined by `+`. A pick is a pool, if it is not `main`, and then names, a number, `AREA*NUMBER`, or
//! `best NUMBER`. In `adds` seats of one part are one row; a word with `=` goes for its whole part.

use crate::play::{cut, target, time, within};
use crate::say::{shown_time, unit};
use crate::world::START;
use firstcome_core::campaign::ResultRow;
use firstcome_core::command::{BestPick, Late, Order, Pick, Step, Wanted};
use firstcome_core::hall::{AreaSettings, Chunk, Price, SeatChange, SeatSettings};
use firstcome_core::hold::Fate;
use firstcome_core::settings::{GradeLimit, HoldsEach, PoolSettings};
use firstcome_core::{Command, Settings, State};

/// Takes in a word of a put's settings, if it is about holds.
pub(crate) fn setting(settings: &mut Settings, word: &str, rest: &str) -> bool {
    let micros = |rest| time(rest).micros_since(START);
    match (word, rest) {
        ("ttl", ttl) => settings.holding.ttl_us = micros(ttl),
        ("max", max) => settings.holding.max_us = micros(max),
        ("offer", ttl) => settings.holding.offer_us = micros(ttl),
        ("many", "") => settings.holding.each = HoldsEach::Many,
        ("orphans", "") => settings.holding.allow_orphans = true,
        ("perhour", n) => settings.holding.per_hour = n.parse().unwrap(),
        ("grade", rest) => {
            let (grade, limit) = cut(rest);
            let limit = limit.parse().unwrap();
            settings.holding.grades.push(GradeLimit { grade: grade.into(), limit });
        }
        (pool, "seated") => settings.pools.push(PoolSettings::seated(pool)),
        (pool, rest) => {
            let pool_of = |pool: &&mut PoolSettings| *pool.name == *word;
            if let Some(most) = rest.strip_prefix("waits ") {
                let pool = settings.pools.iter_mut().find(pool_of).unwrap();
                pool.waitlist = Some(most.parse().unwrap());
                return true;
            }
            let Some(limit) = rest.strip_prefix("max ") else { return false };
            let pool = settings.pools.iter_mut().find(|p| *p.name == *pool).unwrap();
            pool.limit = Some(limit.parse().unwrap());
        }
    }
    true
}

pub(crate) fn command<'a>(
    who: &'a str,
    verb: &str,
    said: &'a str,
    order: Order<'a>,
) -> Command<'a> {
    if matches!(verb, "adds" | "blocks" | "unblocks" | "moves" | "reseats") {
        return operate(verb, said, order);
    }
    let (said, limit) = within(said);
    let (hold, said) = cut(said);
    let (campaign, said) = cut(said);
    let step = Step { campaign, hold, subject: who, id: order.id };
    match verb {
        "holds" => Command::Hold { campaign, id: hold, subject: who, picks: picks(said), limit },
        "changes" => {
            let (add, drop) = match said.strip_prefix("drop ") {
                Some(drop) => ("", drop),
                None => said.split_once(" drop ").unwrap_or((said, "")),
            };
            Command::Change { step, add: picks(add), drop: picks(drop), limit }
        }
        "extends" => {
            let by = said.strip_prefix("by ").map(|by| time(by).micros_since(START));
            Command::Extend { step, by_us: by }
        }
        "releases" => Command::Release { step, units: picks(said) },
        "confirms" => {
            let late = said.strip_suffix("late");
            let units = picks(late.unwrap_or(said).trim());
            let late = if late.is_some() { Late::Retake } else { Late::Refuse };
            Command::Confirm { step, units, late }
        }
        other => panic!("nobody {other:?}"),
    }
}

fn operate<'a>(verb: &str, said: &'a str, order: Order<'a>) -> Command<'a> {
    let (said, reason) = said.split_once(" for ").unwrap_or((said, ""));
    match verb {
        "adds" => {
            let (place, chunk) = said.split_once(':').unwrap();
            let (campaign, pool) = target(place);
            let pool = pool.unwrap();
            Command::Seats { campaign, pool, chunk: chunk_of(chunk), order }
        }
        "reseats" => {
            let (place, seats) = said.split_once(':').unwrap();
            let (campaign, pool) = target(place);
            let seats = seats.split(';').map(|seat| changed(seat.trim())).collect();
            Command::ChangeSeats { campaign, pool: pool.unwrap(), seats, order }
        }
        "moves" => {
            let (place, seats) = cut(said);
            let ((campaign, pool), (from, to)) = (target(place), cut(seats));
            Command::Move { campaign, pool: pool.unwrap(), from, to, reason, order }
        }
        _ => {
            let (campaign, units) = cut(said);
            let (units, blocked) = (picks(units), verb == "blocks");
            Command::Block { campaign, units, blocked, reason, order }
        }
    }
}

/// Reads `A1 name=B1 grade=R price=900EUR`.
fn changed(said: &str) -> SeatChange<'_> {
    let (name, said) = cut(said);
    let words: Vec<&str> = said.split_whitespace().collect();
    let setting =
        |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let (new_name, grade) = (setting("name"), setting("grade"));
    SeatChange { name, new_name, grade, price: setting("price").map(price) }
}

fn picks(said: &str) -> Vec<Pick<'_>> {
    said.split('+').map(str::trim).filter(|pick| !pick.is_empty()).map(pick).collect()
}

fn pick(said: &str) -> Pick<'_> {
    let known = ["main", "vip", "gold", "none"];
    let (first, rest) = cut(said);
    let (pool, said) = if known.contains(&first) { (first, rest) } else { ("main", said) };
    let words: Vec<&str> = said.split_whitespace().collect();
    let setting =
        |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let channel = setting("channel");
    let names: Vec<&str> = words.iter().copied().filter(|word| !word.contains('=')).collect();
    let wanted = match &names[..] {
        ["best", count, rest @ ..] => Wanted::Best(BestPick {
            count: count.parse().unwrap(),
            grade: setting("grade"),
            price: setting("price").map(price),
            adjacent: rest.contains(&"together"),
            accessible: rest.contains(&"wheel"),
        }),
        [one] => match one.split_once('*') {
            Some((area, count)) => {
                Wanted::Quantity { count: count.parse().unwrap(), area: Some(area) }
            }
            None => one
                .parse()
                .map_or(Wanted::Units(vec![*one]), |count| Wanted::Quantity { count, area: None }),
        },
        _ => Wanted::Units(names),
    };
    Pick { pool: Some(pool), wanted, channel }
}

fn price(text: &str) -> Price {
    let (minor, currency) = text.split_at(text.len() - 3);
    Price { minor: minor.parse().unwrap(), currency: currency.as_bytes().try_into().unwrap() }
}

fn chunk_of(said: &str) -> Chunk<'_> {
    let mut chunk = Chunk::default();
    for row in said.split(';').map(str::trim) {
        let words: Vec<&str> = row.split_whitespace().collect();
        let setting =
            |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        let marked = |mark| words.contains(&mark);
        let names =
            words.iter().filter(|word| !word.contains('=') && !["off", "wheel"].contains(*word));
        for name in names {
            let (grade, channel) =
                (setting("grade").unwrap_or(""), setting("channel").unwrap_or(""));
            let (price, for_sale) = (setting("price").map(price), !marked("off"));
            if let Some(capacity) = setting("area") {
                let area = AreaSettings::named(name, capacity.parse().unwrap());
                chunk.areas.push(AreaSettings { grade, price, channel, for_sale, ..area });
                continue;
            }
            chunk.seats.push(SeatSettings {
                row: row.split_whitespace().next().unwrap(),
                grade,
                price,
                channel,
                for_sale,
                accessible: marked("wheel"),
                group: setting("group").unwrap_or(""),
                ..SeatSettings::named(name)
            });
        }
    }
    chunk
}

/// Writes what a result has beyond a claim.
pub(crate) fn result(row: &ResultRow<'_>) -> String {
    let from = row.moved_from().map_or(String::new(), |from| format!("{from}>"));
    let unit = row.unit.map_or(String::new(), |unit| format!(" {from}{unit}"));
    let hold = row.hold.map_or(String::new(), |hold| format!(" of {hold}"));
    format!("{unit}{hold}")
}

pub(crate) fn look(state: &State, what: &str) -> String {
    let (what, rest) = cut(what);
    match what {
        "place" => crate::waiting::place(state, rest),
        "units" => {
            let (campaign, pool) = target(rest);
            let pool = state.campaign(campaign).unwrap().pool(pool.unwrap()).unwrap();
            let c = pool.counts();
            assert_eq!(c.all(), pool.capacity());
            format!(
                "{} free, {} held, {} confirmed, {} blocked",
                c.free, c.held, c.confirmed, c.blocked
            )
        }
        "hold" => {
            let (id, campaign) = cut(rest);
            let campaign = state.campaign(campaign).unwrap();
            let Some(hold) = campaign.hold_of(id) else { return "forgotten".into() };
            let mut units = String::new();
            for (take, name) in hold.takes().iter().zip(campaign.units_named(hold)) {
                let fate = match take.fate {
                    Fate::Held => "held".into(),
                    Fate::Confirmed(rank) => rank.to_string(),
                    Fate::Expired => "expired".into(),
                    Fate::Refunded => "refunded".into(),
                    Fate::Released => "released".into(),
                };
                units.push_str(&format!(" {}={fate}", unit(&name)));
            }
            let until = if hold.is_live() {
                format!(" until {}", shown_time(state.moment(hold.deadline())))
            } else {
                String::new()
            };
            format!("{}{units}{until}", hold.standing().as_str())
        }
        "holds" => {
            let (subject, campaign) = cut(rest);
            let holds = state.campaign(campaign).unwrap().holds_of(subject);
            holds.map(|hold| hold.id().to_owned()).collect::<Vec<_>>().join(" ")
        }
        other => panic!("nobody looks at {other:?}"),
    }
}
