//! Lets time pass where nobody asks for anything: an opening or a closing becomes visible to readers,
//! units of a hold whose time is over become free, and what was applied becomes known to be durable; codes that changed
//! hands in a fork are suspended though the queue had no room for that at first.

use crate::intake::Intake;
use crate::replica::Replica;
use crate::task::{stopped, stopped_within};
use firstcome_core::{State, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How long after a deadline a tick is due at the earliest.
const AFTER_DEADLINE: Duration = Duration::from_millis(50);
/// What is added at random, so that not all nodes tick at once.
const SPREAD_MS: u64 = 100;
/// The pause between two ticks while journal time stands still, and between looks at trouble.
const AT_MOST_EVERY: Duration = Duration::from_secs(1);
/// The longest sleep: the store's clock may be set forward meanwhile.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long what was applied may not be known to be durable before an entry of our own is to say so.
const UNCONFIRMED_FOR: Duration = Duration::from_secs(1);

/// How long no entry may come while there is a live hold: service time counts at most 15 s of it, so that
/// everybody's holds would last longer than they say.
const SILENCE: Duration = Duration::from_secs(5);

/// What was applied and not known to be durable when it was looked at, and when that was.
struct Unconfirmed {
    position: u64,
    since: Instant,
}

impl Unconfirmed {
    /// Says whether something has not been known to be durable for long.
    ///
    /// After a start, or where another history took this one's place, only a new entry can tell: without
    /// one, whoever rests on what is durable would wait until somebody happens to ask for something.
    fn lasts(&mut self, replica: &Replica) -> bool {
        if replica.endures_at_once() || replica.durable().position >= self.position {
            *self = Self { position: replica.look(State::position), since: Instant::now() };
            return false;
        }
        self.since.elapsed() >= UNCONFIRMED_FOR
    }
}

/// Appends a tick when a deadline has passed without an entry, when there was none for 5 s while something
/// is held, while the journal is in trouble, and when it has not been known for a second whether what was
/// applied is durable.
///
/// A tick in trouble is how a node notices, without anybody asking, that the journal works again.
/// Two nodes that both tick harm nobody.
pub(crate) async fn run(
    intake: Arc<Intake>,
    mut random: impl FnMut() -> u64,
    mut stop: watch::Receiver<bool>,
) {
    let mut applied = intake.replica.watch();
    let mut unconfirmed =
        Unconfirmed { position: intake.replica.look(State::position), since: Instant::now() };
    let mut silent_since = Instant::now();
    loop {
        intake.suspensions.send_again(&intake.queue);
        let deadline = intake.replica.look(State::next_deadline);
        let trouble = intake.health.in_trouble();
        let spread = Duration::from_millis(random() % (SPREAD_MS + 1));
        let held = intake.replica.look(State::live_holds) > 0;
        let mut wait = LOOK_EVERY;
        if let Some(deadline) = deadline {
            wait = wait.min(until(deadline, intake.clock.now()) + AFTER_DEADLINE + spread);
        }
        if held {
            let left = SILENCE.saturating_sub(silent_since.elapsed());
            wait = wait.min(left + spread);
        }
        let sooner = tokio::select! {
            () = sleep(wait) => false,
            // An entry may have passed the deadline, or brought a new one.
            _ = applied.changed(), if !trouble => true,
            () = stopped(&mut stop) => return,
        };
        if sooner {
            silent_since = Instant::now();
            // A flood changes it all the time: look again, but not more often than it matters.
            if stopped_within(&mut stop, AFTER_DEADLINE).await {
                return;
            }
            continue;
        }
        let passed =
            deadline.is_some_and(|deadline| until(deadline, intake.clock.now()) == Duration::ZERO);
        let silent = held && silent_since.elapsed() >= SILENCE;
        if !passed && !trouble && !silent && !unconfirmed.lasts(&intake.replica) {
            continue;
        }
        // Whether it was appended shows in the position; a failure is counted where it happens.
        drop(intake.tick().await);
        silent_since = Instant::now();
        let still = intake.replica.look(State::next_deadline) == deadline;
        if still && stopped_within(&mut stop, AT_MOST_EVERY).await {
            return;
        }
    }
}

fn until(deadline: Timestamp, now: Timestamp) -> Duration {
    Duration::from_micros(u64::try_from(deadline.micros_since(now)).unwrap_or(0))
}
