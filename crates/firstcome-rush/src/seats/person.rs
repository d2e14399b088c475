//! One person: looks, holds, and then pays, leaves, gives back, or pays too late.
//!
//! Where all there is is known, they do more with a hold: `evening`.

mod evening;

use std::time::{Duration, Instant};

use super::plan::Seats;
use super::record::{Heard, HoldRecord, HoldVerb, WishedUnits};
use crate::error::LoadError;
use crate::people::Person;
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

/// A hold that is asked for: its index in the record, and what steps on it are sent with.
struct AskedHold {
    index: usize,
    step: HoldStep,
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
        let mut due = self.person.recorder.moment(due);
        if let Some(hall) = self.person.plan.visit.hall.clone() {
            return self.evening(&hall, due).await;
        }
        if let (true, Some(limit)) = (self.greedy, self.person.plan.visit.limit) {
            self.party = limit + 1;
        }
        for attempt in 0..TRIES {
            if self.browses {
                let map = Ask::seats(&self.person.plan.campaign, &self.person.plan.pool, true);
                self.person.ask(map, due).await?;
                due = Instant::now();
            }
            let wish = self.wants();
            let hold = self.begins(format!("{}-{attempt}", self.person.subject));
            let heard = self.takes(&hold, HoldVerb::Hold, wish, due).await?;
            match &*heard.outcome {
                "held" | "already_held" => return self.decide(hold).await,
                // It was held, and over before the answer came through.
                "hold_expired" => break,
                "unit_taken" => {}
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

    /// Begins to ask for a hold.
    fn begins(&self, id: String) -> AskedHold {
        let late = self.nature == Nature::PaysLate && self.person.plan.visit.hall.is_none();
        let record = HoldRecord::new(id.clone(), &self.person.subject, late);
        let index = self.person.recorder.begins(record);
        let (campaign, subject) = (self.person.plan.campaign.clone(), self.person.subject.clone());
        AskedHold { index, step: HoldStep { campaign, hold: id, subject } }
    }

    /// Takes a step, and returns what came of it.
    async fn takes(
        &mut self,
        hold: &AskedHold,
        verb: HoldVerb,
        wish: WishedUnits,
        due: Instant,
    ) -> Result<Heard, LoadError> {
        let ask = self.asks(hold, verb, &wish);
        let heard = self.hears(hold, ask.clone(), (verb, &wish), (due, false)).await?;
        let decided = !["unit_taken", "sold_out", "hold_expired"].contains(&&*heard.outcome);
        let may_repeat = match verb {
            HoldVerb::Confirm | HoldVerb::Retake => true,
            // An extension that is asked for again is another one.
            HoldVerb::Extend => false,
            HoldVerb::Hold | HoldVerb::Add | HoldVerb::Drop | HoldVerb::Release => {
                self.person.plan.visit.hall.is_some() && decided
            }
        };
        if may_repeat && self.person.random.f64() < self.person.plan.visit.shares.repeat {
            let mut ask = ask;
            let newest = self.person.connections.answers.newest();
            if let (Some(_), Some(at)) = (&self.person.plan.visit.hall, newest) {
                // As of now: who is behind would have to say what it knows.
                ask.path.push_str(&format!("?min_position={at}"));
            }
            self.hears(hold, ask, (verb, &wish), (Instant::now(), true)).await?;
        }
        Ok(heard)
    }

    async fn hears(
        &mut self,
        hold: &AskedHold,
        ask: Ask,
        asked: (HoldVerb, &WishedUnits),
        (due, again): (Instant, bool),
    ) -> Result<Heard, LoadError> {
        let sent = self.person.recorder.now();
        let answer = self.person.ask(ask, due).await?;
        let answered = self.person.recorder.now();
        let heard = Heard { again, sent, answered, ..Heard::of(asked, &answer) };
        self.person.recorder.heard(hold.index, heard.clone());
        Ok(heard)
    }

    fn asks(
        &mut self,
        AskedHold { index, step }: &AskedHold,
        verb: HoldVerb,
        wish: &WishedUnits,
    ) -> Ask {
        let visit = &self.person.plan.visit;
        let area = visit.hall.as_ref().map(|hall| &hall.area.0);
        let standing = area.and_then(|area| wish.units.get_key_value(area));
        let picks = Picks {
            pool: Some(self.person.plan.pool.clone()),
            units: wish.units.keys().filter(|unit| Some(*unit) != area).cloned().collect(),
            quantity: standing.map(|(_, count)| *count),
            area: standing.map(|(area, _)| area.clone()),
            best: (wish.best > 0).then_some(wish.best),
            apart: wish.apart,
            ..Picks::default()
        };
        let mut ask = match verb {
            HoldVerb::Hold => {
                let waits = visit.hall.is_some() && self.person.random.u32(..8) == 0;
                let (HoldStep { campaign, hold, subject }, wait) = (step, u64::from(waits) * 300);
                return Ask::hold(campaign, hold, subject, picks.requests(), wait);
            }
            HoldVerb::Retake => return step.confirm(&picks, true),
            HoldVerb::Confirm => step.confirm(&picks, false),
            HoldVerb::Release => step.release(&picks),
            HoldVerb::Add => step.add(&picks),
            HoldVerb::Drop => step.drop(&picks),
            HoldVerb::Extend => step.extend(None),
        };
        if visit.hall.is_some() && ask.headers.is_empty() {
            let id = format!("{index}-{}", self.person.random.u64(..));
            ask.headers.push(("idempotency-key", id));
        }
        ask
    }

    fn wants(&mut self) -> WishedUnits {
        if !self.browses {
            return WishedUnits { best: self.party, ..WishedUnits::default() };
        }
        let rows = &self.person.plan.visit.rows;
        let row = &rows[self.person.random.usize(..rows.len())];
        let party = (self.party as usize).min(row.len());
        let first = self.person.random.usize(..=row.len() - party);
        WishedUnits::seats(&row[first..first + party])
    }

    async fn decide(mut self, hold: AskedHold) -> Result<(), LoadError> {
        let verb = match self.nature {
            Nature::Abandons => return Ok(()),
            Nature::GivesBack => HoldVerb::Release,
            Nature::Pays => HoldVerb::Confirm,
            Nature::PaysLate => HoldVerb::Retake,
        };
        if self.nature == Nature::PaysLate {
            let more = Duration::from_millis(self.person.random.u64(..800));
            tokio::time::sleep(self.person.plan.visit.hold + LATE + more).await;
        } else {
            self.person.think(1).await;
        }
        self.takes(&hold, verb, WishedUnits::default(), Instant::now()).await.map(drop)
    }
}
