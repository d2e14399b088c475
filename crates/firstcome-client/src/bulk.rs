//! Many commands in one request, one on each line, with their answers in order.

mod lines;
mod single;

use std::fmt;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use tokio::time::{Instant, sleep, timeout};

use crate::answer::Answer;
use crate::client::wire::{Broken, Connection, Sender, head, read};
use crate::client::{CLOSED, Client, after};
use crate::documents::{LeftWaitlist, Won};
use crate::error::problem::Problem;
use crate::error::refusal::Refusal;
use crate::error::{Error, Failed, Unchanged, Unknown};
use crate::waitlists::Joined;
use firstcome_api::bulk::{AnswerHead, CommandLine, Do, MEDIA_TYPE};
use firstcome_api::claim::Cancelled;
use firstcome_api::hold::HoldAnswer;
use lines::{LineBody, SharedLines, Taken};
use single::ask;

const PATH: &str = "/v1/commands";

/// What a command came to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Done {
    /// A claim is won, now or before.
    Won(Won),
    /// A claim that waits is won, offered or on the waitlist.
    Joined(Joined),
    /// A subject is not on a waitlist any more.
    Left(LeftWaitlist),
    /// A claim is cancelled.
    Cancelled(Cancelled),
    /// Units are held, or a step on a hold was taken.
    Hold(HoldAnswer),
}

/// A line and its answer.
#[derive(Debug)]
#[non_exhaustive]
pub struct Commanded {
    /// The number of the line among all that were given, from 1.
    pub number: u64,
    /// The command; with the id that was drawn for it, where it had none.
    pub line: CommandLine,
    /// What the rules decided, or why that is not known.
    pub answer: Result<Answer<Done>, Error>,
    /// The answer as the server wrote it; empty where there is none.
    pub text: Bytes,
}

/// Many commands under way, and their answers in the order of the commands.
///
/// Made by [`Client::commands`].
#[must_use = "nothing is sent before `next` is called"]
pub struct Commands<I: Iterator> {
    client: Client,
    lines: SharedLines<I>,
    current: Option<Request<I>>,
    /// Attempts, and rounds over all servers, that led to no answer since the last one.
    attempts: u32,
    rounds: u32,
    missed: usize,
    /// When the last answer came.
    moved: Instant,
    /// Why it was given up.
    failed: Option<Failed>,
}

impl<I: Iterator> fmt::Debug for Commands<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands").field("client", &self.client).finish_non_exhaustive()
    }
}

/// A request whose answers come.
struct Request<I: Iterator> {
    server: usize,
    /// Closed when this is dropped.
    _connection: Connection<LineBody<I>>,
    body: Incoming,
    /// What came and is not read yet.
    chunk: Bytes,
    /// The beginning of an answer whose end is still to come.
    begun: Vec<u8>,
    /// The number of the next answer.
    next: u32,
}

/// A request that ended without all of its answers.
struct Setback {
    reason: String,
    problem: Option<Box<Problem>>,
}

impl Setback {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), problem: None }
    }

    fn said(problem: Problem) -> Self {
        Self { reason: problem.to_string(), problem: Some(Box::new(problem)) }
    }
}

impl From<Broken> for Setback {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Closed => Self::new(CLOSED),
            Broken::NotSent(why) | Broken::NotTrusted(why) | Broken::Lost(why) => Self::new(why),
        }
    }
}

/// Why no request was begun.
enum NotBegun {
    Setback(Setback),
    /// The server turned it down for good.
    Refused(Box<Problem>),
}

impl Client {
    /// Sends many commands, each a line of a request, and reads their answers while the next ones are still sent.
    ///
    /// Lines are taken as fast as the server reads them: up to 8,192 have no answer at one time. They are taken on a task of
    /// the runtime, so the iterator must not block. They are decided in their order. A request has up to 100,000 lines; for more of them another one follows.
    ///
    /// Where a connection breaks, what has no answer is sent again, to the next server where there are several: every
    /// command keeps its identity, and a hold or a step without an id gets one. This goes on until no answer came for as
    /// long as the deadline of a call. Then each line that was sent is [`Error::Unknown`].
    ///
    /// It needs a key: a subject token acts with single calls. It uses a connection of its own.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use firstcome_client::{Answer, Client, CommandLine};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::builder("http://127.0.0.1:8080").key("a key of the role backend").build()?;
    /// let lines = ["ann", "bob"].map(|subject| CommandLine::claim("spring", subject));
    /// let mut commands = client.commands(lines);
    /// while let Some(done) = commands.next().await? {
    ///     match done.answer {
    ///         Ok(Answer::Yes(yes)) => println!("{}: {yes:?}", done.line.subject),
    ///         Ok(Answer::No(_, why)) => println!("{}: {why}", done.line.subject),
    ///         Err(error) => println!("{}: {error}", done.line.subject),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn commands<L>(&self, lines: L) -> Commands<L::IntoIter>
    where
        L: IntoIterator<Item = CommandLine>,
    {
        Commands {
            client: self.clone(),
            lines: SharedLines::new(lines.into_iter()),
            current: None,
            attempts: 0,
            rounds: 0,
            missed: 0,
            moved: Instant::now(),
            failed: None,
        }
    }
}

impl<I> Commands<I>
where
    I: Iterator<Item = CommandLine> + Send + 'static,
{
    /// Returns the next line with its answer; `None` after the last one.
    ///
    /// A line has an error of its own where the server could not decide it ([`Error::Unchanged`]), where nobody knows
    /// ([`Error::Unknown`]), or where it turned the line down ([`Error::Refused`]). The others go on. Any of them can be sent
    /// again as it is, with [`Commanded::line`].
    ///
    /// # Errors
    ///
    /// All lines that are left: [`Error::Refused`] where the server turns the request down, [`Error::Unchanged`] where none of
    /// them was sent before it was given up. Lines that were given out before keep their answers.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a dropped call loses no answer.
    pub async fn next(&mut self) -> Result<Option<Commanded>, Error> {
        loop {
            if let Some(failed) = &self.failed {
                let left = self.lines.lock().given_up();
                return match left {
                    Some(taken) => Ok(Some(unknown(taken, failed.clone()))),
                    None if self.lines.lock().is_done() => Ok(None),
                    None => Err(Error::Unchanged(Box::new(Unchanged::new(failed.clone())))),
                };
            }
            let Some(request) = &mut self.current else {
                if self.lines.lock().is_done() {
                    return Ok(None);
                }
                match self.begin().await {
                    Ok(request) => self.current = Some(request),
                    Err(NotBegun::Refused(problem)) => return Err(Error::Refused(problem)),
                    Err(NotBegun::Setback(setback)) => {
                        let server = self.client.shared.next();
                        self.set_back(server, setback).await;
                    }
                }
                continue;
            };
            let server = request.server;
            let answered = timeout(self.client.settings.attempt, request.next_line()).await;
            let setback = match answered {
                Ok(Ok(Some(text))) => match self.answered(text) {
                    Ok(done) => return Ok(Some(done)),
                    Err(setback) => setback,
                },
                Ok(Ok(None)) if self.lines.lock().is_answered() => {
                    self.current = None;
                    continue;
                }
                Ok(Ok(None)) => Setback::new("the answers ended in the middle"),
                Ok(Err(setback)) => setback,
                Err(_) => Setback::new("no answer in time"),
            };
            self.current = None;
            self.set_back(server, setback).await;
        }
    }

    /// Begins a request with what is left.
    async fn begin(&mut self) -> Result<Request<I>, NotBegun> {
        let setback = |broken: Broken| NotBegun::Setback(broken.into());
        let (shared, settings) = (&self.client.shared, &self.client.settings);
        let index = shared.next();
        let server = &shared.servers[index];
        self.lines.lock().begin();
        let connected_by = after(settings.connect);
        let mut connection =
            Connection::open(server, shared.tls.as_ref(), connected_by).await.map_err(setback)?;
        let sender = Sender { server, key: shared.key.as_ref(), agent: &settings.agent };
        let request = head(sender, "POST", PATH)
            .header("content-type", MEDIA_TYPE)
            .body(LineBody(self.lines.clone()))
            .map_err(|why| setback(Broken::NotSent(why.to_string())))?;
        let deadline = after(settings.attempt);
        let answer = connection.begin(request, deadline).await.map_err(setback)?;
        if answer.status().as_u16() == 200 {
            let kind = answer.headers().get("content-type");
            if kind.is_none_or(|kind| !kind.as_bytes().starts_with(MEDIA_TYPE.as_bytes())) {
                let why = "it is not an answer of Firstcome: no lines";
                return Err(NotBegun::Setback(Setback::new(why)));
            }
            let (chunk, begun, body) = (Bytes::new(), Vec::new(), answer.into_body());
            let _connection = connection;
            return Ok(Request { server: index, _connection, body, chunk, begun, next: 1 });
        }
        let answered = tokio::time::timeout_at(deadline, read(answer)).await;
        let late = |_| NotBegun::Setback(Setback::new("no answer in time"));
        let answered = answered.map_err(late)?.map_err(setback)?;
        match Problem::read(answered.status, &answered.body) {
            Ok(mut problem) => {
                problem.retry_after = problem.retry_after.or(answered.retry_after);
                match problem.is_passing() {
                    true => Err(NotBegun::Setback(Setback::said(problem))),
                    false => Err(NotBegun::Refused(Box::new(problem))),
                }
            }
            Err(_) => {
                let status = answered.status;
                let why = format!("it is not an answer of Firstcome (status {status})");
                Err(NotBegun::Setback(Setback::new(why)))
            }
        }
    }

    /// Reads an answer and gives it with its line.
    fn answered(&mut self, text: Bytes) -> Result<Commanded, Setback> {
        let strange = |why: String| Setback::new(format!("an answer cannot be read: {why}"));
        let read: AnswerHead =
            serde_json::from_slice(&text).map_err(|why| strange(why.to_string()))?;
        if read.ends {
            let problem = Problem::read(read.status, &text);
            return Err(problem.map_or_else(|why| strange(why.to_string()), Setback::said));
        }
        let Some(request) = &mut self.current else {
            return Err(strange("there is no request".to_owned()));
        };
        if read.line != request.next {
            let why = format!("line {} is answered in place of {}", read.line, request.next);
            return Err(strange(why));
        }
        request.next += 1;
        let server = request.server;
        let Some(taken) = self.lines.lock().answered() else {
            return Err(strange("it answers no line".to_owned()));
        };
        (self.attempts, self.rounds, self.missed) = (0, 0, 0);
        self.moved = Instant::now();
        let answer = self.sort(server, &taken, read.status, &text);
        let Taken { number, line, .. } = taken;
        Ok(Commanded { number, line, answer, text })
    }

    /// Sorts the answer to a line.
    fn sort(
        &self,
        server: usize,
        taken: &Taken,
        status: u16,
        text: &[u8],
    ) -> Result<Answer<Done>, Error> {
        let failed = |reason: String, problem| {
            let server = self.client.shared.servers[server].to_string();
            Failed { server, reason, attempts: 1, problem }
        };
        let unknown = |failed| Error::Unknown(Box::new(Unknown::new(failed, ask(&taken.line))));
        if status < 300 {
            let done = match taken.line.verb {
                Do::Claim if taken.line.wait => serde_json::from_slice(text).map(Done::Joined),
                Do::Claim => serde_json::from_slice(text).map(Done::Won),
                Do::Leave => serde_json::from_slice(text).map(Done::Left),
                Do::Cancel => serde_json::from_slice(text).map(Done::Cancelled),
                Do::Hold | Do::Extend | Do::Confirm | Do::Release => {
                    serde_json::from_slice(text).map(Done::Hold)
                }
            };
            return done.map(Answer::Yes).map_err(|why| unknown(failed(why.to_string(), None)));
        }
        let mut problem =
            Problem::read(status, text).map_err(|why| unknown(failed(why.to_string(), None)))?;
        problem.after_lost_attempt = taken.lost;
        if let Some(refusal) = Refusal::of(&problem) {
            return Ok(Answer::No(refusal, Box::new(problem)));
        }
        // A copy that was sent before may have been taken.
        if problem.may_have_happened() || taken.lost {
            return Err(unknown(failed(problem.to_string(), Some(Box::new(problem)))));
        }
        if problem.is_passing() {
            let failed = failed(problem.to_string(), Some(Box::new(problem)));
            return Err(Error::Unchanged(Box::new(Unchanged::new(failed))));
        }
        Err(Error::Refused(Box::new(problem)))
    }

    /// Waits before the next request, or gives up.
    async fn set_back(&mut self, server: usize, setback: Setback) {
        let Setback { reason, problem } = setback;
        let (shared, settings) = (&self.client.shared, &self.client.settings);
        self.attempts += 1;
        self.missed += 1;
        shared.move_on(server);
        let left = settings.deadline.saturating_sub(self.moved.elapsed());
        let asked = problem.as_ref().and_then(|problem| problem.retry_after);
        if settings.retry.is_over(self.attempts) || left.is_zero() {
            let server = shared.servers[server].to_string();
            self.failed = Some(Failed { server, reason, attempts: self.attempts, problem });
            return;
        }
        if self.missed < shared.servers.len() {
            return;
        }
        self.missed = 0;
        self.rounds = self.rounds.saturating_add(1);
        let pause = settings.retry.pause(self.rounds, fastrand::f64());
        sleep(asked.map_or(pause, |asked| asked.max(pause)).min(left)).await;
    }
}

impl<I: Iterator> Request<I> {
    /// Returns the next line of the answers; none at their end.
    async fn next_line(&mut self) -> Result<Option<Bytes>, Setback> {
        loop {
            if let Some(end) = self.chunk.iter().position(|byte| *byte == b'\n') {
                let part = self.chunk.split_to(end + 1);
                if self.begun.is_empty() {
                    return Ok(Some(part));
                }
                self.begun.extend_from_slice(&part);
                return Ok(Some(std::mem::take(&mut self.begun).into()));
            }
            self.begun.extend_from_slice(&std::mem::take(&mut self.chunk));
            match self.body.frame().await {
                // Trailers say nothing here.
                Some(Ok(frame)) => self.chunk = frame.into_data().unwrap_or_default(),
                Some(Err(why)) => {
                    let why = format!("the answers broke off in the middle: {why}");
                    return Err(Setback::new(why));
                }
                None => return Ok(None),
            }
        }
    }
}

/// Returns a line whose answer is lost.
fn unknown(taken: Taken, failed: Failed) -> Commanded {
    let Taken { number, line, .. } = taken;
    let answer = Err(Error::Unknown(Box::new(Unknown::new(failed, ask(&line)))));
    Commanded { number, line, answer, text: Bytes::new() }
}
