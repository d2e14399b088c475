//! What somebody does with a hold where all there is is known: extends it, adds to it, drops or pays a part of it, and
//! pays around its end.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::super::plan::HallPlan;
use super::super::record::{Basket, Glance, Heard, HoldVerb, WishedUnits};
use super::{AskedHold, Guest};
use crate::error::LoadError;
use firstcome_client::Ask;

/// Rows people crowd around, from the first that is not sold on.
const CROWDED: usize = 8;

impl Guest {
    /// Comes when due, looks now and then, and does something with a hold.
    pub(super) async fn evening(&mut self, hall: &HallPlan, due: Instant) -> Result<(), LoadError> {
        if self.browses {
            self.looks(due).await?;
        }
        let hold = self.begins(self.person.subject.clone());
        let wish = self.wishes(hall);
        let held = self.step(&hold, HoldVerb::Hold, wish).await?;
        if !held.is_held() {
            return Ok(());
        }
        self.thinks(200).await;
        let all = WishedUnits::default;
        match self.person.random.u32(..100) {
            0..24 => drop(self.step(&hold, HoldVerb::Confirm, all()).await?),
            24..30 => drop(self.step(&hold, HoldVerb::Retake, all()).await?),
            30..38 => {
                if let Some(seat) = self.one_of(hall, &held.units) {
                    let paid = self.step(&hold, HoldVerb::Confirm, seat).await?;
                    if paid.outcome == "confirmed" && self.person.random.bool() {
                        self.step(&hold, HoldVerb::Release, all()).await?;
                    }
                }
            }
            38..50 => {
                let longer = self.step(&hold, HoldVerb::Extend, all()).await?;
                if longer.outcome == "extended" && self.person.random.u32(..3) > 0 {
                    self.thinks(400).await;
                    self.step(&hold, HoldVerb::Confirm, all()).await?;
                }
            }
            50..58 => drop(self.step(&hold, HoldVerb::Release, all()).await?),
            58..66 => {
                let more = self.adds(hall, &held.units);
                let more = self.step(&hold, HoldVerb::Add, more).await?;
                self.thinks(200).await;
                // What a refusal left behind that may have happened before it, nobody was told.
                if !more.doubt && more.outcome != "hold_expired" {
                    self.step(&hold, HoldVerb::Confirm, all()).await?;
                }
            }
            66..74 => {
                let less = self.one_of(hall, &held.units).filter(|_| held.units.len() > 1);
                if let Some(less) = less {
                    let verb =
                        if self.person.random.bool() { HoldVerb::Drop } else { HoldVerb::Release };
                    let less = self.step(&hold, verb, less).await?;
                    self.thinks(200).await;
                    if less.outcome != "hold_expired" {
                        self.step(&hold, HoldVerb::Confirm, all()).await?;
                    }
                }
            }
            74..80 => {}
            80..87 => {
                self.waits_for_the_end(&held, -15..15).await;
                self.step(&hold, HoldVerb::Confirm, all()).await?;
            }
            87..97 => {
                self.waits_for_the_end(&held, 20..600).await;
                self.step(&hold, HoldVerb::Retake, all()).await?;
            }
            _ => {
                self.waits_for_the_end(&held, 20..200).await;
                self.step(&hold, HoldVerb::Confirm, all()).await?;
            }
        }
        Ok(())
    }

    async fn step(
        &mut self,
        hold: &AskedHold,
        verb: HoldVerb,
        wish: WishedUnits,
    ) -> Result<Heard, LoadError> {
        self.takes(hold, verb, wish, Instant::now()).await
    }

    /// Looks at the map and at the counts.
    async fn looks(&mut self, due: Instant) -> Result<(), LoadError> {
        let (campaign, pool) = (self.person.plan.campaign.clone(), self.person.plan.pool.clone());
        let map = self.person.ask(Ask::seats(&campaign, &pool, true), due).await?;
        let counts = self.person.ask(Ask::campaign(&campaign), Instant::now()).await?;
        let mut record = self.person.recorder.record();
        record.answers.glances.push(Glance::of(&map));
        record.answers.counts.extend(serde_json::from_value(counts.document().clone()).ok());
        Ok(())
    }

    fn wishes(&mut self, hall: &HallPlan) -> WishedUnits {
        let some = self.person.random.u32(2..=3);
        match self.person.random.u32(..10) {
            0..5 => self.neighbours(hall, some as usize),
            5..7 => WishedUnits {
                best: some,
                apart: self.person.random.u32(..4) == 0,
                ..WishedUnits::default()
            },
            7..9 => {
                let mut wish = self.neighbours(hall, 1);
                wish.units.insert(hall.area.0.clone(), some - 1);
                wish
            }
            _ => WishedUnits {
                units: Basket::from([(hall.area.0.clone(), some)]),
                ..WishedUnits::default()
            },
        }
    }

    /// Chooses seats next to each other where everybody wants to sit.
    fn neighbours(&mut self, hall: &HallPlan, count: usize) -> WishedUnits {
        let sold = self.person.recorder.record().answers.confirmed as usize;
        let first = (sold / hall.rows[0].len()).min(hall.rows.len().saturating_sub(CROWDED));
        let row = &hall.rows[first + self.person.random.usize(..CROWDED.min(hall.rows.len()))];
        let free: Vec<&String> = row.iter().filter(|seat| !hall.blocked.contains(seat)).collect();
        let first = self.person.random.usize(..=free.len() - count);
        WishedUnits::seats(free[first..first + count].iter().copied())
    }

    fn adds(&mut self, hall: &HallPlan, has: &Basket) -> WishedUnits {
        if self.person.random.u32(..4) == 0 {
            return WishedUnits {
                units: Basket::from([(hall.area.0.clone(), 1)]),
                ..WishedUnits::default()
            };
        }
        loop {
            let wish = self.neighbours(hall, 1);
            if wish.units.keys().all(|seat| !has.contains_key(seat)) {
                return wish;
            }
        }
    }

    /// Chooses a seat of those one has.
    fn one_of(&mut self, hall: &HallPlan, has: &Basket) -> Option<WishedUnits> {
        let seats: Vec<&String> = has.keys().filter(|unit| **unit != hall.area.0).collect();
        let seat = (*self.person.random.choice(&seats)?).clone();
        Some(WishedUnits { units: Basket::from([(seat, 1)]), ..WishedUnits::default() })
    }

    async fn thinks(&mut self, most_ms: u64) {
        sleep(Duration::from_millis(self.person.random.u64(..most_ms))).await;
    }

    /// Waits until about so many milliseconds after the end of what is held.
    async fn waits_for_the_end(&mut self, held: &Heard, around: std::ops::Range<i64>) {
        let until = held.until.unwrap_or_default() + 1_000 * self.person.random.i64(around);
        let left = until - jiff::Timestamp::now().as_microsecond();
        sleep(Duration::from_micros(u64::try_from(left).unwrap_or(0))).await;
    }
}
