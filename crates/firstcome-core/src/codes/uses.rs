//! What references did with the codes of a pool.

use crate::index::SubjectIndex;
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Uses whose numbers are neighbours, kept and written together: with the longest texts they fit one piece.
const TOGETHER: u32 = 256;

/// Where a use stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseState {
    /// Set aside until a service time, in microseconds: over at it.
    Reserved {
        /// The service time.
        deadline: i64,
    },
    /// The reservation was given back.
    Released,
    /// The code was redeemed.
    Redeemed,
    /// The redemption was undone.
    RolledBack {
        /// When it had been redeemed.
        redeemed_at: Timestamp,
        /// Whether the code had expired by then: the use did not come back.
        expired: bool,
    },
}

/// One use of a code, known by the code and the reference it was made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The rank of the code's claim by then.
    pub rank: u32,
    /// The reference: an order or a payment, as the caller names it.
    pub reference: Box<str>,
    /// Who used it, where somebody else than its holder was named.
    pub user: Option<Box<str>>,
    /// When its state began.
    pub at: Timestamp,
    /// Where it stands.
    pub state: UseState,
    /// The first rank at which the code was issued: uses of one code have the same.
    pub(crate) code: u32,
    /// The number of the use of the same code before it; 0 if there was none.
    pub(crate) earlier: u32,
}

impl Use {
    fn memory(&self) -> usize {
        let user = self.user.as_ref().map_or(0, |user| user.len());
        size_of::<Self>() + 64 + self.reference.len() + user
    }

    /// Returns the moment it was redeemed, if it was.
    pub fn redeemed_at(&self) -> Option<Timestamp> {
        match self.state {
            UseState::Redeemed => Some(self.at),
            UseState::RolledBack { redeemed_at, .. } => Some(redeemed_at),
            UseState::Reserved { .. } | UseState::Released => None,
        }
    }

    /// Says whether it takes one of the code's uses for good.
    fn counts(&self) -> bool {
        match self.state {
            UseState::Redeemed | UseState::RolledBack { expired: true, .. } => true,
            UseState::RolledBack { expired: false, .. }
            | UseState::Reserved { .. }
            | UseState::Released => false,
        }
    }
}

/// What the uses of one code come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Uses that are gone for good.
    pub(crate) used: u32,
    /// Reservations, some of which may be over.
    pub(crate) reserved: u32,
    /// Uses of any state.
    pub(crate) all: u32,
    /// The number of the last one.
    pub(crate) last: u32,
}

/// What the uses of one subject come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct UserTally {
    used: u32,
    /// Reservations by when they are over; some may be.
    reserved: BTreeSet<(i64, u32)>,
}

pub(crate) type NeighbourUses = BTreeMap<u32, Use>;

/// All uses of a pool's codes. Numbers go up from 1 in the order of the first step and are never used twice.
///
/// A code is known by the first rank at which it was issued.
///
/// Nothing happens when a reservation is over: whoever looks compares its deadline. Only where a code, or a subject, has
/// no use left are reservations looked for that are over, one command a few of them; so each check is exact.
#[derive(Debug)]
pub(crate) struct Uses {
    pub(crate) chunks: BTreeMap<u32, Arc<NeighbourUses>>,
    pub(crate) last: u32,
    index: SubjectIndex,
    codes: BTreeMap<u32, Tally>,
    /// Reservations by code and by when they are over: the tally's.
    reserved: BTreeSet<(u32, i64, u32)>,
    /// By subject, where that is limited.
    users: Option<BTreeMap<Box<str>, UserTally>>,
    bytes: usize,
}

impl Uses {
    pub(crate) fn new(by_user: bool) -> Self {
        Self {
            chunks: BTreeMap::new(),
            last: 0,
            index: SubjectIndex::new(),
            codes: BTreeMap::new(),
            reserved: BTreeSet::new(),
            users: by_user.then(BTreeMap::new),
            bytes: 0,
        }
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Use> {
        self.chunks.get(&(number / TOGETHER))?.get(&number)
    }

    fn at(&self, number: u32) -> &Use {
        self.get(number).expect("a number that was given has its use")
    }

    fn at_mut(&mut self, number: u32) -> &mut Use {
        let chunk = self.chunks.get_mut(&(number / TOGETHER)).expect("a use has its chunk");
        // A snapshot under way may hold the chunk: then this copies it.
        Arc::make_mut(chunk).get_mut(&number).expect("a number that was given has its use")
    }

    pub(crate) fn tally(&self, code: u32) -> Tally {
        self.codes.get(&code).copied().unwrap_or_default()
    }

    /// Returns the number of the last use of a code under a reference.
    pub(crate) fn find(&self, code: u32, reference: &str) -> Option<u32> {
        let same = |number| {
            let known = self.at(number);
            known.code == code && *known.reference == *reference
        };
        self.index.find(&key(code, reference), same)
    }

    /// Returns the uses of a code, the last first.
    pub(crate) fn of(&self, code: u32) -> impl Iterator<Item = (u32, &Use)> {
        let first = self.tally(code).last;
        let numbers = std::iter::successors(Some(first), |number| Some(self.get(*number)?.earlier));
        numbers.map_while(|number| Some((number, self.get(number)?)))
    }

    /// Returns how many reservations of a code are live at a service time.
    pub(crate) fn live(&self, code: u32, service: i64) -> usize {
        let after = service.saturating_add(1);
        self.reserved.range((code, after, 0)..=(code, i64::MAX, u32::MAX)).count()
    }

    /// Says whether a code has a use left, beside those that are redeemed or set aside for live reservations.
    pub(crate) fn has_left(&mut self, code: u32, uses: u32, service: i64) -> bool {
        let free = |tally: Tally| tally.used.saturating_add(tally.reserved) < uses;
        if free(self.tally(code)) {
            return true;
        }
        let over = self.reserved.range((code, i64::MIN, 0)..=(code, service, u32::MAX));
        let over: Vec<_> = over.take(64).copied().collect();
        for (_, deadline, number) in over {
            self.lapse(number, deadline);
        }
        if free(self.tally(code)) {
            return true;
        }
        // More are over only where the operator took uses away.
        let left = uses.saturating_sub(self.tally(code).used) as usize;
        let after = service.saturating_add(1);
        let live = self.reserved.range((code, after, 0)..=(code, i64::MAX, u32::MAX));
        live.take(left).count() < left
    }

    /// Says whether a subject has a use left of those it may have.
    pub(crate) fn user_has_left(&mut self, user: &str, most: u32, service: i64) -> bool {
        let Some(tally) = self.users.as_mut().and_then(|users| users.get_mut(user)) else {
            return true;
        };
        let mut looked = 0;
        while looked < 64
            && let Some(first) = tally.reserved.first().copied()
            && first.0 <= service
        {
            tally.reserved.remove(&first);
            looked += 1;
        }
        let left = most.saturating_sub(tally.used) as usize;
        let live = tally.reserved.range((service.saturating_add(1), 0)..);
        live.take(left).count() < left
    }

    /// Counts a reservation no more that is over.
    fn lapse(&mut self, number: u32, deadline: i64) {
        let code = self.at(number).code;
        if self.reserved.remove(&(code, deadline, number)) {
            self.codes.entry(code).or_default().reserved -= 1;
        }
    }

    fn user_tally(&mut self, user: &str) -> Option<&mut UserTally> {
        let users = self.users.as_mut()?;
        if !users.contains_key(user) {
            users.insert(user.into(), UserTally::default());
        }
        users.get_mut(user)
    }

    /// Takes what a use counts for out of the tallies, or adds it. `user` is who counts for it.
    fn count(&mut self, number: u32, user: &str, adds: bool) {
        let known = self.at(number);
        let (code, state, counts) = (known.code, known.state, known.counts());
        if let UseState::Reserved { deadline } = state {
            let place = (code, deadline, number);
            let moved =
                if adds { self.reserved.insert(place) } else { self.reserved.remove(&place) };
            let tally = self.codes.entry(code).or_default();
            match (moved, adds) {
                (true, true) => tally.reserved += 1,
                (true, false) => tally.reserved -= 1,
                (false, _) => {}
            }
            if let Some(of_user) = self.user_tally(user) {
                if adds {
                    of_user.reserved.insert((deadline, number));
                } else {
                    of_user.reserved.remove(&(deadline, number));
                }
            }
        }
        if counts {
            let change = |used: &mut u32| if adds { *used += 1 } else { *used -= 1 };
            change(&mut self.codes.entry(code).or_default().used);
            if let Some(of_user) = self.user_tally(user) {
                change(&mut of_user.used);
            }
        }
    }

    /// Adds a use of a code, and gives its number.
    pub(crate) fn add(&mut self, new: Use, user: &str) -> u32 {
        let number = self.last + 1;
        self.put(number, new);
        self.count(number, user, true);
        number
    }

    /// Adds a use, new or from a snapshot, that counts for nothing yet. A snapshot's come in order.
    pub(crate) fn put(&mut self, number: u32, mut new: Use) {
        self.last = self.last.max(number);
        let tally = self.codes.entry(new.code).or_default();
        tally.all += 1;
        new.earlier = std::mem::replace(&mut tally.last, number);
        let found = self.find(new.code, &new.reference);
        self.index.set(&key(new.code, &new.reference), number, |known| found == Some(known));
        self.bytes += new.memory();
        Arc::make_mut(self.chunks.entry(number / TOGETHER).or_default()).insert(number, new);
    }

    /// Counts a use of a snapshot: a reservation only while it is live.
    pub(crate) fn restore_count(&mut self, number: u32, user: &str, service: i64) {
        match self.at(number).state {
            UseState::Reserved { deadline } if deadline <= service => {}
            UseState::Reserved { .. }
            | UseState::Released
            | UseState::Redeemed
            | UseState::RolledBack { .. } => self.count(number, user, true),
        }
    }

    /// Moves a use on to another state, under the rank that the code has now. `user` is who counts for it.
    pub(crate) fn change(
        &mut self,
        number: u32,
        user: &str,
        state: UseState,
        (rank, at): (u32, Timestamp),
    ) {
        self.count(number, user, false);
        let known = self.at_mut(number);
        (known.state, known.rank, known.at) = (state, rank, at);
        self.count(number, user, true);
    }

    pub(crate) fn memory(&self) -> usize {
        self.bytes + self.index.memory() + self.lists_memory()
    }

    pub(crate) fn walked_memory(&self) -> usize {
        let uses = self.chunks.values().flat_map(|chunk| chunk.values());
        uses.map(Use::memory).sum::<usize>() + self.index.walked_memory() + self.lists_memory()
    }

    fn lists_memory(&self) -> usize {
        let users = self.users.as_ref().map_or(0, BTreeMap::len);
        self.codes.len() * 32 + self.reserved.len() * 24 + users * 128
    }
}

fn key(code: u32, reference: &str) -> Vec<u8> {
    [&code.to_le_bytes(), reference.as_bytes()].concat()
}
