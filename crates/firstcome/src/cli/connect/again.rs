//! Asks a server again and again, also while it is away: for commands that go on until somebody ends them.

use std::io::IsTerminal as _;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::ServerArgs;
use crate::cli::complaint::Complaint;
use crate::cli::terminal::out;
use crate::cli::terminal::progress::Status;
use firstcome_client::{Ask, Client, Failure, Reply};
use firstcome_rush::terminal::short;

/// The shortest and the longest pause before a server that did not answer is asked again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// A client of a command that goes on.
pub(in crate::cli) struct Again<'a> {
    server: &'a ServerArgs,
    client: Client,
    /// Whether there was an answer before: only then it is worth the wait.
    heard: bool,
    /// Since when there is none, and how long to wait before the next request.
    away: Option<(Instant, Duration)>,
    was_away: bool,
}

impl<'a> Again<'a> {
    pub(in crate::cli) fn new(server: &'a ServerArgs) -> Result<Self, Complaint> {
        let client = server.client()?;
        Ok(Self { server, client, heard: false, away: None, was_away: false })
    }

    /// Asks until there is an answer. That there is none is said once, and that there is one again.
    ///
    /// Without an answer to the first request of all it gives up.
    pub(in crate::cli) async fn ask<T: DeserializeOwned>(
        &mut self,
        ask: Ask,
    ) -> Result<Reply<T>, Complaint> {
        loop {
            match self.client.ask(ask.clone()).await {
                Ok(reply) => {
                    self.heard = true;
                    if let Some((since, _)) = self.away.take() {
                        self.was_away = true;
                        let took = short(since.elapsed());
                        out::talk(format!("there are answers again, after {took}"));
                    }
                    return Ok(reply);
                }
                Err(failure) if !self.heard => return Err(failure.into()),
                Err(failure) => self.wait(&failure).await,
            }
        }
    }

    /// Says whether there was no answer for a while since this was asked last.
    pub(in crate::cli) fn was_away(&mut self) -> bool {
        std::mem::take(&mut self.was_away)
    }

    /// Waits before the next request; on a terminal the time is counted down.
    async fn wait(&mut self, failure: &Failure) {
        let (since, pause) = *self.away.get_or_insert_with(|| {
            out::talk(format!("{failure}; asking again until there is an answer"));
            (Instant::now(), PAUSES[0])
        });
        let end = Instant::now() + pause;
        let mut shown = std::io::stderr().is_terminal().then(Status::new);
        while let Some(left) = end.checked_duration_since(Instant::now()).filter(|l| !l.is_zero()) {
            if let Some(status) = &mut shown {
                let seconds = left.as_millis().div_ceil(1_000);
                status.show(since.elapsed(), || format!("no answer, asking again in {seconds} s"));
            }
            sleep(left.min(Duration::from_millis(250))).await;
        }
        if let Some(status) = shown {
            status.end();
        }
        self.away = Some((since, (pause * 2).min(PAUSES[1])));
        // A server that was started again may have another address, which stands in its folder.
        if let Ok(client) = self.server.client() {
            self.client = client;
        }
    }
}
