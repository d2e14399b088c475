//! A connection for appends, and the task that confirms them.

use super::confirm::Confirmer;
use super::options::Waits;
use firstcome_store::Wire;

/// One of the connections that appends take in turn.
#[derive(Debug)]
pub(super) struct AppendConnection {
    pub(super) wire: Wire,
    pub(super) confirmer: Option<Confirmer>,
}

impl AppendConnection {
    pub(super) fn new(wire: Wire, waits: Waits) -> Self {
        let confirmer = (waits != Waits::No).then(|| Confirmer::start(waits, wire.answer_within()));
        Self { wire, confirmer }
    }

    /// Says whether a WAIT may hold up what is sent now.
    pub(super) fn is_waiting(&self) -> bool {
        self.confirmer.as_ref().is_some_and(Confirmer::is_waiting)
    }

    pub(super) async fn close(&self) {
        self.wire.close().await;
        if let Some(confirmer) = &self.confirmer {
            confirmer.close().await;
        }
    }
}
