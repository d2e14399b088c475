//! Results: numbered outcomes that leave the system, kept until a ledger has them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Results kept together.
const CHUNK: usize = 8_192;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A unit was won.
    Claim,
    /// A claim was undone.
    Cancel,
    /// A unit was paid for after its hold had expired and could not be had any more.
    RefundDue,
    /// A unit was exchanged for another.
    Moved,
    /// Somebody left a waitlist without a unit and without asking to.
    Unserved,
    /// A code was redeemed.
    Redeemed,
    /// The redemption of a code was undone.
    RolledBack,
    /// A code was revoked, suspended, restored or replaced, or an import revoked.
    CodeMarked,
}

impl Kind {
    /// Every kind once.
    pub const ALL: [Self; 8] = [
        Self::Claim,
        Self::Cancel,
        Self::RefundDue,
        Self::Moved,
        Self::Redeemed,
        Self::RolledBack,
        Self::CodeMarked,
        Self::Unserved,
    ];

    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Cancel => "cancel",
            Self::RefundDue => "refund_due",
            Self::Moved => "moved",
            Self::Unserved => "unserved",
            Self::Redeemed => "redeemed",
            Self::RolledBack => "rolled_back",
            Self::CodeMarked => "code_marked",
        }
    }

    /// Returns the stable number.
    pub fn code(self) -> u8 {
        match self {
            Self::Claim => 1,
            Self::Cancel => 2,
            Self::RefundDue => 3,
            Self::Moved => 4,
            Self::Unserved => 29,
            Self::Redeemed => 5,
            Self::RolledBack => 6,
            Self::CodeMarked => 7,
        }
    }

    /// Returns the kind with a stable number.
    pub fn of(code: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| u64::from(kind.code()) == code)
    }
}

/// Returns what tells a result from another one of the same number, in another history of the space.
///
/// Never 0. `in_campaign` is its number among the results of its campaign.
pub fn fingerprint(
    kind: Kind,
    (campaign, in_campaign, pool): (&str, u32, &str),
    (rank, subject): (u32, &str),
) -> u64 {
    // None of these has such a character.
    let kind = kind.as_str();
    let text = format!("{kind}\n{campaign}\n{in_campaign}\n{pool}\n{rank}\n{subject}");
    xxh3_64(text.as_bytes()).max(1)
}

/// Where a result's content stands; its number is its index in the list, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) campaign: u32,
    /// The claim's rank; of a refund due, a move or somebody unserved its number among the campaign's; of what happened to
    /// a code the number of its use or of its mark among the pool's.
    pub(crate) rank: u32,
    pub(crate) pool: u16,
    pub(crate) kind: Kind,
}

impl Record {
    /// Stands where the result of a campaign was that left memory: no campaign has its number.
    const GONE: Self = Self { campaign: 0, rank: 0, pool: 0, kind: Kind::Claim };
}

/// Neighbouring results.
#[derive(Clone, Debug)]
struct Chunk {
    records: Arc<Vec<Record>>,
    /// What is unsettled of each campaign; nothing of a campaign that left memory, after this is recorded.
    of: BTreeMap<u32, Unsettled>,
}

/// The unsettled results of a campaign in a chunk.
#[derive(Clone, Copy, Debug)]
struct Unsettled {
    count: usize,
    /// How many results the campaign had before the first of them: a record need not have its own number among them.
    before: u32,
}

/// The results that no ledger is known to have, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    /// The last number that was settled.
    pub(crate) settled: u64,
    /// The term of the leader that settled it.
    pub(crate) term: u64,
    /// Its [fingerprint]; 0 where its campaign had left memory by then.
    pub(crate) fingerprint: u64,
    chunks: VecDeque<Chunk>,
    /// Records at the front of the first chunk that are settled already.
    skip: usize,
    len: usize,
    /// Records in chunks of which some campaign is in memory.
    kept: usize,
    /// The records of every full chunk of which no campaign is in memory.
    gone: Option<Arc<Vec<Record>>>,
}

impl Results {
    pub(crate) fn last(&self) -> u64 {
        self.settled + self.len as u64
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns about how many bytes they take.
    pub(crate) fn memory(&self) -> usize {
        self.kept * size_of::<Record>()
    }

    /// Adds a result; `in_campaign` is its number among all results of its campaign: 1, 2, 3.
    pub(crate) fn push(&mut self, record: Record, in_campaign: u32) {
        let full = self.chunks.back().is_none_or(|chunk| chunk.records.len() == CHUNK);
        if full {
            // The first chunk grows as it must; after a full one the next will be full, too.
            let capacity = if self.chunks.is_empty() { 0 } else { CHUNK };
            let records = Arc::new(Vec::with_capacity(capacity));
            self.chunks.push_back(Chunk { records, of: BTreeMap::new() });
        }
        let chunk = self.chunks.back_mut().expect("there is one with room");
        // A snapshot under way may hold the last chunk: then this copies it, 96 KiB at most.
        Arc::make_mut(&mut chunk.records).push(record);
        let first = Unsettled { count: 0, before: in_campaign.saturating_sub(1) };
        chunk.of.entry(record.campaign).or_insert(first).count += 1;
        self.len += 1;
        self.kept += 1;
    }

    /// Returns the unsettled results in runs, each with the number of its first records that are settled.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Arc<Vec<Record>>, usize)> + use<> {
        let mut skip = self.skip;
        let runs: Vec<_> = self.chunks.iter().map(|chunk| Arc::clone(&chunk.records)).collect();
        runs.into_iter().map(move |run| (run, std::mem::take(&mut skip)))
    }

    /// Drops the results up to a number, and gives what is to be freed. `settled` hears how many were of each campaign
    /// in memory.
    ///
    /// Costs a step for each 8,192 results and campaign among them, and up to 8,191 more.
    ///
    /// # Panics
    ///
    /// The number is beyond the last result.
    pub(crate) fn settle(
        &mut self,
        through: u64,
        mut settled: impl FnMut(u32, usize),
    ) -> Vec<Arc<Vec<Record>>> {
        let mut freed = Vec::new();
        while self.settled < through {
            let chunk = self.chunks.front_mut().expect("it is not beyond the last result");
            let left = chunk.records.len() - self.skip;
            let count = usize::try_from(through - self.settled).map_or(left, |more| more.min(left));
            if count == left {
                chunk.of.iter().for_each(|(campaign, of)| settled(*campaign, of.count));
                let is_gone = self.is_gone(0);
                let chunk = self.chunks.pop_front().expect("it is there");
                self.kept -= if is_gone { 0 } else { chunk.records.len() };
                freed.push(chunk.records);
                self.skip = 0;
            } else {
                for run in chunk.records[self.skip..self.skip + count]
                    .chunk_by(|a, b| a.campaign == b.campaign)
                {
                    let campaign = run[0].campaign;
                    let Some(of) = chunk.of.get_mut(&campaign) else { continue };
                    of.count -= run.len();
                    of.before += run.len() as u32;
                    if of.count == 0 {
                        chunk.of.remove(&campaign);
                    }
                    settled(campaign, run.len());
                }
                self.skip += count;
            }
            self.settled += count as u64;
            self.len -= count;
        }
        freed
    }

    /// Takes note of which campaigns left memory, and gives what is to be freed of their results.
    ///
    /// Their numbers stay: they are what a ledger goes on from.
    pub(crate) fn forget(&mut self, in_memory: impl Fn(u32) -> bool) -> Vec<Arc<Vec<Record>>> {
        let mut freed = Vec::new();
        for at in 0..self.chunks.len() {
            if self.is_gone(at) {
                continue;
            }
            let chunk = &mut self.chunks[at];
            chunk.of.retain(|campaign, _| in_memory(*campaign));
            if chunk.of.is_empty() && chunk.records.len() == CHUNK {
                let gone = self.gone.get_or_insert_with(|| Arc::new(vec![Record::GONE; CHUNK]));
                freed.push(std::mem::replace(&mut chunk.records, Arc::clone(gone)));
                self.kept -= CHUNK;
            }
        }
        freed
    }

    fn is_gone(&self, at: usize) -> bool {
        self.gone.as_ref().is_some_and(|gone| Arc::ptr_eq(gone, &self.chunks[at].records))
    }

    /// Returns unsettled results beyond a number, each with its number, and its number among those of its campaign; those of
    /// campaigns that left memory are mostly left out.
    ///
    /// Costs a step for each campaign among 8,192 results, and up to 8,191 more.
    pub(crate) fn after(&self, number: u64) -> impl Iterator<Item = (u64, u32, Record)> {
        // The number is whatever a client asked for: beyond the last it is cut to the last.
        let given = number.saturating_sub(self.settled).min(self.len as u64);
        let mut skip = self.skip;
        let mut before = given as usize + skip;
        let mut next = self.settled + 1 + given;
        let chunks = self.chunks.iter().filter_map(move |chunk| {
            let settled = std::mem::take(&mut skip);
            let from = before.min(chunk.records.len());
            before -= from;
            let (first, passed) = (next, &chunk.records[settled.min(from)..from]);
            let records = &chunk.records[from..];
            next += records.len() as u64;
            (!records.is_empty() && !chunk.of.is_empty()).then_some((first, chunk, passed, records))
        });
        chunks.flat_map(|(first, chunk, passed, records)| {
            let mut counted: BTreeMap<u32, u32> =
                chunk.of.iter().map(|(campaign, of)| (*campaign, of.before)).collect();
            let mut count = move |record: &Record| {
                let count = counted.get_mut(&record.campaign);
                count.map_or(0, |count| {
                    *count += 1;
                    *count
                })
            };
            for record in passed {
                count(record);
            }
            (first..).zip(records).map(move |(number, record)| (number, count(record), *record))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_numbered_and_go_in_order() {
        let mut results = Results::default();
        let kind = Kind::Claim;
        let record = |rank| Record { campaign: 1, rank, pool: 0, kind };
        for rank in 1..=20_000 {
            results.push(record(rank), rank);
        }
        let mut settled = Vec::new();
        results.settle(500, |campaign, count| settled.push((campaign, count)));
        let freed = results.settle(9_000, |campaign, count| settled.push((campaign, count)));
        assert_eq!((settled, freed.len()), (vec![(1, 500), (1, 7_692), (1, 808)], 1));
        assert_eq!((results.settled, results.last(), results.len()), (9_000, 20_000, 11_000));
        let from = |after| results.after(after).map(|(n, c, r)| (n, c, r.rank)).collect::<Vec<_>>();
        let all = (9_001..=20_000).map(|n| (n, n as u32, n as u32));
        assert_eq!(from(0), all.collect::<Vec<_>>());
        assert_eq!(from(19_998), [(19_999, 19_999, 19_999), (20_000, 20_000, 20_000)]);
        assert_eq!(from(20_000), []);
        assert_eq!(from(30_000), []);
        assert_eq!(from(u64::MAX), []);
    }

    #[test]
    fn what_left_memory_is_freed_and_keeps_its_numbers() {
        let mut results = Results::default();
        let kind = Kind::Claim;
        let record = |campaign, rank| Record { campaign, rank, pool: 0, kind };
        // Two chunks of the first campaign, one of both, and a part of one.
        for rank in 1..=20_000 {
            results.push(record(1, rank), rank);
        }
        for rank in 1..=6_000 {
            results.push(record(2, rank), rank);
        }
        assert_eq!(size_of::<Record>(), 12, "an accepted claim takes 50 bytes beside its subject");
        let all = results.memory();
        let freed = results.forget(|campaign| campaign == 2);
        assert_eq!((freed.len(), all - results.memory()), (2, 2 * CHUNK * size_of::<Record>()));
        assert_eq!((results.last(), results.len()), (26_000, 26_000));
        let first = results.after(0).find(|(.., record)| record.campaign == 2);
        assert_eq!(first, Some((20_001, 1, record(2, 1))));
        let mut settled = Vec::new();
        results.settle(25_000, |campaign, count| settled.push((campaign, count)));
        assert_eq!(settled, [(2, 4_576), (2, 424)]);
        assert!(results.forget(|_| false).is_empty(), "a part of a chunk stays");
        assert_eq!(results.after(0).next(), None);
        results.settle(26_000, |_, _| panic!("nobody is left"));
        assert_eq!((results.memory(), results.len(), results.last()), (0, 0, 26_000));
    }

    #[test]
    fn each_result_has_its_number_in_its_campaign_wherever_reading_begins() {
        let mut results = Results::default();
        let (mut of, mut all) = ([0_u32; 3], Vec::new());
        // Three campaigns, one of which is rare; settled in pieces while more come.
        for number in 1..=30_000_u64 {
            let campaign = if number % 997 == 0 { 2 } else { (number / 3 % 2) as u32 };
            of[campaign as usize] += 1;
            let in_campaign = of[campaign as usize];
            let record = Record { campaign, rank: 1, pool: 0, kind: Kind::Claim };
            results.push(record, in_campaign);
            all.push((number, in_campaign, record));
            if number % 700 == 0 {
                results.settle(number - number % 1_400 / 2, |_, _| {});
            }
            let settled = results.settled as usize;
            if number % 1_111 == 0 || number % 700 == 1 {
                for after in [settled, settled + 1, settled + 300, all.len() - 1] {
                    let after = after.min(all.len());
                    let found: Vec<_> = results.after(after as u64).collect();
                    assert_eq!(found, all[after..], "{number}, after {after}");
                }
            }
        }
    }
}
