//! One hold: its subject, its units and its deadline.

use crate::limits::{HOLD_STEPS, HOLD_UNITS};
use crate::time::Timestamp;

/// Which unit of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnitId {
    /// One of a counted pool, each like the other.
    Counted,
    /// The seat of this number.
    Seat(u32),
    /// One of the area of this number.
    Area(u16),
}

impl UnitId {
    /// Returns the number it is stored as.
    pub(crate) fn code(self) -> u64 {
        match self {
            Self::Counted => 0,
            Self::Seat(seat) => u64::from(seat) << 1 | 1,
            Self::Area(area) => (u64::from(area) + 1) << 1,
        }
    }

    pub(crate) fn of(code: u64) -> Option<Self> {
        match (code >> 1, code & 1) {
            (0, 0) => Some(Self::Counted),
            (seat, 1) => u32::try_from(seat).ok().map(Self::Seat),
            (area, _) => u16::try_from(area - 1).ok().map(Self::Area),
        }
    }
}

/// What became of a unit of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is set aside.
    Held,
    /// It is the subject's for good, with this rank.
    Confirmed(u32),
    /// The hold's time was over.
    Expired,
    /// It was paid for too late, and what was paid is to be given back.
    Refunded,
    /// The subject gave it back.
    Released,
}

/// A unit of a hold. What was dropped in a change is not one any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The index of its pool in the campaign, from 0.
    pub pool: u16,
    /// Which unit of the pool it is.
    pub unit: UnitId,
    /// What became of it.
    pub fate: Fate,
}

/// How a hold stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldStanding {
    /// Some of its units are set aside.
    Live,
    /// It has ended, and some of its units are the subject's for good.
    Confirmed,
    /// Its time was over.
    Expired,
    /// The subject gave all of it back.
    Released,
    /// It was paid for too late, and what was paid is to be given back.
    RefundDue,
}

impl HoldStanding {
    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Confirmed => "confirmed",
            Self::Expired => "expired",
            Self::Released => "released",
            Self::RefundDue => "refund_due",
        }
    }
}

/// A step on a hold that is known again by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownStep {
    pub(crate) id: Box<str>,
    /// What it asked: see [`Command::content`](crate::Command::content).
    pub(crate) content: u64,
    /// Of an extension, the deadline that it gave.
    pub(crate) deadline: Option<i64>,
}

/// What makes a hold an offer to somebody on a waitlist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// The index of the pool whose list it is.
    pub(crate) pool: u16,
    /// The number of the kind of wish, as long as the hold is live.
    pub(crate) kind: u32,
    /// How many offers the subject had let go before.
    pub(crate) missed: u8,
    /// Whether the subject has left the list: then it does not come back to it.
    pub(crate) left: bool,
}

/// Units set aside for a subject until a deadline, and what became of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub(crate) number: u32,
    pub(crate) id: Box<str>,
    pub(crate) subject: Box<str>,
    /// The number of its subject among the holders, so that its end needs no look for the name.
    pub(crate) holder: u32,
    /// What was asked at first, whatever the id: see [`Command::content`](crate::Command::content).
    pub(crate) content: u64,
    pub(crate) at: Timestamp,
    /// Service time at its start.
    pub(crate) started: i64,
    /// Service time at which it is over.
    pub(crate) deadline: i64,
    /// Service time at which it ended, once it has.
    pub(crate) ended: Option<i64>,
    /// The steps on it that had an id, the oldest first.
    pub(crate) steps: Vec<KnownStep>,
    /// By pool and then in the pool's order.
    pub(crate) takes: Vec<Allocation>,
    /// Whether units were taken again after it had expired.
    pub(crate) retaken: bool,
    /// When it was first decided that a refund is due, if one is.
    pub(crate) refunded_at: Option<Timestamp>,
    /// How many units the subject may have, as it was said last when units were asked for: who takes them again
    /// after the hold expired is not asked about once more.
    pub(crate) limit: Option<u32>,
    /// Of an offer to somebody on a waitlist, what it is.
    pub(crate) offer: Option<Offer>,
}

impl Hold {
    /// Says whether it is an offer to somebody on a waitlist.
    pub fn is_offer(&self) -> bool {
        self.offer.is_some()
    }

    /// Returns how many offers its subject had let go before, of an offer.
    pub fn offers_not_taken(&self) -> Option<u8> {
        self.offer.map(|offer| offer.missed)
    }

    /// Returns the number seats and results know it by: 1, 2, 3 in the campaign.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns whose it is.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns the moment it began.
    pub fn started_at(&self) -> Timestamp {
        self.at
    }

    /// Returns the service time at which it is over, in microseconds:
    /// [`State::moment`](crate::State::moment) makes a moment of it.
    pub fn deadline(&self) -> i64 {
        self.deadline
    }

    /// Returns its units.
    pub fn takes(&self) -> &[Allocation] {
        &self.takes
    }

    /// Says whether some of its units are set aside.
    pub fn is_live(&self) -> bool {
        self.ended.is_none()
    }

    /// Says how it stands.
    pub fn standing(&self) -> HoldStanding {
        let any = |is: fn(&Fate) -> bool| self.takes.iter().any(|take| is(&take.fate));
        if self.is_live() {
            HoldStanding::Live
        } else if any(|fate| matches!(fate, Fate::Confirmed(_))) {
            HoldStanding::Confirmed
        } else if any(|fate| *fate == Fate::Refunded) {
            HoldStanding::RefundDue
        } else if any(|fate| *fate == Fate::Expired) {
            HoldStanding::Expired
        } else {
            HoldStanding::Released
        }
    }

    /// Returns how many of its units are set aside.
    pub fn held(&self) -> u32 {
        self.takes.iter().filter(|take| take.fate == Fate::Held).count() as u32
    }

    /// Says what a step's id asked, if it is remembered.
    pub(crate) fn step(&self, id: &str) -> Option<u64> {
        self.steps.iter().find(|known| *known.id == *id).map(|known| known.content)
    }

    /// Returns the deadline that an extension gave, by its id.
    pub(crate) fn extended(&self, id: &str) -> Option<i64> {
        self.steps.iter().find(|known| *known.id == *id)?.deadline
    }

    pub(crate) fn remember(&mut self, id: Option<&str>, content: u64) {
        self.remember_step(id, content, None);
    }

    /// Remembers an extension and the deadline it gave.
    pub(crate) fn remember_extended(&mut self, id: Option<&str>, content: u64, deadline: i64) {
        self.remember_step(id, content, Some(deadline));
    }

    fn remember_step(&mut self, id: Option<&str>, content: u64, deadline: Option<i64>) {
        let Some(id) = id else { return };
        if self.steps.len() == HOLD_STEPS {
            self.steps.remove(0);
        }
        self.steps.push(KnownStep { id: id.into(), content, deadline });
    }

    /// Adds units that were set aside for it. One that was given back before is there once only.
    pub(crate) fn put(&mut self, takes: &[Allocation]) {
        for take in takes {
            let same = |old: &Allocation| (old.pool, old.unit) == (take.pool, take.unit);
            let before = self.takes.iter().position(|t| same(t) && t.fate == Fate::Released);
            match before {
                Some(at) => self.takes[at] = *take,
                None => self.takes.push(*take),
            }
        }
        while self.takes.len() > HOLD_UNITS {
            let given_back = self.takes.iter().position(|take| take.fate == Fate::Released);
            self.takes.remove(given_back.expect("a hold's size was checked"));
        }
        self.takes.sort_by_key(|take| (take.pool, take.unit));
    }

    /// Returns about how many bytes it takes.
    pub(crate) fn memory(&self) -> usize {
        let steps: usize = self.steps.iter().map(|step| step.id.len() + 48).sum();
        size_of::<Self>()
            + self.id.len()
            + self.subject.len()
            + steps
            + room_for(self.takes.len()) * size_of::<Allocation>()
    }
}

/// Returns the approximate capacity of a list of this length, the same whether or not it was copied.
pub(crate) fn room_for(len: usize) -> usize {
    if len == 0 { 0 } else { len.next_power_of_two().max(4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_back_as_they_were_written() {
        for unit in [
            UnitId::Counted,
            UnitId::Seat(0),
            UnitId::Seat(u32::MAX),
            UnitId::Area(0),
            UnitId::Area(u16::MAX),
        ] {
            assert_eq!(UnitId::of(unit.code()), Some(unit));
        }
        assert_eq!(UnitId::of(u64::MAX), None);
    }
}
