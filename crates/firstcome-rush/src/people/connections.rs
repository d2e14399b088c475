//! The connections people share: a request is sent again until it is decided.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::Plan;
use super::answers::{AnswerCounts, WhyAgain};
use crate::error::LoadError;
use firstcome_api::key::Secret;
use firstcome_client::{Ask, Client, Failure, Reply, Server};

/// How long one exchange may take before its connection is given up and the request sent again.
const EXCHANGE: Duration = Duration::from_secs(10);

/// How often others get a turn before a request that is to be cut off is: around the moment at which it is sent.
const CUT: std::ops::Range<u32> = 1..8;

/// Lets others have so many turns.
async fn turns(count: u32) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

/// What a request came to.
#[derive(Debug)]
pub(crate) struct Answer {
    outcome: String,
    document: Value,
    /// Why it was refused, if it was.
    refusal: Option<String>,
    /// Whether an earlier try of the same request may have happened.
    pub(crate) doubt: bool,
}

impl Answer {
    fn of(reply: Reply<Value>, doubt: bool) -> Self {
        match reply {
            Reply::Yes(document, _) => {
                let outcome = document["outcome"].as_str().unwrap_or("looked").to_owned();
                Self { outcome, document, refusal: None, doubt }
            }
            Reply::No(problem) => {
                let refusal = Some(problem.sentence());
                Self { outcome: problem.outcome, document: problem.raw, refusal, doubt }
            }
        }
    }

    /// The stable string.
    pub(crate) fn outcome(&self) -> &str {
        &self.outcome
    }

    /// The whole document.
    pub(crate) fn document(&self) -> &Value {
        &self.document
    }
}

/// Connections to the servers, as many as the plan has.
pub(crate) struct Connections {
    servers: Vec<Server>,
    key: Option<Secret>,
    patience: Duration,
    free: Semaphore,
    idle: Mutex<Vec<(usize, Client)>>,
    pub(crate) answers: Arc<AnswerCounts>,
}

impl Connections {
    pub(super) fn new<V>(plan: &Plan<V>, answers: Arc<AnswerCounts>) -> Self {
        Self {
            servers: plan.servers.clone(),
            key: plan.key.clone(),
            patience: plan.patience,
            free: Semaphore::new(plan.connections),
            idle: Mutex::default(),
            answers,
        }
    }

    fn client(&self, server: usize) -> (usize, Client) {
        let server = server % self.servers.len();
        (server, Client::to(self.servers[server].clone(), self.key.clone(), EXCHANGE))
    }

    /// Sends a request until it is decided. Its time counts from when it was due.
    pub(crate) async fn ask(
        &self,
        ask: Ask,
        due: Instant,
        random: &mut fastrand::Rng,
        mut cut: bool,
    ) -> Result<Answer, LoadError> {
        let _permit = self.free.acquire().await.expect("the semaphore is never closed");
        let kept = self.idle.lock().expect("nothing panics under this lock").pop();
        let (mut server, mut client) = kept.unwrap_or_else(|| self.client(random.usize(..)));
        let began = Instant::now();
        // Servers that took no connection, one after the other.
        let mut missed = 0;
        let mut doubt = false;
        loop {
            let exchange = client.ask::<Value>(ask.clone());
            let answer = if std::mem::take(&mut cut) {
                let until = turns(random.u32(CUT));
                // What is dropped may have happened, which is what it is dropped for.
                tokio::select! {
                    biased;
                    answer = exchange => answer,
                    () = until => {
                        self.answers.again(WhyAgain::Cut);
                        doubt = true;
                        (server, client) = self.client(server);
                        continue;
                    }
                }
            } else {
                exchange.await
            };
            let failure = match answer {
                Ok(reply) => {
                    self.answers.outages.found();
                    let answer = Answer::of(reply, doubt);
                    if let Some(Ok(at)) = answer.document()["position"].as_str().map(str::parse) {
                        self.answers.as_of(at);
                    }
                    self.answers.answered(answer.outcome(), due);
                    self.idle
                        .lock()
                        .expect("nothing panics under this lock")
                        .push((server, client));
                    return Ok(answer);
                }
                Err(failure) => failure,
            };
            doubt |= failure.may_have_happened();
            let why = why(&failure);
            self.answers.again(why);
            missed = if why == WhyAgain::Unreachable { missed + 1 } else { 0 };
            if missed >= self.servers.len() {
                self.answers.outages.lost();
            }
            if began.elapsed() > self.patience {
                return Err(failure.into());
            }
            if failure.problem().is_none() {
                (server, client) = self.client(server + 1);
            }
            tokio::time::sleep(Duration::from_millis(random.u64(20..60))).await;
        }
    }

    /// Looks at something at the end, as of the newest answer.
    pub(crate) async fn look(&self, ask: Ask) -> Result<Answer, LoadError> {
        let mut random = fastrand::Rng::with_seed(0);
        let mut newest = ask.clone();
        if let Some(at) = self.answers.newest() {
            let sign = if ask.path.contains('?') { '&' } else { '?' };
            newest.path.push_str(&format!("{sign}min_position={at}"));
        }
        let answer = self.ask(newest, Instant::now(), &mut random, false).await?;
        match answer.outcome() {
            "stale_position" => self.ask(ask, Instant::now(), &mut random, false).await,
            _ => Ok(answer),
        }
    }

    /// Reads something at the end, as of the newest answer.
    pub(crate) async fn read<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, LoadError> {
        let answer = self.look(ask).await?;
        match answer.refusal {
            None => serde_json::from_value(answer.document).map_err(|why| {
                let server = self.servers[0].to_string();
                LoadError::Strange { server, reason: why.to_string() }
            }),
            Some(refusal) => Err(LoadError::Refused(refusal)),
        }
    }

    /// Reads something at the end from each server that answers, as of the newest answer.
    pub(crate) async fn read_from_each<T: DeserializeOwned>(&self, ask: &Ask) -> Vec<T> {
        let mut all = Vec::new();
        let mut ask = ask.clone();
        if let Some(at) = self.answers.newest() {
            ask.path.push_str(&format!("?min_position={at}"));
        }
        for server in 0..self.servers.len() {
            let (_, client) = self.client(server);
            if let Ok(Reply::Yes(document, _)) = client.ask::<T>(ask.clone()).await {
                all.push(document);
            }
        }
        all
    }
}

fn why(failure: &Failure) -> WhyAgain {
    match (failure.problem(), failure.may_have_happened()) {
        (Some(_), false) => WhyAgain::Busy,
        (_, true) => WhyAgain::Unknown,
        (None, false) => WhyAgain::Unreachable,
    }
}
