//! A call: a request that is sent again until it is answered or its deadline passes.

use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use crate::answer::Answer;
use crate::client::wire::{Answered, Broken};
use crate::client::{CLOSED, Client, after};
use crate::error::problem::Problem;
use crate::error::refusal::Refusal;
use crate::error::{Error, Failed, Unchanged, Unknown};
use crate::routes::Ask;

/// An attempt without an answer to rely on.
#[derive(Debug)]
struct Setback {
    reason: String,
    problem: Option<Box<Problem>>,
    /// Whether the request may have been taken.
    lost: bool,
    /// Who may answer the same request.
    again: Again,
    /// Whether it is about this server, and another one may answer.
    of_server: bool,
    /// After how long the server wants to be asked again.
    retry_after: Option<Duration>,
}

/// Who may answer a request that was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// Nobody.
    Nobody,
    /// Another server, but not this one.
    Others,
    /// Any server, later.
    Anybody,
}

/// What became of an attempt.
enum Attempt<T> {
    Yes(T),
    No(Refusal, Box<Problem>),
    /// The request was turned down before the rules looked at it.
    Refused(Box<Problem>),
    Setback(Setback),
}

/// A call as far as it has gone.
struct Call<'a> {
    client: &'a Client,
    ask: &'a Ask,
    deadline: Instant,
    attempts: u32,
    /// Rounds over all servers that led to nothing.
    rounds: u32,
    /// Servers that led to nothing in this round.
    missed: usize,
    /// Whether a request may have been taken whose answer is lost.
    lost: bool,
}

impl Client {
    /// Makes a call, which may take so much longer than an attempt usually does.
    pub(crate) async fn call_for<T: DeserializeOwned>(
        &self,
        ask: Ask,
        waiting: Duration,
    ) -> Result<Answer<T>, Error> {
        let deadline = after(self.settings.deadline);
        let ask = match &self.settings.past {
            Some(position) => ask.past(position),
            None => ask,
        };
        let (attempts, rounds, missed) = (0, 0, 0);
        let call =
            Call { client: self, ask: &ask, deadline, attempts, rounds, missed, lost: false };
        call.make(self.settings.attempt.saturating_add(waiting)).await
    }

    /// Makes a call that the rules decide.
    pub(crate) async fn call<T: DeserializeOwned>(&self, ask: Ask) -> Result<Answer<T>, Error> {
        self.call_for(ask, Duration::ZERO).await
    }

    /// Makes a call of which a no is an error.
    pub(crate) async fn read<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, Error> {
        self.call(ask).await?.yes()
    }

    /// Sends any request, again and again as the methods for each operation do, and reads the answer as `T`.
    ///
    /// It is for routes that have no method here. An [`Ask`] that changes something and has no identity of its own is not
    /// sent again once it may have been taken; see [`Ask::repeatable`].
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn decide<T: DeserializeOwned>(&self, ask: Ask) -> Result<Answer<T>, Error> {
        self.call(ask).await
    }
}

impl Call<'_> {
    async fn make<T: DeserializeOwned>(mut self, attempt: Duration) -> Result<Answer<T>, Error> {
        loop {
            let index = self.client.shared.next();
            self.attempts += 1;
            let exchanged = self.client.exchange(index, self.ask, self.deadline, attempt).await;
            let setback = match sort(exchanged, self.ask.only_reads()) {
                Attempt::Yes(yes) => return Ok(Answer::Yes(yes)),
                Attempt::No(refusal, mut problem) => {
                    problem.after_lost_attempt = self.lost;
                    return Ok(Answer::No(refusal, problem));
                }
                Attempt::Refused(problem) if !self.lost => return Err(Error::Refused(problem)),
                // This server turned it down, but another one may have taken it before.
                Attempt::Refused(problem) => turned_down(problem),
                Attempt::Setback(setback) => setback,
            };
            self.lost |= setback.lost;
            match self.pause(index, &setback) {
                Some(Duration::ZERO) => {}
                Some(pause) => sleep(pause).await,
                None => return Err(self.give_up(index, setback)),
            }
        }
    }

    /// Returns the pause before the next attempt, none where there is none; moves on to the next server where that may help.
    fn pause(&mut self, index: usize, setback: &Setback) -> Option<Duration> {
        let Self { client, ask, .. } = *self;
        if setback.of_server {
            client.shared.move_on(index);
            self.missed += 1;
        }
        let retry = &client.settings.retry;
        let other = setback.of_server && self.missed < client.shared.servers.len();
        let may = match setback.again {
            Again::Nobody => false,
            Again::Others => other,
            Again::Anybody => true,
        } && (!self.lost || ask.is_repeatable());
        let left = self.deadline.saturating_duration_since(Instant::now());
        if !may || retry.is_over(self.attempts) || left.is_zero() {
            return None;
        }
        if other {
            return Some(Duration::ZERO);
        }
        self.missed = 0;
        self.rounds = self.rounds.saturating_add(1);
        let pause = retry.pause(self.rounds, fastrand::f64());
        match setback.retry_after {
            // What the server asks for is not cut short; beyond the deadline there is nothing to wait for.
            Some(asked) if asked >= left => None,
            Some(asked) => Some(asked.max(pause).min(left)),
            // A last attempt is made a little before the deadline, so that it can be answered.
            None => Some(pause.min(left / 2)).filter(|_| left > LEAST),
        }
    }

    fn give_up(&self, index: usize, setback: Setback) -> Error {
        let Setback { reason, problem, .. } = setback;
        let server = self.client.shared.servers[index].to_string();
        let failed = Failed { server, reason, attempts: self.attempts, problem };
        if self.lost {
            Error::Unknown(Box::new(Unknown::new(failed, self.ask.clone())))
        } else {
            Error::Unchanged(Box::new(Unchanged::new(failed)))
        }
    }
}

/// With less time left than this nothing is sent again.
const LEAST: Duration = Duration::from_millis(5);

/// Sorts what became of an attempt.
fn sort<T: DeserializeOwned>(exchanged: Result<Answered, Broken>, only_reads: bool) -> Attempt<T> {
    let answered = match exchanged {
        Ok(answered) => answered,
        Err(broken) => return Attempt::Setback(unanswered(broken, only_reads)),
    };
    if (200..300).contains(&answered.status) {
        return match serde_json::from_slice(&answered.body) {
            Ok(yes) => Attempt::Yes(yes),
            Err(why) => Attempt::Setback(unreadable(&why.to_string(), !only_reads, Again::Anybody)),
        };
    }
    let Ok(mut problem) = Problem::read(answered.status, &answered.body) else {
        let reason = format!("it is not an answer of Firstcome (status {})", answered.status);
        return Attempt::Setback(match answered.status {
            // A gateway in between may have passed the request on before it gave up.
            500.. => unreadable(&reason, !only_reads, Again::Anybody),
            _ => unreadable(&reason, false, Again::Others),
        });
    };
    problem.retry_after = problem.retry_after.or(answered.retry_after);
    if let Some(refusal) = Refusal::of(&problem) {
        return Attempt::No(refusal, Box::new(problem));
    }
    let lost = problem.may_have_happened() && !only_reads;
    if !lost && !problem.is_passing() {
        return Attempt::Refused(Box::new(problem));
    }
    Attempt::Setback(Setback {
        reason: problem.to_string(),
        lost,
        again: if problem.retry || lost { Again::Anybody } else { Again::Nobody },
        // Of many servers each has connections and a state of its own; what a store or a caller has too much of is of all.
        of_server: matches!(
            problem.outcome.as_str(),
            "unavailable" | "unknown" | "too_many_connections" | "busy" | "eligibility_unknown"
        ),
        retry_after: problem.retry_after,
        problem: Some(Box::new(problem)),
    })
}

fn unanswered(broken: Broken, only_reads: bool) -> Setback {
    let (reason, lost, again) = match broken {
        Broken::Closed => (CLOSED.to_owned(), false, Again::Anybody),
        Broken::NotSent(reason) => (reason, false, Again::Anybody),
        Broken::NotTrusted(reason) => (reason, false, Again::Others),
        Broken::Lost(reason) => (reason, !only_reads, Again::Anybody),
    };
    Setback { reason, problem: None, lost, again, of_server: true, retry_after: None }
}

fn unreadable(why: &str, lost: bool, again: Again) -> Setback {
    let reason = format!("the answer cannot be read: {why}");
    Setback { reason, problem: None, lost, again, of_server: true, retry_after: None }
}

fn turned_down(problem: Box<Problem>) -> Setback {
    let (reason, problem, again) = (problem.to_string(), Some(problem), Again::Nobody);
    Setback { reason, problem, lost: false, again, of_server: false, retry_after: None }
}
