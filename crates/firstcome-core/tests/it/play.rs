//! Scripts: one line is one entry of the journal and what must come of it.
//!
//! ```text
//! TIME [NODE.NUMBER] WHO[#ID] SAYS            -> WHAT COMES
//!
//! 0s   op  puts drop: main 2                  -> created 1        # open at once unless told otherwise
//! 0s   op  puts new drop: main 2; vip 1; opens 10s|never; closes 20s; limit 1; again; gone; title T
//! 0s   op#id7 puts drop@3: main 5             -> changed 4        # with an id, demanding version 3
//! 1s   ann claims drop                        -> won 1            # or drop/main
//! 1s   ann claims drop within 2               -> won 1            # she may have 2 units, as somebody said before
//! 2s   ann cancels drop/main 1                -> cancelled by subject at 2s
//! 3s   op  cancels ann drop/main 1 for fraud  -> cancelled by operator at 3s
//! 3s   op  raises 2                           -> raised 2          # in tests that invent a level
//! 4s   op  pauses|resumes|closes|archives|drops|deletes drop
//! 4s   op  bars ann drop for fraud           -> bar_set at 4s holds 0
//! 4s   op  unbars ann drop                   -> bar_lifted true
//! 5s   ledger has 3                           -> settled 3
//! 6s   time passes                            -> ticked
//! 9s   time passes every 15s                  -> ticked           # entries 15 s apart, up to 9s
//! 7s   n1.4 ann claims drop                   -> copy             # node n1 sends its batch 4 again
//! 8s   n1.5=n1.4 ann claims drop              -> copy             # and once more, under another name
//! 8s   bob claims drop & eve claims drop      -> won 2 | sold_out     # two commands in one batch
//!      look drop                              -> open 2, main 1 of 2 left
//!      look results                           -> 1 claim ann 1, 2 cancel ann 1
//!      look service                           -> 7s
//!
//! 1s   ann claims sale tag 7                  -> won 1            # more of codes in coding.rs
//! 9s   ann holds h1 hall A1 A2                -> held A1 A2 until 69s  # more in holding.rs
//! 9s   ann joins drop                          -> waitlisted 0 ahead for 1
//! 9s   ann joins hall/main 2 grade=R channel=web adjacent within 4     # or area=GA
//! 9s   ann leaves drop                         -> left_waitlist true
//!      look place ann drop                     -> 0 ahead for 1, 0 missed    # or `offer-3`, or nobody
//! 0s   op  puts drop: main 2; offer 60s; main waits 5                   # 5 may wait
//! ```
//!
//! `again` lets subjects claim again, `gone` keeps cancelled units out of the pool.

use crate::coding;
use crate::holding;
use crate::say::{shown_all, shown_time};
use crate::waiting;
use crate::world::{Gave, SECOND, START, World, node};
use firstcome_core::command::{Mark, Order, Steer};
use firstcome_core::names::Name;
use firstcome_core::outcome::By;
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::{Command, Expect, NodeId, Settings, Timestamp};

/// Plays a script from an empty state and gives what stands at its end.
#[track_caller]
pub(crate) fn play(script: &str) -> World {
    play_on(World::new(), script)
}

/// Plays a script on what stands already.
#[track_caller]
pub(crate) fn play_on(mut world: World, script: &str) -> World {
    for (number, line) in script.lines().enumerate() {
        let said = line.split_once(" # ").map_or(line, |(said, _)| said).trim();
        if said.is_empty() {
            continue;
        }
        let (said, expected) = said.split_once("->").unwrap_or_else(|| panic!("no -> in {line:?}"));
        let came = step(&mut world, said.trim());
        if came != expected.trim() {
            let shown = script.lines().enumerate().map(|(n, line)| {
                if n == number {
                    format!(">{line}\n   came: {came}\n")
                } else {
                    format!(" {line}\n")
                }
            });
            panic!("the script went another way:\n{}", shown.collect::<String>());
        }
    }
    world
}

fn step(world: &mut World, said: &str) -> String {
    if let Some(what) = said.strip_prefix("look ") {
        return look(world, what);
    }
    let (at, said) = cut(said);
    let at = time(at);
    let named = |text: &str| {
        let (name, number) = text.split_once('.').unwrap();
        Name { node: node(name.as_bytes()[1]), number: number.parse().unwrap() }
    };
    let (name, batch, said) = match said.split_once(' ') {
        Some((batch, rest)) if batch.contains('.') => match batch.split_once('=') {
            Some((name, batch)) => (named(name), Some(named(batch)), rest.trim()),
            None => (named(batch), None, rest.trim()),
        },
        _ => (Name { node: NodeId([0; 16]), number: world.state.position() + 1 }, None, said),
    };
    if let Some(every) = said.strip_prefix("time passes every ") {
        return pass(world, at, time(every).micros_since(START));
    }
    let commands: Vec<_> = said.split(" & ").map(command).collect();
    match world.entry_of((name.node, name.number), batch, at, &commands) {
        Gave::Copy => "copy".into(),
        Gave::Outcomes(outcomes) => shown_all(&outcomes, at),
    }
}

/// Lets entries follow each other at a distance, the last at `at`.
fn pass(world: &mut World, at: Timestamp, every: i64) -> String {
    while world.state.at() < at {
        let next = world.state.at().plus_micros(every).min(at);
        let number = world.state.position() + 1;
        world.entry(next, NodeId([0; 16]), number, &[Command::Tick { mark: Mark::default() }]);
    }
    "ticked".into()
}

pub(crate) fn cut(said: &str) -> (&str, &str) {
    let (word, rest) = said.split_once(' ').unwrap_or((said, ""));
    (word, rest.trim())
}

/// Takes off the limit that a command brings.
pub(crate) fn within(said: &str) -> (&str, Option<u32>) {
    match said.rsplit_once(" within ") {
        Some((said, limit)) => (said, Some(limit.parse().unwrap())),
        None => (said, None),
    }
}

/// Reads `3s`, `10m`, `24h`, or sums as `1h+5s`, counted from the start.
pub(crate) fn time(text: &str) -> Timestamp {
    let part = |part: &str| {
        let (number, unit) = part.split_at(part.find(|c: char| !c.is_ascii_digit()).unwrap());
        let unit = match unit {
            "us" => 1,
            "ms" => 1_000,
            "s" => SECOND,
            "m" => 60 * SECOND,
            "h" => 3_600 * SECOND,
            other => panic!("unit {other:?}"),
        };
        number.parse::<i64>().unwrap() * unit
    };
    START.plus_micros(text.split('+').map(part).sum())
}

pub(crate) fn command(said: &str) -> Command<'_> {
    let (who, said) = cut(said);
    let (who, id) = match who.split_once('#') {
        Some((who, id)) => (who, Some(id)),
        None => (who, None),
    };
    let order = Order { id, who };
    let (verb, said) = cut(said);
    let steer = |steer| Command::Steer { campaign: said, steer, order };
    match verb {
        "claims" => {
            let (said, limit) = within(said);
            let (said, tag) = coding::tag(said);
            let (campaign, pool) = target(said);
            Command::Claim { campaign, pool, subject: who, limit, tag }
        }
        "cancels" => cancel(who, said),
        "puts" => put(said, order),
        "pauses" => steer(Steer::Pause),
        "resumes" => steer(Steer::Resume),
        "closes" => steer(Steer::Close),
        "archives" => steer(Steer::Archive { drop_unsettled: false }),
        "drops" => steer(Steer::Archive { drop_unsettled: true }),
        "has" => {
            let (through, term) = cut(said);
            let term = term.strip_prefix("in term ").map_or(1, |term| term.parse().unwrap());
            let through = through.parse().unwrap();
            Command::Settled { through, term, mark: Mark::default() }
        }
        "deletes" => steer(Steer::Delete),
        "bars" => {
            let (subject, said) = cut(said);
            let (campaign, reason) = said.split_once(" for ").unwrap_or((said, ""));
            Command::Bar { campaign, subject, reason, order }
        }
        "unbars" => {
            let (subject, campaign) = cut(said);
            Command::Unbar { campaign, subject, order }
        }
        "joins" => waiting::join(who, said),
        "leaves" => {
            let (campaign, pool) = target(said);
            Command::Leave { campaign, pool, subject: who }
        }
        "raises" => Command::Raise { level: said.parse().unwrap(), who },
        "passes" => Command::Tick { mark: Mark::default() },
        verb if coding::knows(verb) => coding::command(verb, said, order),
        other => holding::command(who, other, said, order),
    }
}

pub(crate) fn target(said: &str) -> (&str, Option<&str>) {
    match said.split_once('/') {
        Some((campaign, pool)) => (campaign, Some(pool)),
        None => (said, None),
    }
}

fn cancel<'a>(who: &'a str, said: &'a str) -> Command<'a> {
    let (said, reason) = said.split_once(" for ").unwrap_or((said, ""));
    let operator = who == "op";
    let (subject, said) = if operator { cut(said) } else { (who, said) };
    let (place, rank) = cut(said);
    let (campaign, pool) = target(place);
    let by = if operator { By::Operator } else { By::Subject };
    Command::Cancel { campaign, pool, subject, rank: rank.parse().unwrap(), by, reason, who }
}

fn put<'a>(said: &'a str, order: Order<'a>) -> Command<'a> {
    let (what, wanted) = said.split_once(':').unwrap();
    let (campaign, expect) = match (what.strip_prefix("new "), what.split_once('@')) {
        (Some(campaign), _) => (campaign, Expect::Absent),
        (None, Some((campaign, version))) => (campaign, Expect::Version(version.parse().unwrap())),
        (None, None) => (what, Expect::Anything),
    };
    let mut settings = Settings {
        title: "".into(),
        opens: Opens::Now,
        closes_at: None,
        limit: None,
        claim_again: false,
        units_return: true,
        public: false,
        holding: HoldSettings::default(),
        pools: Vec::new(),
    };
    for part in wanted.split(';').map(str::trim) {
        match cut(part) {
            ("opens", "never") => settings.opens = Opens::Undecided,
            ("opens", at) => settings.opens = Opens::At(time(at)),
            ("closes", at) => settings.closes_at = Some(time(at)),
            ("limit", limit) => settings.limit = Some(limit.parse().unwrap()),
            ("title", title) => settings.title = title.into(),
            ("again", "") => settings.claim_again = true,
            ("public", "") => settings.public = true,
            ("gone", "") => settings.units_return = false,
            (word, rest) if holding::setting(&mut settings, word, rest) => {}
            (word, rest) if coding::setting(&mut settings, word, rest) => {}
            (pool, capacity) => {
                let capacity = capacity.parse().unwrap();
                settings.pools.push(PoolSettings::counted(pool, capacity));
            }
        }
    }
    settings.check().unwrap();
    Command::Put { campaign, settings, expect, order }
}

fn look(world: &World, what: &str) -> String {
    let state = &world.state;
    match what {
        "service" => format!("{}s", state.service() / SECOND),
        "next" => state.next_deadline().map_or("nothing".into(), shown_time),
        "results" => {
            let row = |row: firstcome_core::campaign::ResultRow<'_>| {
                let (kind, claim) = (row.kind.as_str(), &row.claim);
                let unit = holding::result(&row) + &coding::result(&row);
                format!("{} {kind} {} {}{unit}", row.number, claim.subject, claim.rank)
            };
            state.results_after(0).map(row).collect::<Vec<_>>().join(", ")
        }
        what if what.starts_with("code ") => coding::look(state, what),
        what if what.contains(' ') => holding::look(state, what),
        name => match state.campaign(name) {
            Err(refusal) => refusal.as_str().into(),
            Ok(campaign) => {
                let pools = campaign.pools().iter();
                let pools =
                    pools.map(|p| format!(", {} {} of {} left", p.name(), p.left(), p.capacity()));
                let phase = campaign.phase(state.at()).as_str();
                format!("{phase} {}{}", campaign.version(), pools.collect::<String>())
            }
        },
    }
}
