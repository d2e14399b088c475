//! Nodes that wait for the disk of a PostgreSQL together, and for a standby that never comes.

use crate::postgres_failing::{begin, durable, fsync, one_waiting};
use crate::postgres_opening::{Own, SCHEMA, open};
use crate::redis_failing::until;
use crate::world::{Player, name_of, name_of_database, patiently};
use firstcome_journal::{Journal, JournalError};
use firstcome_store::postgres::{PostgresOptions, PostgresPool};
use firstcome_testbed::{PgBouncer, Postgres as Server, Proxy, ProxyFault};
use std::time::{Duration, Instant};
use tokio::task::block_in_place;

/// A server whose commits can be made to wait for a standby that never comes, and journals in it, with who appends to each.
struct Waits {
    own: Own,
    journals: Vec<(Journal, Player)>,
    operator: PostgresPool,
}

impl Waits {
    async fn begin(count: u8) -> Option<Self> {
        let server = &*Box::leak(Box::new(Server::with(durable(&[]))?));
        let mut journals = Vec::new();
        for letter in 0..count {
            let journal = Journal::Postgres(open(&server.url(), fsync).await.unwrap());
            journals.push((journal, Player::new(b'a' + letter)));
        }
        let own = Own { server, url: server.url(), journal: journals[0].0.clone() };
        let operator = PostgresPool::new(PostgresOptions::new(&*own.url).schema(SCHEMA)).unwrap();
        Some(Self { own, journals, operator })
    }

    /// Each appends after the others have, and sees what they appended.
    async fn append_in_turn(&mut self) {
        for (number, (journal, player)) in self.journals.iter_mut().enumerate() {
            player.claims(journal, &format!("in-turn-{number}")).await.unwrap();
        }
        let (journal, player) = &mut self.journals[0];
        player.claims(journal, "in-turn-again").await.unwrap();
    }

    async fn wait_for(&self, names: &str) {
        self.own.sql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        self.own.sql("SELECT pg_reload_conf()");
        until(|| self.own.sql("SHOW synchronous_standby_names") == names).await;
        // Commits wait only once the checkpointer has read it, too, which answers this afterwards.
        self.own.sql("CHECKPOINT");
    }

    /// Asks over a connection that is there: the steps of a journal wait for a few seconds only.
    async fn number(&self, sql: &'static str) -> i64 {
        self.operator.step(sql, &[]).await.unwrap()[0].get(0)
    }

    async fn stored(&self) -> i64 {
        self.number("SELECT count(*) FROM entries").await
    }

    /// Two append and one reads; says whether all of them were seen to wait for the standby at the same time.
    async fn all_wait_together(&mut self) -> bool {
        self.append_in_turn().await;
        let before = self.stored().await;
        self.wait_for("nobody").await;
        let next = ["ann", "bob"].into_iter().zip(&mut self.journals);
        let next = next.map(|(name, (journal, player))| (journal.clone(), player.next(name)));
        let next: Vec<_> = next.collect();
        let appending: Vec<_> = next.iter().map(|(journal, next)| begin(journal, next)).collect();
        // The second one does not wait until the first one is on the disk and on the standby.
        assert!(soon(async || self.stored().await == before + 2).await, "only one is stored");
        let (carol, position) = (self.journals[2].0.clone(), before.cast_unsigned());
        let reading = tokio::spawn({
            let carol = carol.clone();
            async move { carol.read(position).await }
        });
        let ended = || reading.is_finished() || appending.iter().any(|one| one.is_finished());
        let all = soon(async || self.wait_for_standby().await == 3 || ended()).await && !ended();
        self.wait_for("").await;
        for (append, (journal, same)) in appending.into_iter().zip(next) {
            let exchange = match append.await.unwrap() {
                Err(_) => patiently(async || journal.append(same.clone()).await).await.unwrap(),
                Ok(exchange) => exchange,
            };
            assert!(exchange.entries.iter().any(|entry| name_of(entry) == same.name));
        }
        let read = match reading.await.unwrap() {
            Err(_) => carol.read(position).await.unwrap(),
            Ok(read) => read,
        };
        assert!(read.entries.len() >= 2, "what everybody else sees at once: {read:?}");
        all
    }

    /// How many sessions of the journals wait for the standby.
    async fn wait_for_standby(&self) -> i64 {
        self.number(
            "SELECT count(*) FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event = 'SyncRep'",
        )
        .await
    }
}

/// Looks until it is so, for 10 s at most.
async fn soon(is_so: impl AsyncFn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        if is_so().await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_append_together_wait_for_the_disk_together_and_nobody_sees_more_before() {
    let Some(mut scene) = Waits::begin(3).await else { return };
    // A step waits for 4 s at most: on a busy machine one may be over before all are seen.
    for _ in 0..3 {
        if scene.all_wait_together().await {
            return;
        }
    }
    panic!("two that append and one that reads never waited at the same time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_alone_has_the_disk_to_itself() {
    let Some(mut scene) = Waits::begin(2).await else { return };
    let (journal, player) = &mut scene.journals[0];
    player.claims(journal, "first").await.unwrap();
    scene.wait_for("nobody").await;
    let appends = scene.journals.iter_mut().map(|(journal, player)| {
        let append = player.next("next");
        (begin(journal, &append), journal.clone(), append)
    });
    let appending: Vec<_> = appends.collect();
    // Neither has seen an entry of the other one: so the second waits for the lock until the first is done.
    assert!(soon(async || scene.wait_for_standby().await == 1).await);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(scene.wait_for_standby().await, 1);
    assert_eq!(scene.stored().await, 1, "nobody sees the first one before");
    scene.wait_for("").await;
    for (append, journal, same) in appending {
        if append.await.unwrap().is_err() {
            patiently(async || journal.append(same.clone()).await).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_entry_that_nobody_waited_for_to_its_end_is_unknown() {
    let Some(mut scene) = Waits::begin(2).await else { return };
    scene.append_in_turn().await;
    let (journal, mut player) = scene.journals[0].clone();
    for end in ["pg_cancel_backend", "pg_terminate_backend"] {
        scene.wait_for("nobody").await;
        let (before, append) = (scene.stored().await, player.again("waits"));
        let appending = begin(&journal, &append);
        let process = one_waiting(&scene.own, "SyncRep").await;
        scene.own.sql(&format!("SELECT {end}({process})"));
        let failure = appending.await.unwrap().unwrap_err();
        assert!(matches!(failure, JournalError::Unknown(_)), "{end}: {failure}");
        assert_eq!(scene.stored().await, before + 1, "{end}: it is there, and may be lost");
        scene.wait_for("").await;
        // The same body again: the first copy comes back with it.
        let exchange = patiently(async || journal.append(append.clone()).await).await.unwrap();
        player.apply(&exchange.entries);
    }
}

/// Each wait that is given up is ended in the server, too: a standby that is away for long takes no connection for each read.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn waits_that_are_given_up_leave_no_sessions_behind() {
    let Some(mut scene) = Waits::begin(2).await else { return };
    scene.append_in_turn().await;
    let before = scene.stored().await;
    scene.wait_for("nobody").await;
    let (journal, mut player) = scene.journals[0].clone();
    let append = player.next("waits");
    let failure = begin(&journal, &append).await.unwrap().unwrap_err();
    assert!(matches!(failure, JournalError::Unknown(_)), "{failure}");
    let bob = &scene.journals[1].0;
    let position = before.cast_unsigned();
    let reads = tokio::join!(bob.read(position), bob.read(position), bob.read(position));
    assert!(reads.0.is_err() && reads.1.is_err() && reads.2.is_err(), "it is on no standby");
    assert!(soon(async || scene.wait_for_standby().await == 0).await);
    scene.wait_for("").await;
    assert_eq!(bob.read(before.cast_unsigned()).await.unwrap().entries.len(), 1);
}

/// What is read is waited for in the process of the server that gave it: one that was started again may have lost it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_server_lost_before_it_was_on_the_disk_is_read_by_nobody() {
    let lazy = ["wal_writer_delay=10s", "wal_writer_flush_after=1GB"];
    let Some(mut server) = Server::with(durable(&lazy)) else { return };
    let proxy = Proxy::start(server.port()).await;
    let ann = Journal::Postgres(open(&server.url(), fsync).await.unwrap());
    let bob = open(&server.url_through(proxy.port()), fsync).await.unwrap();
    let bob = Journal::Postgres(bob);
    let database = name_of_database(&server.url());
    let count = format!("SELECT count(*) FROM {SCHEMA}.entries");
    let mut player = Player::new(b'a');
    player.claims(&ann, "first").await.unwrap();
    assert_eq!(bob.read(0).await.unwrap().entries.len(), 1);
    // As an append whose node stops before it waits for the disk.
    let late = format!(
        "SET search_path TO {SCHEMA}; BEGIN; SET LOCAL synchronous_commit = off; \
         INSERT INTO entries SELECT 2, at, epoch, '\\x{name}', name, body FROM entries; COMMIT",
        name = "61".repeat(24),
    );
    block_in_place(|| server.sql(&database, &late));
    // The rows are on their way when the server goes.
    let sent = proxy.requests();
    proxy.set(ProxyFault::StallReplies);
    let reading = tokio::spawn({
        let bob = bob.clone();
        async move { bob.read(1).await }
    });
    until(|| proxy.requests() > sent).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    block_in_place(|| {
        assert_eq!(server.sql(&database, &count), "2");
        server.restart();
    });
    proxy.set(ProxyFault::None);
    let read = reading.await.unwrap();
    let there: usize = block_in_place(|| server.sql(&database, &count)).parse().unwrap();
    let seen = 1 + read.as_ref().map_or(0, |read| read.entries.len());
    assert!(seen <= there, "{seen} were read, and {there} are there: {read:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn behind_a_pooler_entries_are_waited_for_too() {
    let Some(mut scene) = Waits::begin(2).await else { return };
    let Some(pooler) = PgBouncer::start(scene.own.server, 5) else { return };
    let server = scene.own.server;
    let through = server.url_through(pooler.port());
    let pooled = Journal::Postgres(open(&through, fsync).await.unwrap());
    let mut carol = Player::new(b'c');
    scene.append_in_turn().await;
    // Each of these brings entries of the others back, and is stored before it is answered.
    carol.claims(&pooled, "carol").await.unwrap();
    scene.append_in_turn().await;
    carol.claims(&pooled, "carol-again").await.unwrap();
    scene.append_in_turn().await;
    let before = scene.stored().await;
    scene.wait_for("nobody").await;
    let (ann, mut ann_is) = scene.journals[0].clone();
    let append = ann_is.next("late");
    let appending = begin(&ann, &append);
    assert!(soon(async || scene.stored().await == before + 1).await, "others see it");
    let read = pooled.read(before.cast_unsigned()).await;
    assert!(read.is_err(), "it is on no standby: {read:?}");
    scene.wait_for("").await;
    drop(appending.await.unwrap());
    let read = patiently(async || pooled.read(before.cast_unsigned()).await).await.unwrap();
    assert_eq!(read.entries.len(), 1);
    // The connections are as good as before.
    carol.claims(&pooled, "goes-on").await.unwrap();
}
