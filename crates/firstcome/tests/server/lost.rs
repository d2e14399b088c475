//! Calls and answers are lost between a node and its journal: what happened, happened once, and
//! whoever asks again learns it.

use crate::inside::{Inside, Setup};
use firstcome_faults::faulty::{Fault, JournalCall};
use firstcome_journal::{Append, Entry, Journal, Name};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Returns what every claim in the journal was for, copies included.
async fn claims_in(journal: &Journal) -> Vec<String> {
    let mut claims = Vec::new();
    let mut after = 0;
    loop {
        let entries = journal.read(after).await.unwrap().entries;
        let Some(last) = entries.last() else { return claims };
        after = last.position;
        for entry in &entries {
            let (_, body) = entry.open().unwrap();
            for command in body.commands().unwrap() {
                if let firstcome_core::Command::Claim { subject, .. } = command {
                    claims.push(subject.to_owned());
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_call_is_sent_again_and_its_caller_hears_a_yes() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    node.journal.lose_call(1);
    node.journal.lose_call(2);
    let won = node.claim("drop", "ann").await.says(201, "won");
    assert_eq!((&won["rank"], &won["decided"]), (&json!(1), &json!("journal")));
    assert_eq!(claims_in(node.journal.truth()).await, ["ann"]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_two_copies_and_one_claim() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    node.journal.lose_answer(1);
    let won = node.claim("drop", "ann").await.says(201, "won");
    // The first copy counts: the position is its own.
    assert_eq!((&won["rank"], &won["position"]), (&json!(1), &json!("0.2")));
    assert_eq!(claims_in(node.journal.truth()).await, ["ann", "ann"]);
    let next = node.claim("drop", "bob").await.says(201, "won");
    assert_eq!(next["rank"], json!(2));
    assert_eq!(node.show("drop").await["pools"][0]["taken"], json!(2));
    assert_eq!(node.get("/v1/campaigns/drop/results").await.json()["last"], json!(2));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_between_two_copies_of_a_claim_stays_a_cancel() {
    let node = Inside::new().await;
    let settings = json!({"opens_at": "now", "claim_again": true,
        "pools": [{"name": "main", "capacity": 9}]});
    node.put("drop", &settings).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.cancel("drop", "ann", "rank=1&by=subject").await.says(200, "cancelled");
    // Only now a second copy of Ann's batch arrives, which somebody had sent for want of an answer.
    let store = node.journal.truth();
    let entries = store.read(1).await.unwrap().entries;
    let name = |entry: &Entry| {
        let (stamp, _) = entry.open().unwrap();
        Name { node: stamp.node, number: stamp.number }
    };
    let [claim, cancel] = &entries[..] else { panic!("{entries:?}") };
    let body = Arc::clone(&claim.body);
    let (applied, applied_name) = (cancel.position, name(cancel));
    let copy = Append { body, name: name(claim), applied, applied_name };
    store.append(copy).await.unwrap();
    // The copy's place in the chain counts, its commands do not.
    assert_eq!(node.claim("drop", "bob").await.says(201, "won")["position"], json!("0.5"));
    assert_eq!(claims_in(store).await, ["ann", "ann", "bob"]);
    let claims = node.get("/v1/campaigns/drop/claims/ann").await.json();
    assert_eq!(claims["claims"].as_array().map(Vec::len), Some(1), "{claims}");
    assert_eq!(claims["claims"][0]["cancelled"]["by"], json!("subject"));
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_hears_unknown_and_who_never_left_hears_unavailable() {
    let node = Inside::with(Setup { wait: Duration::from_secs(2), ..Setup::default() }).await;
    node.open("drop", 9).await.says(201, "created");
    node.journal.hold();
    let begun = Instant::now();
    let queued = async {
        // Bob comes once Ann's claim is on its way.
        node.journal.asked(2).await;
        node.claim("drop", "bob").await
    };
    let (ann, bob) = tokio::join!(node.claim("drop", "ann"), queued);
    ann.refuses("unknown", "send it again");
    bob.refuses("unavailable", "nothing changed");
    assert!(begun.elapsed() < Duration::from_secs(3));
    let position = node.position();
    node.journal.let_go();
    node.beyond(position).await;
    let ann = node.claim("drop", "ann").await.says(200, "already_won");
    assert_eq!((&ann["rank"], &ann["decided"]), (&json!(1), &json!("replica")));
    node.get("/v1/campaigns/drop/claims/bob").await.refuses("no_such_claim", "drop");
    assert_eq!(claims_in(node.journal.truth()).await, ["ann"]);
    let counts = node.get("/metrics").await.text();
    for outcome in ["unknown", "unavailable"] {
        let count = format!("answers_total{{outcome=\"{outcome}\"}} 1\n");
        assert!(counts.contains(&count), "{count}: {counts}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_nobody_heard_of_happened_if_its_answer_was_lost_for_good() {
    let node = Inside::with(Setup { wait: Duration::from_secs(1), ..Setup::default() }).await;
    node.open("drop", 9).await.says(201, "created");
    // Every answer is lost from here on: the batch is stored again and again.
    node.journal.always(Fault::LoseAnswer);
    node.claim("drop", "ann").await.refuses("unknown", "send it again");
    node.journal.mend();
    let ann = node.claim("drop", "ann").await;
    assert_eq!((ann.status, &ann.json()["rank"]), (200, &json!(1)));
    let copies = claims_in(node.journal.truth()).await;
    assert!(copies.len() > 1, "{copies:?}");
    assert_eq!(node.show("drop").await["pools"][0]["last_rank"], json!(1));
}

#[tokio::test(start_paused = true)]
async fn what_the_store_refuses_outright_did_not_happen() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    node.journal.fault(JournalCall::Append, 1, Fault::Refuse);
    node.claim("drop", "ann").await.refuses("unavailable", "nothing changed");
    assert_eq!(node.get("/readyz").await.status, 503);
    // While it is in trouble nothing is said from memory, not even what is long known.
    let bob = node.claim("drop", "bob").await.says(201, "won");
    assert_eq!((&bob["rank"], &bob["decided"]), (&json!(1), &json!("journal")));
    assert_eq!(node.get("/readyz").await.status, 200);
    assert_eq!(claims_in(node.journal.truth()).await, ["bob"]);
}

#[tokio::test(start_paused = true)]
async fn trouble_that_lasts_is_answered_at_once_and_ends_by_itself() {
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.journal.always(Fault::Full);
    node.claim("drop", "bob").await.refuses("store_full", "nothing changed");
    // A repeat is not answered from memory while the store is in trouble: it is tried.
    node.claim("drop", "ann").await.refuses("store_full", "nothing changed");
    sleep(Duration::from_secs(6)).await;
    let appends = node.journal.appends();
    for subject in ["bob", "ann", "cem"] {
        node.claim("drop", subject).await.refuses("store_full", "nothing changed");
    }
    assert_eq!(node.journal.appends(), appends, "nobody is sent to a store that is full");
    let ready = node.get("/readyz").await;
    assert_eq!(ready.status, 503);
    assert!(ready.json()["reasons"][0].as_str().unwrap().contains("full"), "{}", ready.text());
    let without_key = node.ask_with("GET", "/readyz", &[("authorization", "")], "").await;
    assert_eq!(without_key.json()["reasons"], json!(["store_full"]));
    let position = node.position();
    node.journal.mend();
    node.beyond(position).await;
    assert_eq!(node.get("/readyz").await.status, 200);
    node.claim("drop", "ann").await.says(200, "already_won");
    assert_eq!(node.claim("drop", "bob").await.says(201, "won")["rank"], json!(2));
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_says_busy_and_when_to_come_back() {
    let setup = Setup { queue: 2, wait: Duration::from_secs(1), ..Setup::default() };
    let node = Inside::with(setup).await;
    node.open("drop", 9).await.says(201, "created");
    node.journal.hold();
    let late = async {
        node.journal.asked(2).await;
        let two = async { tokio::join!(node.claim("drop", "bob"), node.claim("drop", "cem")) };
        let dan = async {
            while node.app.node.waiting() < 2 {
                tokio::task::yield_now().await;
            }
            node.claim("drop", "dan").await
        };
        tokio::join!(two, dan)
    };
    let (ann, ((bob, cem), dan)) = tokio::join!(node.claim("drop", "ann"), late);
    ann.refuses("unknown", "");
    bob.refuses("unavailable", "");
    cem.refuses("unavailable", "");
    dan.refuses("busy", "Too many commands are waiting; nothing changed");
    node.journal.let_go();
}

#[tokio::test(start_paused = true)]
async fn results_beyond_the_outbox_are_not_made() {
    let node = Inside::with(Setup { outbox: Some(2), ..Setup::default() }).await;
    node.open("drop", 9).await.says(201, "created");
    node.claim("drop", "ann").await.says(201, "won");
    node.claim("drop", "bob").await.says(201, "won");
    let position = node.position();
    node.claim("drop", "cem").await.refuses("outbox_full", "nothing changed");
    node.cancel("drop", "ann", "rank=1&by=subject").await.refuses("outbox_full", "");
    assert_eq!(node.position(), position);
    // What makes no result goes on, and so does what is known already.
    node.claim("drop", "ann").await.says(200, "already_won");
    node.post("/v1/campaigns/drop/pause").await.says(200, "changed");
}

#[tokio::test(start_paused = true)]
async fn a_node_told_to_stop_does_not_wait_for_ever_for_its_journal() {
    for silent in [true, false] {
        let node = Inside::new().await;
        node.open("drop", 9).await.says(201, "created");
        let journal = node.journal.clone();
        if silent {
            journal.hold();
        } else {
            journal.always(Fault::LoseCall);
        }
        node.claim("drop", "ann").await.refuses("unknown", "send it again");
        let begun = Instant::now();
        let stopped = tokio::time::timeout(Duration::from_secs(60), node.stop()).await;
        assert!(stopped.is_ok(), "silent: {silent}");
        assert!(begun.elapsed() <= Duration::from_secs(7), "a command's wait, and a moment");
    }
}
