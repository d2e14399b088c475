//! Whether the server's settings still keep what was chosen.
//!
//! A script cannot read them, so appends go by the last look. Somebody looks again and again, with
//! [`Journal::look_at_promise`](crate::Journal::look_at_promise); an append itself where another run of a server was met
//! since.

use super::opening::{self, Server};
use super::options::{Durability, Waits};
use super::{Inner, Redis};
use crate::error::JournalError;
use crate::journal::promise::{LessDurable, Promise, WhenLessDurable};
use crate::journal::warning::Warning;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;
use tokio::time::Instant;

/// What was found at the last look.
#[derive(Debug, Default)]
pub(super) struct Fitness {
    known: Mutex<Known>,
    /// Told of each append that was refused because the server promises less.
    pub(super) refusals: Notify,
}

#[derive(Clone, Debug, Default)]
struct Known {
    /// How often another run had been met then.
    runs: u64,
    /// Why nothing may be appended.
    blocks: Option<Warning>,
}

impl Fitness {
    fn note(&self, known: Known) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    fn known(&self) -> Known {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Redis {
    /// Asks the server what it promises by its settings as they are now.
    pub(crate) async fn look_at_promise(&self) -> Result<Promise, JournalError> {
        let Inner { rest, incarnation, options, waits, fitness, .. } = &*self.inner;
        let deadline = Instant::now() + rest.answer_within();
        let pinned = incarnation.pin(rest, deadline).await?;
        let runs = *incarnation.times().borrow();
        let server = Server::look(&pinned, deadline).await?;
        if server.is_replica() {
            return Err(JournalError::Unavailable("a replica answers".to_owned()));
        }
        let durability = options.durability;
        let found = server.less(durability, *waits);
        // A WAIT proves each entry, and nothing is acknowledged without that.
        let proves = *waits != Waits::No && server.may_drop().is_none();
        let refuses = proves || options.when_less_durable == WhenLessDurable::Refuse;
        // A replica may be back before the next look: the WAIT says so.
        let blocks = refuses && !(proves && matches!(waits, Waits::Copies(_)));
        fitness.note(Known { runs, blocks: found.clone().filter(|_| blocks) });
        let promised = if found.is_some() && !proves { Durability::Memory } else { durability };
        Ok(Promise {
            sentence: opening::promise(promised, *waits),
            less: found.map(|Warning { what, fix }| LessDurable { what, fix, refuses }),
            warnings: server.warnings(durability),
        })
    }

    /// Refuses an append while the server promises less than what was chosen.
    pub(super) async fn check_settings(&self) -> Result<(), JournalError> {
        let Inner { incarnation, fitness, .. } = &*self.inner;
        let mut known = fitness.known();
        if known.runs != *incarnation.times().borrow() {
            self.look_at_promise().await?;
            known = fitness.known();
        }
        match known.blocks {
            Some(Warning { what, fix }) => {
                fitness.refusals.notify_one();
                Err(JournalError::LessDurable { what, fix })
            }
            None => Ok(()),
        }
    }

    pub(crate) fn refusals(&self) -> &Notify {
        &self.inner.fitness.refusals
    }
}
