//! Connections to real servers, through a proxy that misbehaves.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends where it stands")]

mod codes;

use std::sync::LazyLock;
use std::time::Duration;

use firstcome_store::{
    Command, Effect, Event, PubSub, Redis, RedisOptions, RedisReply, Script, StoreError, Wire,
};
use firstcome_testbed::{Proxy, ProxyFault, RedisServer as Server, RedisSettings, Sentinels};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

static TWICE: LazyLock<Script> = LazyLock::new(|| {
    Script::new("redis.call('INCR', KEYS[1]) return {ARGV[1] * 2, KEYS[1], false}")
});

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

async fn through(proxy: &Proxy, server: &Server, heartbeat: Duration) -> Redis {
    let options = RedisOptions::new(server.url_through(proxy.port()));
    Redis::connect(options.answer_within(ms(5_000)).heartbeat(heartbeat)).await.unwrap()
}

#[tokio::test]
async fn scripts_are_loaded_when_the_server_does_not_know_them() {
    let Some(server) = Server::start() else { return };
    let redis = Redis::connect(RedisOptions::new(server.url())).await.unwrap();
    for run in 1..=3 {
        let reply = redis.send(&Command::script(&TWICE, &["n"]).arg(21)).await.unwrap();
        let [number, text, nil] = reply.list().unwrap() else { panic!("three parts") };
        assert_eq!((number.number().unwrap(), text.text().unwrap()), (42, "n".to_owned()));
        assert_eq!(nil, &RedisReply::Nil);
        assert!(server.ask("GET n").ends_with(&run.to_string()), "it ran once each time");
        assert_eq!(server.ask("SCRIPT FLUSH"), "+OK");
    }
}

#[tokio::test]
async fn what_is_sent_together_is_done_together() {
    let Some(server) = Server::start() else { return };
    let redis = Redis::connect(RedisOptions::new(server.url())).await.unwrap();
    let count = || Command::new("INCR").arg("n");
    let replies = redis.send_together(vec![count(), count()]).await.unwrap();
    assert_eq!(replies, [RedisReply::Number(1), RedisReply::Number(2)]);
    // What the server refuses beforehand keeps the others from being done, too.
    let failure = redis.send_together(vec![count(), Command::new("NONSENSE")]).await.unwrap_err();
    assert!(matches!(failure, StoreError::Refused { .. }), "{failure}");
    assert!(server.ask("GET n").ends_with('2'));
    // What turns out to be wrong only when it is done does not.
    let wrong = Command::new("HDEL").arg("n").arg("field");
    let failure = redis.send_together(vec![wrong, count()]).await.unwrap_err();
    assert!(matches!(failure, StoreError::WrongKind { .. }), "{failure}");
    assert!(server.ask("GET n").ends_with('3'));
    assert_eq!(server.ask("ACL SETUSER default resetkeys ~x"), "+OK");
    let failure = redis.send_together(vec![count()]).await.unwrap_err();
    assert!(matches!(failure, StoreError::Denied { .. }), "{failure}");
}

#[tokio::test]
async fn a_replica_does_nothing_of_what_is_sent_together() {
    let Some(master) = Server::start() else { return };
    let settings = RedisSettings { replica_of: Some(master.port()), ..RedisSettings::default() };
    let Some(replica) = Server::with(settings) else { return };
    let redis = Redis::connect(RedisOptions::new(replica.url())).await.unwrap();
    let failure = redis.send_together(vec![Command::new("INCR").arg("n")]).await.unwrap_err();
    assert!(matches!(failure, StoreError::ReadOnly { .. }), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_twice() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(server.port()).await;
    let redis = through(&proxy, &server, ms(5_000)).await;
    let mut generations = redis.generations();
    let first = *generations.borrow_and_update();
    proxy.set(ProxyFault::CutAtReply);
    let failure = redis.send(&Command::new("INCR").arg("n")).await.unwrap_err();
    assert_eq!(failure.effect(), Effect::Unknown, "{failure}");
    proxy.set(ProxyFault::None);
    // The cut one is still there until its loss is noticed: `ready` alone could mean that one.
    generations.wait_for(|generation| *generation > first).await.unwrap();
    redis.ready().await.unwrap();
    assert_eq!(redis.send(&Command::new("GET").arg("n")).await.unwrap().number().unwrap(), 1);
    // The twin: whoever sends it again after such a failure counts it twice.
    redis.send(&Command::new("INCR").arg("n")).await.unwrap();
    assert_eq!(redis.send(&Command::new("GET").arg("n")).await.unwrap().number().unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_black_hole_is_left() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(server.port()).await;
    let redis = through(&proxy, &server, ms(500)).await;
    let mut generations = redis.generations();
    let first = *generations.borrow_and_update();
    proxy.stall_existing();
    // Found by the heartbeat, without anybody asking.
    let next = generations.wait_for(|generation| *generation > first);
    tokio::time::timeout(ms(20_000), next).await.expect("a new connection").unwrap();
    redis.send(&Command::new("PING")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_says_when_it_may_have_missed_something() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(server.port()).await;
    let redis = through(&proxy, &server, ms(5_000)).await;
    let mut one = redis.subscribe("news", PubSub::Plain).await.unwrap();
    let mut two = redis.subscribe("news", PubSub::Plain).await.unwrap();
    assert!(one.is_live());
    assert!(server.ask("PUBLISH news 1").ends_with(":1"), "one subscription for both");
    let first = Event::Message(b"1".to_vec());
    assert_eq!((one.next().await, two.next().await), (first.clone(), first));
    proxy.cut();
    assert_eq!(one.next().await, Event::Cut);
    assert_eq!(one.next().await, Event::Gap);
    assert!(server.ask("PUBLISH news 2").ends_with(":1"));
    assert_eq!(one.next().await, Event::Message(b"2".to_vec()));
    assert_eq!((two.next().await, two.next().await), (Event::Cut, Event::Gap));
    redis.close().await;
    assert!(matches!(two.next().await, Event::Message(_) | Event::Closed));
    assert!(matches!(redis.subscribe("news", PubSub::Plain).await, Err(StoreError::Closed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_is_followed() {
    let Some(mut sentinels) = Sentinels::start() else { return };
    let options = RedisOptions::new(sentinels.url()).heartbeat(ms(300)).answer_within(ms(10_000));
    let redis = Redis::connect(options).await.unwrap();
    let mut heard = redis.subscribe("news", PubSub::Plain).await.unwrap();
    redis.send(&Command::new("SET").arg("k").arg(1)).await.unwrap();
    let mut generations = redis.generations();
    let first = *generations.borrow_and_update();
    sentinels.fail_over();
    let next = generations.wait_for(|generation| *generation > first);
    tokio::time::timeout(ms(60_000), next).await.expect("a new master").unwrap();
    redis.send(&Command::new("SET").arg("k").arg(2)).await.unwrap();
    assert!(sentinels.servers()[1].ask("GET k").ends_with('2'));
    assert_eq!(heard.next().await, Event::Cut);
    assert_eq!(heard.next().await, Event::Gap, "the subscription has followed, too");
    assert!(sentinels.servers()[1].ask("PUBLISH news 1").ends_with(":1"));
}

#[tokio::test]
async fn what_is_handed_over_leaves_in_order_and_is_answered_one_by_one() {
    let Some(server) = Server::start() else { return };
    let wire = Wire::connect(RedisOptions::new(server.url())).await.unwrap();
    let deadline = Instant::now() + ms(20_000);
    let pinned = wire.pin(deadline).await.unwrap();
    let first = pinned.send(Command::new("INCR").arg("n"), deadline);
    let second = pinned.send(Command::new("INCR").arg("n"), deadline);
    // It waits in the server until somebody comes along, which is after the first two answers.
    let third = pinned.send(Command::new("BLPOP").arg("list").arg(0), deadline);
    let fourth = pinned.send(Command::new("INCR").arg("n"), deadline);
    assert_eq!(second.await.unwrap().number().unwrap(), 2);
    assert_eq!(first.await.unwrap().number().unwrap(), 1);
    drop(third);
    assert_eq!(server.ask("LPUSH list x"), ":1");
    assert_eq!(fourth.await.unwrap().number().unwrap(), 3, "a dropped answer harms nobody");
    // A script is not given again behind the caller's back: what came behind it has run without it.
    let script = pinned.send(Command::script(&TWICE, &["n"]).arg(21), deadline);
    let behind = pinned.send(Command::new("GET").arg("n"), deadline);
    assert!(matches!(script.await, Err(StoreError::UnknownScript)));
    assert_eq!(behind.await.unwrap().number().unwrap(), 3);
    pinned.load(&TWICE, deadline).await.unwrap();
    pinned.send(Command::script(&TWICE, &["n"]).arg(21), deadline).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pinned_connection_is_never_replaced() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(server.port()).await;
    let wire = Wire::connect(RedisOptions::new(server.url_through(proxy.port()))).await.unwrap();
    let deadline = Instant::now() + ms(20_000);
    let pinned = wire.pin(deadline).await.unwrap();
    assert!(pinned.is_up() && pinned.is_same(&wire.pin(deadline).await.unwrap()));
    let waiting = pinned.send(Command::new("BLPOP").arg("list").arg(0), deadline);
    proxy.cut();
    let failure = waiting.await.unwrap_err();
    assert_eq!(failure.effect(), Effect::Unknown, "{failure}");
    pinned.lost().await;
    assert!(!pinned.is_up());
    let failure = pinned.send(Command::new("INCR").arg("n"), deadline).await.unwrap_err();
    assert_eq!(failure.effect(), Effect::None, "{failure}");
    // The wire goes on over another connection, on which the old handle still sends nothing.
    let next = wire.pin(deadline).await.unwrap();
    assert!(!next.is_same(&pinned));
    assert_eq!(
        next.send(Command::new("INCR").arg("n"), deadline).await.unwrap(),
        RedisReply::Number(1)
    );
    pinned.send(Command::new("INCR").arg("n"), deadline).await.unwrap_err();
    let other = wire.another().await.unwrap();
    assert_eq!(other.send(&Command::new("GET").arg("n")).await.unwrap().number().unwrap(), 1);
    wire.close().await;
    assert!(matches!(wire.send(&Command::new("PING")).await, Err(StoreError::Closed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_is_sent_after_a_cut_arrives() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    for _ in 0..100 {
        let proxy = Proxy::start(port).await;
        let mut near = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
        let (mut far, _) = listener.accept().await.unwrap();
        near.write_all(b"before").await.unwrap();
        far.read_exact(&mut [0; 6]).await.unwrap();
        proxy.set(ProxyFault::Refuse);
        // The cut may be noticed by then.
        near.write_all(b"after").await.ok();
        let mut rest = Vec::new();
        // The end may be a reset.
        far.read_to_end(&mut rest).await.ok();
        assert_eq!(rest, b"");
    }
}

#[tokio::test]
async fn who_cannot_subscribe_hears_why() {
    let Some(mut server) = Server::start() else { return };
    let options = RedisOptions::new(server.url()).answer_within(Duration::from_millis(500));
    let redis = Redis::connect(options).await.unwrap();
    server.kill();
    let refused = redis.subscribe("news", PubSub::Plain).await.unwrap_err();
    assert!(refused.to_string().contains("refused"), "{refused}");
    redis.close().await;
    assert!(matches!(redis.subscribe("news", PubSub::Plain).await, Err(StoreError::Closed)));
}
