//! One person: looks, holds, and then pays, leaves, gives back, or pays too late.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::plan::Plan;
use super::record::{End, HoldRecord, Recorder, TakenRefusal, Wanted};
use crate::failure::LoadError;
use crate::people::{Answer, Connections};
use firstcome_client::{Ask, HoldStep, Picks};

/// What a person does with held seats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nature {
    Pays,
    Abandons,
    GivesBack,
    PaysLate,
}

/// One person.
pub(super) struct Person {
    plan: Arc<Plan>,
    connections: Arc<Connections>,
    recorder: Arc<Recorder>,
    subject: String,
    random: fastrand::Rng,
    nature: Nature,
    browses: bool,
    greedy: bool,
    party: u32,
}

/// How often a person tries before giving up.
const TRIES: u32 = 3;

/// How long after its end a late payer comes at the earliest: journal time may lag behind a little.
const LATE: Duration = Duration::from_millis(400);

impl Person {
    /// The person of this number, who comes so long after the start.
    pub(super) fn new(
        plan: &Arc<Plan>,
        (connections, recorder): (&Arc<Connections>, &Arc<Recorder>),
        number: u32,
        seed: u64,
        due: Duration,
    ) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let shares = plan.shares;
        let drawn = random.f64();
        let late = shares.late;
        let (abandon, give_back) =
            (late + shares.abandon, late + shares.abandon + shares.give_back);
        let nature = match drawn {
            _ if plan.all_pay_after.is_some_and(|after| due > after) => Nature::Pays,
            drawn if drawn < late => Nature::PaysLate,
            drawn if drawn < abandon => Nature::Abandons,
            drawn if drawn < give_back => Nature::GivesBack,
            _ => Nature::Pays,
        };
        let greedy = plan.limit.is_some() && random.f64() < shares.greedy;
        let browses = !plan.rows.is_empty() && random.f64() < shares.browse;
        let party = [1, 2, 2, 2, 3, 4][random.usize(..6)].min(plan.limit.unwrap_or(4));
        Self {
            subject: format!("{}{number:07}", plan.prefix),
            plan: Arc::clone(plan),
            connections: Arc::clone(connections),
            recorder: Arc::clone(recorder),
            random,
            nature,
            browses,
            greedy,
            party,
        }
    }

    /// Comes when due, and goes home.
    pub(super) async fn visit(mut self, due: Instant) -> Result<(), LoadError> {
        if let (true, Some(limit)) = (self.greedy, self.plan.limit) {
            self.party = limit + 1;
        }
        let mut due = due;
        for attempt in 0..TRIES {
            if self.browses {
                let map = Ask::seats(&self.plan.campaign, &self.plan.pool, true);
                self.ask(map, due).await?;
                due = Instant::now();
            }
            let wanted = self.wants();
            let hold = format!("{}-{attempt}", self.subject);
            let sent = self.recorder.now();
            let answer = self.ask(self.hold(&hold, &wanted), due).await?;
            let answered = self.recorder.now();
            match answer.outcome() {
                "held" | "already_held" => {
                    let units = units(answer.document());
                    let held = HoldRecord {
                        subject: self.subject.clone(),
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
                    let subject = self.subject.clone();
                    self.recorder.taken(TakenRefusal { subject, asked, named, sent, answered });
                }
                // It was held, and over before the answer came through.
                "hold_expired" => {
                    self.missed(hold, wanted, sent).await?;
                    break;
                }
                // They came too early and try again.
                "not_open" => {}
                "limit_reached" => self.party = self.plan.limit.unwrap_or(1).min(2),
                "orphan_left" => self.browses = false,
                "sold_out" if self.party > 1 => self.party -= 1,
                _ => break,
            }
            self.think(5).await;
            due = Instant::now();
        }
        self.recorder.gone();
        Ok(())
    }

    /// Records a hold that ended before its answer: its seats were taken meanwhile.
    async fn missed(
        &mut self,
        hold: String,
        wanted: Wanted,
        sent: Duration,
    ) -> Result<(), LoadError> {
        let ask = Ask::hold_of(&self.plan.campaign, &hold, Some(&self.subject));
        let answer = self.ask(ask, Instant::now()).await?;
        let answered = self.recorder.now();
        let (subject, units) = (self.subject.clone(), units(answer.document()));
        if units.is_empty() {
            self.recorder.incomplete();
        } else {
            let (late, end) = (false, End::Left);
            let held = HoldRecord { subject, hold, wanted, units, sent, answered, late, end };
            self.recorder.held(held);
        }
        Ok(())
    }

    fn wants(&mut self) -> Wanted {
        if !self.browses {
            return Wanted::Best(self.party);
        }
        let row = &self.plan.rows[self.random.usize(..self.plan.rows.len())];
        let party = (self.party as usize).min(row.len());
        let first = self.random.usize(..=row.len() - party);
        Wanted::Units(row[first..first + party].to_vec())
    }

    fn hold(&self, hold: &str, wanted: &Wanted) -> Ask {
        let pool = Some(self.plan.pool.as_str());
        let picks = match wanted {
            Wanted::Units(names) => Picks::named(pool, names.clone()),
            Wanted::Best(count) => Picks::best(pool, *count),
        };
        Ask::hold(&self.plan.campaign, hold, &self.subject, picks.requests(), 0)
    }

    async fn decide(mut self, held: HoldRecord) -> Result<(), LoadError> {
        let step = HoldStep {
            campaign: self.plan.campaign.clone(),
            hold: held.hold.clone(),
            subject: self.subject.clone(),
        };
        let index = self.recorder.held(held);
        let end = match self.nature {
            Nature::Abandons => End::Left,
            Nature::GivesBack => {
                self.think(1).await;
                let answer = self.ask(step.release(&Picks::default()), Instant::now()).await?;
                match answer.outcome() {
                    "released" => End::Released { answered: self.recorder.now() },
                    "hold_expired" => End::Expired { answered: self.recorder.now() },
                    other => End::Other(other.to_owned()),
                }
            }
            Nature::Pays => {
                self.think(1).await;
                self.pay(&step, false).await?
            }
            Nature::PaysLate => {
                let over = self.plan.hold + LATE + Duration::from_millis(self.random.u64(..800));
                tokio::time::sleep(over).await;
                self.pay(&step, true).await?
            }
        };
        self.recorder.ended(index, end);
        self.recorder.gone();
        Ok(())
    }

    async fn pay(&mut self, step: &HoldStep, retake: bool) -> Result<End, LoadError> {
        let confirm = step.confirm(&Picks::default(), retake);
        let answer = self.ask(confirm.clone(), Instant::now()).await?;
        let end = self.end(&answer);
        if self.random.f64() < self.plan.shares.repeat {
            let again = self.ask(confirm, Instant::now()).await?;
            let again = self.end(&again);
            // That a hold is over is answered twice at two times.
            let same = end == again
                || matches!((&end, &again), (End::Expired { .. }, End::Expired { .. }));
            let difference = || format!("hold {}: {end:?}, then {again:?}", step.hold);
            self.recorder.repeated((!same).then(difference));
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
            "hold_expired" => End::Expired { answered: self.recorder.now() },
            other => End::Other(other.to_owned()),
        }
    }

    async fn ask(&mut self, ask: Ask, due: Instant) -> Result<Answer, LoadError> {
        let cut = self.plan.shares.cut > 0.0 && self.random.f64() < self.plan.shares.cut;
        self.connections.ask(ask, due, &mut self.random, cut).await
    }

    /// Thinks, for a while that differs from person to person; a part of the usual time for small questions.
    async fn think(&mut self, part: u32) {
        let usual = self.plan.think.as_secs_f64() / f64::from(part);
        tokio::time::sleep(Duration::from_secs_f64(usual * self.random.f64() * 2.0)).await;
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
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
