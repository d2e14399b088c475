//! Reads a campaign: its holds, its results, and when seats become free.

use super::{Campaign, Moved};
use crate::codes::{CodeMark, Use};
use crate::command::{Command, Pick, Wanted};
use crate::hall::{Standing, Unit};
use crate::hold::Hold;
use crate::limits::HOLD_UNITS;
use crate::outcome::UnitName;
use crate::pool::{Claim, Pool};
use crate::results::{self, Kind, Record};
use crate::settings::HoldSettings;
use crate::time::Timestamp;
use crate::waitlist::Unserved;

/// One result with its content.
#[derive(Clone, Debug)]
pub struct ResultRow<'a> {
    /// Its number: 1, 2, 3 over the whole space.
    pub number: u64,
    /// Its number among the results of its campaign: 1, 2, 3.
    pub in_campaign: u32,
    /// What happened.
    pub kind: Kind,
    pub campaign: &'a Campaign,
    pub pool: &'a str,
    /// The place of the pool among those of the campaign, from 0.
    pub place: u16,
    /// To which claim. Of a refund due and of somebody unserved it is none: its rank is 0 and its time that of the result; so is
    /// the time of a move, and its rank is 0 where the unit was only held.
    pub claim: Claim<'a>,
    /// Which unit it was of a seated pool, as of then; of a move the new one.
    pub unit: Option<&'a str>,
    /// The id of the hold it came from, if it came from one.
    pub hold: Option<&'a str>,
    /// More about a move.
    pub moved: Option<&'a Moved>,
    /// Of somebody who left a waitlist without a unit, what they wanted and why they got none.
    pub unserved: Option<&'a Unserved>,
    /// Of a redemption and its rollback, the use of the code: its claim is that of the code.
    pub used: Option<&'a Use>,
    /// More about what an operator did to a code, or to an import: then the claim's rank is 0.
    pub mark: Option<&'a CodeMark>,
}

/// A claim that stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Winner<'a> {
    /// Its rank in its pool.
    pub rank: u32,
    /// Who has it.
    pub subject: &'a str,
    /// When it was won.
    pub at: Timestamp,
    /// The unit of a seated pool that the subject has now.
    pub unit: Option<&'a str>,
    /// The id of the hold it came from, if it came from one.
    pub hold: Option<&'a str>,
}

impl<'a> ResultRow<'a> {
    /// Returns its [fingerprint](results::fingerprint).
    pub fn fingerprint(&self) -> u64 {
        let of = (self.campaign.name(), self.in_campaign, self.pool);
        results::fingerprint(self.kind, of, (self.claim.rank, self.claim.subject))
    }

    /// Returns the unit that became free by a move.
    pub fn moved_from(&self) -> Option<&'a str> {
        self.campaign.moved_from(self.moved?)
    }
}

impl Campaign {
    /// Returns how units are held.
    pub fn hold_settings(&self) -> &HoldSettings {
        &self.holding
    }

    /// Returns a hold by its id, live or ended in the last 24 h.
    pub fn hold_of(&self, id: &str) -> Option<&Hold> {
        self.holds.find(id)
    }

    /// Returns a hold by the number that its seats have.
    pub fn hold_numbered(&self, number: u32) -> Option<&Hold> {
        self.holds.get(number)
    }

    /// Returns all holds, live or ended in the last 24 h, in the order they began.
    pub fn holds(&self) -> impl Iterator<Item = &Hold> {
        self.holds.iter()
    }

    /// Returns the live holds of a subject, in the order they began.
    pub fn holds_of(&self, subject: &str) -> impl Iterator<Item = &Hold> {
        let live = self.holds.holder(subject).map_or(&[][..], |holder| &holder.live);
        live.iter().map(|number| self.holds.at(*number))
    }

    /// Returns how many units the last entry about the campaign gave for good; after a snapshot was read, all of them.
    pub fn given_last(&self) -> u64 {
        self.counted.given.1
    }

    /// Returns how many holds are live.
    pub fn live_holds(&self) -> usize {
        self.holds.live()
    }

    /// Returns how many holds are remembered, live or ended.
    pub fn remembered_holds(&self) -> usize {
        self.holds.len()
    }

    /// Returns the names of the units a hold has, whatever became of them, in its order.
    pub fn units_named(&self, hold: &Hold) -> Vec<UnitName> {
        hold.takes.iter().map(|take| self.unit_name(take.pool, take.unit)).collect()
    }

    /// Returns the seats that were exchanged, in order.
    pub fn moves(&self) -> &[Moved] {
        &self.moves
    }

    /// Returns a result with its content, or nothing if the record points at none.
    pub(crate) fn result(
        &self,
        (number, in_campaign, record): (u64, u32, Record),
    ) -> Option<ResultRow<'_>> {
        let pool = self.pools.get(usize::from(record.pool))?;
        let kind = record.kind;
        let nth = (record.rank as usize).wrapping_sub(1);
        let row = |claim, unit, hold| ResultRow {
            number,
            in_campaign,
            kind,
            campaign: self,
            pool: &pool.name,
            place: record.pool,
            claim,
            unit,
            hold,
            moved: None,
            unserved: None,
            used: None,
            mark: None,
        };
        Some(match kind {
            Kind::Claim | Kind::Cancel => {
                let claim = pool.claim(record.rank)?;
                let grant = pool.grants.of(record.rank);
                // A claim shows the unit it was won with, a cancel the one that was given up.
                let unit = match kind {
                    Kind::Cancel => pool.grants.unit(record.rank),
                    Kind::Claim
                    | Kind::RefundDue
                    | Kind::Moved
                    | Kind::Redeemed
                    | Kind::RolledBack
                    | Kind::CodeMarked
                    | Kind::Unserved => grant.map(|grant| grant.unit),
                };
                let unit = unit.and_then(|unit| pool.unit_name(unit));
                row(claim, unit, grant.map(|grant| grant.hold))
            }
            Kind::RefundDue => {
                let refund = self.refunds.get(nth)?;
                let subject = &*refund.subject;
                let claim = Claim { rank: 0, subject, at: refund.at, cancel: None };
                row(claim, pool.unit_name(refund.unit), Some(&*refund.hold))
            }
            Kind::Moved => {
                let moved = self.moves.get(nth)?;
                let (rank, subject) = (moved.rank, &*moved.subject);
                let claim = Claim { rank, subject, at: moved.at, cancel: None };
                let unit = pool.unit_name(moved.to);
                ResultRow { moved: Some(moved), ..row(claim, unit, Some(&*moved.hold)) }
            }
            Kind::Unserved => {
                let gone = self.unserved.get(record.rank)?;
                let subject = &*gone.subject;
                let claim = Claim { rank: 0, subject, at: gone.at, cancel: None };
                ResultRow { unserved: Some(gone), ..row(claim, None, None) }
            }
            Kind::Redeemed | Kind::RolledBack => {
                let used = pool.codes()?.uses.get(record.rank)?;
                ResultRow { used: Some(used), ..row(pool.claim(used.rank)?, None, None) }
            }
            Kind::CodeMarked => {
                let mark = pool.codes()?.marks.get(nth)?;
                let of_import = Claim { rank: 0, subject: "", at: mark.at, cancel: None };
                let claim = if mark.rank == 0 { of_import } else { pool.claim(mark.rank)? };
                ResultRow { mark: Some(mark), ..row(claim, None, None) }
            }
        })
    }

    /// Returns who has a rank of this pool now, or nothing where nobody has: it was cancelled, or never given.
    pub fn winner<'a>(&self, pool: &'a Pool, rank: u32) -> Option<Winner<'a>> {
        let Claim { rank, subject, at, cancel: None } = pool.claim(rank)? else { return None };
        let unit = pool.grants.unit(rank).and_then(|unit| pool.unit_name(unit));
        let hold = pool.grants.of(rank).map(|grant| grant.hold);
        Some(Winner { rank, subject, at, unit, hold })
    }

    /// Returns the name of the seat that became free by a move.
    pub fn moved_from(&self, moved: &Moved) -> Option<&str> {
        self.pools.get(usize::from(moved.pool))?.unit_name(moved.from)
    }

    /// Returns the seats and groups that a hold names, with the index of the pool of each: what can be waited for.
    ///
    /// Empty if it names no seat, one that is not had by itself, or more seats than a hold can have: then waiting
    /// changes nothing. None if it names a seat, or a pool with seats, that is not there.
    ///
    /// # Panics
    ///
    /// The command is not a hold.
    pub fn waits_for(&self, command: &Command<'_>) -> Option<Vec<(u16, Unit)>> {
        let Command::Hold { picks, .. } = command else { panic!("only a hold waits") };
        let (mut units, mut seats) = (Vec::new(), 0);
        for pick in picks {
            let Wanted::Units(names) = &pick.wanted else { continue };
            let index = self.pool_of(pick).ok()?;
            let hall = self.pools[index].hall()?;
            for name in names {
                match hall.find(name)? {
                    Unit::Area(_) => continue,
                    Unit::Seat(seat) if hall.group_of(seat).is_some() => return Some(Vec::new()),
                    unit @ Unit::Seat(_) => {
                        seats += 1;
                        units.push((index as u16, unit));
                    }
                    unit @ Unit::Group(group) => {
                        seats += hall.group(group).len();
                        units.push((index as u16, unit));
                    }
                }
                if seats > HOLD_UNITS {
                    return Some(Vec::new());
                }
            }
        }
        units.sort_unstable();
        units.dedup();
        Some(units)
    }

    /// Says whether the groups that a command names have more seats, with what else it names, than a hold can have.
    ///
    /// Costs a look-up for each name; [`Command::may_name_too_much`] says without a state for which commands this is useful.
    pub fn names_too_much(&self, command: &Command<'_>) -> bool {
        let beyond = |picks: &[Pick<'_>]| {
            let mut seats = 0;
            for pick in picks {
                let Wanted::Units(names) = &pick.wanted else { continue };
                let pool = self.pool_of(pick).ok().and_then(|index| self.pools[index].hall());
                let Some(hall) = pool else { continue };
                for name in names {
                    seats += match hall.find(name) {
                        Some(Unit::Group(group)) => hall.group(group).len(),
                        Some(Unit::Seat(_) | Unit::Area(_)) | None => 1,
                    };
                    if seats > HOLD_UNITS {
                        return true;
                    }
                }
            }
            false
        };
        command.pick_lists().into_iter().any(beyond)
    }

    /// Returns the service time, in microseconds, from which on all these units are free if nobody does anything until
    /// then: long ago where all are. None where one is somebody's for good, or blocked.
    ///
    /// Units are those of [`Campaign::waits_for`], in this state or in an earlier one.
    pub fn free_from(&self, units: &[(u16, Unit)]) -> Option<i64> {
        let mut latest = i64::MIN;
        for (pool, unit) in units {
            let Some(hall) = self.pools.get(usize::from(*pool)).and_then(|pool| pool.hall()) else {
                return Some(i64::MIN);
            };
            let one;
            let seats = match unit {
                Unit::Seat(seat) if *seat < hall.seats() => {
                    one = [*seat];
                    &one[..]
                }
                Unit::Group(group) if *group < hall.groups() => hall.group(*group),
                Unit::Seat(_) | Unit::Group(_) => return Some(i64::MIN),
                Unit::Area(_) => continue,
            };
            for seat in seats {
                match hall.standing(*seat) {
                    Standing::Free => {}
                    Standing::Held(number) => latest = latest.max(self.holds.at(number).deadline),
                    Standing::Confirmed(_) | Standing::Blocked => return None,
                }
            }
        }
        Some(latest)
    }
}
