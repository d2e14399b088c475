//! How campaigns went second by second in the last 15 minutes, from the entries that this node applied.
//!
//! It is for people who watch, and no part of the state: it begins anew with the process and with another branch.

use firstcome_core::State;
use firstcome_core::pool::Pool;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Seconds that are kept of a campaign.
pub const SECONDS: i64 = 900;
/// Campaigns that are kept: another one takes the place of the one that is quiet longest.
pub const CAMPAIGNS: usize = 64;
/// Seconds for which a campaign must be quiet to lose its place.
pub const QUIET: i64 = 60;

/// What the entries of one second came to in a campaign. Seconds without an entry about it are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Second {
    /// Which second: of the time of the entries, since 1970.
    pub second: i64,
    /// Units that were given for good in it.
    pub given: u64,
    /// Units left at its end.
    pub left: u64,
    /// Units held at its end.
    pub held: u64,
    /// Who waited at its end.
    pub waiting: u64,
}

/// The seconds of each campaign, by its number.
#[derive(Debug, Default)]
pub struct Minutes(Mutex<BTreeMap<u32, VecDeque<Second>>>);

impl Minutes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, VecDeque<Second>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what the entry that was applied last did to the campaigns it was about.
    pub(crate) fn note(&self, state: &State) {
        if state.touched().is_empty() {
            return;
        }
        let second = state.at().as_micros().div_euclid(1_000_000);
        let mut kept = self.lock();
        for number in state.touched() {
            let Some(campaign) = state.campaign_numbered(*number) else {
                kept.remove(number);
                continue;
            };
            if !kept.contains_key(number) && !has_place(&mut kept, second) {
                continue;
            }
            let sum = |of: fn(&Pool) -> u64| campaign.pools().iter().map(of).sum();
            let now = Second {
                second,
                given: campaign.given_last(),
                left: sum(|pool| u64::from(pool.left())),
                held: sum(|pool| u64::from(pool.counts().held)),
                waiting: campaign.waiters(),
            };
            let seconds = kept.entry(*number).or_default();
            match seconds.back_mut() {
                Some(last) if last.second == second => {
                    *last = Second { given: last.given + now.given, ..now };
                }
                Some(_) | None => seconds.push_back(now),
            }
            while seconds.front().is_some_and(|first| first.second <= second - SECONDS) {
                seconds.pop_front();
            }
        }
    }

    /// Forgets everything: the state is another one.
    pub(crate) fn forget(&self) {
        self.lock().clear();
    }

    /// Returns the seconds of a campaign from a second on, in order; `None` if it has no place.
    pub fn of(&self, campaign: u32, from: i64) -> Option<Vec<Second>> {
        let kept = self.lock();
        let seconds = kept.get(&campaign)?.iter().filter(|known| known.second >= from);
        Some(seconds.copied().collect())
    }
}

/// Says whether one more campaign has a place; one that is quiet may lose it.
fn has_place(kept: &mut BTreeMap<u32, VecDeque<Second>>, second: i64) -> bool {
    if kept.len() < CAMPAIGNS {
        return true;
    }
    let last = |seconds: &VecDeque<Second>| seconds.back().map_or(i64::MIN, |last| last.second);
    let quiet = kept.iter().map(|(number, seconds)| (last(seconds), *number)).min();
    match quiet {
        Some((since, number)) if since <= second - QUIET => kept.remove(&number).is_some(),
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
    use firstcome_core::{Command, Expect, NodeId, Settings, SpaceId, Stamp, Timestamp};

    struct Told {
        state: State,
        minutes: Minutes,
    }

    impl Told {
        fn apply(&mut self, second: i64, command: &Command<'_>) {
            let position = self.state.position() + 1;
            let at = Timestamp::from_micros(second * 1_000_000 + 500_000);
            let node = NodeId([1; 16]);
            let stamp =
                Stamp { position, at, epoch: 0, node, number: position, again_of: None, level: 6 };
            self.state.apply(stamp, std::slice::from_ref(command), &mut Vec::new());
            self.minutes.note(&self.state);
        }

        fn put(&mut self, second: i64, campaign: &str) {
            let settings = Settings {
                title: "".into(),
                opens: Opens::Now,
                closes_at: None,
                limit: None,
                claim_again: false,
                units_return: true,
                public: false,
                holding: HoldSettings::default(),
                pools: vec![PoolSettings::counted("main", 3)],
            };
            let (expect, order) = Default::default();
            let put = Command::Put { campaign, settings, expect, order };
            assert_eq!(expect, Expect::Anything);
            self.apply(second, &put);
        }
    }

    fn told() -> Told {
        Told { state: State::new(SpaceId::default()), minutes: Minutes::default() }
    }

    #[test]
    fn claims_are_counted_in_their_second_and_old_seconds_go() {
        let mut told = told();
        told.put(100, "spring");
        for (second, subject) in [(101, "ann"), (101, "bob"), (101, "bob"), (103, "eve")] {
            told.apply(second, &Command::claim("spring", None, subject));
        }
        let second = |second, given, left| Second { second, given, left, held: 0, waiting: 0 };
        let all = [second(100, 0, 3), second(101, 2, 1), second(103, 1, 0)];
        assert_eq!(told.minutes.of(1, 0).unwrap(), all);
        assert_eq!(told.minutes.of(1, 102).unwrap(), all[2..]);
        assert_eq!(told.minutes.of(2, 0), None);
        told.apply(100 + SECONDS, &Command::claim("spring", None, "late"));
        let kept: Vec<_> = told.minutes.of(1, 0).unwrap().iter().map(|s| s.second).collect();
        assert_eq!(kept, [101, 103, 1000]);
    }

    #[test]
    fn so_many_campaigns_have_a_place_and_the_quiet_ones_lose_it() {
        let mut told = told();
        for number in 0..=CAMPAIGNS {
            told.put(100 + i64::from(number >= 1), &format!("c{number}"));
        }
        assert!(told.minutes.of(1, 0).is_some());
        assert!(told.minutes.of(CAMPAIGNS as u32 + 1, 0).is_none(), "nobody is quiet yet");
        told.apply(160, &Command::claim(&format!("c{CAMPAIGNS}"), None, "ann"));
        assert!(told.minutes.of(1, 0).is_none(), "the first one was quiet for a minute");
        assert_eq!(told.minutes.of(CAMPAIGNS as u32 + 1, 0).unwrap()[0].given, 1);
        assert_eq!(told.minutes.lock().len(), CAMPAIGNS);
    }
}
