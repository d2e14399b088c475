//! The requests of many commands that a server answers at one time, and which of them are too slow to keep a place.

use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::server::idle::IdleTimer;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Requests of many commands that one server answers at one time: each keeps its unanswered lines in memory.
pub const BULK_REQUESTS: usize = 32;

/// The part of them that one key may have: a fourth.
pub const BULK_KEY_PART: usize = 4;

/// Lines that a request sends in a second, at least, while another one waits for a place.
pub const BULK_LEAST_RATE: u32 = 10;

/// The time over which its lines are counted.
pub const BULK_RATE_WHILE: Duration = Duration::from_secs(10);

/// The requests of many commands that are under way.
#[derive(Debug, Default)]
pub struct BulkRequests(Arc<Mutex<Places>>);

#[derive(Debug, Default)]
struct Places {
    taken: BTreeMap<u64, Taken>,
    /// The number of the last place that was given.
    last: u64,
}

#[derive(Debug)]
struct Taken {
    key: Box<str>,
    /// When the time began over which lines are counted now.
    since: Instant,
    /// The lines that came since then.
    lines: u32,
    /// Whether too few came in the time before.
    was_slow: bool,
    /// Whether the client waits for the server: then it is not the client that is slow.
    waits: bool,
    /// Cancelled when another request needs the place.
    leaves: CancellationToken,
    cut: CutBy,
}

impl Taken {
    /// Says whether fewer lines came than have to, until now.
    fn is_slow(&self, now: Instant) -> bool {
        let time = now - self.since;
        if time >= 2 * BULK_RATE_WHILE {
            // None came since the end of the time over which they were counted.
            return true;
        }
        match time >= BULK_RATE_WHILE {
            true => f64::from(self.lines) < f64::from(BULK_LEAST_RATE) * time.as_secs_f64(),
            false => self.was_slow,
        }
    }

    /// Tells the request to leave its place. One whose client reads nothing never hears that: its connection is cut.
    fn leave(&self, now: Instant) {
        if !self.leaves.is_cancelled() {
            self.leaves.cancel();
            if let Some(timer) = self.cut.0.get() {
                timer.ends_at(now + BULK_RATE_WHILE);
            }
        }
    }
}

impl Places {
    /// Tells those to leave that are too slow, and are of this key if one is named.
    fn slow_leave(&self, key: Option<&str>, now: Instant) {
        let own = |taken: &&Taken| key.is_none_or(|key| *taken.key == *key);
        let slow = |taken: &&Taken| !taken.waits && taken.is_slow(now);
        self.taken.values().filter(own).filter(slow).for_each(|taken| taken.leave(now));
    }
}

/// What cuts the connection of a request: the accept loop puts it in.
#[derive(Clone, Debug, Default)]
pub(crate) struct CutBy(pub(crate) Arc<OnceLock<Arc<IdleTimer>>>);

/// The place of one request, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Mutex<Places>>,
    number: u64,
    leaves: CancellationToken,
    cut: CutBy,
}

fn locked(places: &Mutex<Places>) -> MutexGuard<'_, Places> {
    places.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BulkRequests {
    /// Takes a place for a request with this key. Where there is none, those that are too slow are told to leave theirs.
    pub(super) fn take(&self, key: &str) -> Result<Place, Problem> {
        let mut places = locked(&self.0);
        let busy = |detail| Err(Problem::new(Code::Busy, format!("{detail}; nothing changed")));
        let own = places.taken.values().filter(|taken| *taken.key == *key).count();
        let now = Instant::now();
        if own >= BULK_REQUESTS / BULK_KEY_PART {
            places.slow_leave(Some(key), now);
            return busy(format!(
                "this server answers {own} requests of many commands with the key {key:?}, as many as one key may have \
                 at one time"
            ));
        }
        if places.taken.len() >= BULK_REQUESTS {
            places.slow_leave(None, now);
            return busy(format!(
                "this server answers {BULK_REQUESTS} requests of many commands, as many as it may at one time"
            ));
        }
        places.last += 1;
        let (number, leaves, cut) = (places.last, CancellationToken::new(), CutBy::default());
        let taken = Taken {
            key: key.into(),
            since: now,
            lines: 0,
            was_slow: false,
            waits: false,
            leaves: leaves.clone(),
            cut: cut.clone(),
        };
        places.taken.insert(number, taken);
        drop(places);
        Ok(Place { places: Arc::clone(&self.0), number, leaves, cut })
    }
}

impl Place {
    /// Notes that so many lines came, and whether the client waits for the server now.
    pub(super) fn note(&self, lines: u32, waits: bool) {
        let now = Instant::now();
        let mut places = locked(&self.places);
        let taken =
            places.taken.get_mut(&self.number).expect("a place is taken until it is dropped");
        if now - taken.since >= BULK_RATE_WHILE {
            (taken.was_slow, taken.since, taken.lines) = (taken.is_slow(now), now, 0);
        }
        taken.lines += lines;
        taken.waits = waits;
    }

    /// Returns what is cancelled when another request needs the place.
    pub(super) fn leaves(&self) -> CancellationToken {
        self.leaves.clone()
    }

    /// Returns where what cuts its connection is put.
    pub(super) fn cut(&self) -> CutBy {
        self.cut.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        locked(&self.places).taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::base_path::BasePath;

    fn detail(refused: Result<Place, Problem>) -> (&'static str, String) {
        let problem = refused.expect_err("there is no place");
        (
            problem.outcome(),
            String::from_utf8_lossy(&problem.document(&BasePath::default())).into_owned(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_has_a_fourth_of_the_places_and_others_have_the_rest() {
        let requests = BulkRequests::default();
        let mut eve: Vec<_> = (0..8).map(|_| requests.take("eve").expect("a place")).collect();
        let (outcome, why) = detail(requests.take("eve"));
        assert!(outcome == "busy" && why.contains("8 requests") && why.contains("eve"), "{why}");
        let others: Vec<_> =
            (0..24).map(|n| requests.take(&format!("k{}", n / 8)).expect("a place")).collect();
        let (_, why) = detail(requests.take("ann"));
        assert!(why.contains("answers 32 requests"), "{why}");
        drop(eve.pop());
        requests.take("ann").expect("a place that was given back");
        drop(others);
    }

    /// A line each 2 s kept a place for ever.
    #[tokio::test(start_paused = true)]
    async fn who_sends_too_little_leaves_when_somebody_waits_and_not_before() {
        let requests = BulkRequests::default();
        let take = |key: &str| requests.take(key).expect("a place");
        let places: Vec<_> = (0..32).map(|n| take(&format!("k{}", n / 8))).collect();
        let [slow, fast, waits, ..] = &places[..] else { unreachable!() };
        for second in 0..15 {
            places[3..].iter().for_each(|place| place.note(BULK_LEAST_RATE, false));
            fast.note(BULK_LEAST_RATE, false);
            slow.note(u32::from(second % 2 == 0), false);
            waits.note(0, true);
            tokio::time::advance(Duration::from_secs(1)).await;
            let left = places.iter().filter(|place| place.leaves.is_cancelled()).count();
            assert_eq!(left, 0, "nobody waits");
            if second == 5 {
                detail(requests.take("ann"));
                assert!(!slow.leaves.is_cancelled(), "it was not looked at for long enough");
            }
        }
        detail(requests.take("ann"));
        assert!(slow.leaves.is_cancelled());
        assert_eq!(places.iter().filter(|place| place.leaves.is_cancelled()).count(), 1);
    }

    /// Only where all places were taken did slow ones leave.
    #[tokio::test(start_paused = true)]
    async fn slow_requests_of_a_key_leave_when_one_more_of_it_comes() {
        let requests = BulkRequests::default();
        let other = requests.take("bob").expect("a place");
        let own: Vec<_> = (0..8).map(|_| requests.take("eve").expect("a place")).collect();
        let [slow, waits, quick @ ..] = &own[..] else { unreachable!() };
        for _ in 0..11 {
            slow.note(1, false);
            waits.note(0, true);
            quick.iter().for_each(|place| place.note(BULK_LEAST_RATE, false));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        detail(requests.take("eve"));
        assert!(slow.leaves.is_cancelled());
        assert_eq!(own.iter().filter(|place| place.leaves.is_cancelled()).count(), 1);
        assert!(!other.leaves.is_cancelled(), "that one is in nobody's way");
    }

    /// A thousand lines in its first second were enough for the next hundred.
    #[tokio::test(start_paused = true)]
    async fn who_sent_much_is_slow_once_nothing_came_for_long_enough() {
        let requests = BulkRequests::default();
        let own: Vec<_> = (0..8).map(|_| requests.take("eve").expect("a place")).collect();
        own[0].note(100 * BULK_LEAST_RATE, false);
        tokio::time::advance(2 * BULK_RATE_WHILE - Duration::from_millis(1)).await;
        detail(requests.take("eve"));
        assert!(!own[0].leaves.is_cancelled() && own[1].leaves.is_cancelled());
        tokio::time::advance(Duration::from_millis(1)).await;
        detail(requests.take("eve"));
        assert!(own[0].leaves.is_cancelled());
    }
}
