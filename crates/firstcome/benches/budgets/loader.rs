//! Sends claims on keep-alive connections, each as soon as the one before it is answered.

use anyhow::{Context, Result, bail};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

/// How one phase went.
pub(crate) struct Phase {
    pub(crate) per_second: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// Answers by status.
    pub(crate) statuses: std::collections::BTreeMap<u16, usize>,
}

/// Sends `requests` claims on `connections` connections, spread over the servers; `subject` names the n-th one's.
pub(crate) fn claims(
    addresses: &[&str],
    key: &str,
    connections: usize,
    requests: usize,
    subject: fn(usize) -> usize,
) -> Result<Phase> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = LocalSet::new();
    let next = std::rc::Rc::new(std::cell::Cell::new(0));
    let answers: Result<Vec<Vec<(u16, u32)>>> = local.block_on(&runtime, async {
        let mut streams = Vec::new();
        for place in 0..connections {
            let stream = TcpStream::connect(addresses[place % addresses.len()]).await?;
            stream.set_nodelay(true)?;
            streams.push(stream);
        }
        let tasks = streams.into_iter().map(|stream| {
            let (next, key) = (std::rc::Rc::clone(&next), key.to_owned());
            tokio::task::spawn_local(one(stream, key, next, requests, subject))
        });
        let tasks: Vec<_> = tasks.collect();
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await??);
        }
        Ok(answers)
    });
    let begun = BEGUN.with(std::cell::Cell::get).context("no request was sent")?;
    let took = begun.elapsed();
    BEGUN.with(|begun| begun.set(None));
    let mut statuses = std::collections::BTreeMap::new();
    let mut micros: Vec<u32> = Vec::with_capacity(requests);
    for (status, took) in answers?.into_iter().flatten() {
        *statuses.entry(status).or_default() += 1;
        micros.push(took);
    }
    micros.sort_unstable();
    let at = |share: f64| {
        Duration::from_micros(u64::from(micros[(micros.len() as f64 * share) as usize]))
    };
    Ok(Phase {
        per_second: requests as f64 / took.as_secs_f64(),
        p50: at(0.5),
        p99: at(0.99),
        statuses,
    })
}

thread_local! {
    static BEGUN: std::cell::Cell<Option<Instant>> = const { std::cell::Cell::new(None) };
}

async fn one(
    mut stream: TcpStream,
    key: String,
    next: std::rc::Rc<std::cell::Cell<usize>>,
    requests: usize,
    subject: fn(usize) -> usize,
) -> Result<Vec<(u16, u32)>> {
    let mut answers = Vec::new();
    let mut buffer = vec![0; 8192];
    let head = format!(
        "POST /v1/campaigns/bench/claims HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: 24\r\n\r\n"
    );
    BEGUN.with(|begun| begun.set(begun.get().or(Some(Instant::now()))));
    loop {
        let number = next.get();
        if number >= requests {
            return Ok(answers);
        }
        next.set(number + 1);
        let request = format!("{head}{{\"subject\":\"s-{:08}\"}}", subject(number));
        let sent = Instant::now();
        stream.write_all(request.as_bytes()).await?;
        let mut filled = 0;
        let status = loop {
            let read = stream.read(&mut buffer[filled..]).await?;
            if read == 0 {
                bail!("the server hung up");
            }
            filled += read;
            if let Some(status) = complete(&buffer[..filled])? {
                break status;
            }
        };
        answers.push((status, sent.elapsed().as_micros() as u32));
    }
}

/// Gives the status once the whole answer is there.
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
