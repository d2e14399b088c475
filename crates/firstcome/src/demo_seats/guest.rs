//! One person's evening: looks, holds, and then pays, leaves, gives back, or pays too late.

use std::sync::Arc;
use std::time::Duration;

use firstcome_core::command::Late;
use firstcome_core::outcome::{Confirmation, Holding, RefusedFor, UnitName};
use firstcome_core::{Outcome, Refusal};

use super::book::{Book, LateAnswer};
use super::stage::{Door, POOL, named};
use super::{CAMPAIGN, HOLD};
use firstcome_node::{HoldAsk, OwnPick, OwnStep, OwnWanted};

/// What somebody does with the seats they hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// Pays in time.
    Pays,
    /// Leaves without a word.
    Leaves,
    /// Says that the seats are not wanted.
    GivesBack,
    /// Pays when the hold is over.
    PaysLate,
}

/// One person, with those who come along.
pub(super) struct Guest {
    pub(super) name: String,
    pub(super) nature: Nature,
    /// How many seats they need.
    pub(super) party: u32,
    pub(super) random: fastrand::Rng,
    pub(super) door: Door,
    pub(super) book: Arc<Book>,
}

/// How often somebody tries before going home.
const TRIES: u32 = 4;

impl Guest {
    pub(super) async fn visit(mut self) {
        for attempt in 1..=TRIES {
            let picks = vec![self.pick(attempt)];
            let hold = format!("{}-{attempt}", self.name);
            let ask = HoldAsk::Hold {
                campaign: CAMPAIGN.into(),
                id: hold.as_str().into(),
                subject: self.name.as_str().into(),
                picks,
                limit: None,
            };
            let outcome = self.door.ask(ask).await;
            self.book.answered(&outcome);
            if let Outcome::Held(holding) | Outcome::AlreadyHeld(holding) = &outcome {
                let seats = seats_of(&holding.units);
                self.book.held(&self.name, holding, self.party, &seats);
                return self.decide(holding, seats).await;
            }
            if let Outcome::RefusedFor(named) = &outcome {
                self.taken(named);
            }
            if !self.tries_again(&outcome) {
                return;
            }
            self.pause(100..300).await;
        }
    }

    /// By name after a look at the map, or the best there are.
    fn pick(&mut self, attempt: u32) -> OwnPick {
        if attempt <= 2
            && self.random.f64() < 0.5
            && let Some(seats) = self.door.choose(self.party as usize, &mut self.random)
        {
            return named(&seats);
        }
        let count = self.party;
        let wanted =
            OwnWanted::Best { count, grade: None, price: None, adjacent: true, accessible: false };
        OwnPick { pool: Some(POOL.into()), wanted, channel: None }
    }

    /// Whether it is worth asking again, perhaps for fewer seats.
    fn tries_again(&mut self, outcome: &Outcome) -> bool {
        match outcome.refusal() {
            Some(Refusal::UnitTaken | Refusal::OrphanLeft | Refusal::NotOpen { .. }) => true,
            // A party of one that would leave a single seat free has somebody come along.
            Some(Refusal::SoldOut) => {
                self.party = if self.party == 1 { 2 } else { self.party - 1 };
                true
            }
            Some(_) | None => false,
        }
    }

    fn taken(&self, refused: &RefusedFor) {
        if refused.refusal == Refusal::UnitTaken {
            self.book.named_as_taken(&seats_of(&refused.units));
        }
    }

    async fn decide(mut self, holding: &Holding, seats: Vec<String>) {
        match self.nature {
            Nature::Leaves => self.book.left(),
            Nature::GivesBack => {
                self.pause(200..900).await;
                let step = self.step(&holding.hold);
                let outcome = self.door.ask(HoldAsk::Release { step, units: Vec::new() }).await;
                self.book.answered(&outcome);
            }
            Nature::Pays => {
                self.pause(200..1_100).await;
                let outcome = self.confirm(&holding.hold, Late::Refuse).await;
                self.book.answered(&outcome);
                if let Outcome::Confirmed(confirmed) = &outcome {
                    self.confirmed(confirmed, &seats);
                }
                self.repeat(&holding.hold, Late::Refuse, &outcome).await;
            }
            Nature::PaysLate => {
                let over = u64::try_from(HOLD.as_millis()).unwrap_or(u64::MAX);
                self.pause(over + 50..over + 900).await;
                let outcome = self.confirm(&holding.hold, Late::Retake).await;
                self.book.answered(&outcome);
                let late = if let Outcome::Confirmed(confirmed) = &outcome {
                    self.confirmed(confirmed, &seats);
                    LateAnswer::Seats { retaken: confirmed.retaken }
                } else if let Outcome::RefundDue(refund) = &outcome
                    && seats_of(&refund.units) == seats
                {
                    LateAnswer::Refund
                } else {
                    LateAnswer::Other(format!("{outcome:?}"))
                };
                self.book.late(&holding.hold, late);
                self.repeat(&holding.hold, Late::Retake, &outcome).await;
            }
        }
    }

    fn confirmed(&self, confirmed: &Confirmation, seats: &[String]) {
        let ranked = confirmed
            .units
            .iter()
            .map(|unit| (unit.unit.unit.as_deref().unwrap_or_default().to_owned(), unit.rank));
        self.book.confirmed(&self.name, &confirmed.hold, seats, ranked.collect());
    }

    /// Some ask twice: the answer must be the one they had.
    async fn repeat(&mut self, hold: &str, late: Late, first: &Outcome) {
        if self.random.f64() < 0.3 {
            let again = self.confirm(hold, late).await;
            self.book.repeated(hold, first, &again);
        }
    }

    async fn confirm(&self, hold: &str, late: Late) -> Outcome {
        let step = self.step(hold);
        self.door.ask(HoldAsk::Confirm { step, units: Vec::new(), late }).await
    }

    fn step(&self, hold: &str) -> OwnStep {
        OwnStep {
            campaign: CAMPAIGN.into(),
            hold: hold.into(),
            subject: self.name.as_str().into(),
            id: None,
        }
    }

    async fn pause(&mut self, millis: std::ops::Range<u64>) {
        tokio::time::sleep(Duration::from_millis(self.random.u64(millis))).await;
    }
}

/// The names of seats, in order.
fn seats_of(units: &[UnitName]) -> Vec<String> {
    let names = units.iter().map(|unit| unit.unit.as_deref().unwrap_or_default().to_owned());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}
