//! Checks the events of the final journal without the rules: only which claims were won and undone, and under which
//! terms.

use super::Broken;
use firstcome_core::results::Kind;
use firstcome_core::settings::{CodeSource, PoolKind, PoolSettings};
use firstcome_core::{Settings, Timestamp};
use firstcome_model::{Claimed, Event};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct Given<'a> {
    last_rank: u32,
    undone: usize,
    /// The ranks of each subject's claims that are not undone.
    live: BTreeMap<&'a str, BTreeSet<u32>>,
    /// The claims that have each unit of a seated pool.
    units: BTreeMap<&'a str, BTreeSet<u32>>,
    /// How many there are of those that are areas.
    areas: BTreeMap<&'a str, u32>,
    /// How many redemptions of each rank's code stand.
    redeemed: BTreeMap<u32, u32>,
    /// The most uses its codes ever had.
    uses: u32,
}

#[derive(Default)]
struct Standing<'a> {
    terms: Option<(&'a Settings, bool)>,
    pools: BTreeMap<&'a str, Given<'a>>,
}

/// Checks the events of the final journal in their order.
pub(super) fn check<'d>(events: impl Iterator<Item = &'d Event<'d>>, wrong: &mut Vec<Broken>) {
    let mut campaigns: BTreeMap<&str, Standing<'_>> = BTreeMap::new();
    let mut last_number = 0;
    for event in events {
        let (kind, claimed) = match event {
            Event::Terms { campaign, settings, shut } => {
                let standing = campaigns.entry(campaign).or_default();
                standing.terms = Some((settings, *shut));
                for pool in &settings.pools {
                    let uses = pool.codes.as_ref().map_or(0, |codes| codes.uses);
                    let given = standing.pools.entry(&pool.name).or_default();
                    given.uses = given.uses.max(uses);
                }
                continue;
            }
            Event::Areas { campaign, pool, areas } => {
                let standing = campaigns.entry(campaign).or_default();
                standing.pools.entry(pool).or_default().areas.extend(areas.iter().copied());
                continue;
            }
            Event::Issued(_) => continue,
            Event::Result(kind, claimed) => (kind, claimed),
        };
        if claimed.number != last_number + 1 {
            let what = format!("result {} follows {last_number}", claimed.number);
            wrong.push(Broken::new("ranks_without_a_gap", what));
        }
        last_number = claimed.number;
        let standing = campaigns.entry(claimed.campaign).or_default();
        match kind {
            Kind::Claim => standing.won(claimed, wrong),
            Kind::Cancel => standing.undone(claimed, wrong),
            Kind::Moved => standing.moved(claimed, wrong),
            Kind::Redeemed => standing.redeemed(claimed, wrong),
            Kind::RolledBack => standing.rolled_back(claimed),
            Kind::RefundDue | Kind::CodeMarked | Kind::Unserved => {}
        }
    }
}

impl<'d> Given<'d> {
    /// Notes that a claim has a unit, which must be free for it.
    fn takes(&mut self, claimed: &'d Claimed<'d>, wrong: &mut Vec<Broken>) {
        let Some(unit) = claimed.unit else { return };
        let has = self.units.entry(unit).or_default();
        has.insert(claimed.rank);
        let most = self.areas.get(unit).map_or(1, |capacity| *capacity as usize);
        if has.len() > most {
            let Claimed { campaign, pool, subject, .. } = claimed;
            let what = format!(
                "{unit:?} of {campaign}/{pool}, {most} of it, is that of ranks {has:?}, the last of {subject:?}"
            );
            wrong.push(Broken::new("no_unit_twice", what));
        }
    }
}

impl<'d> Standing<'d> {
    fn won(&mut self, claimed: &'d Claimed<'d>, wrong: &mut Vec<Broken>) {
        let Claimed { campaign, pool, rank, subject, at, hold, .. } = claimed;
        let name = format!("{campaign}/{pool}");
        let given = self.pools.entry(pool).or_default();
        if *rank != given.last_rank + 1 {
            let what = format!("{name} gave {subject:?} rank {rank} after {}", given.last_rank);
            wrong.push(Broken::new("ranks_without_a_gap", what));
        }
        given.last_rank = *rank;
        given.takes(claimed, wrong);
        let live = given.live.entry(subject).or_default();
        let twice = live.last().filter(|_| hold.is_none()).copied();
        if let Some(had) = twice {
            let what = format!("{subject:?} has ranks {had} and {rank} of {name} at once");
            wrong.push(Broken::new("nobody_twice", what));
        }
        live.insert(*rank);
        let Some((terms, shut)) = self.terms else {
            let what = format!("{name} gave {subject:?} rank {rank} and was never opened");
            return wrong.push(Broken::new("only_while_open", what));
        };
        let live: usize = given.live.values().map(BTreeSet::len).sum();
        let taken = live + if terms.units_return { 0 } else { given.undone };
        let of = terms.pools.iter().find(|known| known.name == *pool);
        let capacity = of.map_or(0, |pool| pool.capacity as usize);
        if taken > capacity && of.is_none_or(has_units) {
            let what = format!(
                "{name} has {capacity} units, {subject:?} got rank {rank} as number {taken}"
            );
            wrong.push(Broken::new("never_more_than_there_is", what));
        }
        let live = self.pools.values().filter_map(|given| given.live.get(subject));
        let live: usize = live.map(BTreeSet::len).sum();
        let over = terms.limit.filter(|limit| live > *limit as usize);
        if let (Some(limit), None) = (over, twice) {
            let what = format!("{subject:?} has {live} claims in {campaign}, {limit} are allowed");
            wrong.push(Broken::new("nobody_twice", what));
        }
        // A pause or the closing takes nothing from a hold.
        if hold.is_none() && (shut || !is_open(terms, *at)) {
            let at = at.as_micros();
            let what =
                format!("{name} gave {subject:?} rank {rank} at {at} µs, when it was not open");
            wrong.push(Broken::new("only_while_open", what));
        }
    }

    fn undone(&mut self, claimed: &'d Claimed<'d>, wrong: &mut Vec<Broken>) {
        let Claimed { campaign, pool, rank, subject, unit, .. } = claimed;
        let given = self.pools.entry(pool).or_default();
        given.undone += 1;
        let returns = self.terms.is_some_and(|(terms, _)| terms.units_return);
        if let Some(has) = unit.filter(|_| returns).and_then(|unit| given.units.get_mut(unit)) {
            has.remove(rank);
        }
        if given.live.get_mut(subject).is_some_and(|live| live.remove(rank)) {
            return;
        }
        let what =
            format!("rank {rank} of {subject:?} in {campaign}/{pool} was undone and did not stand");
        wrong.push(Broken::new("nobody_twice", what));
    }

    fn redeemed(&mut self, claimed: &'d Claimed<'d>, wrong: &mut Vec<Broken>) {
        let Claimed { campaign, pool, rank, .. } = claimed;
        let given = self.pools.entry(pool).or_default();
        let stand = given.redeemed.entry(*rank).or_default();
        *stand += 1;
        if *stand > given.uses {
            let what = format!(
                "the code of rank {rank} of {campaign}/{pool} is redeemed {stand} times, it has {} uses",
                given.uses
            );
            wrong.push(Broken::new("never_used_beyond", what));
        }
    }

    fn rolled_back(&mut self, claimed: &'d Claimed<'d>) {
        let given = self.pools.entry(&claimed.pool).or_default();
        let stand = given.redeemed.entry(claimed.rank).or_default();
        *stand = stand.saturating_sub(1);
    }

    fn moved(&mut self, claimed: &'d Claimed<'d>, wrong: &mut Vec<Broken>) {
        let given = self.pools.entry(&claimed.pool).or_default();
        if claimed.rank == 0 {
            return;
        }
        if let Some(has) = claimed.from.and_then(|from| given.units.get_mut(from)) {
            has.remove(&claimed.rank);
        }
        given.takes(claimed, wrong);
    }
}

/// Says whether a pool has as many units as its settings say.
fn has_units(pool: &PoolSettings) -> bool {
    let generated = pool.codes.as_ref().is_some_and(|codes| codes.source == CodeSource::Generated);
    pool.kind == PoolKind::Counted || generated
}

fn is_open(terms: &Settings, at: Timestamp) -> bool {
    let opened = terms.opens.at().is_some_and(|opens_at| opens_at <= at);
    opened && terms.closes_at.is_none_or(|closes_at| at < closes_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};

    fn terms<'a>(shut: bool) -> Event<'a> {
        let settings = Box::new(Settings {
            title: "".into(),
            opens: Opens::At(Timestamp::from_micros(10)),
            closes_at: Some(Timestamp::from_micros(90)),
            limit: Some(1),
            claim_again: true,
            units_return: true,
            public: false,
            holding: HoldSettings::default(),
            pools: vec![PoolSettings::counted("main", 2), PoolSettings::counted("vip", 2)],
        });
        Event::Terms { campaign: "spring", settings, shut }
    }

    fn claimed<'a>(number: u64, pool: &str, rank: u32, subject: &'a str, at: i64) -> Claimed<'a> {
        let at = Timestamp::from_micros(at);
        let (campaign, pool) = ("spring", pool.into());
        let (unit, hold, from) = (None, None, None);
        let in_campaign = number as u32;
        Claimed { number, in_campaign, campaign, pool, rank, subject, at, unit, hold, from }
    }

    fn confirmed<'a>(number: u64, rank: u32, subject: &'a str, unit: &'a str) -> Claimed<'a> {
        let claimed = claimed(number, "main", rank, subject, 99);
        Claimed { unit: Some(unit), hold: Some("h"), ..claimed }
    }

    fn judged(events: &[Event<'_>]) -> Vec<&'static str> {
        let mut wrong = Vec::new();
        check(events.iter(), &mut wrong);
        wrong.into_iter().map(|broken| broken.promise).collect()
    }

    #[test]
    fn what_was_given_in_order_and_in_time_is_fine() {
        let events = [
            terms(false),
            Event::Result(Kind::Claim, claimed(1, "main", 1, "ann", 10)),
            Event::Result(Kind::Claim, claimed(2, "main", 2, "bob", 11)),
            Event::Result(Kind::Cancel, claimed(3, "main", 1, "ann", 12)),
            Event::Result(Kind::Claim, claimed(4, "main", 3, "ann", 89)),
        ];
        assert!(judged(&events).is_empty());
    }

    #[test]
    fn each_thing_nobody_may_be_given_is_named() {
        let won = |number, pool, rank, subject, at| {
            Event::Result(Kind::Claim, claimed(number, pool, rank, subject, at))
        };
        let first = || won(1, "main", 1, "ann", 10);
        let cases = [
            ("ranks_without_a_gap", vec![terms(false), won(1, "main", 2, "ann", 10)]),
            ("ranks_without_a_gap", vec![terms(false), won(2, "main", 1, "ann", 10)]),
            ("nobody_twice", vec![terms(false), first(), won(2, "main", 2, "ann", 10)]),
            ("nobody_twice", vec![terms(false), first(), won(2, "vip", 1, "ann", 10)]),
            (
                "nobody_twice",
                vec![
                    terms(false),
                    first(),
                    Event::Result(Kind::Cancel, claimed(2, "main", 1, "bob", 10)),
                ],
            ),
            (
                "never_more_than_there_is",
                vec![
                    terms(false),
                    first(),
                    won(2, "main", 2, "bob", 10),
                    won(3, "main", 3, "eve", 10),
                ],
            ),
            (
                "no_unit_twice",
                vec![
                    terms(true),
                    Event::Result(Kind::Claim, confirmed(1, 1, "ann", "A1")),
                    Event::Result(Kind::Claim, confirmed(2, 2, "bob", "A1")),
                ],
            ),
            (
                "no_unit_twice",
                vec![
                    terms(false),
                    Event::Result(Kind::Claim, confirmed(1, 1, "ann", "A1")),
                    Event::Result(Kind::Claim, confirmed(2, 2, "bob", "A2")),
                    Event::Result(
                        Kind::Moved,
                        Claimed { from: Some("A2"), ..confirmed(3, 2, "bob", "A1") },
                    ),
                ],
            ),
            (
                "never_used_beyond",
                vec![
                    terms(false),
                    first(),
                    Event::Result(Kind::Redeemed, claimed(2, "main", 1, "ann", 10)),
                ],
            ),
            ("only_while_open", vec![terms(false), won(1, "main", 1, "ann", 9)]),
            ("only_while_open", vec![terms(false), won(1, "main", 1, "ann", 90)]),
            ("only_while_open", vec![terms(true), won(1, "main", 1, "ann", 10)]),
            ("only_while_open", vec![won(1, "main", 1, "ann", 10)]),
        ];
        for (promise, events) in cases {
            assert_eq!(judged(&events), [promise], "{events:?}");
        }
    }
}
