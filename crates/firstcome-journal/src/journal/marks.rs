//! The mark of an emptied store: leaving it, reading it, removing it.

use crate::cluster::mark::Mark;
use crate::error::JournalError;
use crate::journal::Journal;
use crate::transaction::call::JournalCall;
use crate::transaction::{Check, Seen, Transaction, Write};
use firstcome_core::names::SpaceId;

impl Journal {
    /// Leaves a mark where the store has nothing of the space: nobody makes a new one there unasked. Returns the mark that is
    /// there then, of whoever has the space furthest; `None` where the store has a space.
    ///
    /// # Errors
    ///
    /// [`JournalError::Moved`] when somebody else wrote a space there meanwhile; those of the store being out of reach, or of a
    /// user without the right to make its tables. Nothing was changed then.
    pub async fn mark_emptied(
        &self,
        space: SpaceId,
        position: u64,
        who: &str,
    ) -> Result<Option<Mark>, JournalError> {
        let seen = self.commit(Transaction::new(JournalCall::Mark)).await?;
        if seen.head.is_some() {
            return Ok(None);
        }
        let found = read(&seen)?;
        let known = |mark: &Mark| mark.space != space || mark.position >= position;
        if let Some(mark) = found.filter(known) {
            return Ok(Some(mark));
        }
        let mark = Mark { space, position, since: seen.now, who: who.into() };
        let step = Transaction::new(JournalCall::Mark)
            .check(Check::Nothing)
            .write(Write::Mark(mark.write()));
        self.commit(step.frees()).await.map(|_| Some(mark))
    }

    /// Returns the mark of an emptied store, if it has one.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach; [`JournalError::Broken`] for a mark that cannot be read.
    pub async fn mark(&self) -> Result<Option<Mark>, JournalError> {
        let seen = self.commit(Transaction::new(JournalCall::Mark)).await?;
        read(&seen)
    }

    /// Removes the mark of an emptied store, if it is of that space: the next server that starts there makes a new space.
    /// Returns what the mark said.
    ///
    /// # Errors
    ///
    /// [`JournalError::HasSpace`] where there is a space; [`JournalError::NotMarked`] where there is no mark of that space; those of the store
    /// being out of reach.
    pub async fn forget_emptied(&self, space: SpaceId) -> Result<Mark, JournalError> {
        let seen = self.commit(Transaction::new(JournalCall::Mark)).await?;
        if let Some(head) = seen.head {
            return Err(JournalError::HasSpace(head.space));
        }
        let found = read(&seen)?;
        let Some(mark) = found.filter(|mark| mark.space == space) else {
            return Err(JournalError::NotMarked(space));
        };
        let step = Transaction::new(JournalCall::Mark).check(Check::Nothing).write(Write::Unmark);
        self.commit(step.frees()).await.map(|_| mark)
    }
}

fn read(seen: &Seen) -> Result<Option<Mark>, JournalError> {
    seen.mark.as_deref().map(Mark::read).transpose()
}
