//! One person: looks, holds, and then pays, leaves, gives back, or pays too late.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::plan::Seats;
use super::record::{End, HoldRecord, TakenRefusal, Wanted};
use crate::failure::LoadError;
use crate::people::{Answer, Person, text};
use firstcome_client::{Ask, HoldStep, Picks};

/// What a person does with held seats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nature {
    Pays,
    Abandons,
    GivesBack,
    PaysLate,
}

/// One person, and what they do.
pub(super) struct Guest {
    person: Person<Seats>,
    nature: Nature,
    browses: bool,
    greedy: bool,
    party: u32,
}

/// How often a person tries before giving up.
const TRIES: u32 = 3;

/// How long after its end a late payer comes at the earliest: journal time may lag behind a little.
const LATE: Duration = Duration::from_millis(400);

impl Guest {
    /// Draws what somebody does who comes so long after the start.
    pub(super) fn new(mut person: Person<Seats>, due: Duration) -> Self {
        let seats = &person.plan.visit;
        let shares = seats.shares;
        let drawn = person.random.f64();
        let late = shares.late;
        let (abandon, give_back) =
            (late + shares.abandon, late + shares.abandon + shares.give_back);
        let nature = match drawn {
            _ if seats.all_pay_after.is_some_and(|after| due > after) => Nature::Pays,
            drawn if drawn < late => Nature::PaysLate,
            drawn if drawn < abandon => Nature::Abandons,
            drawn if drawn < give_back => Nature::GivesBack,
            _ => Nature::Pays,
        };
        let random = &mut person.random;
        let greedy = seats.limit.is_some() && random.f64() < shares.greedy;
        let browses = !seats.rows.is_empty() && random.f64() < shares.browse;
        let party = [1, 2, 2, 2, 3, 4][random.usize(..6)].min(seats.limit.unwrap_or(4));
        Self { person, nature, browses, greedy, party }
    }

    /// Comes when due, and goes home.
    pub(super) async fn visit(mut self, due: Duration) -> Result<(), LoadError> {
        if let (true, Some(limit)) = (self.greedy, self.person.plan.visit.limit) {
            self.party = limit + 1;
        }
        let mut due = self.person.recorder.moment(due);
        for attempt in 0..TRIES {
            if self.browses {
                let map = Ask::seats(&self.person.plan.campaign, &self.person.plan.pool, true);
                self.person.ask(map, due).await?;
                due = Instant::now();
            }
            let wanted = self.wants();
            let hold = format!("{}-{attempt}", self.person.subject);
            let sent = self.person.recorder.now();
            let answer = self.person.ask(self.hold(&hold, &wanted), due).await?;
            let answered = self.person.recorder.now();
            match answer.outcome() {
                "held" | "already_held" => {
                    let units = units(answer.document());
                    let held = HoldRecord {
                        subject: self.person.subject.clone(),
                        hold,
                        wanted,
                        units,
                        sent,
                        answered,
                        late: self.nature == Nature::PaysLate,
                        end: End::Left,
                    };
                    return self.decide(held).await;
                }
                "unit_taken" => {
                    let asked = if let Wanted::Units(names) = wanted { names } else { Vec::new() };
                    let named = names(&answer.document()["units"]);
                    let subject = self.person.subject.clone();
                    self.person.recorder.taken(TakenRefusal {
                        subject,
                        asked,
                        named,
                        sent,
                        answered,
                    });
                }
                // It was held, and over before the answer came through.
                "hold_expired" => {
                    self.missed(hold, wanted, sent).await?;
                    break;
                }
                // They came too early and try again.
                "not_open" => {}
                "limit_reached" => self.party = self.person.plan.visit.limit.unwrap_or(1).min(2),
                "orphan_left" => self.browses = false,
                "sold_out" if self.party > 1 => self.party -= 1,
                _ => break,
            }
            self.person.think(5).await;
            due = Instant::now();
        }
        Ok(())
    }

    /// Records a hold that ended before its answer: its seats were taken meanwhile.
    async fn missed(
        &mut self,
        hold: String,
        wanted: Wanted,
        sent: Duration,
    ) -> Result<(), LoadError> {
        let ask = Ask::hold_of(&self.person.plan.campaign, &hold, Some(&self.person.subject));
        let answer = self.person.ask(ask, Instant::now()).await?;
        let answered = self.person.recorder.now();
        let (subject, units) = (self.person.subject.clone(), units(answer.document()));
        if units.is_empty() {
            self.person.recorder.incomplete();
        } else {
            let (late, end) = (false, End::Left);
            let held = HoldRecord { subject, hold, wanted, units, sent, answered, late, end };
            self.person.recorder.held(held);
        }
        Ok(())
    }

    fn wants(&mut self) -> Wanted {
        if !self.browses {
            return Wanted::Best(self.party);
        }
        let row = &self.person.plan.visit.rows
            [self.person.random.usize(..self.person.plan.visit.rows.len())];
        let party = (self.party as usize).min(row.len());
        let first = self.person.random.usize(..=row.len() - party);
        Wanted::Units(row[first..first + party].to_vec())
    }

    fn hold(&self, hold: &str, wanted: &Wanted) -> Ask {
        let pool = Some(self.person.plan.pool.as_str());
        let picks = match wanted {
            Wanted::Units(names) => Picks::named(pool, names.clone()),
            Wanted::Best(count) => Picks::best(pool, *count),
        };
        Ask::hold(&self.person.plan.campaign, hold, &self.person.subject, picks.requests(), 0)
    }

    async fn decide(mut self, held: HoldRecord) -> Result<(), LoadError> {
        let step = HoldStep {
            campaign: self.person.plan.campaign.clone(),
            hold: held.hold.clone(),
            subject: self.person.subject.clone(),
        };
        let index = self.person.recorder.held(held);
        let end = match self.nature {
            Nature::Abandons => End::Left,
            Nature::GivesBack => {
                self.person.think(1).await;
                let answer =
                    self.person.ask(step.release(&Picks::default()), Instant::now()).await?;
                match answer.outcome() {
                    "released" => End::Released { answered: self.person.recorder.now() },
                    "hold_expired" => End::Expired { answered: self.person.recorder.now() },
                    other => End::Other(other.to_owned()),
                }
            }
            Nature::Pays => {
                self.person.think(1).await;
                self.pay(&step, false).await?
            }
            Nature::PaysLate => {
                let over = self.person.plan.visit.hold
                    + LATE
                    + Duration::from_millis(self.person.random.u64(..800));
                tokio::time::sleep(over).await;
                self.pay(&step, true).await?
            }
        };
        self.person.recorder.ended(index, end);
        Ok(())
    }

    async fn pay(&mut self, step: &HoldStep, retake: bool) -> Result<End, LoadError> {
        let confirm = step.confirm(&Picks::default(), retake);
        let answer = self.person.ask(confirm.clone(), Instant::now()).await?;
        let end = self.end(&answer);
        if self.person.random.f64() < self.person.plan.visit.shares.repeat {
            let again = self.person.ask(confirm, Instant::now()).await?;
            let again = self.end(&again);
            // That a hold is over is answered twice at two times.
            let same = end == again
                || matches!((&end, &again), (End::Expired { .. }, End::Expired { .. }));
            let difference = || format!("hold {}: {end:?}, then {again:?}", step.hold);
            self.person.recorder.repeated((!same).then(difference));
        }
        Ok(end)
    }

    fn end(&self, answer: &Answer) -> End {
        let document = answer.document();
        match answer.outcome() {
            "confirmed" => {
                let all = document["units"].as_array().map_or(&[][..], Vec::as_slice);
                let ranked = all
                    .iter()
                    .map(|unit| (text(&unit["unit"]), unit["rank"].as_u64().unwrap_or_default()));
                let mut units: Vec<_> = ranked.collect();
                units.sort_unstable();
                End::Confirmed { units, retaken: document["retaken"] == true }
            }
            "refund_due" => End::Refund { units: units(document) },
            "hold_expired" => End::Expired { answered: self.person.recorder.now() },
            other => End::Other(other.to_owned()),
        }
    }
}

/// Names in a list, as they are or in documents of units.
fn names(list: &Value) -> Vec<String> {
    let all = list.as_array().map_or(&[][..], Vec::as_slice);
    all.iter().map(|name| if name.is_string() { text(name) } else { text(&name["unit"]) }).collect()
}

/// The seats of an answer, in order.
fn units(document: &Value) -> Vec<String> {
    let mut names = names(&document["units"]);
    names.sort_unstable();
    names
}
