//! Reads the state.

use super::{Archived, CLEARED_DEADLINES, Named, Stamp, State};
use crate::campaign::{Campaign, HoldRequest, ResultRow};
use crate::command::{Command, Mark};
use crate::context::{ApplyContext, Deadlines, NewResults};
use crate::names::{Name, Position, SpaceId};
use crate::outcome::{Missing, Outcome, Refusal};
use crate::results::Record;
use crate::time::Timestamp;
use firstcome_inject::{Mistake, inject};
use std::ops::Bound;

impl State {
    /// Returns a campaign, or why there is none: `not_found` or `archived`.
    pub fn campaign(&self, name: &str) -> Result<&Campaign, Refusal> {
        match self.names.get(name) {
            Some(Named::Live(number)) => {
                Ok(self.campaigns.get(number).expect("a live name has its campaign"))
            }
            Some(Named::Archived(_)) => Err(Refusal::Archived),
            None => Err(Refusal::NotFound(Missing::Campaign)),
        }
    }

    /// Says what a [`Command::Hold`] would get as far as that is known without choosing units, and whether its
    /// campaign lets a subject claim again; nothing if it may well be held, and for any other command.
    ///
    /// A unit counts as taken, and a hold as held, only if that lasts for longer than `margin_us` of service time.
    pub fn judge_hold(&self, command: &Command<'_>, margin_us: i64) -> Option<(Outcome, bool)> {
        let Command::Hold { campaign, id, subject, picks, limit } = command else { return None };
        let campaign = match self.campaign(campaign) {
            Ok(campaign) => campaign,
            Err(refusal) => return Some((refusal.into(), false)),
        };
        let request = HoldRequest { id, subject, picks, limit: *limit, content: command.content() };
        let (mut deadlines, mut results) = (Deadlines::new(), NewResults::default());
        let (at, service) = (self.at(), self.service());
        let context =
            ApplyContext { at, service, deadlines: &mut deadlines, results: &mut results };
        campaign
            .judge_hold(&context, &request, margin_us)
            .map(|outcome| (outcome, campaign.claim_again))
    }

    /// Returns a campaign in memory by its number.
    pub fn campaign_numbered(&self, number: u32) -> Option<&Campaign> {
        self.campaigns.get(&number)
    }

    /// Returns the campaigns in memory, in order of creation.
    pub fn campaigns(&self) -> impl DoubleEndedIterator<Item = &Campaign> {
        self.campaigns.values()
    }

    /// Returns the campaigns in memory behind one of them, by its number, in order of creation.
    pub fn campaigns_after(&self, number: u32) -> impl Iterator<Item = &Campaign> {
        self.campaigns.range((Bound::Excluded(number), Bound::Unbounded)).map(|(_, found)| found)
    }

    /// Returns the campaigns whose names begin so, behind a name, by name: in memory, or that left it.
    pub fn campaigns_named<'a>(
        &'a self,
        begin: &'a str,
        after: &'a str,
    ) -> impl Iterator<Item = (&'a str, Result<&'a Campaign, &'a Archived>)> {
        let from = if after < begin { Bound::Included(begin) } else { Bound::Excluded(after) };
        let names = self.names.range::<str, _>((from, Bound::Unbounded));
        names.take_while(move |(name, _)| name.starts_with(begin)).map(|(name, named)| {
            (
                &**name,
                match named {
                    Named::Live(number) => {
                        Ok(self.campaigns.get(number).expect("a live name has its campaign"))
                    }
                    Named::Archived(archived) => Err(archived),
                },
            )
        })
    }

    /// Returns results that are not settled, beyond a number, in order.
    ///
    /// Results of campaigns that left memory unsettled are left out.
    pub fn results_after(&self, number: u64) -> impl Iterator<Item = ResultRow<'_>> {
        let result =
            |result: (_, _, Record)| self.campaigns.get(&result.2.campaign)?.result(result);
        self.results.after(number).filter_map(result)
    }

    /// Returns the number of the last result; 0 before the first.
    pub fn last_result(&self) -> u64 {
        self.results.last()
    }

    /// Returns the number up to which results are settled.
    pub fn settled(&self) -> u64 {
        self.results.settled
    }

    /// Returns the [fingerprint](crate::results::fingerprint) of the last of them, where it is known.
    pub fn settled_fingerprint(&self) -> Option<u64> {
        Some(self.results.fingerprint).filter(|known| *known != 0)
    }

    /// Returns how many results are kept because no ledger is known to have them.
    pub fn unsettled(&self) -> usize {
        self.results.len()
    }

    /// Returns the highest term seen in a settle mark.
    pub fn term(&self) -> u64 {
        self.results.term
    }

    /// Says whether a batch would be a copy: one of the same node with this number or a higher one ran.
    pub fn has_run(&self, batch: Name) -> bool {
        self.batches.last.get(&batch.node).is_some_and(|last| batch.number <= last.number)
    }

    /// Returns the space this is the state of.
    pub fn space(&self) -> SpaceId {
        self.space
    }

    /// Returns the position of the last entry applied; 0 before the first.
    pub fn position(&self) -> u64 {
        self.stamp.position
    }

    /// Returns the position as clients see it.
    pub fn token(&self) -> Position {
        let Stamp { epoch, position, .. } = self.stamp;
        Position { epoch, position }
    }

    /// Returns the stamp of the last entry applied.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Returns the level of the space: the highest of any entry applied, at which the next one is written.
    pub fn level(&self) -> u32 {
        self.stamp.level
    }

    /// Returns the time of the last entry applied.
    pub fn at(&self) -> Timestamp {
        self.stamp.at
    }

    /// Returns the service time in microseconds.
    pub fn service(&self) -> i64 {
        self.service
    }

    /// Returns the digest after the last entry applied.
    pub fn digest(&self) -> u64 {
        self.digest.0
    }

    /// Returns what this state says of itself to others.
    pub fn mark(&self) -> Mark {
        Mark { position: self.position(), digest: self.digest() }
    }

    /// Returns the digest as it was at a position, if that is among the last 4,096; before the first entry it is 0.
    pub fn digest_at(&self, position: u64) -> Option<u64> {
        if position == 0 {
            return Some(0);
        }
        let back = usize::try_from(self.position().checked_sub(position)?).ok()?;
        let index = self.digests.len().checked_sub(back + 1)?;
        self.digests.get(index).copied()
    }

    /// Returns the opening, the closing or the end of a hold that lies next after the last entry.
    ///
    /// That of a hold counts service time: it comes later if journal time jumps. Service time only goes on
    /// with entries, at most 15 s with each, so while there are live holds entries must not be far apart.
    /// While waitlists are being served it is the time of the last entry: the next one goes on with it.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let campaigns = self.campaigns.values().filter_map(|c| c.next_deadline(self.at())).min();
        let expiry = self.next_expiry().filter(|_| !inject(Mistake::NoTickForHolds));
        campaigns.into_iter().chain(expiry).chain(self.has_list_work().then(|| self.at())).min()
    }

    /// Returns when the next hold is over if journal time goes on without a break; none without live holds.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        if self.live_holds() == 0 {
            return None;
        }
        let live = |due: &&(i64, u32, u32)| self.campaigns.contains_key(&due.1);
        // Deadlines that went with their campaign may stand before: where there are many, one of them is looked at.
        let first = self.deadlines.iter().take(CLEARED_DEADLINES).find(live);
        first.or(self.deadlines.first()).map(|(deadline, ..)| self.moment(*deadline))
    }

    /// Returns the moment at which a service time comes, or came, if journal time goes on without a break.
    pub fn moment(&self, service: i64) -> Timestamp {
        self.at().plus_micros(service - self.service)
    }
}
