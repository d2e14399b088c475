//! Journals in a Redis Cluster, each at the server that has the slot of its space.

use crate::world::{Player, Stage, all, subject_of};
use crate::{conformance, sharing};
use firstcome_journal::JournalError;
use firstcome_journal::redis::ReadOnly;
use firstcome_store::RedisOptions;
use firstcome_testbed::RedisCluster;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::task::block_in_place;

/// Tells stories of every store, each in a space of its own; gives the servers at which those are.
macro_rules! tell {
    ($cluster:expr, $($file:ident::$story:ident),+ $(,)?) => {{
        let mut owners = BTreeSet::new();
        $({
            let name = stringify!($story);
            // A name of a space is short.
            let name = &name[..name.len().min(30)];
            $file::$story(&Stage::in_cluster($cluster, name).await).await;
            owners.insert($cluster.owner(&format!("fc:{{{name}}}:head")));
        })+
        owners
    }};
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_space_is_at_the_owner_of_its_slot_and_goes_with_it() {
    let Some(mut cluster) = block_in_place(RedisCluster::start) else { return };
    let owners = tell!(
        &cluster,
        conformance::an_append_comes_back_with_what_was_missed,
        conformance::a_caller_on_another_branch_is_told_and_nothing_is_stored,
        conformance::a_long_gap_comes_back_in_parts,
        conformance::many_pieces_go_in_one_trim,
        conformance::entries_that_two_snapshots_cover_go_after_ten_minutes,
        sharing::following_sees_everything_in_order,
        sharing::a_seed_takes_the_place_of_what_is_there,
    );
    assert!(owners.len() > 1, "spaces are at several servers: {owners:?}");

    let stage = Stage::in_cluster(&cluster, "moved").await;
    let (journal, mut ann) = (&stage.journal, Player::new(b'a'));
    for subject in ["one", "two", "three"] {
        ann.claims(journal, subject).await.unwrap();
    }
    let key = "fc:{moved}:head";
    let target = (cluster.owner(key) + 1) % 3;
    block_in_place(|| {
        cluster.move_slot(key, target, |from, to| {
            // The head is at the new server, the log still at the old one.
            let port = cluster.server(to).port();
            let migrate = format!("MIGRATE 127.0.0.1 {port} {key} 0 5000");
            assert_eq!(cluster.server(from).ask(&migrate), "+OK");
            let (mut bob, began) = (ann.clone(), Instant::now());
            let asked = tokio::runtime::Handle::current().block_on(bob.claims(journal, "none"));
            assert!(matches!(asked, Err(JournalError::Unavailable(_))), "{asked:?}");
            assert!(began.elapsed() < Duration::from_secs(5));
        });
    });
    goes_on(&stage, &mut ann, "four").await;
    block_in_place(|| cluster.fail_over(key));
    goes_on(&stage, &mut ann, "five").await;
    // The connection for reading learns of it when it is used.
    let end = Instant::now() + Duration::from_secs(20);
    while let Err(failure) = journal.read(0).await {
        assert!(Instant::now() < end, "{failure}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let subjects: Vec<_> = all(journal, 0).await.iter().map(subject_of).collect();
    assert_eq!(subjects, ["one", "two", "three", "four", "five"]);

    let url = cluster.url();
    let entries = block_in_place(|| {
        let read_only = ReadOnly::open(RedisOptions::new(url), "moved", Vec::new()).unwrap();
        read_only.head().unwrap().position
    });
    assert_eq!(entries, 5);
}

/// Appends once the journal agrees, after telling that the server is another one.
async fn goes_on(stage: &Stage, ann: &mut Player, subject: &str) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let mut tries = ann.clone();
        match tries.claims(&stage.journal, subject).await {
            Ok(_) => break *ann = tries,
            Err(failure) => assert!(
                matches!(failure, JournalError::Unavailable(_) | JournalError::Changed),
                "{failure}"
            ),
        }
        assert!(Instant::now() < end, "it does not go on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
