//! What a Redis must be like to hold a journal, and what is said of it.

use crate::world::{Player, SPACE, all, install, subject_of};
use firstcome_core::names::SpaceId;
use firstcome_journal::redis::{Durability, Options, Redis};
use firstcome_journal::{Journal, JournalError};
use firstcome_store::RedisOptions;
use firstcome_testbed::{Certificates, RedisServer as Server, RedisSettings};

/// Opens a journal that promises memory, changed as the test wants it.
pub(crate) async fn open(
    server: &Server,
    change: impl FnOnce(&mut Options),
) -> Result<Redis, JournalError> {
    let mut options = Options::new(SPACE, Durability::Memory);
    change(&mut options);
    Redis::open(RedisOptions::new(server.url()), options).await
}

/// Opens what must be refused, and checks that nothing was stored.
async fn refused(server: &Server, change: impl FnOnce(&mut Options)) -> JournalError {
    let before = server.ask("DBSIZE");
    let failure = open(server, change).await.expect_err("it must be refused");
    assert_eq!(server.ask("DBSIZE"), before, "a refusal changes nothing");
    failure
}

fn unfit(failure: &JournalError) -> (&str, &str) {
    let JournalError::Unfit { why, fix } = failure else { panic!("{failure}") };
    (why, fix)
}

#[tokio::test]
async fn a_space_is_made_once_and_found_again() {
    let Some(server) = Server::start() else { return };
    let mut ann = Player::new(b'a');
    for round in 1..=3 {
        let fresh = SpaceId([round; 16]);
        let redis = open(&server, |options| options.fresh = fresh).await.unwrap();
        assert_eq!(redis.space(), SpaceId([1; 16]), "the first one made it");
        let journal = Journal::Redis(redis.clone());
        ann.claims(&journal, "ann").await.unwrap();
        assert_eq!(all(&journal, 0).await.len(), usize::from(round));
        redis.close().await;
        let failure = ann.claims(&journal, "ann").await.unwrap_err();
        assert!(matches!(failure, JournalError::Unavailable(_)), "closed: {failure}");
        ann.number -= 1;
    }
}

#[tokio::test]
async fn a_space_that_is_known_must_be_there() {
    let Some(server) = Server::start() else { return };
    let wanted = SpaceId([9; 16]);
    let failure = refused(&server, |options| options.wanted = Some(wanted)).await;
    assert!(matches!(failure, JournalError::Gone(space) if space == wanted), "{failure}");
    open(&server, |_| {}).await.unwrap();
    let failure = refused(&server, |options| options.wanted = Some(wanted)).await;
    let other =
        matches!(failure, JournalError::OtherSpace { found: SPACE, wanted: w } if w == wanted);
    assert!(other, "{failure}");
    open(&server, |options| options.wanted = Some(SPACE)).await.unwrap();
}

#[tokio::test]
async fn another_space_under_an_open_journal_is_noticed() {
    let Some(server) = Server::start() else { return };
    let journal = Journal::Redis(open(&server, |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "ann").await.unwrap();
    assert_eq!(server.ask("FLUSHALL"), "+OK");
    open(&server, |options| options.fresh = SpaceId([9; 16])).await.unwrap();
    let is_other = |failure: JournalError| {
        let found = SpaceId([9; 16]);
        let is =
            matches!(failure, JournalError::OtherSpace { found: f, wanted: SPACE } if f == found);
        assert!(is, "{failure}");
    };
    is_other(ann.claims(&journal, "ann").await.unwrap_err());
    is_other(journal.head().await.unwrap_err());
    is_other(journal.mint_term().await.unwrap_err());
}

#[tokio::test]
async fn two_spaces_on_one_server_never_touch() {
    let Some(server) = Server::start() else { return };
    let east = open(&server, |options| options.space_name = "east".into()).await.unwrap();
    let west = open(&server, |options| {
        options.space_name = "west".into();
        options.fresh = SpaceId([9; 16]);
    });
    let (east, west) = (Journal::Redis(east), Journal::Redis(west.await.unwrap()));
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    for _ in 0..3 {
        ann.claims(&east, "east").await.unwrap();
    }
    bob.claims(&west, "west").await.unwrap();
    assert_eq!(all(&west, 0).await.iter().map(subject_of).collect::<Vec<_>>(), ["west"]);
    assert_eq!(all(&east, 0).await.len(), 3);
    let term = east.mint_term().await.unwrap();
    install(&east, 3, b"east".to_vec(), Vec::new(), term).await.unwrap();
    assert_eq!(west.newest_snapshot().await.unwrap(), None);
    assert_eq!(west.head().await.unwrap().space, SpaceId([9; 16]));
}

#[tokio::test]
async fn what_is_somebody_elses_is_left_alone() {
    let Some(server) = Server::start() else { return };
    for (set, key) in [
        ("SET fc:{main}:journal x", "journal"),
        ("SET fc:{main}:head x", "head"),
        ("HSET fc:{main}:head a b", "head"),
    ] {
        let said = server.ask(set);
        assert!(!said.starts_with('-'), "{said}");
        let failure = refused(&server, |_| {}).await;
        let (why, _) = unfit(&failure);
        assert!(why.contains(&format!("fc:{{main}}:{key}")), "{why}");
        assert_eq!(server.ask("FLUSHALL"), "+OK");
    }
    assert!(server.ask("XADD fc:{main}:journal 1-0 e x").ends_with("1-0"));
    let failure = refused(&server, |_| {}).await;
    assert!(matches!(failure, JournalError::Broken(_)), "{failure}");
}

#[tokio::test]
async fn a_newer_level_is_refused() {
    let Some(server) = Server::start() else { return };
    open(&server, |_| {}).await.unwrap();
    assert_eq!(server.ask("HSET fc:{main}:head level 99"), ":0");
    let failure = refused(&server, |_| {}).await;
    assert!(matches!(failure, JournalError::TooNew(99)), "{failure}");
}

#[tokio::test]
async fn a_server_that_may_drop_the_journal_is_refused_and_the_command_that_helps_is_given() {
    let Some(server) = Server::start() else { return };
    for policy in ["allkeys-lru", "allkeys-lfu", "allkeys-random"] {
        assert_eq!(server.ask(&format!("CONFIG SET maxmemory-policy {policy}")), "+OK");
        let failure = refused(&server, |_| {}).await;
        let (why, fix) = unfit(&failure);
        assert!(why.contains(policy), "{why}");
        assert_eq!(server.ask(fix), "+OK", "the fix is a command that works");
        open(&server, |_| {}).await.unwrap();
        assert_eq!(server.ask("FLUSHALL"), "+OK");
    }
}

#[tokio::test]
async fn copies_need_as_many_replicas() {
    let Some(server) = Server::start() else { return };
    let copies =
        |copies| move |options: &mut Options| options.durability = Durability::Copies(copies);
    let failure = refused(&server, copies(1)).await;
    assert!(unfit(&failure).0.contains("copies=1"), "{failure}");
    let default = Durability::default_for(RedisOptions::new(server.url()), "test").await.unwrap();
    assert_eq!(default, Durability::Memory);

    let settings = RedisSettings { replica_of: Some(server.port()), ..RedisSettings::default() };
    let replica = Server::with(settings).unwrap();
    crate::redis_failing::until(|| server.ask("INFO replication").contains("state=online")).await;
    let default = Durability::default_for(RedisOptions::new(server.url()), "test").await.unwrap();
    assert_eq!(default, Durability::Copies(1));
    let redis = open(&server, copies(1)).await.unwrap();
    assert!(redis.promise().contains("1 of its replicas"), "{}", redis.promise());
    assert!(redis.warnings().iter().any(|w| w.fix == "CONFIG SET min-replicas-to-write 1"));
    let failure = refused(&server, copies(2)).await;
    assert!(unfit(&failure).0.contains("1 connected"), "{failure}");
    let failure = refused(&replica, |_| {}).await;
    assert!(unfit(&failure).0.contains("replica"), "{failure}");
}

#[tokio::test]
async fn fsync_needs_a_server_that_syncs() {
    let Some(server) = Server::start() else { return };
    let fsync = |options: &mut Options| options.durability = Durability::Fsync;
    let failure = refused(&server, fsync).await;
    let (_, fix) = unfit(&failure);
    assert_eq!((fix, server.ask(fix).as_str()), ("CONFIG SET appendonly yes", "+OK"));
    // From 7.2 on it can be asked for each entry, before that it must be so for all.
    if let Err(failure) = open(&server, fsync).await {
        let (_, fix) = unfit(&failure);
        assert_eq!((fix, server.ask(fix).as_str()), ("CONFIG SET appendfsync always", "+OK"));
    }
    let redis = open(&server, fsync).await.unwrap();
    assert!(redis.promise().contains("disk"), "{}", redis.promise());
    Player::new(b'a').claims(&Journal::Redis(redis), "ann").await.unwrap();
    // One that syncs nothing while it rewrites its files must be asked for each entry as well.
    for set in ["CONFIG SET appendfsync always", "CONFIG SET no-appendfsync-on-rewrite yes"] {
        assert_eq!(server.ask(set), "+OK");
    }
    match open(&server, fsync).await {
        Ok(redis) => assert!(redis.promise().contains("WAITAOF"), "{}", redis.promise()),
        Err(failure) => {
            let (_, fix) = unfit(&failure);
            assert_eq!(fix, "CONFIG SET no-appendfsync-on-rewrite no");
        }
    }
    assert_eq!(server.ask("CONFIG SET no-appendfsync-on-rewrite no"), "+OK");
    let redis = open(&server, fsync).await.unwrap();
    assert!(redis.promise().contains("syncs before it answers"), "{}", redis.promise());
}

#[tokio::test]
async fn what_an_operator_should_know_is_said_with_the_command_that_helps() {
    let Some(server) = Server::start() else { return };
    let fixes = async || {
        let redis = open(&server, |_| {}).await.unwrap();
        redis.warnings().iter().map(|warning| warning.fix.clone()).collect::<Vec<_>>()
    };
    let bare = [
        "CONFIG SET appendonly yes",
        "REPLICAOF HOST PORT, on another server",
        "CONFIG SET maxmemory BYTES",
    ];
    assert_eq!(fixes().await, bare);
    for set in [
        "CONFIG SET maxmemory-policy volatile-lru",
        "CONFIG SET appendonly yes",
        "CONFIG SET maxmemory 1gb",
    ] {
        assert_eq!(server.ask(set), "+OK");
    }
    let expected = [
        "CONFIG SET maxmemory-policy noeviction",
        "CONFIG SET appendfsync always",
        "REPLICAOF HOST PORT, on another server",
    ];
    assert_eq!(fixes().await, expected);
}

#[tokio::test]
async fn a_user_without_rights_over_settings_can_run_it_and_is_told() {
    let Some(server) = Server::start() else { return };
    let page = include_str!("../../../../docs/reference/in-redis.md");
    let rule = page.lines().find(|line| line.starts_with("ACL SETUSER")).unwrap();
    let said = server.ask(&rule.replace("PASSWORD", "secret"));
    assert_eq!(said, "+OK", "the rule in the docs");
    let url = format!("redis://firstcome:secret@127.0.0.1:{}", server.port());
    let opened = |options| Redis::open(RedisOptions::new(url.clone()), options);
    let redis = opened(Options::new(SPACE, Durability::Memory)).await.unwrap();
    assert_eq!(redis.warnings().len(), 3, "{:?}", redis.warnings());
    every_call(&Journal::Redis(redis)).await;

    assert_eq!(server.ask("ACL SETUSER firstcome -config -info"), "+OK");
    let redis = opened(Options::new(SPACE, Durability::Memory)).await.unwrap();
    let said: Vec<_> = redis.warnings().iter().map(|warning| warning.fix.as_str()).collect();
    assert!(said.contains(&"ACL SETUSER USER +config|get"), "{said:?}");
    assert!(said.contains(&"ACL SETUSER USER +info"), "{said:?}");

    assert_eq!(server.ask("ACL SETUSER firstcome -evalsha"), "+OK");
    let failure = Player::new(b'b').claims(&Journal::Redis(redis), "bob").await.unwrap_err();
    assert!(matches!(failure, JournalError::Unfit { .. }), "{failure}");
}

/// Makes every call once that uses a command of its own.
async fn every_call(journal: &Journal) {
    use firstcome_core::names::PieceName;
    let mut ann = Player::new(b'a');
    ann.claims(journal, "ann").await.unwrap();
    ann.claims(journal, "ann").await.unwrap();
    let old = Player::new(b'o').claims(journal, "old").await.unwrap();
    assert_eq!(old.entries.len(), 3);
    journal.follow(0, std::time::Duration::from_millis(1)).await.unwrap();
    let term = journal.mint_term().await.unwrap();
    let name = PieceName::of(b"piece");
    journal.put_piece(name, b"piece".to_vec()).await.unwrap();
    install(journal, 1, b"m".to_vec(), vec![name], term).await.unwrap();
    install(journal, 2, b"m".to_vec(), vec![name], term).await.unwrap();
    journal.piece(name).await.unwrap().unwrap();
    journal.newest_snapshot().await.unwrap().unwrap();
    journal.trim(term).await.unwrap();
    journal.skip(crate::skips::skip(3, b'o', 1)).await.unwrap();
    assert_eq!(journal.skips().await.unwrap().len(), 1);
    let head = journal.head().await.unwrap();
    journal.raise_epoch(head).await.unwrap();
    journal.report(1, crate::world::node(b'a'), "a fork".into()).await.unwrap();
    journal.reports().await.unwrap();
    journal.leave(crate::world::node(b'a')).await.unwrap();
}

#[tokio::test]
async fn a_journal_works_over_tls() {
    let settings = RedisSettings { tls: Some(Certificates::new()), ..RedisSettings::default() };
    let Some(server) = Server::with(settings) else { return };
    let options = Options::new(SPACE, Durability::Memory);
    let trusting = RedisOptions::new(server.url()).trust(server.authority().unwrap());
    let redis = Redis::open(trusting, options.clone()).await.unwrap();
    every_call(&Journal::Redis(redis)).await;
    let failure = Redis::open(RedisOptions::new(server.url()), options).await.unwrap_err();
    assert!(matches!(failure, JournalError::Unfit { .. }), "{failure}");
}
