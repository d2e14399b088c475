//! Reads a campaign: its holds, its results, and when seats become free.

use super::select::Reach;
use super::{Campaign, Moved, ResultRow};
use crate::command::Command;
use crate::hall::Standing;
use crate::hold::Hold;
use crate::outcome::UnitName;
use crate::pool::Claim;
use crate::results::{Kind, Record};
use crate::settings::HoldSettings;

impl Campaign {
    /// Gives how units are held.
    pub fn hold_settings(&self) -> &HoldSettings {
        &self.holding
    }

    /// Gives a hold by its id, live or ended in the last 24 h.
    pub fn hold_of(&self, id: &str) -> Option<&Hold> {
        self.holds.find(id)
    }

    /// Gives all holds, live or ended in the last 24 h, in the order they began.
    pub fn holds(&self) -> impl Iterator<Item = &Hold> {
        self.holds.iter()
    }

    /// Gives the live holds of a subject, in the order they began.
    pub fn holds_of(&self, subject: &str) -> impl Iterator<Item = &Hold> {
        let live = self.holds.holder(subject).map_or(&[][..], |holder| &holder.live);
        live.iter().map(|number| self.holds.at(*number))
    }

    /// Gives how many holds are live.
    pub fn live_holds(&self) -> usize {
        self.holds.live()
    }

    /// Gives how many holds are remembered, live or ended.
    pub fn remembered_holds(&self) -> usize {
        self.holds.len()
    }

    /// Gives the names of the units a hold has, whatever became of them, in its order.
    pub fn units_named(&self, hold: &Hold) -> Vec<UnitName> {
        hold.takes.iter().map(|take| self.unit_name(take.pool, take.unit)).collect()
    }

    /// Gives the seats that were exchanged, in order.
    pub fn moves(&self) -> &[Moved] {
        &self.moves
    }

    /// Gives a result with its content, or nothing if the record points at none.
    pub(crate) fn result(&self, number: u64, record: Record) -> Option<ResultRow<'_>> {
        let pool = self.pools.get(usize::from(record.pool))?;
        let kind = record.kind;
        let nth = (record.rank as usize).wrapping_sub(1);
        let row = |claim, unit, hold| ResultRow {
            number,
            kind,
            campaign: self,
            pool: &pool.name,
            claim,
            unit,
            hold,
            moved: None,
        };
        Some(match kind {
            Kind::Claim | Kind::Cancel => {
                let claim = pool.claim(record.rank)?;
                let grant = pool.grants.of(record.rank);
                // A claim shows the unit it was won with, a cancel the one that was given up.
                let unit = match kind {
                    Kind::Cancel => pool.grants.unit(record.rank),
                    Kind::Claim | Kind::RefundDue | Kind::Moved => grant.map(|grant| grant.unit),
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
        })
    }

    /// Gives the name of the seat that became free by a move.
    pub fn moved_from(&self, moved: &Moved) -> Option<&str> {
        self.pools.get(usize::from(moved.pool))?.unit_name(moved.from)
    }

    /// Gives the service time, in microseconds, from which on every seat a command names is free if nobody does
    /// anything until then: long ago where all are. None where one is somebody's for good, or blocked.
    ///
    /// # Panics
    ///
    /// The command is not a hold.
    pub fn free_from(&self, command: &Command<'_>) -> Option<i64> {
        let Command::Hold { picks, .. } = command else { panic!("only a hold is judged") };
        let Ok(selection) = self.select(picks, Reach::Any) else { return Some(i64::MIN) };
        let mut deadlines = self.taken(&selection).into_iter().map(|(pool, seat)| {
            match self.pools[usize::from(pool)].hall()?.standing(seat) {
                Standing::Held(number) => Some(self.holds.at(number).deadline),
                Standing::Free | Standing::Confirmed(_) | Standing::Blocked => None,
            }
        });
        deadlines.try_fold(i64::MIN, |latest, deadline| Some(latest.max(deadline?)))
    }
}
