//! The journal, against real files and real processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there")]

mod archiving;
mod child;
mod conformance;
mod damage;
mod distant;
mod durability;
mod faults;
mod full_disk;
mod interleaved;
mod keeping;
mod less_durable;
mod log_of_the_file;
mod mariadb_failing;
mod mariadb_opening;
mod nats_failing;
mod nats_log;
mod nats_opening;
mod nats_rights;
mod opening;
mod page;
mod postgres_codes;
mod postgres_failing;
mod postgres_opening;
mod postgres_together;
mod postgres_waiting;
mod redis_cluster;
mod redis_codes;
mod redis_failing;
mod redis_opening;
mod redis_trimming;
mod sharing;
mod skips;
mod slow_disk;
mod space_file;
mod sqlite_codes;
mod stored;
mod trimming;
mod world;

/// What a store must do, stamped for each of them: `one` for a store of one node, `several` for one that nodes share.
macro_rules! conformance {
    (one: $($store:ident)+) => {
        $(mod $store {
            conformance!(@one $store);
        })+
    };
    (several: $($store:ident)+) => {
        $(mod $store {
            conformance!(@one $store);
            conformance!(@several $store);
        })+
    };
    (@one $store:ident) => {
        conformance!(@each conformance, $store,
            a_new_journal_is_empty,
            an_append_comes_back_with_what_was_missed,
            entries_form_a_chain,
            a_caller_ahead_of_the_journal_is_told_and_nothing_is_stored,
            a_caller_on_another_branch_is_told_and_nothing_is_stored,
            a_caller_is_compared_by_name_however_far_behind,
            the_same_body_twice_is_stored_twice,
            a_long_gap_comes_back_in_parts,
            a_read_says_how_far_the_store_had_looked,
            time_never_goes_back,
            time_moves_on_with_the_clock,
            a_snapshot_needs_its_pieces,
            the_newest_snapshot_is_the_one_furthest_on,
            an_old_term_neither_installs_nor_trims,
            a_snapshot_of_another_history_is_not_installed,
            snapshots_that_are_installed_at_once_are_the_two_furthest_on,
            what_nobody_covered_is_never_trimmed,
            entries_that_two_snapshots_cover_go_after_ten_minutes,
            pieces_that_no_snapshot_names_go_after_ten_minutes,
            many_pieces_go_in_one_trim,
            many_at_once_keep_one_order,
        );
        conformance!(@each skips, $store,
            an_entry_is_skipped_for_everybody,
            only_an_entry_that_is_there_under_its_name_is_skipped,
            an_entry_that_a_snapshot_has_is_not_skipped,
        );
    };
    (@several $store:ident) => {
        conformance!(@each sharing, $store,
            waiting_ends_with_the_entry,
            waiting_ends_with_the_time,
            following_sees_everything_in_order,
            the_roll_has_who_announced_lately,
            who_only_looks_sees_the_members_and_is_none,
            who_leaves_is_off_the_roll,
            who_went_without_a_word_is_remembered_for_a_day,
            only_the_last_64_that_went_are_remembered,
            the_level_of_the_head_follows_the_nodes_and_never_goes_down,
            entries_are_put_back_whole,
            entries_are_put_back_in_parts_and_once,
            callers_are_compared_with_what_was_put_back,
            entries_are_put_back_behind_the_right_end_only,
            several_may_put_back_the_same_at_once,
            the_epoch_is_raised_where_it_was_seen,
            a_seed_takes_the_place_of_what_is_there,
            a_seed_is_refused_where_things_moved,
            a_seed_makes_a_lost_space_again,
            an_emptied_store_is_marked_until_a_space_takes_its_place,
            a_space_that_ended_makes_room_for_the_one_before,
            reports_are_kept_by_epoch_and_node,
            only_so_many_reports_are_kept_and_the_oldest_epochs_go_first,
            what_is_removed_is_gone_and_can_be_removed_again,
        );
        conformance!(@each skips, $store, an_entry_that_a_node_applied_is_not_skipped,);
    };
    (@each $list:ident, $store:ident, $($test:ident,)*) => {
        $(#[test]
        fn $test() {
            crate::world::run(stringify!($store), |stage| Box::pin(crate::$list::$test(stage)));
        })*
    };
}

conformance!(one: sqlite);
conformance!(several:
    memory memory_without_conditions distant_without_conditions faulty_without_faults distant_without_faults
    redis postgres postgres_behind_a_pooler mariadb nats nats_cluster
);
