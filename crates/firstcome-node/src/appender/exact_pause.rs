//! A pause that ends within a tenth of a millisecond.
//!
//! The timers of a runtime round up to their next millisecond: half a millisecond becomes one or two, and a node that
//! pauses after every append then appends half as often as it should.

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

/// Waits for a moment, exactly where the operating system has a timer for it.
#[derive(Debug)]
pub(crate) struct ExactPause(#[cfg(target_os = "linux")] Option<linux::Timer>);

impl ExactPause {
    /// Takes a timer of the operating system, which this runtime's thread will wait for; without a runtime of real time,
    /// or without a timer, pauses take whole milliseconds.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(unused_variables, reason = "no other system has such a timer")
    )]
    pub(crate) fn on(runtime: Option<&Handle>) -> Self {
        Self(
            #[cfg(target_os = "linux")]
            runtime.and_then(|runtime| linux::Timer::on(runtime).ok()),
        )
    }

    /// Waits until this moment; does not wait at all if it is over.
    ///
    /// Cancel safe: the next pause sets the timer anew.
    pub(crate) async fn until(&self, moment: Instant) {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        #[cfg(target_os = "linux")]
        if let Some(timer) = &self.0
            && timer.wait(left).await.is_ok()
        {
            return;
        }
        sleep_until(moment).await;
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    use tokio::runtime::Handle;

    /// A timer of the operating system.
    #[derive(Debug)]
    pub(super) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        pub(super) fn on(runtime: &Handle) -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            let _here = runtime.enter();
            #[expect(
                deprecated,
                reason = "it is unsound for what is no open file; the other way is unsafe code"
            )]
            let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
            Ok(Self(timer))
        }

        pub(super) async fn wait(&self, left: Duration) -> io::Result<()> {
            let none = Timespec { tv_sec: 0, tv_nsec: 0 };
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            let once = Itimerspec { it_interval: none, it_value: left };
            // What an earlier pause left to be read is gone with this.
            timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
            loop {
                let mut readable = self.0.readable().await?;
                let read = |timer: &AsyncFd<OwnedFd>| {
                    let mut times = [0; 8];
                    Ok(rustix::io::read(timer, &mut times).map(drop)?)
                };
                // It may have been readable for an earlier pause.
                if let Ok(read) = readable.try_io(read) {
                    return read;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime_thread::RuntimeThread;
    use std::time::Duration;

    #[tokio::test]
    async fn a_pause_is_never_too_short_also_after_one_that_was_given_up() {
        let thread = RuntimeThread::start("of-a-test").unwrap();
        let pause = ExactPause::on(Some(thread.handle()));
        #[cfg(target_os = "linux")]
        assert!(pause.0.is_some(), "there is a timer of the operating system");
        let pauses = async move {
            for micros in [300, 0, 1, 700, 1500] {
                tokio::select! {
                    biased;
                    () = pause.until(Instant::now() + Duration::from_micros(200)) => {}
                    () = std::future::ready(()) => {}
                }
                // The timer of the pause that was given up ends, and the runtime notices.
                tokio::time::sleep(Duration::from_millis(2)).await;
                let (begun, each) = (Instant::now(), Duration::from_micros(micros));
                pause.until(begun + each).await;
                assert!(begun.elapsed() >= each, "{:?} of {each:?}", begun.elapsed());
            }
        };
        thread.handle().spawn(pauses).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_thread_of_its_own_it_goes_by_the_time_of_the_runtime() {
        let (pause, begun) = (ExactPause::on(None), Instant::now());
        pause.until(begun + Duration::from_secs(5)).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(5));
    }
}
