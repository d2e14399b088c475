//! Frees what left the state, where nobody waits for it.

use firstcome_core::state::Remains;

/// Bytes up to which freeing takes less than a thread does.
const SMALL: usize = 1 << 20;

/// Frees what left the state with an entry: a campaign of ten million claims takes a tenth of a second.
///
/// Nobody waits for the thread: it touches nothing that anybody else has.
pub(crate) fn free(remains: Remains) {
    if remains.memory() > SMALL {
        let thread = std::thread::Builder::new().name("free".into());
        // Where no thread can be had, it was freed with what it was to run.
        drop(thread.spawn(move || drop(remains)));
    }
}
