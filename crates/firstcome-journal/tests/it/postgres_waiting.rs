//! Who waits for entries is told, and nobody else costs anything.

use crate::postgres_opening::{Own, SCHEMA, open};
use crate::world::{Player, all, patiently};
use firstcome_journal::Journal;
use firstcome_store::postgres::{Access, Heard, PostgresOptions, PostgresPool};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(30);

/// Somebody who hears notifications without being one for whom they are sent.
async fn eavesdropper(
    own: &Own,
) -> (firstcome_store::postgres::Listener, tokio::sync::broadcast::Receiver<Heard>) {
    let pool = PostgresPool::new(PostgresOptions::new(&*own.url)).unwrap();
    let listener = pool.listener(SCHEMA);
    let mut heard = listener.subscribe().await.unwrap();
    assert_eq!(heard.recv().await, Ok(Heard::Cut));
    (listener, heard)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_notified_where_nobody_waits_and_at_most_every_20_ms_else() {
    let Some(own) = Own::start().await else { return };
    let (_listener, mut heard) = eavesdropper(&own).await;
    let mut ann = Player::new(b'a');
    for _ in 0..20 {
        ann.claims(&own.journal, "ann").await.unwrap();
    }
    // Notifications come in order: had there been one, it would be before this.
    own.sql(&format!("NOTIFY {SCHEMA}, 'the end'"));
    assert_eq!(heard.recv().await, Ok(Heard::Note("the end".into())));

    let other = own.again().await;
    let (mut bob, shared) = (Player::new(b'b'), other.clone());
    // It listens from before its first look on.
    bob.apply(&shared.follow(0, LONG).await.unwrap().read.entries);
    let follower = tokio::spawn(async move {
        while bob.applied < 320 {
            bob.apply(&shared.follow(bob.applied, LONG).await.unwrap().read.entries);
        }
    });
    let begun = Instant::now();
    for _ in 0..300 {
        ann.claims(&own.journal, "ann").await.unwrap();
    }
    follower.await.unwrap();
    let most = begun.elapsed().as_millis() / 20 + 1;
    own.sql(&format!("NOTIFY {SCHEMA}, 'the end'"));
    let mut notes = 0;
    while heard.recv().await.unwrap() != Heard::Note("the end".into()) {
        notes += 1;
    }
    assert!((1..=most).contains(&notes), "{notes} notifications, at most {most} are right");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_waits_is_woken_and_does_not_poll() {
    let Some(own) = Own::start().await else { return };
    let mut ann = Player::new(b'a');
    ann.claims(&own.journal, "ann").await.unwrap();
    let other = own.again().await;
    let shared = &other;
    assert_eq!(shared.follow(0, LONG).await.unwrap().read.entries.len(), 1);
    let mut waited = Vec::new();
    for position in 1..=10 {
        let waiting = tokio::spawn({
            let shared = shared.clone();
            async move { (shared.follow(position, LONG).await.unwrap(), Instant::now()) }
        });
        // Longer than a look takes, shorter than one is put off: it waits now.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let begun = Instant::now();
        ann.claims(&own.journal, "ann").await.unwrap();
        let (news, woken) = waiting.await.unwrap();
        assert_eq!(news.read.entries.len(), 1);
        waited.push(woken.saturating_duration_since(begun));
    }
    waited.sort();
    assert!(waited[5] < Duration::from_millis(700), "the next look alone is later: {waited:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_that_was_cut_still_sees_everything() {
    let Some(own) = Own::start().await else { return };
    let (mut ann, other) = (Player::new(b'a'), own.again().await);
    let shared = &other;
    shared.follow(0, Duration::from_millis(1)).await.unwrap();
    for position in 0..5 {
        own.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND query LIKE 'LISTEN%'",
        );
        ann.claims(&own.journal, "ann").await.unwrap();
        let news = shared.follow(position, Duration::from_secs(5)).await.unwrap();
        assert_eq!(news.read.entries.len(), 1, "at {position}");
    }
}

/// Two nodes append as fast as they can; gives how many appends failed.
async fn race(one: Journal, two: Journal) -> usize {
    let mut writers = tokio::task::JoinSet::new();
    for (letter, journal) in [(b'a', one), (b'b', two)] {
        writers.spawn(async move {
            let (mut player, mut failed) = (Player::new(letter), 0);
            for _ in 0..100 {
                match player.claims(&journal, "someone").await {
                    Ok(_) => {}
                    Err(_) => failed += 1,
                }
            }
            failed
        });
    }
    writers.join_all().await.into_iter().sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_come_one_after_the_other_and_without_the_lock_they_do_not() {
    let Some(own) = Own::start().await else { return };
    assert_eq!(race(own.again().await, own.again().await).await, 0);
    assert_eq!(all(&own.journal, 0).await.len(), 200);
    // The same step without its first line.
    let step = own.sql(&format!("SELECT pg_get_functiondef('{SCHEMA}.append_3'::regproc)"));
    let line = "PERFORM pg_advisory_xact_lock(order_lock);";
    assert!(step.contains(line), "{step}");
    own.sql(&step.replace(line, ""));
    // A twin that never fails would not show that the lock is what keeps them apart.
    let mut failed = 0;
    for _ in 0..20 {
        failed += race(own.again().await, own.again().await).await;
        if failed > 0 {
            break;
        }
    }
    assert!(failed > 0, "without the lock nobody got in anybody's way");
    let stored = all(&own.journal, 0).await;
    assert!(stored.len() >= 200, "what was stored is still a chain");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_stays_open_elsewhere_does_not_make_appends_slower() {
    let Some(own) = Own::start().await else { return };
    let mut ann = Player::new(b'a');
    ann.claims(&own.journal, "ann").await.unwrap();
    // Whoever holds on to a snapshot keeps every dead row from being removed.
    let pool = PostgresPool::new(PostgresOptions::new(&*own.url)).unwrap();
    let mut session = pool.session().await.unwrap();
    let work = session.begin(Access::Snapshot).await.unwrap();
    work.query("SELECT count(*) FROM pg_class", &[]).await.unwrap();
    let holding = tokio::spawn({
        let journal = own.journal.clone();
        let mut ann = ann.clone();
        async move {
            let term = journal.mint_term().await.unwrap();
            for _ in 0..1_000 {
                ann.claims(&journal, "ann").await.unwrap();
            }
            term
        }
    });
    // It is ended by the server after 5 s without a statement.
    let mut held = 0;
    while !holding.is_finished() {
        work.query("SELECT 1", &[]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        held += 1;
    }
    holding.await.unwrap();
    let dead =
        "SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables WHERE relname = 'entries'";
    assert_eq!(own.sql(dead), "0", "an append leaves nothing dead behind");
    let pages = |sql: &str| {
        let plan = own.sql(&format!(
            "SET search_path TO {SCHEMA}; EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) {sql}"
        ));
        let line = plan.lines().find(|line| line.contains("Buffers: shared")).unwrap_or_default();
        let numbers = line.split(['=', ' ']).filter_map(|word| word.parse::<u64>().ok());
        (numbers.sum::<u64>(), plan)
    };
    let (last, plan) =
        pages("SELECT position, name, at FROM entries ORDER BY entries.position DESC LIMIT 1");
    assert!((1..=5).contains(&last), "{last} pages for the last row\n{plan}");
    let (head, plan) = pages("SELECT * FROM head");
    assert!((1..=3).contains(&head), "{head} pages for the head\n{plan}");
    assert!(held > 0);
    work.roll_back().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stops_in_the_middle_of_a_step_holds_others_up_for_a_second_only() {
    let Some(own) = Own::start().await else { return };
    let mut ann = Player::new(b'a');
    ann.claims(&own.journal, "ann").await.unwrap();
    let stopped = open(&own.url, |_| {}).await.unwrap();
    // As a node does between two statements: the lock of the order is held, and nothing follows.
    let pool = PostgresPool::new(
        PostgresOptions::new(&*own.url)
            .schema(stopped.schema())
            .idle_within(Duration::from_secs(1)),
    )
    .unwrap();
    let mut session = pool.session().await.unwrap();
    let work = session.begin(Access::Usual).await.unwrap();
    work.batch("LOCK TABLE head IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let begun = Instant::now();
    let append = ann.next("ann");
    patiently(async || own.journal.append(append.clone()).await).await.unwrap();
    // Without the limit of a second it would be 5.
    assert!(begun.elapsed() < Duration::from_millis(4_500), "{:?}", begun.elapsed());
    drop(work);
}
