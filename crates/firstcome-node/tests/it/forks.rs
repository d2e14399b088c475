//! Several nodes whose journal goes on in another history: what is brought along, and who is told.
//!
//! Time is the runtime's own, paused: waiting for something that only time brings is done at once.

use crate::holding::{holds, opens, units};
use crate::mistakes::shows;
use crate::several::{CODE_KEY, Seat, agree, places, store, store_head};
use firstcome_core::campaign::CodeStatus;
use firstcome_core::codes::CodeKey;
use firstcome_core::command::{
    BodyWriter, CodeCommand, Command, Expect, Late, Order, Pick, StagedCode, Step,
};
use firstcome_core::names::NodeId;
use firstcome_core::outcome::By;
use firstcome_core::settings::CodeSource::Generated;
use firstcome_core::settings::{CodeSettings, CodeSource, PoolSettings};
use firstcome_core::{Outcome, Settings};
use firstcome_faults::faulty::{Fault, JournalCall};
use firstcome_inject::Mistake;
use firstcome_journal::memory::Memory;
use firstcome_journal::{Journal, Name};
use firstcome_node::CommandError;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Has a store keep its first entries only, and go on with somebody's claim from elsewhere.
fn forks(store: &Memory, keep: u64, stranger: u8, subject: &str) {
    forks_with(store, keep, stranger, &[subject]);
}

/// The same with the claims of several.
fn forks_with(store: &Memory, keep: u64, stranger: u8, subjects: &[&str]) {
    let stranger = NodeId([stranger; 16]);
    let mut body = BodyWriter::new(stranger, 1, 0);
    for subject in subjects {
        assert!(body.push(&Command::claim("spring", None, subject)));
    }
    store.fork(keep, [(Name { node: stranger, number: 1 }, body.finish())]);
}

#[tokio::test(start_paused = true)]
async fn a_fork_is_brought_together_and_the_list_says_who_changed_rank() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 4).await;
    for subject in ["ann", "bob", "cid", "dan"] {
        one.claims(subject).await;
    }
    two.reaches(5).await;
    let old = one.position();
    // A copy that had only ann took zed's and cid's claims while it was cut off.
    forks_with(&store, 2, 9, &["zed", "cid"]);
    sleep(Duration::from_secs(20)).await;
    agree(&[&one, &two]).await;

    let ranks = one.node.replica.look(|state| {
        let pool = state.campaign("spring").unwrap().pool("main").unwrap();
        ["ann", "zed", "cid", "bob", "dan"].map(|subject| pool.latest(subject))
    });
    assert_eq!(ranks, [Some(1), Some(2), Some(3), Some(4), None], "four places, in the new order");
    assert_eq!(store_head(&store).await.1, 1, "the epoch was raised once");
    let reports = Journal::Memory(store.clone()).reports().await.unwrap();
    let text: String = reports.iter().map(|(_, _, text)| text.as_str()).collect();
    for line in [
        "spring/main \"bob\" changed from rank 2 to 4",
        "spring/main \"cid\" kept rank 3",
        "spring/main \"dan\" lost rank 4",
    ] {
        assert!(text.contains(line), "{line} is missing from: {text}");
    }
    let stale = two.tries("ann", Some(old)).await.unwrap_err();
    assert!(matches!(stale, CommandError::StalePosition), "{stale:?}");
    assert_eq!(two.claims("bob").await, 4);
}

#[tokio::test(start_paused = true)]
async fn who_had_a_rank_in_either_of_two_histories_that_are_over_is_on_the_list() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 2).await;
    for subject in ["ann", "bob"] {
        one.claims(subject).await;
    }
    // It goes over, and cannot bring anything before it has to go over again.
    for n in 1..=1_000 {
        one.journal.fault(JournalCall::RaiseEpoch, n, Fault::Refuse);
    }
    forks(&store, 2, 9, "zed");
    sleep(Duration::from_secs(5)).await;
    assert!(
        one.node.replica.look(|state| state.has_run(Name { node: NodeId([9; 16]), number: 1 })),
        "it went over"
    );
    forks(&store, 2, 8, "yan");
    one.journal.mend();
    sleep(Duration::from_secs(20)).await;
    let reports = Journal::Memory(store.clone()).reports().await.unwrap();
    let text: String = reports.iter().map(|(_, _, text)| text.as_str()).collect();
    for line in ["spring/main \"bob\" lost rank 2\n", "spring/main \"zed\" lost rank 2\n"] {
        assert!(text.contains(line), "{line} is missing from: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_lost_a_claim_that_was_cancelled_is_on_the_list_too() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 2).await;
    for subject in ["ann", "bob"] {
        one.claims(subject).await;
    }
    let cancel = Command::Cancel {
        campaign: "spring",
        pool: Some("main"),
        subject: "bob",
        rank: 2,
        by: By::Operator,
        reason: "a bot",
        who: "desk",
    };
    one.node.intake.decide(&cancel).await.unwrap();
    two.reaches(4).await;
    // A copy that had only ann took zed's claim: bob's finds no place any more, and his cancel nothing to undo.
    forks(&store, 2, 9, "zed");
    sleep(Duration::from_secs(20)).await;
    agree(&[&one, &two]).await;
    let reports = Journal::Memory(store.clone()).reports().await.unwrap();
    let text: String = reports.iter().map(|(_, _, text)| text.as_str()).collect();
    assert!(text.contains("spring/main \"bob\" lost rank 2\n"), "{text}");
    assert!(!text.contains("\"ann\""), "{text}");
}

#[tokio::test(start_paused = true)]
async fn who_lost_a_claim_that_was_cancelled_and_made_again_is_on_the_list_with_both() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.puts("spring", Settings { claim_again: true, ..places(9) }).await;
    for (subject, rank) in [("ann", 1), ("bob", 3)] {
        one.claims(subject).await;
        cancels(&one, subject, rank).await;
        one.claims(subject).await;
        two.reaches(one.position().position).await;
    }
    // A copy that had all of ann's took zed's claim: bob's first one gets the rank that his second one had.
    forks(&store, 4, 9, "zed");
    sleep(Duration::from_secs(20)).await;
    agree(&[&one, &two]).await;
    let reports = Journal::Memory(store.clone()).reports().await.unwrap();
    let text: String = reports.iter().map(|(_, _, text)| text.as_str()).collect();
    for line in ["spring/main \"bob\" lost rank 3\n", "spring/main \"bob\" kept rank 4\n"] {
        assert!(text.contains(line), "{line} is missing from: {text}");
    }
    assert!(!text.contains("\"ann\""), "{text}");
}

/// Somebody cancels their claim of a place of `spring`.
pub(crate) async fn cancels(seat: &Seat, subject: &str, rank: u32) {
    let (campaign, pool, by, reason, who) = ("spring", Some("main"), By::Subject, "", "");
    decides(seat, &Command::Cancel { campaign, pool, subject, rank, by, reason, who }).await;
}

/// Somebody holds two places of `spring`.
fn two_places<'a>(id: &'a str, subject: &'a str) -> Command<'a> {
    let picks = vec![Pick { pool: None, ..Pick::quantity("main", 2) }];
    Command::Hold { campaign: "spring", id, subject, picks, limit: None }
}

#[tokio::test(start_paused = true)]
async fn whoever_held_something_that_a_fork_took_or_changed_is_on_the_list() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 4).await;
    let intake = &one.node.intake;
    for (id, subject) in [("h1", "ann"), ("h2", "bob")] {
        let held = intake.decide(&two_places(id, subject)).await.unwrap();
        assert!(matches!(held.outcome, Outcome::Held(_)), "{:?}", held.outcome);
    }
    let step = Step { campaign: "spring", hold: "h1", subject: "ann", id: None };
    let confirm = Command::Confirm { step, units: Vec::new(), late: Late::Refuse };
    intake.decide(&confirm).await.unwrap();
    two.reaches(4).await;
    // A copy that had the campaign only took zed's claim: three places are left for what is brought.
    forks(&store, 1, 9, "zed");
    sleep(Duration::from_secs(20)).await;
    agree(&[&one, &two]).await;
    let reports = Journal::Memory(store.clone()).reports().await.unwrap();
    let text: String = reports.iter().map(|(_, _, text)| text.as_str()).collect();
    for line in [
        "spring hold \"h1\" of \"ann\" has main as rank 2, main as rank 3, it had main as rank 1, main as rank 2\n",
        "spring hold \"h2\" of \"bob\" is gone, it had main, main\n",
    ] {
        assert!(text.contains(line), "{line} is missing from: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_who_has_a_hold_as_well_is_on_the_list_too() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 4).await;
    for subject in ["ann", "bob"] {
        one.claims(subject).await;
    }
    decides(&one, &two_places("h1", "bob")).await;
    let step = Step { campaign: "spring", hold: "h1", subject: "bob", id: None };
    let confirm = Command::Confirm { step, units: Vec::new(), late: Late::Refuse };
    decides(&one, &confirm).await;
    two.reaches(5).await;
    // A copy that had only ann's claim took zed's: bob's gets the next rank, and for his hold too little is left.
    forks(&store, 2, 9, "zed");
    sleep(Duration::from_secs(20)).await;
    agree(&[&one, &two]).await;
    let reports = Journal::Memory(store.clone()).reports().await.unwrap();
    let text: String = reports.iter().map(|(_, _, text)| text.as_str()).collect();
    for line in [
        "spring/main \"bob\" changed from rank 2 to 3\n",
        "spring/main \"bob\" changed from rank 4 to 3\n",
        "spring hold \"h1\" of \"bob\" is gone, it had main as rank 3, main as rank 4\n",
    ] {
        assert!(text.contains(line), "{line} is missing from: {text}");
    }
}

/// An operator says something about seats, ann's among them; then a copy that had only her hold gave `B1` to zed. Gives
/// the report.
async fn is_undone(said: &Command<'_>) -> String {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    opens(&one, Duration::from_secs(600)).await;
    holds(&one, "h1", "ann", &["A1"]).await;
    let kept = one.position().position;
    let done = one.node.intake.decide(said).await.unwrap().outcome;
    assert!(!done.is_refusal(), "{done:?}");
    two.reaches(kept + 1).await;
    let stranger = NodeId([9; 16]);
    let mut body = BodyWriter::new(stranger, 1, 0);
    let (picks, limit) = (units(&["B1"]), None);
    assert!(body.push(&Command::Hold { campaign: "hall", id: "z", subject: "zed", picks, limit }));
    store.fork(kept, [(Name { node: stranger, number: 1 }, body.finish())]);
    sleep(Duration::from_secs(20)).await;
    agree(&[&one, &two]).await;
    let reports = Journal::Memory(store.clone()).reports().await.unwrap();
    reports.iter().map(|(_, _, text)| text.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_an_operator_said_about_seats_and_a_fork_undid_is_on_the_list() {
    let order = Order { id: None, who: "desk" };
    let (campaign, pool, from, to, reason) = ("hall", "main", "A1", "B1", "a broken seat");
    let text = is_undone(&Command::Move { campaign, pool, from, to, reason, order }).await;
    for line in [
        "hall/main unit \"B1\" is held by \"zed\" in hold \"z\", it was held by \"ann\" in hold \"h1\"\n",
        "hall/main unit \"A1\" is held by \"ann\" in hold \"h1\", it was free\n",
        "hall hold \"h1\" of \"ann\" has main/A1, it had main/B1\n",
    ] {
        assert!(text.contains(line), "{line} is missing from: {text}");
    }
    let (units, blocked, reason) = (units(&["B1"]), true, "wet paint");
    let text = is_undone(&Command::Block { campaign, units, blocked, reason, order }).await;
    let line = "hall/main unit \"B1\" is held by \"zed\" in hold \"z\", it was blocked\n";
    assert!(text.contains(line), "{line} is missing from: {text}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_was_under_way_in_a_fork_runs_once() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 10).await;
    one.claims("ann").await;
    two.reaches(2).await;
    two.journal.hold();
    sleep(Duration::from_secs(1)).await;
    one.journal.lose_answer(1);
    // Stored on the branch that goes away, its answer lost: it is sent again until it is seen.
    let (answer, ()) = tokio::join!(one.tries("bob", None), async {
        one.journal.asked(3).await;
        store.lose_tail(2);
        two.journal.let_go();
    });
    let first = answer.unwrap();
    sleep(Duration::from_secs(20)).await;
    agree(&[&one, &two]).await;
    assert!(matches!(first.outcome, Outcome::Won { rank: 2, .. }), "{first:?}");
    assert_eq!(two.claims("bob").await, 2);
    assert_eq!(two.claims("cid").await, 3, "bob was given one place");
}

#[tokio::test(start_paused = true)]
async fn a_fork_by_a_node_that_lagged_is_brought_together_too() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 10).await;
    one.claims("ann").await;
    two.reaches(2).await;
    two.journal.hold();
    // What the second node asked before is still answered.
    sleep(Duration::from_secs(2)).await;
    for subject in ["bob", "cid"] {
        one.claims(subject).await;
    }
    // The first node is cut off longer than anybody waits for it.
    one.journal.hold();
    store.lose_tail(2);
    two.journal.let_go();
    assert_eq!(two.claims("zed").await, 2, "nobody there knew more");
    one.journal.let_go();
    sleep(Duration::from_secs(20)).await;
    agree(&[&one, &two]).await;
    assert_eq!((one.claims("bob").await, one.claims("cid").await), (3, 4), "lost by nobody");
    assert_eq!(one.claims("dan").await, 5);
    assert_eq!(two.claims("eve").await, 6);
    assert_eq!(one.counted("forks"), 1);
}

/// Ann claims in a campaign of codes that her node does not know yet: the entry that creates it has her claim, which is
/// refused for want of its code's tag, and the node is told to stop before it can send the claim with one. Then a copy takes
/// over in which the campaign had no codes: her claim is brought there, and wins. Says whether she heard that nothing changed.
async fn a_claim_that_could_not_be_sent_twice_changed_nothing() -> bool {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.journal.hold();
    let intake = Arc::clone(&one.node.intake);
    let tick = tokio::spawn(async move { intake.tick().await });
    one.journal.asked(1).await;
    // What comes while an append is under way is the next entry.
    let intake = Arc::clone(&one.node.intake);
    let ann = tokio::spawn(async move {
        let pool = PoolSettings::coded("main", 9, CodeSettings::new(Generated, CODE_KEY));
        let (settings, expect) = (Settings { pools: vec![pool], ..places(9) }, Expect::Anything);
        let order = Order { id: None, who: "ops" };
        let put = Command::Put { campaign: "spring", settings, expect, order };
        let claim = Command::claim("spring", None, "ann");
        let (created, claimed) = tokio::join!(intake.decide(&put), intake.decide(&claim));
        assert_eq!(created.unwrap().outcome.as_str(), "created");
        claimed
    });
    while one.node.waiting() < 2 {
        tokio::task::yield_now().await;
    }
    let stops = tokio::spawn(one.node.stop());
    tokio::task::yield_now().await;
    one.journal.let_go();
    tick.await.unwrap().unwrap();
    let heard = ann.await.unwrap();
    stops.await.unwrap().unwrap();
    let ann_has = || {
        two.node
            .replica
            .look(|state| state.campaign("spring").unwrap().pool("main").unwrap().latest("ann"))
    };
    two.reaches(2).await;
    assert_eq!(ann_has(), None, "it was refused");

    let mut body = BodyWriter::new(NodeId([9; 16]), 1, 0);
    let (settings, expect) = (places(9), Expect::Anything);
    let order = Order { id: None, who: "ops" };
    assert!(body.push(&Command::Put { campaign: "spring", settings, expect, order }));
    store.fork(0, [(Name { node: NodeId([9; 16]), number: 1 }, body.finish())]);
    sleep(Duration::from_secs(20)).await;
    assert_eq!(ann_has(), Some(1), "it was granted");
    !matches!(heard, Err(CommandError::Unknown))
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_was_sent_once_is_unknown_where_it_cannot_be_sent_twice() {
    shows(Mistake::FirstTryForgotten, a_claim_that_could_not_be_sent_twice_changed_nothing).await;
}

/// Opens `spring` with codes that were imported, known by the hashes 1, 2, 3 and so on.
pub(crate) async fn opens_with_codes(seat: &Seat, codes: u8) {
    let pool = PoolSettings::coded("main", 0, CodeSettings::new(CodeSource::Imported, CODE_KEY));
    seat.puts("spring", Settings { claim_again: true, pools: vec![pool], ..places(0) }).await;
    let (campaign, pool, import, order) = ("spring", "main", "i1", DESK);
    let sealed = b"sealed under the key of a test";
    let staged = (1..=codes).map(|n| StagedCode { hash: [n; 16], sealed }).collect();
    let stage = CodeCommand::Stage { campaign, pool, import, first: 0, codes: staged, order };
    decides(seat, &Command::Code(stage)).await;
    let commit = CodeCommand::Commit { campaign, pool, import, lines: u32::from(codes), order };
    decides(seat, &Command::Code(commit)).await;
}

const DESK: Order<'static> = Order { id: None, who: "desk" };

pub(crate) async fn decides(seat: &Seat, command: &Command<'_>) {
    let said = seat.node.intake.decide(command).await.unwrap().outcome;
    assert!(!said.is_refusal(), "{said:?}");
}

/// Returns for each imported code, in their order, who was given it last and how it stands; none of one that is in stock.
fn whose_codes(seat: &Seat, codes: u8) -> Vec<Option<(String, CodeStatus)>> {
    seat.node.replica.look(|state| {
        let campaign = state.campaign("spring").unwrap();
        let view = |n| {
            let (code, now) = (CodeKey::Imported { hash: [n; 16] }, (state.at(), state.service()));
            campaign.code(None, code, now).ok().map(|view| (view.subject.to_owned(), view.status))
        };
        (1..=codes).map(view).collect()
    })
}

/// An operator replaces the code of a claim.
async fn replaces(seat: &Seat, subject: &str, rank: u32) {
    let (campaign, pool, reason, order) = ("spring", "main", "it was seen", DESK);
    let (issue, tag) = (2, None);
    let reissue = CodeCommand::Reissue { campaign, pool, subject, rank, issue, tag, reason, order };
    decides(seat, &Command::Code(reissue)).await;
}

#[tokio::test(start_paused = true)]
async fn a_code_that_was_replaced_or_given_back_before_a_fork_gave_it_to_another_is_suspended() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    opens_with_codes(&one, 6).await;
    one.claims("ann").await;
    let kept = one.position().position;
    // Ann gets the second code in the place of her first, and bob the fourth in the place of the third.
    replaces(&one, "ann", 1).await;
    let rank = one.claims("bob").await;
    replaces(&one, "bob", rank).await;
    // Cid gives the fifth back, and gets the sixth.
    let rank = one.claims("cid").await;
    cancels(&one, "cid", rank).await;
    one.claims("cid").await;
    two.reaches(one.position().position).await;
    // A copy that had only ann's claim gave the second and the third code to zed and yan.
    forks_with(&store, kept, 9, &["zed", "yan"]);
    sleep(Duration::from_secs(20)).await;
    agree(&[&one, &two]).await;
    let stands = |subject: &str, status| Some((subject.to_owned(), status));
    let expected = [
        // It is hers on both branches, and was replaced on both.
        stands("ann", CodeStatus::Revoked),
        stands("zed", CodeStatus::Suspended),
        stands("yan", CodeStatus::Suspended),
        stands("ann", CodeStatus::Suspended),
        stands("bob", CodeStatus::Suspended),
        stands("cid", CodeStatus::Issued),
    ];
    assert_eq!(whose_codes(&one, 6), expected);
    let reports = Journal::Memory(store.clone()).reports().await.unwrap();
    assert!(!reports.is_empty());
    for (_, _, text) in &reports {
        let lines = |subject| {
            let line = format!("spring/main {subject:?} had an imported code that is not theirs");
            text.matches(&line).count()
        };
        assert_eq!(["ann", "bob", "cid"].map(lines), [1, 2, 1], "{text}");
    }
}
