//! Judges lost yeses: listed by a fork, allowed by the durability, or a broken promise.

use crate::story::{Story, cancel, claim, clock, is_broken, passes, put, units_for_sale};
use firstcome_core::outcome::By;
use firstcome_core::{Outcome, Refusal, Settings};
use firstcome_sim::history::{Cause, Durability, History, Reply, Row};

/// Ann and bob won; the store lost bob, eve came first there, and a node brought what was lost.
///
/// Then these lines were written.
fn forked(units_there: u32, lines: &[&str]) -> Story {
    forked_and(true, units_there, lines)
}

fn forked_and(is_brought: bool, units_there: u32, lines: &[&str]) -> Story {
    let mut story = Story::opened(Durability::Memory, units_for_sale(units_there));
    let ann = story.wins("ann", 1);
    story.wins("bob", 2);
    story.applies();
    story.at(11.0);
    story.loses(Some(ann), Cause::Promotion);
    let at = clock(11.0);
    story.decides_as((2, 1), claim("eve"), Outcome::Won { rank: 2, at, pool: 0, code: None });
    story.epoch = 1;
    story.at(12.0);
    let results: &[_] = if units_there > 2 { &[(false, 3, "bob")] } else { &[] };
    if is_brought {
        story.stores((1, 3), &[claim("bob")], results);
    }
    for line in lines {
        story.reports(line);
    }
    story
}

#[test]
fn a_list_excuses_what_was_brought_and_nothing_else() {
    let line = "spring/main \"bob\" lost rank 2";
    passes(&forked_and(true, 2, &[line]).ends());
    let said = is_broken(&forked_and(false, 2, &[line]).ends(), "orphans_brought");
    assert!(said.contains("\"bob\" claimed spring"), "{said}");
    assert!(said.contains("whose batch never ran in the end"), "{said}");
}

#[test]
fn what_a_node_has_as_state_only_need_not_be_brought_but_a_claim_is_on_the_list() {
    let began_behind = |first: u64, lines: &[&str]| {
        let mut story = forked_and(false, 2, lines);
        story.history.node_runs[0].first = first;
        story.ends()
    };
    let line = "spring/main \"bob\" lost rank 2";
    // Bob's claim is entry 3.
    assert_eq!(passes(&began_behind(4, &[line])).ranks_excused, 1);
    is_broken(&began_behind(4, &[]), "acknowledged_kept");
    is_broken(&began_behind(3, &[line]), "orphans_brought");
}

#[test]
fn a_changed_rank_stands_in_the_list() {
    let lines = [
        "the journal forked after 2: this node had applied 0.3, and is at 1.4 now",
        "spring/main \"ann\" kept rank 1\nspring/main \"bob\" changed from rank 2 to 3",
    ];
    let verdict = passes(&forked(3, &lines).ends());
    assert_eq!((verdict.forks, verdict.ranks_excused, verdict.losses_allowed), (1, 1, 0));
}

#[test]
fn a_changed_rank_that_no_list_has_or_another_than_it_says() {
    let said = is_broken(&forked(3, &[]).ends(), "acknowledged_kept");
    assert!(said.contains("\"bob\" claimed spring"), "{said}");
    assert!(said.contains("rank 2 is that of \"eve\", \"bob\" has rank 3"), "{said}");
    for line in [
        "spring/main \"bob\" changed from rank 2 to 4",
        "spring/main \"bob\" changed from rank 1 to 3",
        "spring/main \"bob\" kept rank 2",
        "spring/main \"bo\" changed from rank 2 to 3",
        "spring/vip \"bob\" changed from rank 2 to 3",
    ] {
        is_broken(&forked(3, &[line]).ends(), "acknowledged_kept");
    }
}

#[test]
fn a_rank_that_changed_twice_is_followed_through_both_lists() {
    let lines = [
        "spring/main \"bob\" changed from rank 7 to 3",
        "spring/main \"bob\" changed from rank 2 to 7",
    ];
    assert_eq!(passes(&forked(3, &lines).ends()).ranks_excused, 1);
    let lines = ["spring/main \"bob\" lost rank 2", "spring/main \"bob\" has rank 3 again"];
    assert_eq!(passes(&forked(3, &lines).ends()).ranks_excused, 1);
}

#[test]
fn a_lost_rank_stands_in_the_list() {
    assert_eq!(passes(&forked(2, &["spring/main \"bob\" lost rank 2"]).ends()).ranks_excused, 1);
    let said = is_broken(&forked(2, &[]).ends(), "acknowledged_kept");
    assert!(said.contains("\"bob\" has nothing, and no fork's list names them"), "{said}");
    let line = "spring/main \"bob\" changed from rank 2 to 3";
    is_broken(&forked(2, &[line]).ends(), "acknowledged_kept");
}

/// Bob cancelled rank 2, which the store lost together with the claim; both were brought. Perhaps he then cancels what he has
/// instead, and claims anew.
fn cancel_forked(claims_anew: bool, lines: &[&str]) -> History {
    let settings = Settings { claim_again: true, ..units_for_sale(3) };
    let mut story = Story::opened(Durability::Memory, settings);
    let ann = story.wins("ann", 1);
    story.wins("bob", 2);
    let cancelled = Outcome::Cancelled { by: By::Subject, at: clock(10.0) };
    story.decides(cancel("bob", 2), cancelled);
    story.applies();
    story.at(11.0);
    story.loses(Some(ann), Cause::Promotion);
    let at = clock(11.0);
    story.decides_as((2, 1), claim("eve"), Outcome::Won { rank: 2, at, pool: 0, code: None });
    story.epoch = 1;
    story.at(12.0);
    story.stores((1, 3), &[claim("bob")], &[(false, 3, "bob")]);
    story.stores((1, 4), &[cancel("bob", 2)], &[]);
    if claims_anew {
        let at = clock(12.0);
        story.decides_as((2, 2), cancel("bob", 3), Outcome::Cancelled { by: By::Subject, at });
        let won = Outcome::Won { rank: 4, at, pool: 0, code: None };
        story.decides_as((2, 3), claim("bob"), won);
    }
    for line in lines {
        story.reports(line);
    }
    story.ends()
}

#[test]
fn a_claim_that_came_back_though_it_was_cancelled_stands_in_the_list() {
    for claims_anew in [false, true] {
        let line = "spring/main \"bob\" has rank 3 again";
        let verdict = passes(&cancel_forked(claims_anew, &[line]));
        assert_eq!(verdict.ranks_excused, 2);
        let Err(wrong) = firstcome_sim::judge::judge(&cancel_forked(claims_anew, &[])) else {
            panic!("it passed")
        };
        assert!(wrong.iter().all(|broken| broken.promise == "acknowledged_kept"), "{wrong:#?}");
        assert_eq!(wrong.len(), 2, "the claim and the cancel");
    }
}

/// Everything after the campaign's creation is lost, and nobody brings it; the node that had applied
/// it dies so many seconds after the loss.
fn lost(durability: Durability, cause: Cause, dies_after: Option<f64>) -> History {
    let mut story = Story::opened(durability, units_for_sale(3));
    let created = story.head;
    story.wins("ann", 1);
    story.applies();
    story.at(11.0);
    if dies_after.is_none_or(|seconds| seconds < 0.0) {
        story.dies();
    }
    story.loses(created, cause);
    if let Some(seconds) = dies_after.filter(|seconds| *seconds >= 0.0) {
        story.at(11.0 + seconds);
        story.dies();
    }
    story.at(200.0);
    let at = clock(200.0);
    story.decides_as((2, 1), claim("bob"), Outcome::Won { rank: 1, at, pool: 0, code: None });
    story.ends()
}

#[test]
fn a_loss_that_no_server_outlived_is_allowed_by_the_row() {
    let copies = |wanted, of| Durability::Copies { wanted, of };
    let rows = [
        (Durability::Memory, Cause::Promotion, true),
        (Durability::Memory, Cause::OlderFile, true),
        (copies(1, 2), Cause::Promotion, true),
        (copies(2, 2), Cause::Promotion, false),
        (copies(2, 2), Cause::OlderFile, true),
        (Durability::Fsync, Cause::Promotion, true),
        (Durability::Fsync, Cause::OlderFile, false),
    ];
    for (durability, cause, allowed) in rows {
        for dies_after in [None, Some(0.0), Some(59.0)] {
            let history = lost(durability, cause, dies_after);
            if allowed {
                assert_eq!(passes(&history).losses_allowed, 1, "{durability:?} {cause:?}");
            } else {
                is_broken(&history, "acknowledged_kept");
            }
        }
    }
}

#[test]
fn a_loss_that_a_server_outlived_is_never_allowed() {
    for durability in [Durability::Memory, Durability::Fsync] {
        is_broken(&lost(durability, Cause::Promotion, Some(61.0)), "acknowledged_kept");
    }
    // One that never applied it cannot mend it.
    let mut history = lost(Durability::Memory, Cause::Promotion, Some(61.0));
    history.node_runs[0].applied.clear();
    assert_eq!(passes(&history).losses_allowed, 1);
}

#[test]
fn an_emptied_disk_loses_everything_whatever_the_durability() {
    let mut story = Story::opened(Durability::Fsync, units_for_sale(3));
    story.wins("ann", 1);
    story.applies();
    story.dies();
    story.at(11.0);
    story.loses(None, Cause::OlderFile);
    story.at(20.0);
    story.decides_as((2, 1), put(units_for_sale(5)), Outcome::Created { version: 1 });
    let verdict = passes(&story.ends());
    // Ann's claim; and the campaign as it was, which has five units now.
    assert_eq!((verdict.losses_allowed, verdict.ranks_excused), (2, 0));
}

#[test]
fn what_was_lost_without_any_loss_of_the_store() {
    let mut history = lost(Durability::Memory, Cause::Promotion, None);
    history.losses.clear();
    is_broken(&history, "acknowledged_kept");
}

#[test]
fn an_operators_change_that_is_gone() {
    let mut story = Story::opened(Durability::Memory, units_for_sale(3));
    let created = story.head;
    story.at(11.0);
    story.decides(put(units_for_sale(5)), Outcome::Changed { version: 2, clamped: Vec::new() });
    story.applies();
    story.loses(created, Cause::Promotion);
    let said = is_broken(&story.ends(), "acknowledged_kept");
    assert!(said.contains("it is at version 1"), "{said}");

    // Another change took its version: the settings tell.
    let changed = |brought: bool| {
        let mut story = Story::opened(Durability::Memory, units_for_sale(3));
        let created = story.head;
        story.at(11.0);
        story.decides(put(units_for_sale(5)), Outcome::Changed { version: 2, clamped: Vec::new() });
        story.applies();
        story.loses(created, Cause::Promotion);
        let outcome = Outcome::Changed { version: 2, clamped: Vec::new() };
        story.decides_as((2, 1), put(units_for_sale(4)), outcome);
        story.epoch = 1;
        if brought {
            story.stores((1, 2), &[put(units_for_sale(5))], &[]);
        }
        story.ends()
    };
    is_broken(&changed(false), "acknowledged_kept");
    passes(&changed(true));
}

#[test]
fn a_command_that_ran_late_gives_another_rank_and_nobody_lives_who_could_say_so() {
    let mut story = Story::opened(Durability::Memory, units_for_sale(3));
    let created = story.head;
    story.wins("ann", 1);
    story.applies();
    story.dies();
    story.at(11.0);
    story.loses(created, Cause::Promotion);
    let at = clock(11.0);
    story.decides_as((2, 1), claim("bob"), Outcome::Won { rank: 1, at, pool: 0, code: None });
    story.at(12.0);
    story.stores((1, 2), &[claim("ann")], &[(false, 2, "ann")]);
    assert_eq!(passes(&story.ends()).losses_allowed, 1);
}

#[test]
fn a_result_that_a_fork_took_back_after_it_was_settled_is_counted() {
    let overtaken = |trouble: Option<&str>, subject: &str| {
        let lines = ["spring/main \"bob\" changed from rank 2 to 3"];
        let mut history = forked(3, &lines).ends();
        history.end.settle_trouble = trouble.map(Into::into);
        let rows = history.end.ledger.as_mut().unwrap();
        rows.truncate(2);
        rows[1] = Row { subject: subject.into(), ..rows[1].clone() };
        history.end.through = 2;
        history
    };
    let verdict = passes(&overtaken(Some("ledger_other: result 2 in the ledger …"), "bob"));
    assert_eq!((verdict.results_settled, verdict.results_overtaken), (1, 1));
    is_broken(&overtaken(None, "bob"), "ledger_whole");
    // In no history anybody ever had was it joe's.
    let wrong = firstcome_sim::judge::judge(&overtaken(Some("ledger_other: …"), "joe"));
    assert!(wrong.unwrap_err().iter().any(|broken| broken.promise == "ledger_whole"));
}

#[test]
fn a_ledger_ahead_of_what_a_loss_left_is_counted() {
    let mut history = lost(Durability::Memory, Cause::Promotion, None);
    let ann = Row { subject: "ann".into(), ..history.end.ledger.as_ref().unwrap()[0].clone() };
    history.end.ledger = Some(vec![ann]);
    history.end.settle_trouble = Some("ledger_other: …".into());
    assert_eq!(passes(&history).results_overtaken, 1);
}

#[test]
fn who_may_claim_again_keeps_the_rank_they_gave_back() {
    let again = Settings { claim_again: true, ..units_for_sale(3) };
    let mut story = Story::opened(Durability::Memory, again);
    story.wins("ann", 1);
    let cancelled = Outcome::Cancelled { by: By::Subject, at: clock(10.0) };
    story.decides(cancel("ann", 1), cancelled);
    story.wins("ann", 2);
    story.decides(
        claim("ann"),
        Outcome::AlreadyWon { rank: 2, at: clock(10.0), pool: 0, code: None },
    );
    story.hears(claim("bob"), Reply::Nothing);
    story.decides(cancel("bob", 2), Refusal::NoSuchClaim.into());
    let verdict = passes(&story.ends());
    assert_eq!((verdict.claims_acknowledged, verdict.ranks_excused), (2, 0));
}

#[test]
fn results_that_an_older_ledger_lacks_are_counted_until_another_comes() {
    let restored = |seconds: f64| {
        let mut story = Story::opened(Durability::Memory, units_for_sale(3));
        story.wins("ann", 1);
        story.at(20.0);
        story.wins("bob", 2);
        let mut history = story.ends();
        history.end.ledger.as_mut().unwrap().pop();
        history.end.through = 1;
        history.ledger_restored.push(std::time::Duration::from_secs_f64(seconds));
        history
    };
    assert_eq!(passes(&restored(21.0)).results_taken_out, 1);
    is_broken(&restored(19.0), "ledger_whole");
}
