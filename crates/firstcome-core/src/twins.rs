//! A mistake made on purpose, to see that a simulation notices it. Without the feature `twins` it cannot be made.

#[cfg(not(feature = "twins"))]
pub(crate) const fn counts_whole_steps() -> bool {
    false
}

#[cfg(feature = "twins")]
pub use switched::count_whole_steps;
#[cfg(feature = "twins")]
pub(crate) use switched::counts_whole_steps;

#[cfg(feature = "twins")]
mod switched {
    use std::cell::Cell;

    thread_local! {
        static WHOLE_STEPS: Cell<bool> = const { Cell::new(false) };
    }

    /// Lets service time count all of a step between two entries on this thread, however long it is.
    pub fn count_whole_steps(whole: bool) {
        WHOLE_STEPS.set(whole);
    }

    pub(crate) fn counts_whole_steps() -> bool {
        WHOLE_STEPS.get()
    }
}
