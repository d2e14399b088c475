//! Waiting for a code: a place on the waitlist, looked at now and then, and the offer that comes at last.

use std::time::{Duration, Instant};

use super::super::record::{GivenCode, Waited};
use super::CodeHolder;
use crate::error::LoadError;
use crate::people::Answer;
use firstcome_client::{Ask, Wish};
use firstcome_core::names::Position;

/// The position of an answer.
pub(super) fn position(answer: &Answer) -> Option<Position> {
    answer.document()["position"].as_str()?.parse().ok()
}

/// The number of the hold of an offer: they are numbered as they are made.
fn number(answer: &Answer) -> Option<u64> {
    answer.document()["hold"].as_str()?.strip_prefix("offer-")?.parse().ok()
}

impl CodeHolder {
    /// Joins the waitlist, looks at the place until there is an offer, and takes it; or lets it go; or leaves.
    pub(super) async fn wait_for_code(&mut self) -> Result<Option<GivenCode>, LoadError> {
        let (campaign, pool) = (self.person.plan.campaign.clone(), self.person.plan.pool.clone());
        let join = Ask::join(&campaign, &self.person.subject, Some(&pool), &Wish::default());
        let before = self.person.connections.answers.newest();
        let joined = self.person.ask(join.clone(), Instant::now()).await?;
        match (joined.outcome(), before.zip(position(&joined))) {
            // It came free meanwhile.
            ("won" | "already_won", _) => Ok(Some(self.issued(&joined))),
            ("waitlisted", Some((after, at))) => {
                let waited = Waited::since(self.person.subject.clone(), after, at);
                self.stay(join, waited).await
            }
            // There is no list, or no room on it, or all is over.
            _ => Ok(None),
        }
    }

    /// Stays on the list for as long as they have patience.
    async fn stay(
        &mut self,
        join: Ask,
        mut waited: Waited,
    ) -> Result<Option<GivenCode>, LoadError> {
        let (campaign, pool) = (self.person.plan.campaign.clone(), self.person.plan.pool.clone());
        let place = Ask::place(&campaign, &self.person.subject, Some(&pool));
        let patience = Duration::from_secs_f64(
            self.person.plan.visit.waits.as_secs_f64() * (0.5 + self.person.random.f64()),
        );
        let until = Instant::now() + patience;
        let lets_go = self.person.random.f64() < self.person.plan.visit.shares.let_go;
        let mut issued = None;
        loop {
            self.person.think(1).await;
            let looked = self.person.ask(place.clone(), Instant::now()).await?;
            let untaken = looked.document()["offers_not_taken"].as_u64().unwrap_or(1);
            match looked.document()["state"].as_str() {
                Some("waits") => {
                    if let Some(at) = position(&looked).filter(|_| untaken == 0) {
                        waited.waits(at);
                    }
                    if Instant::now() >= until {
                        let leave = Ask::leave(&campaign, &self.person.subject, Some(&pool));
                        self.person.ask(leave, Instant::now()).await?;
                        break;
                    }
                }
                Some("offered") => {
                    let offer = number(&looked).zip(position(&looked));
                    waited.is_offered(offer.filter(|_| untaken == 0));
                    if lets_go {
                        waited.let_go = true;
                        break;
                    }
                    let taken = self.person.ask(join.clone(), Instant::now()).await?;
                    if matches!(taken.outcome(), "won" | "already_won") {
                        issued = Some(self.issued(&taken));
                        break;
                    }
                    // The offer was over by then: they are on the list again, maybe with a new place.
                }
                Some(_) | None => break,
            }
        }
        self.person.recorder.waited(waited);
        Ok(issued)
    }
}
