//! People on waitlists: they join, leave, and take what they are offered or let it go.

use super::Plan;
use super::draw::{between, random_moment};
use fastrand::Rng;
use firstcome_core::Command;
use firstcome_core::command::{Late, Step, Wish};
use std::time::Duration;

/// How many offers of a campaign somebody may answer.
const OFFERS: u32 = 12;
/// People who come to waitlists: they claim, too.
const PEOPLE: u32 = 8;

impl Plan {
    /// Adds such people to most of the worlds that begin at the newest level.
    pub(super) fn draw_lists(&mut self, random: &mut Rng) {
        if random.u32(0..3) == 0 {
            return;
        }
        for number in 0..self.campaigns.len() {
            if random.bool() {
                self.campaigns[number].holding.offer_us = random.i64(1_000_000..5_000_000);
            }
            for _ in 0..random.u32(4..40) {
                self.draw_waiter(random, number);
            }
            for _ in 0..random.u32(4..40) {
                self.draw_answer(random, number);
            }
        }
    }

    fn draw_waiter(&mut self, random: &mut Rng, number: usize) {
        let campaign = self.campaigns[number].clone();
        let seated = campaign.venue.is_some() && random.u32(0..3) == 0;
        let counted = campaign.pools.len();
        let pool = if seated { counted } else { random.usize(..counted) };
        let pool = Some(campaign.pool(pool));
        let subject = &*format!("s{}", random.u32(0..PEOPLE));
        let wish = Wish {
            quantity: *random.choice([1, 1, 1, 2, 2, 3].iter()).unwrap_or(&1),
            grade: (seated && random.u32(0..3) == 0).then_some("R"),
            adjacent: seated,
            ..Wish::units(1)
        };
        let at = random_moment(random, Duration::ZERO, self.ends);
        let campaign = &*campaign.name;
        let join = Command::Join { campaign, pool, subject, wish, limit: None };
        self.wants(random, at, &join);
        if random.u32(0..5) == 0 {
            let later = at + between(random, 20, 4_000);
            self.wants(random, later, &Command::Leave { campaign, pool, subject });
        }
    }

    /// Somebody answers an offer: mostly it is another one's, or there is none.
    fn draw_answer(&mut self, random: &mut Rng, number: usize) {
        let campaign = &*self.campaigns[number].name.clone();
        let hold = &*format!("offer-{}", random.u32(1..=OFFERS));
        let at = random_moment(random, Duration::ZERO, self.ends);
        let late = if random.bool() { Late::Retake } else { Late::Refuse };
        let takes = random.u32(0..3) > 0;
        for person in 0..PEOPLE {
            if random.bool() {
                continue;
            }
            let subject = &*format!("s{person}");
            let step = Step { campaign, hold, subject, id: None };
            let answer = match takes {
                true => Command::Confirm { step, units: Vec::new(), late },
                false => Command::Release { step, units: Vec::new() },
            };
            self.wants(random, at, &answer);
        }
    }
}
