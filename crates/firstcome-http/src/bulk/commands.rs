//! The lines of one request, from reading to their answers.
//!
//! It is the body of the answer, and works only while somebody reads it: a client that does not read stops the reading of
//! its lines. Up to [`BULK_UNANSWERED`] lines are in the queue or in a batch at one time, so they share batches. Lines are put
//! in the queue and answered in their order. Only the first one is waited for: a batch of answers wakes this once.

use super::line;
use super::lines::{BULK_BYTES, BULK_LINES, Lines, Next};
use super::requests::{BULK_LEAST_RATE, BULK_RATE_WHILE, Place};
use super::unanswered::{Line, State, prepare};
use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::app::App;
use crate::asks::{self, ReadOptions};
use crate::guard::rate::RequestPace;
use crate::request::auth::Key;
use crate::request::bearer::Bearer;
use axum::body::{Body, Bytes};
use firstcome_node::CommandError;
use firstcome_node::intake::NotSubmitted;
use hyper::body::Frame;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Lines of one request without an answer; then no more are read. As many as one batch has.
pub const BULK_UNANSWERED: usize = 4_096;

/// Bytes that the unanswered lines of one request keep in memory, about; then no more are read.
pub const BULK_UNANSWERED_BYTES: usize = 8 << 20;

/// Lines of one request that are checked at one time, where a check has to wait: for the team's own service.
pub const BULK_CHECKS: usize = 16;

/// Lines, read and answered, after which other requests of the thread have their turn: with 16 such requests on a thread
/// that is less than a millisecond.
const TURN: usize = 8;
/// Bytes of answers that leave together.
const CHUNK: usize = 32 << 10;
/// How long what a client still sends is read and dropped after the answers have ended early: closed at once, its connection
/// would lose answers that it has not read.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The answers to the lines of one request.
pub(super) struct Commands {
    app: Arc<App>,
    key: Arc<Key>,
    /// How often the key may ask.
    pace: Option<Arc<RequestPace>>,
    input: Lines,
    /// Those without an answer, in their order.
    lines: VecDeque<Line>,
    /// How many lines, from the first, are in the queue or beyond it.
    submitted: usize,
    /// Cancels, releases and leaves under way: until they are applied, memory must not refuse later lines.
    frees_in_flight: usize,
    /// What the lines keep in memory.
    weight: usize,
    /// Waits until the queue has room, where it had none.
    room: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Whether the next line was counted as one of the key already: the first was, with its request.
    has_turn: bool,
    /// When the key may ask again.
    paced_until: Option<Instant>,
    /// When a line was read or answered last.
    moved: Instant,
    stage: Stage,
    timer: Pin<Box<Sleep>>,
    draining: Pin<Box<WaitForCancellationFutureOwned>>,
    place: Place,
    /// Another request needs its place, and it sends too little.
    leaves: Pin<Box<WaitForCancellationFutureOwned>>,
    out: Vec<u8>,
    /// The document of the line that is being answered.
    document: Vec<u8>,
}

/// How far the request is.
#[derive(Debug)]
enum Stage {
    /// Lines are read.
    Reading,
    /// None is read any more; this is said at the end, of the line with this number, if there is something to say.
    Ending(Option<(u32, Problem)>),
    /// Everything was said. Until that moment, what still comes is dropped.
    Lingering(Instant),
    Over,
}

impl Commands {
    pub(super) fn new(
        app: Arc<App>,
        (key, pace): (Arc<Key>, Option<Arc<RequestPace>>),
        body: Body,
        place: Place,
    ) -> Self {
        let input = Lines::new(body, app.options.body_bytes);
        let draining = Box::pin(CancellationToken::clone(&app.draining).cancelled_owned());
        Self {
            app,
            key,
            pace,
            input,
            lines: VecDeque::new(),
            submitted: 0,
            frees_in_flight: 0,
            weight: 0,
            room: None,
            has_turn: true,
            paced_until: None,
            moved: Instant::now(),
            stage: Stage::Reading,
            timer: Box::pin(sleep(Duration::ZERO)),
            draining,
            leaves: Box::pin(place.leaves().cancelled_owned()),
            place,
            out: Vec::new(),
            document: Vec::new(),
        }
    }

    /// Writes the answers that are there, from the first line on; says whether there was one.
    fn answer(&mut self, cx: &mut Context<'_>, turns: &mut usize) -> bool {
        let before = *turns;
        while *turns > 0 && self.out.len() < CHUNK {
            let Some(first) = self.lines.front_mut() else { break };
            first.look(cx, &self.app);
            let answer = match std::mem::replace(&mut first.state, State::Moving) {
                State::Answered(ask, answer) => {
                    self.document.clear();
                    let by = (&*self.app, &Bearer::Key(Arc::clone(&self.key)));
                    asks::write(&*ask, by, answer, &mut self.document)
                }
                State::Refused(problem) => Err(problem),
                state @ (State::Checking(_)
                | State::Ready(..)
                | State::UnderWay(..)
                | State::Second(_)
                | State::Moving) => {
                    first.state = state;
                    break;
                }
            };
            let Some(line) = self.lines.pop_front() else { break };
            if let Err(problem) = &answer {
                self.app.metrics.answered(problem.outcome());
            }
            let answer = answer.map(|status| (status, &*self.document));
            let out = (&mut self.out, &self.app.options.rare.base_path);
            line::write(out, (line.number, line.reference.as_deref()), answer, false);
            self.submitted = self.submitted.saturating_sub(1);
            self.weight -= line.weight;
            self.frees_in_flight -= usize::from(line.frees);
            *turns -= 1;
        }
        let has_answered = *turns < before;
        if has_answered {
            // Nobody is idle who waited for an answer.
            self.moved = Instant::now();
        }
        has_answered
    }

    /// Reads lines as long as there may be more without an answer; says whether there was one.
    fn read(&mut self, cx: &mut Context<'_>, turns: &mut usize) -> bool {
        let before = *turns;
        while *turns > 0 && matches!(self.stage, Stage::Reading) && self.takes_more() {
            if !self.has_its_turn() {
                break;
            }
            let Poll::Ready(next) = self.input.poll_next(cx) else { break };
            *turns -= 1;
            self.moved = Instant::now();
            self.has_turn = self.pace.is_none();
            match next {
                Next::Line(number, bytes) => self.take(number, &bytes, cx),
                Next::TooLong(number) => {
                    let most = self.app.options.body_bytes;
                    let detail = format!("the line has more than {most} bytes (body_bytes)");
                    self.push(
                        number,
                        None,
                        0,
                        State::Refused(Problem::new(Code::TooLarge, detail)),
                    );
                }
                Next::TooMany(number) => {
                    let detail = format!(
                        "a request has up to {BULK_LINES} lines: this one and those after it were not done"
                    );
                    self.ends(number, Problem::new(Code::TooLarge, detail));
                }
                Next::TooLarge(number) => {
                    let detail = format!(
                        "a request has up to {BULK_BYTES} bytes: this line and those after it were not done"
                    );
                    self.ends(number, Problem::new(Code::TooLarge, detail));
                }
                Next::End => self.stage = Stage::Ending(None),
            }
        }
        *turns < before
    }

    /// Says whether the key may ask for one command more; else notes from when on it may.
    fn has_its_turn(&mut self) -> bool {
        let Some(pace) = self.pace.as_ref().filter(|_| !self.has_turn) else { return true };
        let now = Instant::now();
        if self.paced_until.is_some_and(|until| now < until) {
            return false;
        }
        let wait = pace.turn().err();
        self.has_turn = wait.is_none();
        if self.paced_until.is_some() {
            // Nobody is idle who may not ask.
            self.moved = now;
        }
        self.paced_until = wait.map(|wait| now + wait);
        self.has_turn
    }

    fn takes_more(&self) -> bool {
        self.lines.len() < BULK_UNANSWERED
            && self.lines.len() - self.submitted < BULK_CHECKS
            && self.weight < BULK_UNANSWERED_BYTES
    }

    /// Ends the reading, with what is said of the first line that is not done.
    fn ends(&mut self, number: u32, problem: Problem) {
        self.stage = Stage::Ending(Some((number, problem)));
    }

    fn take(&mut self, number: u32, bytes: &[u8], cx: &mut Context<'_>) {
        let line::Read { reference, weight, ask } = line::read(bytes, &self.key);
        let (state, frees) = match ask {
            Err(problem) => (State::Refused(problem), false),
            Ok(ask) => {
                let (app, key) = (Arc::clone(&self.app), Arc::clone(&self.key));
                let options = ReadOptions { min: None, memory: self.frees_in_flight == 0 };
                let frees = ask.may_free();
                (State::Checking(Box::pin(prepare(app, key, ask, options))), frees)
            }
        };
        self.push(number, reference, weight, state);
        if let Some(last) = self.lines.back_mut() {
            last.frees = frees;
            self.frees_in_flight += usize::from(frees);
            last.look(cx, &self.app);
        }
        self.submit(cx);
    }

    fn push(&mut self, number: u32, reference: Option<Box<str>>, weight: usize, state: State) {
        self.weight += weight;
        self.lines.push_back(Line { number, reference, weight, frees: false, state });
    }

    /// Puts lines in the queue, in their order, as far as they are checked and there is room.
    fn submit(&mut self, cx: &mut Context<'_>) {
        let wait = self.app.node.intake.limits.wait;
        while let Some(line) = self.lines.get_mut(self.submitted) {
            if let Some(room) = &mut self.room {
                let has_waited = matches!(&line.state, State::Ready(_, _, Some(until)) if Instant::now() >= *until);
                if has_waited {
                    // What a single command hears at once.
                    line.fails(CommandError::Busy);
                } else if room.as_mut().poll(cx).is_pending() {
                    return;
                }
                self.room = None;
            }
            match std::mem::replace(&mut line.state, State::Moving) {
                State::Ready(ask, command, until) => {
                    line.state = match self.app.node.intake.submit(command) {
                        Ok(under_way) => State::UnderWay(ask, under_way),
                        Err(NotSubmitted::Closed(failure)) => State::Answered(ask, Err(failure)),
                        Err(NotSubmitted::Full(command)) => {
                            self.room = Some(Box::pin(self.app.node.intake.room()));
                            let until = until.unwrap_or_else(|| Instant::now() + wait);
                            line.state = State::Ready(ask, command, Some(until));
                            continue;
                        }
                    };
                }
                State::Checking(checking) => {
                    line.state = State::Checking(checking);
                    return;
                }
                state @ (State::UnderWay(..)
                | State::Second(_)
                | State::Answered(..)
                | State::Refused(_)
                | State::Moving) => {
                    line.state = state;
                }
            }
            self.submitted += 1;
        }
    }

    /// Asks on for those that are still checked, and puts in the queue what may be.
    fn advance(&mut self, cx: &mut Context<'_>) {
        if self.submitted < self.lines.len() {
            self.lines.range_mut(self.submitted..).for_each(|line| line.look(cx, &self.app));
            self.submit(cx);
        }
    }

    /// Says what is left to say once all lines are answered; says whether something changed.
    fn end(&mut self, cx: &mut Context<'_>) -> bool {
        if matches!(self.stage, Stage::Reading) && self.draining.as_mut().poll(cx).is_ready() {
            let detail = "this server is shutting down: this line and those after it were not done; nothing changed";
            self.ends(self.input.next_number(), Problem::new(Code::Unavailable, detail));
        }
        if matches!(self.stage, Stage::Reading) && self.leaves.as_mut().poll(cx).is_ready() {
            let while_s = BULK_RATE_WHILE.as_secs();
            let detail = format!(
                "others wait for a place, and fewer than {BULK_LEAST_RATE} lines in a second came over {while_s} s: this \
                 line and those after it were not done"
            );
            self.ends(self.input.next_number(), Problem::new(Code::Busy, detail));
        }
        if !self.lines.is_empty() {
            return false;
        }
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Ending(Some((number, problem))) => {
                self.app.metrics.answered(problem.outcome());
                let out = (&mut self.out, &self.app.options.rare.base_path);
                line::write(out, (number, None), Err(problem), true);
                self.stage = Stage::Lingering(Instant::now() + LAST_WORDS);
                true
            }
            Stage::Ending(None) => true,
            stage @ (Stage::Reading | Stage::Lingering(_) | Stage::Over) => {
                self.stage = stage;
                false
            }
        }
    }

    /// Drops what the client still sends; says whether that is over.
    fn linger(&mut self, cx: &mut Context<'_>) -> bool {
        // So much at most for each turn.
        for _ in 0..TURN {
            match self.input.poll_chunk(cx) {
                Poll::Ready(Some(_)) => {}
                Poll::Ready(None) => return true,
                Poll::Pending => return false,
            }
        }
        gives_way(cx);
        false
    }

    /// Returns the moment at which something is to be done although nobody wakes this.
    fn next_moment(&self) -> Option<Instant> {
        let of_first = match (self.lines.front().map(|line| &line.state), &self.stage) {
            (Some(State::UnderWay(_, under_way)), _) => Some(under_way.until()),
            (Some(State::Ready(_, _, until)), _) => *until,
            (Some(_), _) => None,
            (None, Stage::Reading) => {
                Some(self.paced_until.unwrap_or(self.moved + self.app.options.idle_time))
            }
            (None, Stage::Lingering(until)) => Some(*until),
            (None, Stage::Ending(_) | Stage::Over) => None,
        };
        let reads = matches!(self.stage, Stage::Reading) && self.takes_more();
        [of_first, self.paced_until.filter(|_| reads)].into_iter().flatten().min()
    }

    /// Does what is to be done at its moment; says whether that is now.
    fn keeps_time(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(moment) = self.next_moment() else { return false };
        if self.timer.deadline() != moment || self.timer.is_elapsed() {
            self.timer.as_mut().reset(moment);
        }
        if self.timer.as_mut().poll(cx).is_pending() {
            return false;
        }
        let is_silent = self.lines.is_empty()
            && matches!(self.stage, Stage::Reading)
            && self.moved.elapsed() >= self.app.options.idle_time;
        if is_silent && self.paced_until.is_none() {
            let seconds = self.app.options.idle_time.as_secs_f32();
            let detail = format!("no line came within {seconds} s (idle_ms)");
            self.ends(self.input.next_number(), Problem::new(Code::Timeout, detail));
        }
        if matches!(self.stage, Stage::Lingering(_)) {
            self.stage = Stage::Over;
        }
        true
    }
}

/// Goes on once the thread has looked which other connections have something to do: woken at once, a dozen of such requests
/// would have 61 turns before.
fn gives_way(cx: &mut Context<'_>) {
    let asked = pin!(yield_now()).poll(cx);
    debug_assert!(asked.is_pending(), "it is woken after the others");
}

impl hyper::body::Body for Commands {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        let mut turns = TURN;
        loop {
            this.advance(cx);
            let mut moved = this.answer(cx, &mut turns);
            let turns_before = turns;
            moved |= this.read(cx, &mut turns);
            let read = u32::try_from(turns_before - turns).expect("a turn has few lines");
            // Neither who has lines here nor who may not ask is slow.
            this.place.note(read, !this.lines.is_empty() || this.paced_until.is_some());
            moved |= this.end(cx);
            let is_over = matches!(this.stage, Stage::Over);
            let leaves = !moved || is_over || this.out.len() >= CHUNK;
            if leaves && !this.out.is_empty() {
                // Until this is asked for more, the client has answers to read.
                this.place.note(0, false);
                let chunk = std::mem::replace(&mut this.out, Vec::with_capacity(CHUNK));
                return Poll::Ready(Some(Ok(Frame::data(chunk.into()))));
            }
            if is_over {
                return Poll::Ready(None);
            }
            if turns == 0 {
                gives_way(cx);
                return Poll::Pending;
            }
            if matches!(this.stage, Stage::Lingering(_)) && this.linger(cx) {
                this.stage = Stage::Over;
                continue;
            }
            if !moved && !this.keeps_time(cx) {
                return Poll::Pending;
            }
        }
    }
}

impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands").field("lines", &self.lines.len()).finish_non_exhaustive()
    }
}
