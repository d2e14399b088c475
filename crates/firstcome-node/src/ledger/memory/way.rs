use crate::ledger::LedgerError;
use std::fmt::Debug;
use std::pin::Pin;

/// What is to be done at the ledger when a call arrives there. Dropped undone, it never happens.
pub type LedgerWork = Box<dyn FnOnce() + Send>;

/// What can be asked of a [`Ledger`](crate::ledger::Ledger).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerCall {
    /// [`Ledger::mint_term`](crate::ledger::Ledger::mint_term).
    MintTerm,
    /// [`Ledger::standing`](crate::ledger::Ledger::standing).
    Standing,
    /// [`Ledger::settle`](crate::ledger::Ledger::settle).
    Settle,
    /// [`Ledger::results`](crate::ledger::Ledger::results).
    Results,
    /// [`Ledger::claim_counts`](crate::ledger::Ledger::claim_counts).
    ClaimCounts,
}

/// The way between a leader and a ledger in [memory](super::MemoryLedger), which a test or a simulation makes as bad as it
/// likes.
pub trait Way: Debug + Send + Sync {
    /// Carries a call to the ledger and its answer back.
    ///
    /// `work` is what happens at the ledger: the way has it done when the call arrives, at once, late, or never, and
    /// may end before that. What it came to travels beside the way: with `Ok` the caller hears it, as soon as `work`
    /// is done; a `work` that was dropped is [`LedgerError::Unknown`] to the caller.
    ///
    /// The future is run to its end whether the caller still waits or not.
    ///
    /// # Errors
    ///
    /// What the caller hears in the place of an answer. For it to be true it is [`LedgerError::Unknown`], unless
    /// `work` was not done and never will be.
    fn carry(
        &self,
        call: LedgerCall,
        work: LedgerWork,
    ) -> Pin<Box<dyn Future<Output = Result<(), LedgerError>> + Send>>;
}
