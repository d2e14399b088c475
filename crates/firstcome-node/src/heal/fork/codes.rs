//! Imported codes after a fork: one that somebody was given on the abandoned branch, and that is another's now, or
//! nobody's, is known to two people. It is suspended until an operator decides.

use firstcome_core::State;
use firstcome_core::codes::{CodeKey, CodeVerdict};
use firstcome_core::command::{CodeCommand, Command, Encoded, Order};
use firstcome_core::limits::CODES_TOGETHER;
use std::collections::{BTreeMap, BTreeSet};

/// Why a code is suspended, as its mark says.
const REASON: &str =
    "the journal forked: another subject was given this code on the abandoned branch";
/// On whose word.
const WHO: &str = "fork";

/// Who was given which imported codes on the abandoned branch, by campaign and pool.
#[derive(Debug, Default)]
pub(super) struct GivenCodes {
    given: BTreeMap<PoolName, BTreeSet<(CodeKey, Box<str>)>>,
}

/// A campaign and its pool.
type PoolName = (Box<str>, Box<str>);

impl GivenCodes {
    /// Notes every imported code that these subjects, each of a campaign and a pool, were ever given: they know one that
    /// was replaced since, or whose claim they cancelled, as well.
    pub(super) fn of<'a>(
        whose: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
        ours: &State,
    ) -> Self {
        let mut ranks: BTreeMap<(&str, &str), BTreeSet<u32>> = BTreeMap::new();
        for (campaign, pool, subject) in whose {
            let found = ours.campaign(campaign).ok().and_then(|campaign| campaign.pool(pool));
            let Some(found) = found.filter(|pool| pool.codes().is_some()) else { continue };
            let of_pool = ranks.entry((campaign, pool)).or_default();
            of_pool.extend(found.claims_of(subject).map(|claim| claim.rank));
        }
        let mut given = Self::default();
        for (place, ranks) in ranks {
            given.note(place, ours, |rank| ranks.contains(&rank));
        }
        given
    }

    /// Notes every imported code that anybody was ever given: where it is not known which entries are lost.
    pub(super) fn note_all(&mut self, ours: &State) {
        for campaign in ours.campaigns() {
            for pool in campaign.pools().iter().filter(|pool| pool.codes().is_some()) {
                self.note((campaign.name(), pool.name()), ours, |_| true);
            }
        }
    }

    fn note(&mut self, (campaign, pool): (&str, &str), ours: &State, of: impl Fn(u32) -> bool) {
        let Ok(found) = ours.campaign(campaign) else { return };
        let Some(claims) = found.pool(pool) else { return };
        let issued = found.issued_imported_codes(pool).filter(|(_, rank)| of(*rank));
        let given = issued.filter_map(|(code, rank)| Some((code, claims.claim(rank)?.subject)));
        let of_pool = self.given.entry((campaign.into(), pool.into())).or_default();
        of_pool.extend(given.map(|(code, subject)| (code, subject.into())));
    }

    pub(super) fn extend(&mut self, later: Self) {
        for (pool, given) in later.given {
            self.given.entry(pool).or_default().extend(given);
        }
    }

    /// Returns the codes that somebody else has now, or nobody, with whose they were.
    pub(super) fn changed_hands<'a>(
        &'a self,
        now: &'a State,
    ) -> impl Iterator<Item = (&'a (Box<str>, Box<str>), CodeKey, &'a str)> {
        self.given.iter().flat_map(|(place, given)| {
            let campaign = now.campaign(&place.0).ok();
            let whose =
                move |code| campaign.and_then(|campaign| campaign.who_was_issued(&place.1, code));
            let changed = given.iter().filter(move |(code, was)| whose(*code) != Some(&**was));
            changed.map(move |(code, was)| (place, *code, &**was))
        })
    }

    /// Returns the commands that suspend them, each with how many it suspends. Another node that switched as well says the same, which changes nothing.
    pub(super) fn suspend(&self, now: &State) -> Vec<(Encoded, usize)> {
        let mut lists: BTreeMap<_, Vec<CodeKey>> = BTreeMap::new();
        for (place, code, _) in self.changed_hands(now) {
            lists.entry(place).or_default().push(code);
        }
        let commands = lists.into_iter().flat_map(|((campaign, pool), codes)| {
            let chunks: Vec<_> = codes.chunks(CODES_TOGETHER).map(<[CodeKey]>::to_vec).collect();
            chunks.into_iter().filter_map(move |codes| {
                let (verdict, order) = (CodeVerdict::Suspend, Order { id: None, who: WHO });
                let (campaign, pool, reason) = (&**campaign, &**pool, REASON);
                let count = codes.len();
                let mark = CodeCommand::Mark { campaign, pool, codes, verdict, reason, order };
                Some((Encoded::new(&Command::Code(mark)).ok()?, count))
            })
        });
        commands.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::CodeKeys;
    use crate::codes::tests::world;

    #[test]
    fn an_imported_code_that_is_anothers_now_or_nobodys_is_suspended() {
        let keys = CodeKeys::new(&[("k1", [1; 32])]).expect("an id");
        let of = |subjects: &[&str]| world(&keys, subjects);
        let changed = |lost: &[&str], kept: &[&str]| {
            let (lost, kept) = (of(lost), of(kept));
            let mut given = GivenCodes::default();
            given.note_all(&lost);
            let names: Vec<String> =
                given.changed_hands(&kept).map(|(_, _, was)| was.to_owned()).collect();
            (names.len(), given.suspend(&kept).len())
        };
        assert_eq!(changed(&["ann", "bob"], &["ann", "bob"]), (0, 0));
        assert_eq!(changed(&["ann", "bob"], &["bob", "ann"]), (2, 1));
        assert_eq!(changed(&["ann", "bob"], &["ann"]), (1, 1));
        assert_eq!(changed(&["ann"], &["ann", "bob"]), (0, 0));
    }
}
