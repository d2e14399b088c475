//! The status of each seat, and counts by status.

use std::sync::Arc;

/// Seats whose standing is kept, copied and written together.
pub(super) const RUN: usize = 4_096;

/// How a seat stands.
///
/// The number is opaque to the seat map: it belongs to the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has it.
    #[default]
    Free,
    /// Set aside, by the hold of this number.
    Held(u32),
    /// Somebody's, with this rank.
    Confirmed(u32),
    /// Kept back by an operator.
    Blocked,
}

/// What a [`Standing`] is without its number. Places of an area have no more than this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Nobody's.
    #[default]
    Free,
    /// Set aside.
    Held,
    /// Somebody's.
    Confirmed,
    /// Kept back.
    Blocked,
}

impl Standing {
    /// Returns the kind.
    pub fn kind(self) -> Kind {
        match self {
            Self::Free => Kind::Free,
            Self::Held(_) => Kind::Held,
            Self::Confirmed(_) => Kind::Confirmed,
            Self::Blocked => Kind::Blocked,
        }
    }

    /// Says whether nobody has it and it is not kept back.
    pub fn is_free(self) -> bool {
        self == Self::Free
    }

    pub(super) fn number(self) -> u32 {
        match self {
            Self::Held(number) | Self::Confirmed(number) => number,
            Self::Free | Self::Blocked => 0,
        }
    }

    pub(super) fn of(kind: Kind, number: u32) -> Self {
        match kind {
            Kind::Free => Self::Free,
            Kind::Held => Self::Held(number),
            Kind::Confirmed => Self::Confirmed(number),
            Kind::Blocked => Self::Blocked,
        }
    }
}

/// How many units stand how. Free, held, confirmed and blocked are all there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitCounts {
    /// Nobody's, for sale or not.
    pub free: u32,
    /// Set aside.
    pub held: u32,
    /// Somebody's.
    pub confirmed: u32,
    /// Kept back.
    pub blocked: u32,
    /// How many of the free ones are for sale.
    pub left: u32,
}

impl UnitCounts {
    /// Returns how many units there are.
    pub fn all(&self) -> u32 {
        self.free + self.held + self.confirmed + self.blocked
    }

    pub(super) fn of(&mut self, kind: Kind) -> &mut u32 {
        match kind {
            Kind::Free => &mut self.free,
            Kind::Held => &mut self.held,
            Kind::Confirmed => &mut self.confirmed,
            Kind::Blocked => &mut self.blocked,
        }
    }

    /// Counts units that are new.
    pub(super) fn come(&mut self, units: u32, for_sale: bool) {
        self.free += units;
        self.left += if for_sale { units } else { 0 };
    }

    /// Counts units of a kind that came from elsewhere.
    pub(super) fn join(&mut self, units: u32, kind: Kind, for_sale: bool) {
        *self.of(kind) += units;
        self.left += if for_sale && kind == Kind::Free { units } else { 0 };
    }

    /// Counts units of a kind that are elsewhere now.
    pub(super) fn leave(&mut self, units: u32, kind: Kind, for_sale: bool) {
        *self.of(kind) -= units;
        self.left -= if for_sale && kind == Kind::Free { units } else { 0 };
    }

    /// Moves units from one kind to another.
    pub(super) fn shift(&mut self, units: u32, from: Kind, to: Kind, for_sale: bool) {
        *self.of(from) -= units;
        *self.of(to) += units;
        if for_sale && from == Kind::Free {
            self.left -= units;
        }
        if for_sale && to == Kind::Free {
            self.left += units;
        }
    }
}

/// The standing of some neighbouring seats.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    kinds: Vec<Kind>,
    numbers: Vec<u32>,
}

impl Run {
    pub(super) fn iter(&self) -> impl Iterator<Item = Standing> {
        self.kinds.iter().zip(&self.numbers).map(|(kind, number)| Standing::of(*kind, *number))
    }
}

/// The standing of every seat, in runs of neighbours that are shared: one is copied only if written to meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Standings {
    pub(super) runs: Vec<Arc<Run>>,
}

impl Standings {
    /// Returns what every seat is, in the order of adding.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.runs.iter().flat_map(|run| run.kinds.iter().copied())
    }

    /// Returns the seats that are of another kind than they were, in the order of adding, with what they are now.
    ///
    /// `before` is of the same hall. Runs that nobody wrote to in between are not looked at; seats that were added in
    /// between are not among those given.
    pub fn changes_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = (u32, Kind)> + 'a {
        let pairs = self.runs.iter().zip(&before.runs).enumerate();
        pairs.filter(|(_, (run, old))| !Arc::ptr_eq(run, old)).flat_map(|(at, (run, old))| {
            let seats = (at * RUN) as u32..;
            let kinds = run.kinds.iter().zip(&old.kinds);
            let changed = seats.zip(kinds).filter(|(_, (kind, old))| kind != old);
            changed.map(|(seat, (kind, _))| (seat, *kind))
        })
    }

    pub(super) fn get(&self, seat: u32) -> Standing {
        let (run, at) = (&self.runs[seat as usize / RUN], seat as usize % RUN);
        Standing::of(run.kinds[at], run.numbers[at])
    }

    /// Sets a seat's standing and gives what it was.
    pub(super) fn set(&mut self, seat: u32, standing: Standing) -> Standing {
        let (run, at) = (&mut self.runs[seat as usize / RUN], seat as usize % RUN);
        let run = Arc::make_mut(run);
        let number = std::mem::replace(&mut run.numbers[at], standing.number());
        Standing::of(std::mem::replace(&mut run.kinds[at], standing.kind()), number)
    }

    /// Adds a free seat.
    pub(super) fn push(&mut self) {
        let full = self.runs.last().is_none_or(|run| run.kinds.len() == RUN);
        if full {
            self.runs.push(Arc::default());
        }
        let run = Arc::make_mut(self.runs.last_mut().expect("there is one"));
        run.kinds.push(Kind::Free);
        run.numbers.push(0);
    }

    pub(super) fn memory(&self) -> usize {
        let full = self.runs.len().saturating_sub(1) * RUN;
        let seats = full + self.runs.last().map_or(0, |run| run.kinds.len());
        seats * 5 + self.runs.len() * 64
    }
}
