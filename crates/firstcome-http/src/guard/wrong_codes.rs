//! Wrong codes: whoever tries codes that do not exist is made to wait, longer each time.
//!
//! What is remembered is in a table whose size never changes, as that of rates: no flood of guessers makes it grow. It is made
//! when the first code is tried.

use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Codes that do not exist which one guesser may try in [`WRONG_CODES_WHILE`].
pub const WRONG_CODES: u8 = 10;
/// The time in which they are counted, and the first wait.
pub const WRONG_CODES_WHILE: Duration = Duration::from_secs(60);
/// The longest wait. Whoever tried no wrong code for so long begins anew.
pub const WRONG_CODES_LONGEST: Duration = Duration::from_secs(3_600);
/// Guessers that are remembered, 32 bytes each. One beyond it takes the place of whoever is done waiting first.
pub const WRONG_CODE_GUESSERS: usize = 65_536;

/// Guessers that share a set of the table.
const WAYS: usize = 8;

/// Who tries codes.
#[derive(Clone, Copy, Debug, Hash)]
pub enum Guesser<'a> {
    /// The subject of a token.
    Token(&'a str),
    /// An address, or an IPv6 network of 64 bits.
    Address(IpAddr),
    /// A customer of the shop that has a key.
    Customer {
        /// The name of the key.
        key: &'a str,
        /// The shop's name for the customer.
        customer: &'a str,
    },
}

impl Guesser<'_> {
    /// Returns the word for it that logs and problems have.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Token(_) => "token",
            Self::Address(_) => "address",
            Self::Customer { .. } => "for",
        }
    }

    /// Says whether codes that it is trying at this moment count until they turn out right. Behind one address there may be
    /// many who try right ones at one time.
    fn is_one_person(&self) -> bool {
        !matches!(self, Self::Address(_))
    }
}

/// What is remembered of one guesser; times in milliseconds since the table was made.
#[derive(Clone, Copy, Debug, Default)]
struct GuesserSlot {
    key: u64,
    /// When the wrong codes began that are counted.
    since: u64,
    /// Until when it waits.
    until: u64,
    wrong: u8,
    /// Codes of which it is not known yet whether they are wrong.
    trying: u8,
    /// How many times the wait was doubled.
    doubled: u8,
}

type Sets = Box<[Mutex<[GuesserSlot; WAYS]>]>;

/// The guessers of a server.
#[derive(Debug)]
pub struct WrongCodes {
    sets: OnceLock<Sets>,
    guessers: usize,
    begun: Instant,
    hasher: RandomState,
}

impl Default for WrongCodes {
    fn default() -> Self {
        Self::new(WRONG_CODE_GUESSERS)
    }
}

/// A code that is being tried. Dropped, it was not wrong.
#[derive(Debug)]
pub struct Attempt<'a> {
    table: &'a WrongCodes,
    key: u64,
    counted: bool,
}

impl WrongCodes {
    fn new(guessers: usize) -> Self {
        let (sets, begun, hasher) = (OnceLock::new(), Instant::now(), RandomState::new());
        Self { sets, guessers, begun, hasher }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn set(&self, key: u64) -> MutexGuard<'_, [GuesserSlot; WAYS]> {
        let sets = self.sets.get_or_init(|| {
            (0..self.guessers.div_ceil(WAYS).max(1)).map(|_| Mutex::default()).collect()
        });
        let set = &sets[(key % sets.len() as u64) as usize];
        set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a guesser try a code, or gives how long it has to wait.
    ///
    /// # Errors
    ///
    /// The time until it may try; trying too early does not make it longer.
    pub fn tries(&self, guesser: Guesser<'_>) -> Result<Attempt<'_>, Duration> {
        // Zero is the key of a slot that nobody has.
        let key = self.hasher.hash_one(guesser).max(1);
        let now = self.now();
        let mut set = self.set(key);
        let counted = guesser.is_one_person();
        if let Some(slot) = set.iter_mut().find(|slot| slot.key == key) {
            if now < slot.until {
                return Err(Duration::from_millis(slot.until - now));
            }
            slot.refresh(now);
            if counted && slot.wrong.saturating_add(slot.trying) >= WRONG_CODES {
                return Err(Duration::from_secs(1));
            }
            slot.trying += u8::from(counted);
        } else if counted {
            take(&mut set, GuesserSlot { key, since: now, trying: 1, ..GuesserSlot::default() });
        }
        Ok(Attempt { table: self, key, counted })
    }
}

/// Returns a new guesser a slot that nobody has, or that of whoever is done waiting first.
fn take(set: &mut [GuesserSlot; WAYS], slot: GuesserSlot) {
    let rank = |slot: &GuesserSlot| (slot.key != 0, slot.until, slot.since);
    if let Some(place) = set.iter_mut().min_by_key(|slot| rank(slot)) {
        *place = slot;
    }
}

impl GuesserSlot {
    /// Begins a new while where the last one is over, and forgets earlier waits after the longest one.
    fn refresh(&mut self, now: u64) {
        let ms = |length: Duration| length.as_millis() as u64;
        if now >= self.since.max(self.until) + ms(WRONG_CODES_LONGEST) {
            self.doubled = 0;
        }
        if now >= self.since + ms(WRONG_CODES_WHILE) {
            (self.since, self.wrong) = (now, 0);
        }
    }
}

impl Attempt<'_> {
    /// Counts the code as wrong; gives how long the guesser waits from now on, where it has to.
    pub fn wrong(self) -> Option<Duration> {
        let now = self.table.now();
        let mut set = self.table.set(self.key);
        if !set.iter().any(|slot| slot.key == self.key) {
            take(&mut set, GuesserSlot { key: self.key, since: now, ..GuesserSlot::default() });
        }
        let slot = set.iter_mut().find(|slot| slot.key == self.key)?;
        slot.refresh(now);
        slot.wrong = slot.wrong.saturating_add(1);
        if slot.wrong < WRONG_CODES || now < slot.until {
            return None;
        }
        let wait = WRONG_CODES_WHILE * 2_u32.pow(slot.doubled.min(16).into());
        let wait = wait.min(WRONG_CODES_LONGEST);
        slot.until = now + wait.as_millis() as u64;
        // What comes after the wait is counted anew.
        (slot.since, slot.wrong) = (slot.until, 0);
        slot.doubled = slot.doubled.saturating_add(1);
        Some(wait)
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.counted {
            return;
        }
        let mut set = self.table.set(self.key);
        if let Some(slot) = set.iter_mut().find(|slot| slot.key == self.key) {
            slot.trying = slot.trying.saturating_sub(1);
            if (slot.wrong, slot.trying, slot.doubled) == (0, 0, 0) {
                *slot = GuesserSlot::default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    const ANN: Guesser<'_> = Guesser::Token("ann");

    fn wrong(table: &WrongCodes, guesser: Guesser<'_>) -> Option<Duration> {
        table.tries(guesser).expect("it may try").wrong()
    }

    #[tokio::test(start_paused = true)]
    async fn ten_wrong_codes_in_a_minute_make_a_guesser_wait_and_then_twice_as_long() {
        let table = WrongCodes::default();
        for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
            for _ in 1..WRONG_CODES {
                assert_eq!(wrong(&table, ANN), None);
            }
            let wait = Duration::from_secs(minutes * 60);
            assert_eq!(wrong(&table, ANN), Some(wait));
            assert_eq!(table.tries(ANN).err(), Some(wait));
            assert!(table.tries(Guesser::Token("bob")).is_ok(), "nobody else waits");
            advance(wait - Duration::from_millis(1)).await;
            assert_eq!(table.tries(ANN).err(), Some(Duration::from_millis(1)));
            advance(Duration::from_millis(1)).await;
        }
        // An hour without a wrong code is forgiven.
        advance(WRONG_CODES_LONGEST).await;
        for _ in 1..WRONG_CODES {
            assert_eq!(wrong(&table, ANN), None);
        }
        assert_eq!(wrong(&table, ANN), Some(WRONG_CODES_WHILE));
    }

    #[tokio::test(start_paused = true)]
    async fn nine_wrong_codes_a_minute_and_right_ones_are_never_slowed() {
        let table = WrongCodes::default();
        for _ in 0..20 {
            for _ in 1..WRONG_CODES {
                assert_eq!(wrong(&table, ANN), None);
            }
            advance(WRONG_CODES_WHILE).await;
        }
        for _ in 0..100 {
            drop(table.tries(ANN).expect("a right code costs nothing"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn codes_tried_at_one_time_count_before_they_are_answered() {
        let table = WrongCodes::default();
        let many: Vec<_> = (0..64).filter_map(|_| table.tries(ANN).ok()).collect();
        assert_eq!(many.len(), usize::from(WRONG_CODES));
        drop(many);
        assert!(table.tries(ANN).is_ok(), "they were right");
        // Behind an address there may be many people.
        let address = Guesser::Address(IpAddr::from([10, 0, 0, 1]));
        let many: Vec<_> = (0..64).filter_map(|_| table.tries(address).ok()).collect();
        assert_eq!(many.len(), 64);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_guessers_takes_no_room_and_frees_nobody_who_waits_longer() {
        let table = WrongCodes::new(64);
        for _ in 0..2 {
            while wrong(&table, ANN).is_none() {}
            advance(WRONG_CODES_WHILE).await;
        }
        for n in 0..10_000 {
            let name = n.to_string();
            let _: Option<Duration> = wrong(&table, Guesser::Token(&name));
        }
        assert!(table.tries(ANN).is_err(), "forgotten for somebody who waits less");
        let sets = table.sets.get().expect("it was made");
        assert_eq!((sets.len() * WAYS, size_of::<GuesserSlot>()), (64, 32));
    }
}
