//! Fault injection: mistakes that a test lets a client make, to show that the tests find them.
//!
//! The feature `inject` gives a builder the method that lets its client make one, which no document shows; without a call
//! of it nothing is changed.

/// Something a client does wrong on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// Sends an acquire again when its answer is lost.
    ResendAcquire,
    /// Returns no time after which the store refuses an acquire, so that one whose sender gave up still takes effect.
    AcceptLateAcquire,
    /// Does not undo a grant whose answer was lost, or whose caller is gone.
    LeaveLostGrants,
    /// Trusts a lease for ever, also after the store may have given the lock away.
    TrustForEver,
    /// Does not try again after a waiter's subscription is confirmed.
    SubscribeWithoutRetry,
    /// Does not try again when a waiter's subscription is cut, nor when it is there again.
    IgnoreCut,
    /// Does not try again when the holder's lease should have ended.
    IgnoreLeaseEnd,
    /// Sends a renewal once, even without an answer and with trust left.
    RenewOnce,
    /// Renews each third of a lease, however short it is.
    RenewEachThird,
    /// Does not check what is held when requests go over a new connection.
    IgnoreReconnect,
    /// Looks once for what is held when requests go over a new connection, also where that is not answered.
    LookOnce,
    /// Passes a lock on within one process without end, so that other processes never get it.
    PassWithoutLimit,
    /// Returns a release that is sent again a new id, so that the store does not recognise it.
    NewReleaseIdOnResend,
    /// Takes several locks in the order they are named in.
    TakeUnsorted,
    /// Keeps the locks it has while it waits for the next of several.
    KeepWhileWaiting,
    /// Ends an election with every error of the store, also one that passes.
    EndElectionOnError,
    /// Does not let others go first after a chain of passes within one process.
    NoTurnsForOthers,
    /// Counts permits in a step before the one that gives a permit.
    CountPermitsBeforehand,
}

/// What `cargo xtask test` looks for in the program that is shipped: code that can turn a mistake on has it.
#[cfg(feature = "inject")]
const MARK: &str = "FIRSTCOME_LOCK_INJECT";

/// The mistakes a client makes; none, outside of tests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mistakes(u32);

impl Mistakes {
    /// Tells whether this mistake is made; without the feature `inject` always `false`.
    pub(crate) fn makes(self, mistake: Mistake) -> bool {
        cfg!(feature = "inject") && self.0 & (1 << mistake as u32) != 0
    }

    #[cfg(feature = "inject")]
    pub(crate) fn and(self, mistake: Mistake) -> Self {
        std::hint::black_box(MARK);
        Self(self.0 | (1 << mistake as u32))
    }
}
