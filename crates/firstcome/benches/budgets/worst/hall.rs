//! The worst commands in a hall of 200,000 seats.

use firstcome_core::command::{BestPick, Expect, Late, Order, Pick, Step, Wanted};
use firstcome_core::hall::{Chunk, SeatSettings};
use firstcome_core::limits::{BEST_PICKS, CHUNK_SEATS, HOLD_UNITS, POOLS, SEATS};
use firstcome_core::settings::{HoldSettings, HoldsEach, Opens, PoolSettings};
use firstcome_core::{Command, LEVEL, NodeId, Outcome, Settings, SpaceId, Stamp, State, Timestamp};
use std::time::{Duration, Instant};

/// Seats in a row, and at a table.
const ROW: usize = 50;
const TABLE: usize = 100;
/// How often each is measured: the least counts, which is not somebody else's turn on the core.
const TIMES: usize = 3;

/// The end of the name of what has no budget.
pub(crate) const SHOWN: &str = "shown only";

/// What was measured, and how long it took.
pub(crate) type Worst = (String, Duration);

/// One node's state.
pub(crate) struct Rules(pub(crate) State);

impl Rules {
    pub(crate) fn new() -> Self {
        Self(State::new(SpaceId::default()))
    }

    /// Applies one entry of commands; gives the outcome of the last, and how long it took.
    pub(crate) fn run(&mut self, commands: &[Command<'_>]) -> (Outcome, Duration) {
        self.run_after(0, commands)
    }

    /// The same, so many microseconds after the entry before.
    pub(crate) fn run_after(&mut self, us: i64, commands: &[Command<'_>]) -> (Outcome, Duration) {
        let (position, node) = (self.0.position() + 1, NodeId([1; 16]));
        let begun = Timestamp::from_micros(1_800_000_000_000_000);
        let at = self.0.at().max(begun).plus_micros(us);
        let stamp =
            Stamp { position, at, epoch: 0, node, number: position, again_of: None, level: LEVEL };
        let mut outcomes = Vec::new();
        let began = Instant::now();
        self.0.apply(stamp, commands, &mut outcomes);
        let took = began.elapsed();
        // As a node does, once nobody waits for the state.
        drop(self.0.take_remains());
        (outcomes.pop().unwrap_or(Outcome::Ticked), took)
    }

    pub(crate) fn put(
        &mut self,
        campaign: &str,
        pools: Vec<PoolSettings>,
        strict: bool,
    ) -> Duration {
        let holding = HoldSettings {
            each: HoldsEach::Many,
            allow_orphans: !strict,
            per_hour: 1_000,
            ..HoldSettings::default()
        };
        let settings = Settings {
            title: "".into(),
            opens: Opens::Now,
            closes_at: None,
            limit: None,
            claim_again: false,
            units_return: true,
            public: false,
            holding,
            pools,
        };
        let (expect, order) = (Expect::Anything, Order::default());
        self.run(&[Command::Put { campaign, settings, expect, order }]).1
    }

    /// Adds seats; gives how long the longest chunk took.
    fn seats(&mut self, campaign: &str, all: usize, group: bool) -> Duration {
        let texts: Vec<[String; 4]> = (0..all)
            .map(|n| {
                let table = if group { format!("T{}", n / TABLE) } else { String::new() };
                [format!("S{n}"), (n / ROW).to_string(), format!("X{}", n / ROW), table]
            })
            .collect();
        let mut longest = Duration::ZERO;
        for (at, chunk) in texts.chunks(CHUNK_SEATS).enumerate() {
            let first = at * CHUNK_SEATS;
            let seats: Vec<SeatSettings<'_>> =
                chunk.iter().enumerate().map(|(n, text)| seat(first + n, text)).collect();
            let chunk = Chunk { seats, areas: Vec::new() };
            let order = Order::default();
            let (said, took) = self.run(&[Command::Seats { campaign, pool: "main", chunk, order }]);
            assert!(!said.is_refusal(), "{said:?}");
            longest = longest.max(took);
        }
        longest
    }
}

fn seat(n: usize, [name, row, section, group]: &[String; 4]) -> SeatSettings<'_> {
    SeatSettings {
        row,
        section,
        group,
        quality: (n / ROW * 10 + (n % ROW).abs_diff(ROW / 2)) as u32,
        grade: GRADES[n * 4 / SEATS],
        ..SeatSettings::named(name)
    }
}

const GRADES: [&str; 4] = ["stalls", "circle", "gallery", "box"];

pub(crate) fn names(numbers: impl Iterator<Item = usize>, kind: &str) -> Vec<String> {
    numbers.map(|n| format!("{kind}{n}")).collect()
}

pub(crate) fn units(names: &[String]) -> Vec<Pick<'_>> {
    vec![Pick::units("main", names.iter().map(String::as_str).collect())]
}

pub(crate) fn hold<'a>(id: &'a str, subject: &'a str, picks: Vec<Pick<'a>>) -> Command<'a> {
    Command::Hold { campaign: "house", id, subject, picks, limit: None }
}

fn step<'a>(hold: &'a str, subject: &'a str) -> Step<'a> {
    Step { campaign: "house", hold, subject, id: None }
}

fn release<'a>(hold: &'a str, units: Vec<Pick<'a>>) -> Command<'a> {
    Command::Release { step: step(hold, "ann"), units }
}

/// Measures each kind of command.
pub(crate) fn worst() -> Vec<Worst> {
    let mut found = rows();
    found.extend(tables());
    let mut rules = Rules::new();
    let pools =
        |capacity| (0..POOLS).map(|n| PoolSettings::counted(&format!("p{n}"), capacity)).collect();
    found.push((format!("put, {POOLS} pools"), rules.put("house", pools(10), true)));
    found.push((format!("put, {POOLS} pools changed"), rules.put("house", pools(20), true)));
    found
}

/// Rows of fifty, each a section of its own, half of them sold at random, where no seat may be left alone: whoever wants
/// more than a row has makes the rules look at all of them.
fn rows() -> Vec<Worst> {
    let mut found = Vec::new();
    let mut rules = Rules::new();
    rules.put("house", vec![PoolSettings::seated("main")], true);
    found.push((format!("seats, {CHUNK_SEATS} more"), rules.seats("house", SEATS, false)));
    rules.put("house", vec![PoolSettings::seated("main")], false);
    let mut dice = 1_u64;
    let mut sold = (0..SEATS).filter(|_| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        dice >> 63 == 1
    });
    let (mut number, mut confirmed) = (0, Duration::ZERO);
    loop {
        let some = names(sold.by_ref().take(HOLD_UNITS), "S");
        if some.is_empty() {
            break;
        }
        number += 1;
        let (id, subject) = (format!("h{number}"), format!("s{number}"));
        rules.run(&[hold(&id, &subject, units(&some))]);
        let confirm =
            Command::Confirm { step: step(&id, &subject), units: Vec::new(), late: Late::Refuse };
        let (said, took) = rules.run(&[confirm]);
        assert!(!said.is_refusal(), "{said:?}");
        confirmed = confirmed.max(took);
    }
    found.push((format!("confirm, {HOLD_UNITS} units"), confirmed));
    rules.put("house", vec![PoolSettings::seated("main")], true);
    let mut best = Vec::new();
    for count in [2, 7, 20, 51, 100] {
        for adjacent in [false, true] {
            for grade in [None, Some("gallery")] {
                for last in [count, 100] {
                    let pick =
                        |count| BestPick { count, grade, price: None, adjacent, accessible: false };
                    let one = |count| Pick {
                        pool: None,
                        wanted: Wanted::Best(pick(count)),
                        channel: None,
                    };
                    let mut picks: Vec<Pick<'_>> = (0..BEST_PICKS).map(|_| one(count)).collect();
                    picks[BEST_PICKS - 1] = Pick {
                        wanted: Wanted::Best(BestPick { adjacent: true, ..pick(last) }),
                        ..one(last)
                    };
                    let id = |time: usize| format!("best-{}-{time}", best.len());
                    let mut all = Vec::new();
                    for time in 0..TIMES {
                        all.push(rules.run(&[hold(&id(time), "ann", picks.clone())]));
                        rules.run(&[release(&id(time), Vec::new())]);
                    }
                    let least = all.into_iter().min_by_key(|(_, took)| *took);
                    let (said, took) = least.expect("it was measured");
                    best.push((took, count, adjacent, grade, said));
                }
            }
        }
    }
    let (took, count, adjacent, grade, said) =
        best.into_iter().max_by_key(|found| found.0).expect("some were measured");
    let how =
        format!("{count}, adjacent {adjacent}, {}: {}", grade.unwrap_or("any"), said.as_str());
    found.push((format!("hold, {BEST_PICKS} best of {how}"), took));
    found
}

/// Tables of a hundred, all free.
fn tables() -> Vec<Worst> {
    let mut found = Vec::new();
    let mut rules = Rules::new();
    rules.put("house", vec![PoolSettings::seated("main")], true);
    rules.seats("house", SEATS, true);
    let (few, many) = (names(0..HOLD_UNITS / TABLE, "T"), names(0..HOLD_UNITS, "T"));
    let other = names(HOLD_UNITS..HOLD_UNITS + HOLD_UNITS / TABLE, "T");
    let (mut held, mut changed, mut named, mut freed) = (vec![], vec![], vec![], vec![]);
    for time in 0..TIMES {
        let id = format!("h{time}");
        held.push(rules.run(&[hold(&id, "ann", units(&few))]));
        let (step, limit) = (step(&id, "ann"), None);
        let (add, drop) = (units(&other), units(&few));
        changed.push(rules.run(&[Command::Change { step, add, drop, limit }]));
        named.push(rules.run(&[release(&id, units(&many))]));
        freed.push(rules.run(&[release(&id, Vec::new())]));
    }
    let mut add = |what: String, mut measured: Vec<(Outcome, Duration)>| {
        measured.sort_by_key(|(_, took)| *took);
        found.push((format!("{}: {what}", measured[0].0.as_str()), measured[0].1));
    };
    add(format!("hold, {HOLD_UNITS} seats by table"), held);
    add(format!("change, {HOLD_UNITS} seats for others"), changed);
    add(format!("release naming {HOLD_UNITS} tables, refused before, {SHOWN}"), named);
    add(format!("release, {HOLD_UNITS} seats"), freed);
    let refused = |time| format!("r{time}");
    let ids: Vec<String> = (0..TIMES).map(refused).collect();
    let all: Vec<_> = ids.iter().map(|id| rules.run(&[hold(id, "ann", units(&many))])).collect();
    add(format!("hold naming {HOLD_UNITS} tables, refused before, {SHOWN}"), all);
    let block = |blocked| {
        let (units, order) = (units(&many), Order::default());
        Command::Block { campaign: "house", units, blocked, reason: "", order }
    };
    let (mut blocked, mut unblocked) = (vec![], vec![]);
    for _ in 0..TIMES {
        blocked.push(rules.run(&[block(true)]));
        unblocked.push(rules.run(&[block(false)]));
    }
    add(format!("block, {HOLD_UNITS} tables of {TABLE}"), blocked);
    add(format!("unblock, {HOLD_UNITS} tables of {TABLE}"), unblocked);
    found
}
