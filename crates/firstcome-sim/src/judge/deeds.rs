//! What the final journal gave, looked at without the rules: only who won, who was undone, and under
//! which terms.

use super::Broken;
use super::model::{Claimed, Deed};
use firstcome_core::{Settings, Timestamp};
use std::collections::BTreeMap;

#[derive(Default)]
struct Given<'a> {
    last_rank: u32,
    undone: usize,
    /// The rank of each subject's claim that stands.
    live: BTreeMap<&'a str, u32>,
}

#[derive(Default)]
struct Standing<'a> {
    terms: Option<(&'a Settings, bool)>,
    pools: BTreeMap<&'a str, Given<'a>>,
}

/// Checks the deeds of the final journal in their order.
pub(super) fn check<'d>(deeds: impl Iterator<Item = &'d Deed<'d>>, wrong: &mut Vec<Broken>) {
    let mut campaigns: BTreeMap<&str, Standing<'_>> = BTreeMap::new();
    let mut last_number = 0;
    for deed in deeds {
        let (claimed, won) = match deed {
            Deed::Terms { campaign, settings, shut } => {
                campaigns.entry(campaign).or_default().terms = Some((settings, *shut));
                continue;
            }
            Deed::Won(claimed) => (claimed, true),
            Deed::Undone(claimed) => (claimed, false),
        };
        if claimed.number != last_number + 1 {
            let what = format!("result {} follows {last_number}", claimed.number);
            wrong.push(Broken::new("ranks_without_a_gap", what));
        }
        last_number = claimed.number;
        let standing = campaigns.entry(claimed.campaign).or_default();
        if won { standing.won(claimed, wrong) } else { standing.undone(claimed, wrong) }
    }
}

impl<'d> Standing<'d> {
    fn won(&mut self, claimed: &'d Claimed<'d>, wrong: &mut Vec<Broken>) {
        let Claimed { campaign, pool, rank, subject, at, .. } = claimed;
        let name = format!("{campaign}/{pool}");
        let given = self.pools.entry(pool).or_default();
        if *rank != given.last_rank + 1 {
            let what = format!("{name} gave {subject:?} rank {rank} after {}", given.last_rank);
            wrong.push(Broken::new("ranks_without_a_gap", what));
        }
        given.last_rank = *rank;
        if let Some(had) = given.live.insert(subject, *rank) {
            let what = format!("{subject:?} has ranks {had} and {rank} of {name} at once");
            wrong.push(Broken::new("nobody_twice", what));
        }
        let Some((terms, shut)) = self.terms else {
            let what = format!("{name} gave {subject:?} rank {rank} and was never opened");
            return wrong.push(Broken::new("only_while_open", what));
        };
        let taken = given.live.len() + if terms.units_return { 0 } else { given.undone };
        let capacity = terms.pools.iter().find(|known| known.name == *pool);
        let capacity = capacity.map_or(0, |pool| pool.capacity as usize);
        if taken > capacity {
            let what = format!(
                "{name} has {capacity} units, {subject:?} got rank {rank} as number {taken}"
            );
            wrong.push(Broken::new("never_more_than_there_is", what));
        }
        let live = self.pools.values().filter(|given| given.live.contains_key(subject)).count();
        if let Some(limit) = terms.limit.filter(|limit| live > *limit as usize) {
            let what = format!("{subject:?} has {live} claims in {campaign}, {limit} are allowed");
            wrong.push(Broken::new("nobody_twice", what));
        }
        if shut || !is_open(terms, *at) {
            let at = at.as_micros();
            let what =
                format!("{name} gave {subject:?} rank {rank} at {at} µs, when it was not open");
            wrong.push(Broken::new("only_while_open", what));
        }
    }

    fn undone(&mut self, claimed: &'d Claimed<'d>, wrong: &mut Vec<Broken>) {
        let Claimed { campaign, pool, rank, subject, .. } = claimed;
        let given = self.pools.entry(pool).or_default();
        given.undone += 1;
        if given.live.get(subject) == Some(rank) {
            given.live.remove(subject);
            return;
        }
        let what =
            format!("rank {rank} of {subject:?} in {campaign}/{pool} was undone and did not stand");
        wrong.push(Broken::new("nobody_twice", what));
    }
}

fn is_open(terms: &Settings, at: Timestamp) -> bool {
    let opened = terms.opens.at().is_some_and(|opens_at| opens_at <= at);
    opened && terms.closes_at.is_none_or(|closes_at| at < closes_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};

    fn terms<'a>(shut: bool) -> Deed<'a> {
        let settings = Box::new(Settings {
            title: "".into(),
            opens: Opens::At(Timestamp::from_micros(10)),
            closes_at: Some(Timestamp::from_micros(90)),
            limit: Some(1),
            claim_again: true,
            units_return: true,
            holding: HoldSettings::default(),
            pools: vec![PoolSettings::counted("main", 2), PoolSettings::counted("vip", 2)],
        });
        Deed::Terms { campaign: "spring", settings, shut }
    }

    fn claimed<'a>(number: u64, pool: &str, rank: u32, subject: &'a str, at: i64) -> Claimed<'a> {
        let at = Timestamp::from_micros(at);
        Claimed { number, campaign: "spring", pool: pool.into(), rank, subject, at }
    }

    fn judged(deeds: &[Deed<'_>]) -> Vec<&'static str> {
        let mut wrong = Vec::new();
        check(deeds.iter(), &mut wrong);
        wrong.into_iter().map(|broken| broken.promise).collect()
    }

    #[test]
    fn what_was_given_in_order_and_in_time_is_fine() {
        let deeds = [
            terms(false),
            Deed::Won(claimed(1, "main", 1, "ann", 10)),
            Deed::Won(claimed(2, "main", 2, "bob", 11)),
            Deed::Undone(claimed(3, "main", 1, "ann", 12)),
            Deed::Won(claimed(4, "main", 3, "ann", 89)),
        ];
        assert!(judged(&deeds).is_empty());
    }

    #[test]
    fn each_thing_nobody_may_be_given_is_named() {
        let won =
            |number, pool, rank, subject, at| Deed::Won(claimed(number, pool, rank, subject, at));
        let first = || won(1, "main", 1, "ann", 10);
        let cases = [
            ("ranks_without_a_gap", vec![terms(false), won(1, "main", 2, "ann", 10)]),
            ("ranks_without_a_gap", vec![terms(false), won(2, "main", 1, "ann", 10)]),
            ("nobody_twice", vec![terms(false), first(), won(2, "main", 2, "ann", 10)]),
            ("nobody_twice", vec![terms(false), first(), won(2, "vip", 1, "ann", 10)]),
            (
                "nobody_twice",
                vec![terms(false), first(), Deed::Undone(claimed(2, "main", 1, "bob", 10))],
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
            ("only_while_open", vec![terms(false), won(1, "main", 1, "ann", 9)]),
            ("only_while_open", vec![terms(false), won(1, "main", 1, "ann", 90)]),
            ("only_while_open", vec![terms(true), won(1, "main", 1, "ann", 10)]),
            ("only_while_open", vec![won(1, "main", 1, "ann", 10)]),
        ];
        for (promise, deeds) in cases {
            assert_eq!(judged(&deeds), [promise], "{deeds:?}");
        }
    }
}
