//! Rate limits: so many requests in a while, and so many at once.
//!
//! The arithmetic (GCRA) is that of `governor`; what it remembers of each key is kept here, in a
//! table whose size never changes: nothing is shed on a timer, and no flood of new keys makes it grow.

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed, StateStore};
use governor::{NotUntil, Quota, RateLimiter};
use prometheus_client::metrics::counter::Counter;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The most that a rate may allow, in its time or at once.
const MOST: u32 = 1_000_000;
/// Keys that share a set of the table.
const WAYS: usize = 8;

/// How often a subject may ask where subject tokens are on and nothing else is set: a page that follows its campaign and a
/// person who clicks need a few in a second. Beyond it `too_many_requests`.
pub const SUBJECT_RATE_WITH_TOKENS: Rate = Rate::in_a_second(20, 40);

/// How often an address may come with a key or a token that is not known, or with a token ask for a hold that is not its
/// own: nobody does by mistake. Beyond it these, and nothing else, are answered `too_many_requests`.
pub const MISSES: Rate = Rate::in_a_second(10, 100);

/// So many requests in a while, and so many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    count: NonZeroU32,
    unit: char,
    burst: NonZeroU32,
}

impl Rate {
    /// Returns a rate for a constant.
    const fn in_a_second(count: u32, burst: u32) -> Self {
        match (NonZeroU32::new(count), NonZeroU32::new(burst)) {
            (Some(count), Some(burst)) => Self { count, unit: 's', burst },
            _ => panic!("a rate lets something through"),
        }
    }

    fn quota(self) -> Quota {
        let while_s = match self.unit {
            's' => 1,
            'm' => 60,
            _ => 3_600,
        };
        Quota::with_period(Duration::from_secs(while_s) / self.count.get())
            .expect("at most a million in a second is at least a microsecond for each")
            .allow_burst(self.burst)
    }
}

impl FromStr for Rate {
    type Err = String;

    /// Reads `5/s`, `300/m` or `300/m burst 20`; without a burst it is the whole count.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "must be a rate such as `5/s`, `300/m burst 20` or `10/h`, with numbers from 1 to {MOST}, not `{text}`"
            )
        };
        let number = |text: &str| {
            let number = text.replace('_', "").parse::<NonZeroU32>().ok();
            number.filter(|number| number.get() <= MOST).ok_or_else(wrong)
        };
        let (rate, burst) = match text.split_once(" burst ") {
            Some((rate, burst)) => (rate, Some(number(burst.trim())?)),
            None => (text, None),
        };
        let (count, unit) = rate.trim().split_once('/').ok_or_else(wrong)?;
        let unit = match unit {
            "s" => 's',
            "m" => 'm',
            "h" => 'h',
            _ => return Err(wrong()),
        };
        let count = number(count)?;
        Ok(Self { count, unit, burst: burst.unwrap_or(count) })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.unit)?;
        if self.burst != self.count {
            write!(f, " burst {}", self.burst)?;
        }
        Ok(())
    }
}

/// The runtime's clock, which tests may stop and set forward.
#[derive(Clone, Debug)]
struct Ticks(Instant);

impl Clock for Ticks {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

type Gcra<K, S> = RateLimiter<K, S, Ticks, NoOpMiddleware<Duration>>;

/// What is remembered of one key: until when it has used up what it may, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: u64,
    until: u64,
}

/// What is remembered of keys: sets of [`WAYS`] slots each, made once.
///
/// A new key takes a slot nobody has, and else that of the key of its set which is done waiting
/// soonest; most often it is done already. A key that loses its slot may ask sooner than its limit
/// says, never later.
#[derive(Debug)]
struct KeySlots(Box<[Mutex<[Slot; WAYS]>]>);

impl KeySlots {
    fn new(keys: usize) -> Self {
        Self((0..keys.div_ceil(WAYS).max(1)).map(|_| Mutex::default()).collect())
    }
}

impl StateStore for KeySlots {
    type Key = u64;

    fn measure_and_replace<T, F, E>(&self, key: &u64, f: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let set = &self.0[(key % self.0.len() as u64) as usize];
        let mut set = set.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = set.iter_mut().find(|slot| slot.key == *key) {
            let (answer, until) = f(Some(Nanos::new(known.until)))?;
            known.until = until.as_u64();
            return Ok(answer);
        }
        let (answer, until) = f(None)?;
        if let Some(free) = set.iter_mut().min_by_key(|slot| slot.until) {
            *free = Slot { key: *key, until: until.as_u64() };
        }
        Ok(answer)
    }
}

/// Limits how often each of many keys may ask.
#[derive(Debug)]
pub struct Limiter {
    rate: Rate,
    slots: Gcra<u64, KeySlots>,
    hasher: RandomState,
    refused: Counter,
}

impl Limiter {
    /// Begins with nobody having asked; remembers `keys` of them, about 17 bytes each, and counts
    /// in `refused` whom it turns away.
    pub fn new(rate: Rate, keys: usize, refused: Counter) -> Self {
        let slots = RateLimiter::new(rate.quota(), KeySlots::new(keys), Ticks(Instant::now()));
        Self { rate, slots, hasher: RandomState::new(), refused }
    }

    /// Lets a key ask, or gives how long it has to wait.
    ///
    /// # Errors
    ///
    /// The time until it may ask, which has not begun again by asking too early.
    pub fn check(&self, key: &(impl Hash + ?Sized)) -> Result<(), Duration> {
        // Zero is the key of a slot that nobody has.
        let key = self.hasher.hash_one(key).max(1);
        self.slots.check_key(&key).map_err(|not| wait(&not, self.slots.clock(), &self.refused))
    }

    /// Returns the rate it limits to.
    pub fn rate(&self) -> Rate {
        self.rate
    }
}

/// Limits how often one key may ask.
#[derive(Debug)]
pub struct RequestPace {
    rate: Rate,
    state: Gcra<NotKeyed, InMemoryState>,
    refused: Counter,
}

impl RequestPace {
    /// Begins with nothing asked; counts in `refused` what it turns away.
    pub fn new(rate: Rate, refused: Counter) -> Self {
        let ticks = Ticks(Instant::now());
        let state = RateLimiter::new(rate.quota(), InMemoryState::default(), ticks);
        Self { rate, state, refused }
    }

    /// Lets one more through, or gives how long to wait.
    ///
    /// # Errors
    ///
    /// As [`Limiter::check`].
    pub fn check(&self) -> Result<(), Duration> {
        self.state.check().map_err(|not| wait(&not, self.state.clock(), &self.refused))
    }

    /// Lets one more through, or gives how long to wait: for who waits then, and is not turned away.
    ///
    /// # Errors
    ///
    /// As [`Limiter::check`].
    pub fn turn(&self) -> Result<(), Duration> {
        self.state.check().map_err(|not| not.wait_time_from(self.state.clock().now()))
    }

    /// Returns the rate it limits to.
    pub fn rate(&self) -> Rate {
        self.rate
    }
}

fn wait(not: &NotUntil<Duration>, clock: &Ticks, refused: &Counter) -> Duration {
    refused.inc();
    not.wait_time_from(clock.now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    fn limiter(rate: &str, keys: usize) -> Limiter {
        Limiter::new(rate.parse().unwrap(), keys, Counter::default())
    }

    #[test]
    fn a_rate_reads_back_as_it_is_printed() {
        for text in ["5/s", "300/m burst 20", "10/h", "1000000/s burst 1"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        assert_eq!("5/s burst 5".parse::<Rate>().unwrap().to_string(), "5/s");
        for bad in ["", "5", "0/s", "5/d", "5/s burst 0", "5/s burst", "-1/s", "1000001/s", "/s"] {
            assert!(bad.parse::<Rate>().unwrap_err().contains("must be a rate"), "{bad}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_let_through_and_then_one_in_its_time() {
        let limiter = limiter("2/s burst 3", 64);
        for _ in 0..3 {
            assert_eq!(limiter.check("ann"), Ok(()));
        }
        assert_eq!(limiter.check("ann"), Err(Duration::from_millis(500)));
        // Somebody else is nobody's business, and asking too early costs nothing.
        assert_eq!(limiter.check("bob"), Ok(()));
        advance(Duration::from_millis(400)).await;
        assert_eq!(limiter.check("ann"), Err(Duration::from_millis(100)));
        advance(Duration::from_millis(100)).await;
        assert_eq!(limiter.check("ann"), Ok(()));
        assert!(limiter.check("ann").is_err());
        assert_eq!(limiter.refused.get(), 3);
        // Time makes whole again, and no more than whole.
        advance(Duration::from_secs(3_600)).await;
        assert_eq!((0..10).filter(|_| limiter.check("ann").is_ok()).count(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_new_keys_takes_no_room_and_frees_nobody_who_waits_longer() {
        let limiter = limiter("1/h burst 3", 800);
        // Ann used up three hours; each of the flood one, and there are more of them than slots.
        while limiter.check("ann").is_ok() {}
        for n in 0..100_000 {
            assert_eq!(limiter.check(&n), Ok(()));
        }
        assert!(limiter.check("ann").is_err(), "forgotten for somebody who waits less");
        let slots = limiter.slots.into_state_store().0;
        assert_eq!((slots.len() * WAYS, size_of_val(&slots[0])), (800, 136));
    }

    #[tokio::test(start_paused = true)]
    async fn one_key_has_a_pace_of_its_own() {
        let pace = RequestPace::new("1/s".parse().unwrap(), Counter::default());
        assert_eq!(pace.check(), Ok(()));
        assert_eq!(pace.check(), Err(Duration::from_secs(1)));
        advance(Duration::from_secs(1)).await;
        assert_eq!(pace.check(), Ok(()));
    }
}
