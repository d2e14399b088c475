//! Real Redisson as a neighbour, in both directions.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use firstcome_lock::{Lease, Locks, Loss, RedisOptions, TryLock};
use firstcome_store::{Event, PubSub, Subscription};
use firstcome_testbed::{RedisCluster, RedisServer, redisson};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::oneshot;

use crate::stage::{SECOND, client_of, is_held, ms, take, until, until_free};

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<String>>>>;

/// A process that does what it is asked line by line: one with real Redisson in it, or one of ours.
pub(crate) struct Peer {
    child: tokio::process::Child,
    hears: tokio::process::ChildStdin,
    waiting: Waiting,
    next: u64,
}

impl Peer {
    pub(crate) async fn start(redis: &RedisServer, watchdog_ms: u64) -> Option<Self> {
        Self::with(&[&redis.url(), &watchdog_ms.to_string()]).await
    }

    /// Starts it with the servers of a cluster, a mode for its messages, and how often it sends again what got no answer.
    pub(crate) async fn in_cluster(
        cluster: &RedisCluster,
        watchdog_ms: u64,
        mode: &str,
        again: u32,
    ) -> Option<Self> {
        let urls = (0..3).map(|place| cluster.server(place).url()).collect::<Vec<_>>().join(",");
        Self::with(&[&urls, &watchdog_ms.to_string(), mode, &again.to_string()]).await
    }

    async fn with(args: &[&str]) -> Option<Self> {
        let mut java = tokio::task::spawn_blocking(|| redisson("Peer")).await.unwrap()?;
        java.args(args);
        Some(Self::of(java).await)
    }

    /// Starts it with its command.
    pub(crate) async fn of(command: std::process::Command) -> Self {
        let mut child = tokio::process::Command::from(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut says = BufReader::new(child.stdout.take().unwrap()).lines();
        let hears = child.stdin.take().unwrap();
        let waiting = Waiting::default();
        let (ready, is_ready) = oneshot::channel();
        waiting.lock().unwrap().insert(0, ready);
        let answers = Arc::clone(&waiting);
        tokio::spawn(async move {
            while let Ok(Some(line)) = says.next_line().await {
                let Some((id, answer)) = line.split_once(' ') else { continue };
                let waiter = id.parse().ok().and_then(|id| answers.lock().unwrap().remove(&id));
                if let Some(waiter) = waiter {
                    waiter.send(answer.to_owned()).ok();
                }
            }
        });
        tokio::time::timeout(60 * SECOND, is_ready).await.expect("it starts").unwrap();
        Self { child, hears, waiting, next: 1 }
    }

    /// Begins something and gives what its answer comes through.
    pub(crate) async fn begin(&mut self, what: &str) -> oneshot::Receiver<String> {
        let (to, answer) = oneshot::channel();
        self.waiting.lock().unwrap().insert(self.next, to);
        let (verb, rest) = what.split_once(' ').unwrap();
        let line = format!("{} {verb} {rest}\n", self.next);
        self.next += 1;
        self.hears.write_all(line.as_bytes()).await.unwrap();
        answer
    }

    pub(crate) async fn ask(&mut self, what: &str) -> String {
        let answer = self.begin(what).await;
        tokio::time::timeout(30 * SECOND, answer).await.expect(what).unwrap()
    }

    /// Tries once, without waiting; -1 for a lease that is renewed.
    async fn takes(&mut self, kind: &str, thread: i64, lease: i64) -> bool {
        self.ask(&format!("lock {kind} x {thread} 0 {lease}")).await.starts_with("true")
    }

    async fn unlocks(&mut self, kind: &str, thread: i64) -> String {
        self.ask(&format!("unlock {kind} x {thread}")).await
    }
}

const KINDS: [&str; 2] = ["plain", "fenced"];

fn lock(locks: &Locks, kind: &str) -> firstcome_lock::Lock {
    if kind == "plain" { locks.mutex("x").unwrap() } else { locks.fenced("x").unwrap() }
}

/// Sets a key that lives as long as a fixed lease that begins now.
pub(crate) fn mark(redis: &RedisServer, lease_ms: u64) {
    assert_eq!(redis.ask(&format!("SET marker 1 PX {lease_ms}")), "+OK");
}

/// What is left of the marker when a lock was entered: nearly all of it, if a message opened the door.
pub(crate) fn by_message(entered: &str) {
    let left: i64 = entered.strip_prefix("true ").expect("it got in").parse().unwrap();
    assert!(left > 10_000, "{left} ms are left of 20 s: it waited for the end of the lease");
}

async fn listens(redis: &RedisServer) {
    listens_to(redis, "redisson_lock__channel:{x}").await;
}

pub(crate) async fn listens_to(redis: &RedisServer, channel: &str) {
    let asked = format!("PUBSUB NUMSUB {channel}");
    until("somebody listens", async || redis.ask(&asked).ends_with(":1")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_exclude_each_other() {
    let Some(redis) = RedisServer::start() else { return };
    let Some(mut java) = Peer::start(&redis, 30_000).await else { return };
    let rust = client_of(&redis).await;
    for kind in KINDS {
        let ours = lock(&rust, kind);
        // Redisson has it, twice.
        assert!(java.takes(kind, 7, 20_000).await && java.takes(kind, 7, 20_000).await);
        let TryLock::Held { remaining, .. } = ours.try_lock().await.unwrap() else {
            panic!("excluded")
        };
        assert!(remaining.at_most().unwrap() > ms(15_000));
        assert_eq!(rust.inspect("x").await.unwrap().unwrap().holds, 2);
        assert_eq!(java.unlocks(kind, 7).await, "done");
        assert!(ours.try_lock().await.unwrap().acquired().is_none(), "once more");
        assert_eq!(java.unlocks(kind, 7).await, "done");
        // We have it, twice.
        let me = rust.owner();
        let mine = ours.clone().owner(&me);
        let (one, two) = (take(&mine).await, take(&mine).await);
        assert!(!java.takes(kind, 7, 20_000).await);
        assert_eq!(java.unlocks(kind, 7).await, "problem IllegalMonitorStateException");
        drop(one);
        until("one hold is left", async || rust.inspect("x").await.unwrap().unwrap().holds == 1)
            .await;
        assert!(!java.takes(kind, 7, 20_000).await);
        two.release().await.unwrap();
        assert!(java.takes(kind, -5, 20_000).await);
        assert_eq!(java.unlocks(kind, -5).await, "done");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_wake_each_other() {
    let Some(redis) = RedisServer::start() else { return };
    let Some(mut java) = Peer::start(&redis, 30_000).await else { return };
    let rust = client_of(&redis).await;
    for kind in KINDS {
        let ours = lock(&rust, kind).lease(20 * SECOND);
        // Ours ends, theirs begins.
        let lease = take(&ours).await;
        mark(&redis, 20_000);
        let waiting = java.begin(&format!("lock {kind} x 1 60000 20000")).await;
        listens(&redis).await;
        lease.release().await.unwrap();
        by_message(&waiting.await.unwrap());
        // Theirs ends, ours begins.
        mark(&redis, 20_000);
        let waiter = {
            let ours = ours.clone();
            tokio::spawn(async move { ours.lock().await.unwrap() })
        };
        listens(&redis).await;
        assert_eq!(java.unlocks(kind, 1).await, "done");
        let lease = waiter.await.unwrap();
        let left = redis.ask("PTTL marker");
        by_message(&left.replace(':', "true "));
        lease.release().await.unwrap();
    }
}

/// Redisson publishes in shards by default; older ones, and those that are set so, do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_exclude_and_wake_each_other_in_a_cluster() {
    let Some(cluster) = tokio::task::block_in_place(RedisCluster::start) else { return };
    let Some(mut auto) = Peer::in_cluster(&cluster, 30_000, "AUTO", 4).await else { return };
    let Some(mut off) = Peer::in_cluster(&cluster, 30_000, "OFF", 4).await else { return };
    let url = cluster.url();
    let like_auto = Locks::connect(&url).await.unwrap();
    let like_off = Locks::connect(&format!("{url}?pubsub=plain")).await.unwrap();
    let like_both = Locks::connect(&format!("{url}?pubsub=both")).await.unwrap();
    for kind in KINDS {
        wake_each_other(&cluster, &like_auto, (&mut auto, [0, 1]), kind, [0, 1]).await;
        wake_each_other(&cluster, &like_off, (&mut off, [1, 0]), kind, [1, 0]).await;
        wake_each_other(&cluster, &like_both, (&mut auto, [0, 1]), kind, [1, 1]).await;
        wake_each_other(&cluster, &like_both, (&mut off, [1, 0]), kind, [1, 1]).await;
    }
    // Who listens in another way than messages are published waits until the lease is over.
    let ours = lock(&like_auto, "plain").lease(20 * SECOND);
    assert!(off.takes("plain", 1, 6000).await);
    let began = tokio::time::Instant::now();
    let waiter = tokio::spawn(async move { ours.lock().await.unwrap() });
    listen(&cluster, [0, 1]).await;
    assert_eq!(off.unlocks("plain", 1).await, "done");
    waiter.await.unwrap().release().await.unwrap();
    assert!(began.elapsed() > 5 * SECOND, "it was not woken");
}

/// Each waits for the other's release; so many of theirs, and of ours, listen in the plain way and in shards.
async fn wake_each_other(
    cluster: &RedisCluster,
    rust: &Locks,
    (java, theirs): (&mut Peer, [u32; 2]),
    kind: &str,
    ours_listen: [u32; 2],
) {
    let ours = lock(rust, kind).lease(20 * SECOND);
    let lease = take(&ours).await;
    let began = tokio::time::Instant::now();
    let waiting = java.begin(&format!("lock {kind} x 1 60000 20000")).await;
    listen(cluster, theirs).await;
    lease.release().await.unwrap();
    assert!(waiting.await.unwrap().starts_with("true"));
    let waiter = tokio::spawn(async move { ours.lock().await.unwrap() });
    listen(cluster, ours_listen).await;
    assert_eq!(java.unlocks(kind, 1).await, "done");
    let lease = tokio::time::timeout(5 * SECOND, waiter).await.expect("it is woken").unwrap();
    lease.release().await.unwrap();
    assert!(began.elapsed() < 15 * SECOND, "both were woken long before a lease of 20 s ended");
}

/// Waits until so many listen for the lock, in the plain way and in shards.
async fn listen(cluster: &RedisCluster, listeners: [u32; 2]) {
    let owner = cluster.server(cluster.owner("x"));
    let ways = ["NUMSUB", "SHARDNUMSUB"];
    for (way, count) in ways.into_iter().zip(listeners) {
        let asked = format!("PUBSUB {way} redisson_lock__channel:{{x}}");
        let all = format!(":{count}");
        until("so many listen", async || owner.ask(&asked).ends_with(&all)).await;
    }
}

/// Our tasks pass the lock on among themselves; a waiter in Java is woken when the chain ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_of_ours_ends_for_redisson() {
    let Some(redis) = RedisServer::start() else { return };
    let Some(mut java) = Peer::start(&redis, 30_000).await else { return };
    let rust = client_of(&redis).await;
    let first = take(&rust.mutex("x").unwrap().lease(20 * SECOND)).await;
    mark(&redis, 20_000);
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let ours = rust.mutex("x").unwrap().lease(20 * SECOND);
            tokio::spawn(async move {
                for _ in 0..50 {
                    ours.lock().await.unwrap().release().await.unwrap();
                }
            })
        })
        .collect();
    let waiting = java.begin("lock plain x 1 60000 20000").await;
    until("it listens, too", async || {
        redis.ask("PUBSUB NUMSUB redisson_lock__channel:{x}").ends_with(":2")
    })
    .await;
    first.release().await.unwrap();
    by_message(&waiting.await.unwrap());
    assert_eq!(java.unlocks("plain", 1).await, "done");
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_end_and_are_renewed_for_both() {
    let Some(redis) = RedisServer::start() else { return };
    let Some(mut java) = Peer::start(&redis, 3000).await else { return };
    let options = RedisOptions::new(redis.url());
    let rust = Locks::builder().watchdog(3 * SECOND).connect(options).await.unwrap();
    for kind in KINDS {
        let ours = lock(&rust, kind);
        // One that is not given back ends by itself.
        assert!(java.takes(kind, 1, 2000).await);
        let lease = ours.clone().lease(2 * SECOND).lock().await.unwrap();
        let entered = java.ask(&format!("lock {kind} x 1 20000 20000")).await;
        assert!(entered.starts_with("true"));
        assert_eq!(lease.lost().await, Loss::RanOut);
        assert_eq!(java.unlocks(kind, 1).await, "done");
        // One that is renewed does not.
        assert!(java.takes(kind, 1, -1).await);
        assert!(ours.lock_within(ms(4500)).await.unwrap().acquired().is_none());
        assert_eq!(java.unlocks(kind, 1).await, "done");
        let lease = take(&ours).await;
        assert!(java.ask(&format!("lock {kind} x 1 4500 20000")).await.starts_with("false"));
        assert!(lease.is_valid());
        lease.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_can_free_what_the_other_holds() {
    let Some(redis) = RedisServer::start() else { return };
    let Some(mut java) = Peer::start(&redis, 30_000).await else { return };
    let options = RedisOptions::new(redis.url());
    let rust = Locks::builder().watchdog(3 * SECOND).connect(options).await.unwrap();
    for kind in KINDS {
        let lease = take(&lock(&rust, kind)).await;
        assert_eq!(java.ask(&format!("locked {kind} x")).await, "true");
        assert_eq!(java.ask(&format!("force {kind} x")).await, "true");
        assert_eq!(lease.lost().await, Loss::Taken);
        assert!(java.takes(kind, 1, -1).await);
        let waiter = {
            let ours = lock(&rust, kind);
            tokio::spawn(async move { ours.lock().await.unwrap() })
        };
        listens(&redis).await;
        assert!(rust.force_release("x").await.unwrap());
        let next = tokio::time::timeout(5 * SECOND, waiter).await.expect("woken").unwrap();
        assert_eq!(java.unlocks(kind, 1).await, "problem IllegalMonitorStateException");
        assert_eq!(java.ask(&format!("held {kind} x 1")).await, "false");
        next.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_of_both_grow_over_each_other() {
    let Some(redis) = RedisServer::start() else { return };
    let Some(mut java) = Peer::start(&redis, 30_000).await else { return };
    let rust = client_of(&redis).await;
    let mut last = 0;
    for _ in 0..3 {
        assert!(java.takes("fenced", 1, -1).await);
        let theirs: u64 = java.ask("token fenced x").await.parse().unwrap();
        assert!(theirs > last);
        assert_eq!(java.unlocks("fenced", 1).await, "done");
        let lease = take(&rust.fenced("x").unwrap()).await;
        last = lease.fence().get();
        assert!(last > theirs);
        assert_eq!(java.ask("token fenced x").await, last.to_string());
        lease.release().await.unwrap();
    }
    // Why plain and fenced must not be mixed: a plain holder leaves the token where it was.
    assert!(java.takes("plain", 1, -1).await);
    assert_eq!(java.ask("token fenced x").await, last.to_string());
    assert_eq!(java.unlocks("plain", 1).await, "done");
}

/// A Java program that dies while it holds the lock, or waits for it, is outlived.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_redisson_is_followed() {
    let Some(redis) = RedisServer::start() else { return };
    let Some(mut java) = Peer::start(&redis, 1000).await else { return };
    let rust = client_of(&redis).await;
    assert!(java.takes("plain", 1, -1).await);
    java.child.kill().await.unwrap();
    until_free(&rust, "x").await;
}

/// What is in the store, without what differs from one run to the next: owners, tokens, times, our own counters.
fn left_behind(redis: &RedisServer) -> Vec<String> {
    let keys = redis.ask("KEYS *");
    let mut seen = Vec::new();
    for key in keys.lines().skip(1).filter(|line| !line.starts_with('$')) {
        if key == "marker" || key.starts_with("fc:fence:") {
            continue;
        }
        let kind = redis.ask(&format!("TYPE {key}"));
        let value = match kind.as_str() {
            "+hash" => {
                let parts = redis.ask(&format!("HGETALL {key}"));
                let parts: Vec<_> =
                    parts.lines().skip(1).filter(|line| !line.starts_with('$')).collect();
                let owner = parts[0].split(':').map(str::len).next().unwrap();
                format!("an owner whose first part has {owner} letters: {}", parts[1..].join(" "))
            }
            "+string" => "a string".to_owned(),
            other => other.to_owned(),
        };
        let life =
            if redis.ask(&format!("PTTL {key}")) == ":-1" { "for ever" } else { "for a while" };
        seen.push(format!("{key} {kind} {life} {value}"));
    }
    seen.sort();
    seen
}

/// Returns what was published until now.
async fn messages(redis: &RedisServer, subscription: &mut Subscription) -> Vec<String> {
    assert!(redis.ask("PUBLISH redisson_lock__channel:{x} until-now").starts_with(':'));
    let mut heard = Vec::new();
    loop {
        let event = tokio::time::timeout(20 * SECOND, subscription.next()).await;
        if let Event::Message(payload) = event.expect("the last one comes") {
            match String::from_utf8(payload).unwrap() {
                last if last == "until-now" => return heard,
                message => heard.push(message),
            }
        }
    }
}

async fn no_latches(redis: &RedisServer) {
    until("latches are removed", async || {
        redis.ask("KEYS redisson_unlock_latch*").starts_with("*0")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_leave_the_same_keys_and_messages() {
    let Some(redis) = RedisServer::start() else { return };
    let Some(mut java) = Peer::start(&redis, 30_000).await else { return };
    let rust = client_of(&redis).await;
    let store = firstcome_store::Redis::connect(RedisOptions::new(redis.url())).await.unwrap();
    let mut heard = store.subscribe("redisson_lock__channel:{x}", PubSub::Plain).await.unwrap();
    for kind in KINDS {
        let mut theirs = Vec::new();
        for step in ["lock", "lock", "unlock", "unlock", "unlock", "lock", "force", "force"] {
            match step {
                "lock" => assert!(java.takes(kind, 1, 20_000).await),
                "unlock" => drop(java.unlocks(kind, 1).await),
                _ => drop(java.ask(&format!("force {kind} x")).await),
            }
            no_latches(&redis).await;
            theirs.push((step, left_behind(&redis), messages(&redis, &mut heard).await));
        }
        assert_eq!(redis.ask("DEL redisson_lock_token:{x}").len(), 2);

        let (mut ours, mut leases) = (Vec::new(), Vec::<Lease>::new());
        let me = rust.owner();
        let mine = lock(&rust, kind).owner(&me).lease(20 * SECOND);
        for step in ["lock", "lock", "unlock", "unlock", "unlock", "lock", "force", "force"] {
            match step {
                "lock" => leases.push(take(&mine).await),
                // The third finds nothing to release, as theirs does.
                "unlock" => match leases.pop() {
                    Some(lease) => drop(lease.release().await.unwrap()),
                    None => assert!(!is_held(&rust, "x").await),
                },
                _ => drop(rust.force_release("x").await.unwrap()),
            }
            no_latches(&redis).await;
            ours.push((step, left_behind(&redis), messages(&redis, &mut heard).await));
        }
        assert_eq!(ours, theirs, "{kind}");
        assert_eq!(ours[3].2, ["0"], "the last unlock says so, once");
        drop(leases);
        no_latches(&redis).await;
        assert!(redis.ask("FLUSHALL").starts_with("+OK"));
    }
}
