//! The journal, against real files and real processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there")]

mod archiving;
mod child;
mod conformance;
mod damage;
mod durability;
mod faults;
mod full_disk;
mod opening;
mod page;
mod sharing;
mod trimming;
mod world;

/// What one store must do, stamped for each of them.
macro_rules! conformance {
    ($store:ident, $make:expr) => {
        mod $store {
            conformance!(@each $make,
                a_new_journal_is_empty,
                an_append_comes_back_with_what_was_missed,
                entries_form_a_chain,
                a_caller_ahead_of_the_journal_is_told_and_nothing_is_stored,
                a_caller_on_another_branch_is_told_and_nothing_is_stored,
                the_same_body_twice_is_stored_twice,
                a_long_gap_comes_back_in_parts,
                time_never_goes_back,
                time_moves_on_with_the_clock,
                a_snapshot_needs_its_pieces,
                the_newest_snapshot_is_the_one_furthest_on,
                an_old_term_neither_installs_nor_trims,
                what_nobody_covered_is_never_trimmed,
                many_at_once_keep_one_order,
            );
        }
    };
    (@each $make:expr, $($test:ident,)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            let stage = $make;
            crate::conformance::$test(&stage).await;
        })*
    };
}

/// What one store that several nodes share must do beyond it, stamped for each of them.
macro_rules! sharing {
    ($store:ident, $make:expr) => {
        mod $store {
            sharing!(@each $make,
                waiting_ends_with_the_entry,
                waiting_ends_with_the_time,
            );
        }
    };
    (@each $make:expr, $($test:ident,)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            let stage = $make;
            crate::sharing::$test(&stage).await;
        })*
    };
}

conformance!(memory, crate::world::Stage::memory());
conformance!(sqlite, crate::world::Stage::sqlite());
conformance!(faulty_without_faults, crate::world::Stage::faulty());
sharing!(shared_memory, crate::world::Stage::shared_memory());
