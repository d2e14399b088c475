//! By when a command has to be gone, so that it never runs beside that of the next owner.

use std::time::Duration;

use firstcome_lock::Lease;
use tokio::time::Instant;

use super::super::complaint::Complaint;

/// The least that trust ends before the lease does, as the lock library has it.
const LEAST_MARGIN: Duration = Duration::from_millis(20);

/// What a lease and a time of grace leave to a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    /// How long after the end of trust the command has to be gone: three quarters of what is left of the lease then, so
    /// that a kill has the rest to take effect.
    after_trust: Duration,
    /// How long the command has between TERM and KILL.
    grace: Duration,
    /// How often to look at the lease: its end moves when it is renewed.
    look: Duration,
}

impl Deadline {
    /// Fits a time of grace into a lease; without one it is as long as it can be without bringing TERM forward.
    pub(super) fn new(lease: Duration, grace: Option<Duration>) -> Result<Self, Complaint> {
        let after_trust = (lease / 10).max(LEAST_MARGIN) * 3 / 4;
        if let Some(grace) = grace.filter(|grace| *grace > lease / 2) {
            let sentence = format!(
                "a grace of {grace:?} is too long for a lease of {lease:?}: the command would get TERM before the \
                 lease can be renewed"
            );
            return Err(Complaint::usage(sentence)
                .hint("choose a --lease of at least twice the --grace, or a shorter --grace"));
        }
        let grace = grace.unwrap_or(after_trust);
        let look = (lease / 20).clamp(Duration::from_millis(5), Duration::from_millis(500));
        Ok(Self { after_trust, grace, look })
    }

    pub(super) fn grace(&self) -> Duration {
        self.grace
    }

    pub(super) fn look(&self) -> Duration {
        self.look
    }

    /// Returns when the command gets TERM, and when it must have ended, if the lease is not renewed; `None` if it
    /// is lost.
    pub(super) fn of(&self, lease: &Lease) -> Option<(Instant, Instant)> {
        let trusted_until = later(lease.remaining())?;
        if !lease.is_valid() {
            return None;
        }
        let kill_at = trusted_until.checked_add(self.after_trust)?;
        let told = kill_at.checked_sub(self.grace).unwrap_or(trusted_until);
        Some((told.min(trusted_until), kill_at))
    }
}

/// Returns the time after `rest`, at most a century away.
fn later(rest: Duration) -> Option<Instant> {
    Instant::now().checked_add(rest.min(Duration::from_secs(3_155_760_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[tokio::test(start_paused = true)]
    async fn the_command_is_gone_before_the_lease_is_over() {
        let locks = firstcome_lock::Locks::memory();
        // Of a lease of 10 s nine are trusted, and the command has to be gone at 9.75 s.
        for (grace, told) in [(None, 9000), (Some(ms(300)), 9000), (Some(ms(3000)), 6750)] {
            let lock = locks.mutex("x").unwrap().lease(ms(10_000));
            let begun = Instant::now();
            let lease = lock.lock().await.unwrap();
            let deadline = Deadline::new(ms(10_000), grace).unwrap();
            let (term_at, kill_at) = deadline.of(&lease).unwrap();
            assert_eq!((term_at - begun, kill_at - begun), (ms(told), ms(9750)), "{grace:?}");
            lease.release().await.unwrap();
        }
    }

    #[test]
    fn a_grace_that_does_not_fit_is_refused() {
        assert!(Deadline::new(ms(10_000), Some(ms(5000))).is_ok());
        assert!(Deadline::new(ms(10_000), Some(ms(5001))).is_err());
    }
}
