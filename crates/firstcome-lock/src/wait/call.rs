//! One call that requests a lock, and its events.

use tokio::time::Instant;

use crate::event::Event;
use crate::event::teller::Teller;
use crate::lease::Lease;
use crate::shared::Shared;

/// One call that asks for a lock, from its beginning to the lease.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    teller: &'a Teller,
    begun: Instant,
    /// Its waiting was reported.
    waits: bool,
}

impl<'a> Call<'a> {
    pub(crate) fn begin(shared: &'a Shared) -> Self {
        Self { teller: &shared.teller, begun: Instant::now(), waits: false }
    }

    /// Tells, the first time, that it waits for the lock of this name.
    pub(crate) fn waits_for(&mut self, name: &str) {
        if !std::mem::replace(&mut self.waits, true) {
            self.teller.tell(|| Event::Waiting { name: name.to_owned() });
        }
    }

    /// Tells that its caller has this lease now.
    pub(crate) fn has(&self, lease: &Lease) {
        lease.tell_acquired(self.begun.elapsed());
    }
}
