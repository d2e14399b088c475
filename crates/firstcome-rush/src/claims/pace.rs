//! When requests are sent: as fast as answers come, or at times fixed beforehand.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

/// The gate all connections pass before a request; its speed can be changed while a load test runs.
#[derive(Debug)]
pub struct Pace {
    permits: Semaphore,
    schedule: Mutex<Schedule>,
    finished: AtomicBool,
}

/// How fast the gate lets requests through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// Nothing passes.
    Stopped,
    /// So many a second, at even times, whether the server keeps up or not (open loop).
    PerSecond(f64),
    /// Whenever a connection is free (closed loop). This is final: it cannot be slowed down again.
    Free,
}

#[derive(Debug)]
struct Schedule {
    /// Stretches of one speed, by the number of their first request.
    stretches: Vec<Stretch>,
    released: u64,
}

#[derive(Debug, Clone, Copy)]
struct Stretch {
    first: u64,
    began: Instant,
    per_second: Option<f64>,
}

impl Stretch {
    /// When the request of this number is due; `None` where requests are not scheduled.
    fn due(&self, number: u64) -> Option<Instant> {
        // The offset stays far below 2^52, where a double still tells microseconds apart.
        let seconds = (number - self.first) as f64 / self.per_second?;
        Some(self.began + Duration::from_secs_f64(seconds))
    }
}

/// How fine the open-loop clock is; what a request waits for it counts in its latency.
const TICK: Duration = Duration::from_micros(200);

impl Pace {
    /// A gate with this speed.
    pub fn new(speed: Speed) -> Self {
        let schedule = Schedule { stretches: Vec::new(), released: 0 };
        let pace = Self {
            permits: Semaphore::new(0),
            schedule: Mutex::new(schedule),
            finished: AtomicBool::new(false),
        };
        pace.set(speed);
        pace
    }

    /// Changes the speed from now on.
    pub fn set(&self, speed: Speed) {
        let mut schedule = self.lock();
        let per_second = match speed {
            Speed::Stopped | Speed::Free => None,
            Speed::PerSecond(rate) => Some(rate.max(0.001)),
        };
        let stretch = Stretch { first: schedule.released, began: Instant::now(), per_second };
        schedule.stretches.push(stretch);
        if speed == Speed::Free {
            self.permits.close();
        }
    }

    /// Lets so many requests through at once, and then nothing until the next [`Pace::set`].
    pub fn burst(&self, requests: u32) {
        self.set(Speed::Stopped);
        self.lock().released += u64::from(requests);
        self.permits.add_permits(requests as usize);
    }

    /// Ends the load test: no further request begins, and those under way are seen to their end.
    pub fn finish(&self) {
        self.finished.store(true, Ordering::Release);
        self.permits.close();
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    /// Waits for a turn.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a turn that is not taken goes to another task.
    pub(super) async fn pass(&self) {
        // A closed gate means that nobody has to wait.
        if let Ok(permit) = self.permits.acquire().await {
            permit.forget();
        }
    }

    /// When the request of this number was due, if its time was fixed beforehand.
    pub(super) fn due(&self, number: u64) -> Option<Instant> {
        let schedule = self.lock();
        let stretch = schedule.stretches.iter().rev().find(|stretch| stretch.first <= number)?;
        stretch.due(number)
    }

    /// Starts the clock that opens the gate; it ends when the returned guard is dropped.
    pub(super) fn start(self: &std::sync::Arc<Self>) -> Pacer {
        // A thread of its own: the timer of the async runtime is five times coarser.
        let pace = std::sync::Arc::clone(self);
        let thread = std::thread::spawn(move || {
            while !pace.permits.is_closed() {
                pace.release_due();
                std::thread::sleep(TICK);
            }
        });
        Pacer { pace: std::sync::Arc::clone(self), thread: Some(thread) }
    }

    fn release_due(&self) {
        let mut schedule = self.lock();
        let Some(stretch) = schedule.stretches.last().copied() else { return };
        let Some(rate) = stretch.per_second else { return };
        let due = stretch.first + (stretch.began.elapsed().as_secs_f64() * rate) as u64;
        let new = due.saturating_sub(schedule.released);
        schedule.released = schedule.released.max(due);
        drop(schedule);
        self.permits.add_permits(usize::try_from(new).unwrap_or(0));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Schedule> {
        self.schedule.lock().expect("nothing panics while it holds the schedule")
    }
}

/// The clock's owner.
pub(super) struct Pacer {
    pace: std::sync::Arc<Pace>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.pace.finish();
        if let Some(thread) = self.thread.take() {
            // It sleeps for less than a millisecond at a time, so this does not hold anybody up.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::time::timeout;

    use super::*;

    async fn passes(pace: &Pace) -> bool {
        timeout(Duration::ZERO, pace.pass()).await.is_ok()
    }

    #[tokio::test]
    async fn a_burst_lets_so_many_through_and_nobody_after() {
        let pace = Pace::new(Speed::Stopped);
        assert!(!passes(&pace).await);
        pace.burst(2);
        assert!(passes(&pace).await && passes(&pace).await);
        assert!(!passes(&pace).await);
        assert_eq!(pace.due(1), None, "a burst is not scheduled");
        pace.set(Speed::Free);
        assert!(passes(&pace).await && passes(&pace).await);
    }

    #[tokio::test]
    async fn scheduled_requests_are_due_at_even_times_from_the_start_of_their_stretch() {
        let pace = Arc::new(Pace::new(Speed::PerSecond(1_000.0)));
        let due = |number| pace.due(number).expect("it is scheduled");
        assert_eq!(due(5) - due(0), Duration::from_millis(5));
        let pacer = pace.start();
        // Released by the clock, however long that takes on a busy machine.
        for _ in 0..20 {
            pace.pass().await;
        }
        drop(pacer);
        assert!(passes(&pace).await, "a finished gate holds nobody");
    }
}
