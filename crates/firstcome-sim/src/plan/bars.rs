//! Operators: subjects that are barred and let in again, campaigns that are deleted, seats that are changed.

use super::draw::{between, ms, random_moment};
use super::{Plan, Want};
use fastrand::Rng;
use firstcome_core::command::{Encoded, Expect, Order, Steer};
use firstcome_core::hall::{Price, SeatChange};
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::{Command, Settings};
use std::time::Duration;

/// Who gives operator commands.
const DESK: Order<'static> = Order { id: None, who: "desk" };

impl Plan {
    /// Adds such operators to half of the worlds.
    pub(super) fn draw_bars(&mut self, random: &mut Rng) {
        if random.bool() {
            return;
        }
        for number in 0..self.campaigns.len() {
            for _ in 0..random.u32(0..6) {
                self.draw_bar(random, number);
            }
            for _ in 0..random.u32(0..8) {
                self.draw_change(random, number);
            }
        }
        if random.bool() {
            self.draw_typo(random);
        }
    }

    /// Bars somebody who may hold or claim something, perhaps for a while.
    fn draw_bar(&mut self, random: &mut Rng, number: usize) {
        let campaign = &*self.campaigns[number].name.clone();
        let pool = self.campaigns[number].pools.first().map(|(name, _)| name.clone());
        let kind = *random.choice(["s", "s", "p", "w"].iter()).unwrap_or(&"s");
        let subject = &*format!("{kind}{}", random.u32(0..6));
        let at = random_moment(random, Duration::ZERO, self.ends);
        let bar = Command::Bar { campaign, subject, reason: "resale", order: DESK };
        self.wants(random, at, &bar);
        if random.u32(0..3) == 0 {
            return;
        }
        let later = at + between(random, 50, 4_000);
        let unbar = Command::Unbar { campaign, subject, order: DESK };
        self.wants(random, later, &unbar);
        let again = later + between(random, 20, 2_000);
        self.wants(random, again, &Command::claim(campaign, pool.as_deref(), subject));
    }

    /// Bars somebody at a server and lets them in again at once.
    pub(super) fn bar_for_a_moment(
        &mut self,
        random: &mut Rng,
        at: Duration,
        (front, campaign, subject): (usize, &str, &str),
    ) {
        let bar = Command::Bar { campaign, subject, reason: "resale", order: DESK };
        self.wants(random, at, &bar);
        self.at(front);
        let unbar = Command::Unbar { campaign, subject, order: DESK };
        let again = at + between(random, 0, 20);
        self.wants(random, again, &unbar);
        self.at(front);
    }

    /// Changes a seat or two, sold or not.
    fn draw_change(&mut self, random: &mut Rng, number: usize) {
        let campaign = self.campaigns[number].clone();
        let Some(venue) = &campaign.venue else { return };
        let pool = campaign.pool(campaign.pools.len());
        let at = random_moment(random, Duration::ZERO, self.ends);
        let from = random.usize(..venue.seats.len());
        let fresh = format!("N{}", random.u32(0..9));
        let one = random.u32(0..4) == 0;
        let some = venue.seats[from..].iter().take(if one { 1 } else { random.usize(1..=2) });
        let seats = some.map(|seat| SeatChange {
            name: &seat.name,
            new_name: one.then_some(&*fresh),
            grade: random.bool().then(|| *random.choice(["", "R"].iter()).unwrap_or(&"R")),
            price: random.bool().then(|| Price { minor: random.i64(1..4), currency: *b"KRW" }),
        });
        let seats = seats.collect();
        let (campaign, order) = (&*campaign.name, DESK);
        self.wants(random, at, &Command::ChangeSeats { campaign, pool, seats, order });
    }

    /// Makes a campaign by mistake, deletes it, and makes it again; somebody may have claimed meanwhile.
    fn draw_typo(&mut self, random: &mut Rng) {
        let campaign = "typo";
        let mut at = between(random, 0, 3_000);
        for capacity in 1..random.u32(2..6) {
            let settings = Settings {
                title: "".into(),
                opens: Opens::Now,
                closes_at: None,
                limit: None,
                claim_again: false,
                units_return: true,
                public: false,
                holding: HoldSettings::default(),
                pools: vec![PoolSettings::counted("main", capacity)],
            };
            let put = Command::Put { campaign, settings, expect: Expect::Anything, order: DESK };
            self.wants(random, at, &put);
            at += between(random, 20, 2_500);
            if random.u32(0..3) == 0 {
                let subject = &*format!("s{}", random.u32(0..3));
                self.wants(random, at, &Command::claim(campaign, None, subject));
                at += between(random, 20, 2_500);
            }
            let delete = Command::Steer { campaign, steer: Steer::Delete, order: DESK };
            self.wants(random, at, &delete);
            at += between(random, 20, 2_500);
        }
    }

    pub(super) fn wants(&mut self, random: &mut Rng, at: Duration, command: &Command<'_>) {
        let command = Encoded::new(command).expect("people ask for what a body can carry");
        self.ask(random, at, Want::On { command, wait: ms(0) });
    }
}
