//! Several locks that are held together.

use std::sync::OnceLock;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::error::Error;
use crate::error::locked::LockedError;
use crate::lease::Lease;
use crate::lease::loss::Loss;
use crate::lease::run::Finished;
use crate::lease::while_valid::run_while;
use crate::release::released::Released;

/// Several held locks with their leases.
///
/// Dropping it releases the locks in the background; [`MultiLease::release`] releases them and gives the result.
#[derive(Debug)]
#[must_use = "dropping the lease gives the locks back"]
pub struct MultiLease {
    leases: Vec<Lease>,
    /// How the first of them was lost.
    loss: OnceLock<Loss>,
}

impl MultiLease {
    pub(super) fn new(leases: Vec<Lease>) -> Self {
        Self { leases, loss: OnceLock::new() }
    }

    /// Returns the lease of each lock, in the order of names. Each has the name of its lock, and the fence for the resource that the
    /// lock protects.
    pub fn leases(&self) -> &[Lease] {
        &self.leases
    }

    /// Returns the lease of the lock of this name, if it is one of them.
    pub fn of(&self, name: &str) -> Option<&Lease> {
        self.leases.iter().find(|lease| lease.name() == name)
    }

    /// Says whether all leases are valid: see [`Lease::is_valid`]. The loss of one is the loss of all.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.loss.get().is_none() && self.leases.iter().all(Lease::is_valid)
    }

    /// Returns how long all leases are valid without a renewal; zero if one is lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.leases.iter().map(Lease::remaining).min().unwrap_or_default()
    }

    /// Waits until one of the leases is lost: see [`Lease::lost`].
    ///
    /// The other locks stay taken until this is released.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe. A later call sees the same outcome.
    pub async fn lost(&self) -> Loss {
        let mut losses: FuturesUnordered<_> = self.leases.iter().map(Lease::lost).collect();
        match (self.loss.get(), losses.next().await) {
            (Some(loss), _) => *loss,
            (None, Some(loss)) => *self.loss.get_or_init(|| loss),
            (None, None) => std::future::pending().await,
        }
    }

    /// Runs `work` as long as all leases are valid: see [`Lease::while_valid`].
    ///
    /// # Errors
    ///
    /// How the first of them was lost.
    ///
    /// # Cancel safety
    ///
    /// As [`Lease::while_valid`].
    pub async fn while_valid<T>(&self, work: impl Future<Output = T>) -> Result<T, Loss> {
        run_while(|| self.is_valid(), || self.lost(), work).await
    }

    /// Releases all locks and gives the result: [`Released::Free`] if it is the result of each lock, otherwise the first other
    /// result.
    ///
    /// # Errors
    ///
    /// As [`Lease::release`], of the first one that fails; the others are released anyway.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: after this call the locks are released, whether or not the caller waits for the answers.
    pub async fn release(self) -> Result<Released, Error> {
        let released = join_all(self.leases.into_iter().map(Lease::release)).await;
        let mut all = Ok(Released::Free);
        for one in released {
            match one {
                Ok(Released::Free) => {}
                Ok(lost) if matches!(all, Ok(Released::Free)) => all = Ok(lost),
                Err(failure) if all.is_ok() => all = Err(failure),
                Ok(_) | Err(_) => {}
            }
        }
        all
    }

    /// Runs `work` and releases the locks.
    pub(super) async fn finish<T>(
        self,
        work: impl AsyncFnOnce(&Self) -> T,
    ) -> Result<Finished<T>, LockedError> {
        match self.while_valid(work(&self)).await {
            Ok(output) => Ok(Finished { output, released: self.release().await }),
            Err(loss) => {
                let lost = self.leases.iter().find(|lease| !lease.is_valid());
                let name = lost.map_or_else(String::new, |lease| lease.name().to_owned());
                Err(LockedError::Lost { name, loss })
            }
        }
    }
}
