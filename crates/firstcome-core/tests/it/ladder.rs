//! Every rung of the ladders, neighbours first: where two reasons apply, the earlier one is given.

use crate::play::play;
use firstcome_core::{CodeRefusal, Outcome, Refusal};
use std::collections::BTreeSet;

#[test]
fn claim_archived_comes_before_the_pool() {
    play(
        "
        0s   op  puts drop: main 1      -> created 1
        0s   op  closes drop            -> changed 2
        0s   op  archives drop          -> changed 3
        0s   ann claims drop/gold       -> archived
    ",
    );
}

#[test]
fn claim_the_pool_comes_before_what_the_subject_has() {
    play(
        "
        0s   op  puts drop: main 1; vip 1   -> created 1
        0s   ann claims drop/main           -> won 1
        0s   ann claims drop/gold           -> not_found pool
        0s   ann claims drop                -> pool_required
    ",
    );
}

#[test]
fn claim_already_won_comes_before_an_earlier_cancel_and_all_the_rest() {
    play(
        "
        0s   op  puts drop: main 1; vip 1; limit 1; again; closes 9s    -> created 1
        0s   ann claims drop/main           -> won 1
        0s   ann cancels drop/main 1        -> cancelled by subject at 0s
        0s   ann claims drop/main           -> won 2
        0s   ann claims drop/main           -> already_won 2 at 0s      # limit reached, sold out
        1s   op  pauses drop                -> changed 2
        1s   ann claims drop/main           -> already_won 2 at 0s      # paused
        9s   ann claims drop/main           -> already_won 2 at 0s      # closed
    ",
    );
}

#[test]
fn who_cancelled_is_told_so() {
    play(
        "
        0s   op  puts drop: main 1                      -> created 1
        0s   eve claims drop                            -> won 1
        0s   op  cancels eve drop/main 1 for fraud      -> cancelled by operator at 0s
        0s   eve claims drop                            -> already_cancelled
    ",
    );
}

#[test]
fn claim_paused_comes_before_not_open() {
    play(
        "
        0s   op  puts drop: main 1; opens 9s    -> created 1
        0s   op  pauses drop                    -> changed 2
        0s   ann claims drop                    -> paused
        0s   op  resumes drop                   -> changed 3
        0s   ann claims drop                    -> not_open until 9s
    ",
    );
}

#[test]
fn claim_closed_is_final_so_it_hides_paused_and_not_open() {
    play(
        "
        0s   op  puts drop: main 1; opens 5s; closes 9s     -> created 1
        0s   op  pauses drop                                -> changed 2
        9s   ann claims drop                                -> closed
        9s   op  puts rush: main 1; opens 20s               -> created 1
        9s   op  closes rush                                -> changed 2
        9s   ann claims rush                                -> closed
    ",
    );
}

#[test]
fn claim_closed_comes_before_limit_reached_and_that_before_sold_out() {
    play(
        "
        0s   op  puts drop: main 1; vip 1; limit 1  -> created 1
        0s   ann claims drop/main                   -> won 1
        0s   bob claims drop/vip                    -> won 1
        0s   ann claims drop/vip                    -> limit_reached    # sold out too
        0s   eve claims drop/vip                    -> sold_out
        1s   op  closes drop                        -> changed 2
        1s   ann claims drop/vip                    -> closed
    ",
    );
}

#[test]
fn put_knows_the_id_first_then_archived_then_the_version() {
    play(
        "
        0s   op#a puts drop: main 1         -> created 1
        0s   op#a puts drop@9: main 1       -> id_reused
        0s   op   puts drop@9: main 1       -> version_mismatch 1
        0s   op   closes drop               -> changed 2
        0s   op   puts drop@9: main 2       -> version_mismatch 2   # closed too
        0s   op   archives drop             -> changed 3
        0s   op   puts drop@9: main 1       -> archived
        0s   op#a puts drop: main 2         -> id_reused            # archived too
        0s   op#a puts drop: main 1         -> created 1
    ",
    );
}

#[test]
fn archive_not_closed_comes_before_unsettled() {
    play(
        "
        0s   op  puts drop: main 1      -> created 1
        0s   ann claims drop            -> won 1
        0s   op  archives drop          -> not_closed
        0s   op  closes drop            -> changed 2
        0s   op  archives drop          -> unsettled
    ",
    );
}

#[test]
fn every_outcome_stands_in_a_script() {
    let scripts = [
        include_str!("claims.rs"),
        include_str!("campaigns.rs"),
        include_str!("copies.rs"),
        include_str!("ladder.rs"),
        include_str!("holds.rs"),
        include_str!("seats.rs"),
        include_str!("levels.rs"),
        include_str!("bars.rs"),
        include_str!("deleting.rs"),
        include_str!("reseating.rs"),
        include_str!("waitlists.rs"),
    ];
    for name in Refusal::ALL.iter().map(|refusal| refusal.as_str()).chain(Outcome::YES) {
        let told = |line: &str| {
            let came = line.split_once("->").map_or("", |(_, came)| came);
            // Several commands of one entry have an answer each.
            came.split('|').any(|came| came.split_whitespace().next() == Some(name))
        };
        let told = scripts.iter().any(|script| script.lines().any(told));
        assert!(told, "no script has -> {name}");
    }
}

/// Counts the variants of an enum by its source.
fn variants(source: &str, of: &str) -> usize {
    let (_, body) = source.split_once(&format!("pub enum {of} {{")).unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let names = body.lines().filter_map(|line| line.strip_prefix("    "));
    names.filter(|name| name.starts_with(char::is_uppercase)).count()
}

#[test]
fn every_refusal_is_in_its_list() {
    let source = include_str!("../../src/outcome/refusal.rs");
    let listed: BTreeSet<&str> = Refusal::ALL.iter().map(|refusal| refusal.as_str()).collect();
    // Those of codes have a list of their own.
    assert_eq!(listed.len() + 1, variants(source, "Refusal"));
    let source = include_str!("../../src/outcome/codes.rs");
    let listed: BTreeSet<&str> = CodeRefusal::ALL.iter().map(|refusal| refusal.as_str()).collect();
    assert_eq!(listed.len(), variants(source, "CodeRefusal"));
}
