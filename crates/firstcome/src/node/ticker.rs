//! Lets time pass where nobody asks for anything: an opening or a closing becomes visible to readers.

use super::ask::Ask;
use super::intake::Intake;
use super::{stopped_within, told};
use firstcome_core::{State, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// How long after a deadline a tick is due at the earliest.
const AFTER_DEADLINE: Duration = Duration::from_millis(50);
/// What is added at random, so that not all nodes tick at once.
const SPREAD_MS: u64 = 100;
/// The pause between two ticks while journal time stands still, and between looks at trouble.
const AT_MOST_EVERY: Duration = Duration::from_secs(1);
/// The longest sleep: the store's clock may be set forward meanwhile.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Appends a tick when a deadline has passed without an entry, and while the journal is in trouble.
///
/// A tick in trouble is how a node notices, without anybody asking, that the journal works again.
/// Two nodes that both tick harm nobody.
pub(crate) async fn run(
    intake: Arc<Intake>,
    mut random: impl FnMut() -> u64,
    mut stop: watch::Receiver<bool>,
) {
    let mut applied = intake.replica.watch();
    loop {
        let deadline = intake.replica.look(State::next_deadline);
        let trouble = intake.health.in_trouble();
        let spread = Duration::from_millis(random() % (SPREAD_MS + 1));
        let wait = match deadline {
            Some(deadline) => {
                (until(deadline, intake.clock.now()) + AFTER_DEADLINE + spread).min(LOOK_EVERY)
            }
            None => LOOK_EVERY,
        };
        let sooner = tokio::select! {
            () = sleep(wait) => false,
            // An entry may have passed the deadline, or brought a new one.
            _ = applied.changed(), if !trouble => true,
            () = told(&mut stop) => return,
        };
        if sooner {
            // A flood changes it all the time: look again, but not more often than it matters.
            if stopped_within(&mut stop, AFTER_DEADLINE).await {
                return;
            }
            continue;
        }
        let passed =
            deadline.is_some_and(|deadline| until(deadline, intake.clock.now()) == Duration::ZERO);
        if !passed && !trouble {
            continue;
        }
        // Whether it was appended shows in the position; a failure is counted where it happens.
        drop(intake.enqueue(Ask::Tick).await);
        let still = intake.replica.look(State::next_deadline) == deadline;
        if still && stopped_within(&mut stop, AT_MOST_EVERY).await {
            return;
        }
    }
}

fn until(deadline: Timestamp, now: Timestamp) -> Duration {
    Duration::from_micros(u64::try_from(deadline.micros_since(now)).unwrap_or(0))
}
