//! Sends requests on keep-alive connections: each as soon as the one before it is answered (closed loop), or when
//! it is due, whatever the answers do (open loop).

mod open;

use crate::server::KEY;
use anyhow::{Context, Result, bail};
pub(crate) use open::{Load, Opened, open};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

/// How one phase went.
pub(crate) struct Phase {
    /// Turns a second.
    pub(crate) per_second: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// Answers by status.
    pub(crate) statuses: std::collections::BTreeMap<u16, usize>,
}

/// Sends `requests` claims on `connections` connections, spread over the servers; `subject` names the n-th one's.
pub(crate) fn claims(
    addresses: &[&str],
    campaign: &'static str,
    connections: usize,
    requests: usize,
    subject: impl Fn(usize) -> usize + 'static,
) -> Result<Phase> {
    turns(addresses, connections, requests, move |number| vec![claim(campaign, subject(number))])
}

/// Returns the bytes of a claim for the subject of this number.
fn claim(campaign: &str, subject: usize) -> String {
    let body = format!("{{\"subject\":\"s-{subject:08}\"}}");
    post(&format!("/v1/campaigns/{campaign}/claims"), KEY, &body)
}

/// Returns a request's bytes.
pub(crate) fn post(path: &str, key: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Takes so many turns on `connections` connections, spread over the servers: the requests of a turn go one after the
/// other on the same connection, each when the one before it is answered.
pub(crate) fn turns(
    addresses: &[&str],
    connections: usize,
    turns: usize,
    turn: impl Fn(usize) -> Vec<String> + 'static,
) -> Result<Phase> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = LocalSet::new();
    let course = Rc::new(Course { next: Cell::new(0), turns, turn: Box::new(turn) });
    let (answers, took) = local.block_on(&runtime, async {
        let streams = connect(addresses, connections).await?;
        let begun = Instant::now();
        let tasks = streams
            .into_iter()
            .map(|stream| tokio::task::spawn_local(one(stream, Rc::clone(&course))));
        let tasks: Vec<_> = tasks.collect();
        let mut answers = Vec::new();
        for task in tasks {
            answers.extend(task.await??);
        }
        anyhow::Ok((answers, begun.elapsed()))
    })?;
    let mut statuses = std::collections::BTreeMap::new();
    let mut micros: Vec<u32> = Vec::with_capacity(answers.len());
    for (status, took) in answers {
        *statuses.entry(status).or_default() += 1;
        micros.push(took);
    }
    micros.sort_unstable();
    let at = |share: f64| {
        Duration::from_micros(u64::from(micros[(micros.len() as f64 * share) as usize]))
    };
    Ok(Phase {
        per_second: turns as f64 / took.as_secs_f64(),
        p50: at(0.5),
        p99: at(0.99),
        statuses,
    })
}

/// Opens so many connections, spread over the servers.
async fn connect(addresses: &[&str], connections: usize) -> Result<Vec<TcpStream>> {
    let mut streams = Vec::with_capacity(connections);
    for place in 0..connections {
        let stream = TcpStream::connect(addresses[place % addresses.len()]).await?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    Ok(streams)
}

/// What all connections do together.
struct Course {
    next: Cell<usize>,
    turns: usize,
    turn: Box<dyn Fn(usize) -> Vec<String>>,
}

async fn one(mut stream: TcpStream, course: Rc<Course>) -> Result<Vec<(u16, u32)>> {
    let mut answers = Vec::new();
    let mut buffer = vec![0; 8192];
    loop {
        let number = course.next.get();
        if number >= course.turns {
            return Ok(answers);
        }
        course.next.set(number + 1);
        for request in (course.turn)(number) {
            let sent = Instant::now();
            let status = ask(&mut stream, &request, &mut buffer).await?;
            answers.push((status, sent.elapsed().as_micros() as u32));
        }
    }
}

/// Sends a request and gives the status of its answer once all of it is there.
pub(crate) async fn ask(stream: &mut TcpStream, request: &str, buffer: &mut [u8]) -> Result<u16> {
    stream.write_all(request.as_bytes()).await?;
    let mut filled = 0;
    loop {
        let read = stream.read(&mut buffer[filled..]).await?;
        if read == 0 {
            bail!("the server hung up");
        }
        filled += read;
        if let Some(status) = complete(&buffer[..filled])? {
            return Ok(status);
        }
    }
}

/// Returns the status once the whole answer is there.
fn complete(bytes: &[u8]) -> Result<Option<u16>> {
    let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&bytes[..end])?;
    let status = head.get(9..12).context("no status")?.parse()?;
    let length = head
        .split("\r\n")
        .find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned)
        })
        .context("no content-length")?;
    let length: usize = length.parse()?;
    Ok((bytes.len() >= end + 4 + length).then_some(status))
}
