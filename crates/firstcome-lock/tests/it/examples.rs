//! The examples, run as the README says, against a real server.

use std::path::PathBuf;
use std::process::Stdio;

use firstcome_testbed::RedisServer;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use crate::stage::{SECOND, ms};

/// A process that runs an example.
struct Example {
    child: Child,
    says: Lines<BufReader<ChildStdout>>,
}

impl Example {
    fn start(name: &str, redis: &RedisServer) -> Self {
        let mut child = Command::new(program(name))
            .arg(redis.url())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, says }
    }

    /// Returns the next line, which must come within 20 s.
    async fn hear(&mut self) -> String {
        let line = timeout(20 * SECOND, self.says.next_line()).await.expect("it says something");
        line.unwrap().expect("it has not ended")
    }

    /// Returns the lines that come within a time.
    async fn hear_for(&mut self, time: std::time::Duration) -> Vec<String> {
        let mut heard = Vec::new();
        let listening = async {
            while let Ok(Some(line)) = self.says.next_line().await {
                heard.push(line);
            }
        };
        drop(timeout(time, listening).await);
        heard
    }

    async fn interrupt(&self) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().await.unwrap().success());
    }

    async fn ends_well(&mut self) {
        let ended = timeout(20 * SECOND, self.child.wait()).await.expect("it ends").unwrap();
        assert!(ended.success(), "{ended}");
    }
}

/// Returns the program of an example, which cargo puts beside the folder of this one.
fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    let missing = "it is built by `cargo test` without --test, or by `cargo build --examples`";
    assert!(program.is_file(), "{}: {missing}", program.display());
    program
}

#[tokio::test]
async fn token_lock_waits_for_a_lock_set_by_another_library() {
    let Some(redis) = RedisServer::start() else { return };
    // What `rslock` sends.
    assert_eq!(redis.ask("SET nightly-report somebody NX PX 8000"), "+OK");
    let mut example = Example::start("token_lock", &redis);
    let said = example.hear().await;
    assert!(said.starts_with("nightly-report: somebody else has it, for at most "), "{said}");
    let said = example.hear().await;
    assert!(said.starts_with("nightly-report: taken under fencing token "), "{said}");
    assert_eq!(example.hear().await, "nightly-report: given back");
    example.ends_well().await;
    assert!(redis.ask("EXISTS nightly-report").ends_with(":0"));
}

#[tokio::test]
async fn cron_does_each_job_on_one_of_three() {
    let Some(redis) = RedisServer::start() else { return };
    let mut hosts: Vec<Example> = (0..3).map(|_| Example::start("cron", &redis)).collect();
    for host in &mut hosts {
        assert!(host.hear().await.ends_with(": ready"));
    }
    // A kill -9 of whoever does the jobs, and then a Ctrl-C: each time another one goes on.
    let mut terms = Vec::new();
    for signal in ["kill", "interrupt"] {
        let mut said = Vec::new();
        for _ in 0..20 {
            said.clear();
            for host in &mut hosts {
                said.push(host.hear_for(ms(500)).await);
            }
            if said.iter().any(|lines| !lines.is_empty()) {
                break;
            }
        }
        // Lines wait in pipes, so that one who was listened to first may have begun after that.
        let busy: Vec<usize> = (0..said.len()).filter(|&one| !said[one].is_empty()).collect();
        assert_eq!(busy.len(), 1, "{said:?}");
        let (leader, line) = (busy[0], said[busy[0]][0].clone());
        let (_, term) = line.split_once(": job in term ").expect("a job");
        terms.push(term.parse::<u64>().unwrap());
        let mut ended = hosts.remove(leader);
        match signal {
            "kill" => ended.child.kill().await.unwrap(),
            _ => {
                ended.interrupt().await;
                ended.ends_well().await;
            }
        }
    }
    let last = hosts[0].hear().await;
    let (_, term) = last.split_once(": job in term ").expect("the last one goes on");
    terms.push(term.parse().unwrap());
    assert!(terms.is_sorted_by(|a, b| a < b), "{terms:?}");
}

#[tokio::test]
async fn leader_http_does_the_work_in_the_leader_alone() {
    let Some(redis) = RedisServer::start() else { return };
    let mut first = Example::start("leader_http", &redis);
    let one = address(&mut first).await;
    until_answered(&one, "200", "done in term ").await;
    let mut second = Example::start("leader_http", &redis);
    let two = address(&mut second).await;
    until_answered(&two, "503", &format!("ask the leader: http://{one}")).await;
    first.interrupt().await;
    assert_eq!(first.hear().await, "handed over");
    first.ends_well().await;
    until_answered(&two, "200", "done in term ").await;
}

async fn address(example: &mut Example) -> String {
    let said = example.hear().await;
    said.strip_prefix("listening on http://").expect("an address").to_owned()
}

/// Asks for `/work` until the answer has this status and says this, for up to 20 s.
async fn until_answered(address: &str, status: &str, wanted: &str) {
    let mut said = String::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET /work HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        said.clear();
        stream.read_to_string(&mut said).await.unwrap();
        if said.starts_with(&format!("HTTP/1.1 {status} ")) && said.contains(wanted) {
            return;
        }
        sleep(ms(100)).await;
    }
    panic!("not {status} with {wanted:?}: {said}");
}
