//! Processes that are killed and paused.

use std::process::Stdio;

use firstcome_lock::{Election, FencedWrite, Locks, Loss};
use firstcome_testbed::RedisServer;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::stage::{SECOND, client_of, ms, take};

const ROLE: &str = "FIRSTCOME_TEST_ROLE";
const URL: &str = "FIRSTCOME_TEST_URL";

/// Another process of this test program, in a role.
pub(crate) struct Actor {
    pub(crate) child: Child,
    pub(crate) says: Lines<BufReader<ChildStdout>>,
    hears: ChildStdin,
}

impl Actor {
    pub(crate) fn start(role: &str, redis: &RedisServer) -> Self {
        Self::start_at(role, &redis.url())
    }

    pub(crate) fn start_at(role: &str, url: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::an_actor", "--nocapture"])
            .env(ROLE, role)
            .env(URL, url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap()).lines();
        let hears = child.stdin.take().unwrap();
        Self { child, says, hears }
    }

    /// Waits for a line that begins with `word` and gives the rest of it.
    pub(crate) async fn hear(&mut self, word: &str) -> String {
        loop {
            let line = tokio::time::timeout(20 * SECOND, self.says.next_line());
            let line = line.await.expect("it says something").unwrap().expect("it is alive");
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }

    pub(crate) async fn tell(&mut self, word: &str) {
        self.hears.write_all(format!("{word}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args([name, &id]).status().await.unwrap().success());
    }
}

/// What an actor does; nothing, in the process that runs the tests.
#[test]
fn an_actor() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let url = std::env::var(URL).unwrap();
        let locks = Locks::builder().watchdog(ms(600)).connect_to(&url).await.unwrap();
        match role.as_str() {
            "hold" => hold(&locks).await,
            "lead" => lead(&locks).await,
            "careless" => careless(&locks).await,
            "write in MariaDB" => crate::sql_guard::lead_and_write(&locks, &url).await,
            "reign" => crate::reigns::reign(&locks).await,
            other => match other.strip_prefix("write:") {
                Some(path) => crate::sql_guard::write_when_told(&locks, path).await,
                None => panic!("no such role: {other}"),
            },
        }
    });
}

async fn hold(locks: &Locks) {
    let lease = take(&locks.mutex("x").unwrap()).await;
    let guard = locks.fenced_value("value").unwrap();
    assert_eq!(guard.write(&lease, b"actor").await.unwrap(), FencedWrite::Written);
    println!("\nheld {}", lease.fence());
    let mut heard = BufReader::new(tokio::io::stdin()).lines();
    heard.next_line().await.unwrap();
    // The first thing it does when it goes on.
    println!("\nvalid {}", lease.is_valid());
    println!("\nlost {:?}", lease.lost().await);
    println!("\nwrite {:?}", guard.write(&lease, b"stale").await.unwrap());
    println!("\nreleased {:?}", lease.release().await.unwrap());
}

async fn lead(locks: &Locks) {
    let election = Election::new(locks, "x").unwrap().lease(ms(600));
    let work = |term: firstcome_lock::Term| async move {
        loop {
            println!("\nstep {}", term.fence());
            tokio::time::sleep(ms(2)).await;
        }
    };
    election.run::<(), _, _>(work).await.unwrap();
}

/// Holds the lock as a leader does and never looks whether it still does.
async fn careless(locks: &Locks) {
    let lease = take(&locks.mutex("x").unwrap()).await;
    loop {
        println!("\nstep {}", lease.fence());
        tokio::time::sleep(ms(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_paused_beyond_its_lease_is_told_and_refused() {
    let Some(redis) = RedisServer::start() else { return };
    let bob = client_of(&redis).await;
    let mut actor = Actor::start("hold", &redis);
    let old: u64 = actor.hear("held").await.parse().unwrap();
    actor.signal("-STOP").await;
    let lease = bob.mutex("x").unwrap().lock().await.unwrap();
    assert!(lease.fence().get() > old);
    assert_eq!(
        bob.fenced_value("value").unwrap().write(&lease, b"bob").await.unwrap(),
        FencedWrite::Written
    );
    actor.tell("go on").await;
    actor.signal("-CONT").await;
    assert_eq!(actor.hear("valid").await, "false");
    assert_eq!(actor.hear("lost").await, format!("{:?}", Loss::RanOut));
    assert!(actor.hear("write").await.starts_with("Refused"));
    assert_eq!(actor.hear("released").await, "AlreadyLost");
    assert!(redis.ask("GET value").ends_with("bob"));
    assert!(lease.is_valid());
    // In contrast: an unguarded write of the paused one would have gone through.
    assert_eq!(redis.ask("SET value stale"), "+OK");
}

/// Returns whether an actor in this role takes a step for its old term after it was paused beyond it.
async fn steps_after_a_pause(role: &str) -> Option<bool> {
    let redis = RedisServer::start()?;
    let bob = client_of(&redis).await;
    let mut actor = Actor::start(role, &redis);
    let old = actor.hear("step").await;
    actor.signal("-STOP").await;
    let lease = bob.mutex("x").unwrap().lock().await.unwrap();
    // What it said before it was stopped is still in the pipe.
    while let Ok(line) = tokio::time::timeout(ms(100), actor.says.next_line()).await {
        line.unwrap();
    }
    actor.signal("-CONT").await;
    // One step may have been under way when it was stopped.
    let (old, mut steps) = (format!("step {old}"), 0);
    let end = tokio::time::Instant::now() + if role == "careless" { 20 } else { 2 } * SECOND;
    while steps < 2
        && let Ok(line) = tokio::time::timeout_at(end, actor.says.next_line()).await
    {
        let Some(line) = line.unwrap() else { break };
        steps += u32::from(line == old);
    }
    drop(lease);
    Some(steps > 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_paused_beyond_its_term_does_not_go_on() {
    if let Some(stepped) = steps_after_a_pause("lead").await {
        assert!(!stepped);
        assert_eq!(steps_after_a_pause("careless").await, Some(true), "the careless one does");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_holder_is_followed_when_its_lease_ends() {
    let Some(redis) = RedisServer::start() else { return };
    let bob = client_of(&redis).await;
    let mut actor = Actor::start("hold", &redis);
    let old: u64 = actor.hear("held").await.parse().unwrap();
    actor.child.kill().await.unwrap();
    let next = tokio::time::timeout(5 * SECOND, bob.mutex("x").unwrap().lock()).await;
    assert!(next.unwrap().unwrap().fence().get() > old);
}
