//! What becomes of a journal when the server, a connection or a standby of it fails.

use crate::postgres_opening::{Own, SCHEMA, open};
use crate::redis_failing::until;
use crate::world::{Player, all, name_of, name_of_database, patiently, subject_of};
use firstcome_inject::Mistake;
use firstcome_journal::postgres::{Durability, Options};
use firstcome_journal::{Append, Entry, Exchange, Failure, Journal};
use firstcome_store::postgres::{Access, Options as Store, Postgres as Pool, Session};
use firstcome_testbed::{Fault, PgBouncer, Postgres as Server, PostgresSettings, Proxy};
use std::time::{Duration, Instant};
use tokio::task::block_in_place;

fn durable(more: &[&str]) -> PostgresSettings {
    let more = more.iter().map(|setting| (*setting).to_owned()).collect();
    PostgresSettings { fsync: true, more, ..PostgresSettings::default() }
}

fn fsync(options: &mut Options) {
    options.durability = Durability::Fsync;
}

/// A connection of an operator, with statements of which one holds something up.
async fn operator(own: &Own) -> Session {
    let store = Store::new(&*own.url).schema(SCHEMA).idle_within(Duration::from_secs(30));
    Pool::new(store).unwrap().session().await.unwrap()
}

/// The sessions of the journal that wait for this kind of thing, by their process.
fn waiting(own: &Own, event: &str) -> Vec<String> {
    let sql = format!(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
         AND wait_event = '{event}' AND application_name = 'firstcome'"
    );
    own.sql(&sql).lines().map(str::to_owned).collect()
}

async fn one_waiting(own: &Own, event: &str) -> String {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let [process] = &waiting(own, event)[..] {
            return process.clone();
        }
        assert!(Instant::now() < end, "not within 20 s");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Begins an append.
fn begin(journal: &Journal, append: &Append) -> tokio::task::JoinHandle<Result<Exchange, Failure>> {
    let (journal, append) = (journal.clone(), append.clone());
    tokio::spawn(async move { journal.append(append).await })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_connection_that_is_killed_at_any_step_leaves_it_unknown_and_the_same_body_comes_again() {
    let Some(own) = Own::start().await else { return };
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    ann.claims(&own.journal, "first").await.unwrap();
    let other = own.again().await;
    let mut count = 1;
    // While it looks at the head, and while it stores the entry: nothing of it is there.
    for held in ["head IN ACCESS EXCLUSIVE MODE", "entries IN SHARE MODE"] {
        let mut session = operator(&own).await;
        let work = session.begin(Access::Usual).await.unwrap();
        work.batch(&format!("LOCK TABLE {held}")).await.unwrap();
        let append = ann.next(held);
        let appending = begin(&own.journal, &append);
        let process = one_waiting(&own, "relation").await;
        own.sql(&format!("SELECT pg_terminate_backend({process})"));
        let failure = appending.await.unwrap().unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{held}: {failure}");
        work.roll_back().await;
        assert_eq!(all(&own.journal, 0).await.len(), count, "{held}");
        let exchange = patiently(async || own.journal.append(append.clone()).await).await.unwrap();
        ann.apply(&exchange.entries);
        count += 1;
    }
    // While it waits for its turn behind another one.
    let mut session = operator(&own).await;
    let work = session.begin(Access::Usual).await.unwrap();
    work.batch("LOCK TABLE entries IN SHARE MODE").await.unwrap();
    let first = ann.next("held");
    let appending = begin(&own.journal, &first);
    one_waiting(&own, "relation").await;
    let second = bob.next("behind");
    let behind = begin(&other, &second);
    let process = one_waiting(&own, "advisory").await;
    own.sql(&format!("SELECT pg_terminate_backend({process})"));
    let failure = behind.await.unwrap().unwrap_err();
    assert!(matches!(failure, Failure::Unknown(_)), "{failure}");
    work.roll_back().await;
    appending.await.unwrap().unwrap();
    count += 1;
    let stored = all(&own.journal, 0).await;
    assert_eq!((stored.len(), subject_of(&stored[count - 1]).as_str()), (count, "held"));
    // In a step of several statements, before its commit: it certainly did not happen.
    let mut session = operator(&own).await;
    let work = session.begin(Access::Usual).await.unwrap();
    work.batch("LOCK TABLE head IN SHARE MODE").await.unwrap();
    let minting = tokio::spawn({
        let journal = own.journal.clone();
        async move { journal.mint_term().await }
    });
    let process = one_waiting(&own, "relation").await;
    own.sql(&format!("SELECT pg_terminate_backend({process})"));
    let failure = minting.await.unwrap().unwrap_err();
    assert!(matches!(failure, Failure::Unavailable(_)), "{failure}");
    work.roll_back().await;
    assert_eq!(patiently(async || own.journal.mint_term().await).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_append_whose_answer_is_lost_is_unknown_and_stored() {
    let Some(own) = Own::start().await else { return };
    let way = Proxy::start(own.server.port()).await;
    let name = name_of_database(&own.url);
    let url = own.server.url_through(way.port()).replace("/ledger?", &format!("/{name}?"));
    let journal = Journal::Postgres(open(&url, |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "first").await.unwrap();
    way.set(Fault::CutAtReply);
    let append = ann.next("lost");
    let failure = journal.append(append.clone()).await.unwrap_err();
    assert!(matches!(failure, Failure::Unknown(_)), "{failure}");
    way.set(Fault::None);
    until(|| own.sql(&format!("SELECT count(*) FROM {SCHEMA}.entries")) == "2").await;
    let exchange = patiently(async || journal.append(append.clone()).await).await.unwrap();
    assert_eq!(exchange.entries.len(), 2, "both copies are there");
    // No connection at all: nothing was sent.
    way.set(Fault::Refuse);
    let failure = patiently_unavailable(&journal, &ann.next("never")).await;
    assert!(matches!(failure, Failure::Unavailable(_)), "{failure}");
    way.set(Fault::None);
    assert_eq!(patiently(async || journal.read(0).await).await.unwrap().len(), 3);
}

/// Appends until the cut connection is known to be gone; what a new one would send is not sent.
async fn patiently_unavailable(journal: &Journal, append: &Append) -> Failure {
    loop {
        let failure = journal.append(append.clone()).await.unwrap_err();
        if !matches!(failure, Failure::Unknown(_)) {
            return failure;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_crashes_and_comes_back_has_everything_and_is_noticed() {
    let Some(mut server) = Server::with(durable(&[])) else { return };
    let journal = Journal::Postgres(open(&server.url(), fsync).await.unwrap());
    let mut incarnations = journal.shared().unwrap().incarnations();
    incarnations.borrow_and_update();
    let mut ann = Player::new(b'a');
    for number in 0..5 {
        ann.claims(&journal, &format!("ann{number}")).await.unwrap();
    }
    let before = all(&journal, 0).await;
    block_in_place(|| server.restart());
    let append = ann.next("after");
    // The first that comes through is told before anything is stored.
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match journal.append(append.clone()).await {
            Err(Failure::Changed) => break,
            Err(Failure::Unavailable(_) | Failure::Unknown(_)) if Instant::now() < end => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(incarnations.has_changed().unwrap());
    assert_eq!(all(&journal, 0).await, before);
    ann.apply(&journal.append(append).await.unwrap().entries);
    assert_eq!(all(&journal, 0).await.len(), 6);
}

/// A primary, a standby of it that stopped hearing after three entries, and a journal that saw five.
async fn after_a_failover(
    without_names: bool,
    others: u64,
) -> Option<(Server, Proxy, Journal, Player, Vec<Entry>)> {
    let mut primary = Server::with(durable(&[]))?;
    let (link, way) = (Proxy::start(primary.port()).await, Proxy::start(primary.port()).await);
    firstcome_inject::set(without_names.then_some(Mistake::PredecessorIgnored));
    let opened = open(&primary.url_through(way.port()), fsync).await;
    firstcome_inject::set(None);
    let journal = Journal::Postgres(opened.unwrap());
    let standby = block_in_place(|| primary.standby(link.port()));
    let mut ann = Player::new(b'a');
    for number in 1..=3 {
        ann.claims(&journal, &format!("ann{number}")).await.unwrap();
    }
    let count = format!("SELECT count(*) FROM {SCHEMA}.entries");
    until(|| standby.try_sql("ledger", &count) == Ok("3".to_owned())).await;
    link.set(Fault::StallReplies);
    for number in 4..=5 {
        ann.claims(&journal, &format!("ann{number}")).await.unwrap();
    }
    let entries = all(&journal, 0).await;
    block_in_place(|| primary.kill());
    link.cut();
    block_in_place(|| standby.promote());
    // What others wrote there before this node came.
    let direct = Journal::Postgres(open(&standby.url(), fsync).await.unwrap());
    let mut eve = Player::new(b'e');
    for number in 0..others {
        eve.claims(&direct, &format!("eve{number}")).await.unwrap();
    }
    way.lead_to(standby.port());
    Some((standby, way, journal, ann, entries))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_standby_that_lacks_the_last_entries_is_noticed_and_they_are_put_back() {
    let scene = after_a_failover(false, 0).await;
    let Some((_server, _way, journal, mut ann, entries)) = scene else { return };
    let append = ann.next("late");
    let failure = patiently(async || journal.append(append.clone()).await).await.unwrap_err();
    assert!(matches!(failure, Failure::Behind { head: 3, applied: 5 }), "{failure}");
    let shared = journal.shared().unwrap();
    shared.put_back(3, name_of(&entries[2]), entries[3..].to_vec()).await.unwrap();
    ann.apply(&journal.append(append).await.unwrap().entries);
    let there = all(&journal, 0).await;
    assert_eq!(there[..5], entries);
    assert_eq!(subject_of(&there[5]), "late");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_standby_that_went_another_way_is_noticed_by_name() {
    let Some((_server, _way, journal, mut ann, _)) = after_a_failover(false, 3).await else {
        return;
    };
    let append = ann.next("late");
    let failure = patiently(async || journal.append(append.clone()).await).await.unwrap_err();
    assert!(matches!(failure, Failure::Forked { position: 5, .. }), "{failure}");
    assert_eq!(all(&journal, 0).await.len(), 6, "nothing was stored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_names_a_standby_that_went_another_way_is_taken_for_the_same() {
    let Some((_server, _way, journal, mut ann, _)) = after_a_failover(true, 3).await else {
        return;
    };
    let append = ann.next("late");
    let exchange = patiently(async || journal.append(append.clone()).await).await;
    assert!(exchange.is_ok(), "the height alone does not tell: {exchange:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_whose_wait_for_a_standby_was_ended_is_unknown() {
    let Some(server) = Server::with(durable(&[])) else { return };
    let server = &*Box::leak(Box::new(server));
    let journal = Journal::Postgres(open(&server.url(), fsync).await.unwrap());
    let own = Own { server, url: server.url(), journal: journal.clone() };
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "first").await.unwrap();
    let wait_for = |names: &str| {
        own.sql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        own.sql("SELECT pg_reload_conf()");
    };
    wait_for("nobody");
    until(|| own.sql("SHOW synchronous_standby_names") == "nobody").await;
    for (number, end) in ["pg_cancel_backend", "pg_terminate_backend"].into_iter().enumerate() {
        let append = ann.again("waits");
        let appending = begin(&journal, &append);
        let process = one_waiting(&own, "SyncRep").await;
        own.sql(&format!("SELECT {end}({process})"));
        let failure = appending.await.unwrap().unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{end}: {failure}");
        let stored = own.sql(&format!("SELECT count(*) FROM {SCHEMA}.entries"));
        assert_eq!(stored, (number + 2).to_string(), "on this server it is there");
    }
    let minting = tokio::spawn({
        let journal = journal.clone();
        async move { journal.mint_term().await }
    });
    let process = one_waiting(&own, "SyncRep").await;
    own.sql(&format!("SELECT pg_cancel_backend({process})"));
    let failure = minting.await.unwrap().unwrap_err();
    assert!(matches!(failure, Failure::Unknown(_)), "{failure}");
    wait_for("");
    until(|| own.sql("SHOW synchronous_standby_names").is_empty()).await;
    assert_eq!(journal.mint_term().await.unwrap(), 2);
    let append = ann.next("goes on");
    patiently(async || journal.append(append.clone()).await).await.unwrap();
}

/// A server whose commits can be made to wait for a standby that never comes, and journals in it, with who appends to each.
struct Waits {
    own: Own,
    journals: Vec<(Journal, Player)>,
    operator: Pool,
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
        let operator = Pool::new(Store::new(&*own.url).schema(SCHEMA)).unwrap();
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
        assert!(read.len() >= 2, "what everybody else sees at once: {read:?}");
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
        assert!(matches!(failure, Failure::Unknown(_)), "{end}: {failure}");
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
    assert!(matches!(failure, Failure::Unknown(_)), "{failure}");
    let bob = &scene.journals[1].0;
    let position = before.cast_unsigned();
    let reads = tokio::join!(bob.read(position), bob.read(position), bob.read(position));
    assert!(reads.0.is_err() && reads.1.is_err() && reads.2.is_err(), "it is on no standby");
    assert!(soon(async || scene.wait_for_standby().await == 0).await);
    scene.wait_for("").await;
    assert_eq!(bob.read(before.cast_unsigned()).await.unwrap().len(), 1);
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
    assert_eq!(bob.read(0).await.unwrap().len(), 1);
    // As an append whose node stops before it waits for the disk.
    let late = format!(
        "SET search_path TO {SCHEMA}; BEGIN; SET LOCAL synchronous_commit = off; \
         INSERT INTO entries SELECT 2, at, epoch, '\\x{name}', name, body FROM entries; COMMIT",
        name = "61".repeat(24),
    );
    block_in_place(|| server.sql(&database, &late));
    // The rows are on their way when the server goes.
    let sent = proxy.requests();
    proxy.set(Fault::StallReplies);
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
    proxy.set(Fault::None);
    let read = reading.await.unwrap();
    let there: usize = block_in_place(|| server.sql(&database, &count)).parse().unwrap();
    let seen = 1 + read.as_ref().map_or(0, Vec::len);
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
    assert_eq!(read.len(), 1);
    // The connections are as good as before.
    carol.claims(&pooled, "goes-on").await.unwrap();
}
