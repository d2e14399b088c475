//! One connection: one request under way, sent again until it is answered.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::answer::{self, ClaimAnswer, Frame};
use super::checker::Known;
use super::sequence::Request;
use super::shared::Shared;
use super::tally::{Kind, WhyAgain};
use super::violation::Violation;
use crate::error::LoadError;
use firstcome_client::{Failure, Problem, Server};

/// How long one exchange may take before its connection is given up and the claim sent again.
const EXCHANGE: Duration = Duration::from_secs(10);

/// The longest a "not now" is waited out before asking again, whatever the server proposes.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

struct Connection {
    shared: Arc<Shared>,
    number: usize,
    heads: Vec<Vec<u8>>,
    server: usize,
    stream: Option<TcpStream>,
    request: Vec<u8>,
    buffer: Vec<u8>,
    random: fastrand::Rng,
}

/// What one exchange came to.
enum ExchangeEnd {
    Decided(Kind),
    Again(WhyAgain, Duration),
}

pub(super) async fn run(shared: Arc<Shared>, number: usize) {
    let mut connection = Connection::new(Arc::clone(&shared), number);
    loop {
        shared.plan.pace.pass().await;
        if shared.plan.pace.is_finished() {
            return;
        }
        let next = shared.sequence.lock().expect("drawing does not panic").next();
        let Some(request) = next else {
            shared.plan.pace.finish();
            return;
        };
        let due = shared.plan.pace.due(request.index);
        if let Err(reason) =
            connection.send_until_decided(request, due.unwrap_or_else(Instant::now)).await
        {
            shared.end(reason);
            return;
        }
    }
}

impl Connection {
    fn new(shared: Arc<Shared>, number: usize) -> Self {
        let plan = &shared.plan;
        let key =
            plan.key.as_ref().map(|key| format!("authorization: Bearer {}\r\n", key.reveal()));
        let key = key.unwrap_or_default();
        let head = |server: &Server| {
            format!(
                "POST /v1/campaigns/{}/claims HTTP/1.1\r\nhost: {}\r\n{key}content-type: application/json\r\ncontent-length: ",
                plan.campaign,
                server.authority()
            )
            .into_bytes()
        };
        Self {
            number,
            heads: plan.servers.iter().map(head).collect(),
            server: number % plan.servers.len(),
            stream: None,
            request: Vec::with_capacity(512),
            buffer: Vec::with_capacity(4_096),
            // Only pauses are drawn from this; who asks is drawn for all connections together.
            random: fastrand::Rng::with_seed(plan.seed ^ (number as u64) << 32),
            shared,
        }
    }

    /// Sends a claim until it is decided, and records the answer.
    async fn send_until_decided(
        &mut self,
        request: Request,
        due: Instant,
    ) -> Result<(), LoadError> {
        let before = self.shared.checker.known(request.subject);
        let mut cut = request.cut;
        let mut sent = false;
        loop {
            let exchange = match self.connect().await {
                Ok(stream) => {
                    self.write_request(request.subject);
                    sent = true;
                    self.exchange(stream, std::mem::take(&mut cut), request.subject, before).await?
                }
                Err(_) => ExchangeEnd::Again(WhyAgain::Unreachable, self.pause()),
            };
            match exchange {
                ExchangeEnd::Decided(kind) => {
                    self.record(kind, due);
                    return Ok(());
                }
                ExchangeEnd::Again(why, pause) => {
                    self.shared.plan.tally.again(why);
                    if due.elapsed() > self.shared.plan.patience + EXCHANGE {
                        return Err(self.gave_up(sent));
                    }
                    if !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    }
                }
            }
        }
    }

    /// The kept connection, or a new one to the first server that takes one.
    async fn connect(&mut self) -> std::io::Result<TcpStream> {
        if let Some(stream) = self.stream.take() {
            return Ok(stream);
        }
        let servers = &self.shared.plan.servers;
        let mut last = std::io::Error::from(std::io::ErrorKind::NotConnected);
        for _ in 0..servers.len() {
            let authority = servers[self.server].authority();
            match timeout(EXCHANGE, TcpStream::connect(authority)).await {
                Ok(Ok(stream)) => {
                    stream.set_nodelay(true)?;
                    self.shared.outages.found();
                    self.buffer.clear();
                    return Ok(stream);
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = std::io::ErrorKind::TimedOut.into(),
            }
            self.server = (self.server + 1) % servers.len();
        }
        self.shared.outages.lost();
        Err(last)
    }

    fn write_request(&mut self, subject: u32) {
        let plan = &self.shared.plan;
        let pool = plan.pool.as_deref();
        // `{"subject":"` and `"}`, the seven digits, and the pool's part.
        let length = 12 + plan.prefix.len() + 7 + 2 + pool.map_or(0, |pool| 10 + pool.len());
        self.request.clear();
        self.request.extend_from_slice(&self.heads[self.server]);
        let body = format_args!("{length}\r\n\r\n{{\"subject\":\"{}{subject:07}\"", plan.prefix);
        let written = match pool {
            Some(pool) => write!(self.request, "{body},\"pool\":\"{pool}\"}}"),
            None => write!(self.request, "{body}}}"),
        };
        written.expect("writing to memory cannot fail");
    }

    async fn exchange(
        &mut self,
        mut stream: TcpStream,
        cut: bool,
        subject: u32,
        before: Known,
    ) -> Result<ExchangeEnd, LoadError> {
        if stream.write_all(&self.request).await.is_err() {
            return Ok(ExchangeEnd::Again(WhyAgain::Broken, Duration::ZERO));
        }
        if cut {
            return Ok(ExchangeEnd::Again(WhyAgain::Cut, Duration::ZERO));
        }
        let Ok(Some(frame)) = timeout(EXCHANGE, self.read(&mut stream)).await else {
            return Ok(ExchangeEnd::Again(WhyAgain::Broken, Duration::ZERO));
        };
        let frame = frame?;
        let decided = self.decide(&frame, subject, before)?;
        self.buffer.drain(..frame.body.end);
        if !frame.closes {
            self.stream = Some(stream);
        }
        Ok(decided)
    }

    /// Reads one answer; `None` when the connection ended before it was whole.
    async fn read(&mut self, stream: &mut TcpStream) -> Option<Result<Frame, LoadError>> {
        loop {
            match answer::frame(&self.buffer) {
                Ok(Some(frame)) => return Some(Ok(frame)),
                Ok(None) => {}
                Err(reason) => return Some(Err(self.strange(reason))),
            }
            let length = stream.read_buf(&mut self.buffer).await.ok()?;
            if length == 0 {
                return None;
            }
        }
    }

    fn decide(
        &mut self,
        frame: &Frame,
        subject: u32,
        before: Known,
    ) -> Result<ExchangeEnd, LoadError> {
        let body = &self.buffer[frame.body.clone()];
        let answer: ClaimAnswer<'_> = match serde_json::from_slice(body) {
            Ok(answer) => answer,
            // A gateway's own page says nothing about the claim.
            Err(_) if frame.status >= 500 => {
                return Ok(ExchangeEnd::Again(WhyAgain::Unknown, LONGEST_PAUSE));
            }
            Err(error) => return Err(self.strange(&error.to_string())),
        };
        let checker = &self.shared.checker;
        match Kind::from_outcome(answer.outcome) {
            Some(kind @ (Kind::Won | Kind::AlreadyWon)) => {
                let at = answer.at.and_then(|at| at.parse::<jiff::Timestamp>().ok());
                let (Some(rank @ 1..), Some(at)) = (answer.rank, at) else {
                    return Err(self.strange("a yes without its rank and time"));
                };
                if let Some(Ok(position)) = answer.position.map(str::parse) {
                    checker.as_of(position);
                }
                let name = checker.name(subject);
                let other = answer.subject.filter(|&answered| answered != name);
                let elsewhere =
                    answer.campaign.filter(|&campaign| campaign != self.shared.plan.campaign);
                if let Some(answered) = other.or(elsewhere) {
                    checker.violation(Violation::OtherSubject {
                        asked: name,
                        answered: answered.to_owned(),
                    });
                } else if checker.won(subject, Known { rank, at: at.as_microsecond() }) {
                    self.shared.plan.tally.newly_acknowledged();
                }
                Ok(ExchangeEnd::Decided(kind))
            }
            Some(kind) => {
                checker.refused(subject, before, kind);
                Ok(ExchangeEnd::Decided(kind))
            }
            None => {
                let why = match (frame.status, answer.changed) {
                    (_, Some("unknown")) => WhyAgain::Unknown,
                    (408 | 429 | 500.., _) => WhyAgain::Busy,
                    (status, _) => return Err(self.refused(status, body)),
                };
                let proposed =
                    answer.retry_after_ms.map_or(self.shortest_pause(), Duration::from_millis);
                Ok(ExchangeEnd::Again(why, proposed.min(LONGEST_PAUSE)))
            }
        }
    }

    fn record(&self, kind: Kind, due: Instant) {
        self.shared.plan.tally.answered(kind);
        let took = due.elapsed();
        let mut latencies = self.shared.latencies[self.number % self.shared.latencies.len()]
            .lock()
            .expect("recording does not panic");
        latencies.all.record(took);
        if kind == Kind::Won {
            latencies.won.record(took);
        }
    }

    /// A short pause, different for every connection, so that they do not all come back at once.
    fn pause(&mut self) -> Duration {
        Duration::from_millis(self.random.u64(20..60))
    }

    fn shortest_pause(&self) -> Duration {
        Duration::from_millis(20)
    }

    fn strange(&self, reason: &str) -> LoadError {
        let server = self.shared.plan.servers[self.server].to_string();
        LoadError::Strange { server, reason: reason.to_owned() }
    }

    fn refused(&self, status: u16, body: &[u8]) -> LoadError {
        let sentence = Problem::read(status, body).map(|problem| problem.sentence());
        LoadError::Refused(sentence.unwrap_or_else(|_| format!("status {status}")))
    }

    fn gave_up(&self, sent: bool) -> LoadError {
        let server = self.shared.plan.servers[self.server].to_string();
        let waited = self.shared.plan.patience.as_secs();
        let reason = format!("a claim was sent again for {waited} s and never decided");
        LoadError::NoAnswer(if sent {
            Failure::Unknown { server, reason, problem: None }
        } else {
            Failure::Unchanged { server, reason, problem: None }
        })
    }
}
