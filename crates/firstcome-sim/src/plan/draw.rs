//! Draws a plan from a seed.

use super::{Ask, Cut, DESK, Fault, INSISTS, Plan, PlannedCampaign, Step, Want, What};
use crate::history::Durability;
use fastrand::Rng;
use firstcome_core::settings::HoldSettings;
use firstcome_node::OnEmptied;
use std::time::Duration;

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(super) fn between(random: &mut Rng, from: u64, to: u64) -> Duration {
    Duration::from_micros(random.u64(from * 1000..=to * 1000))
}

impl Plan {
    /// Draws a world.
    pub fn draw(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed ^ 0x5eed_0f00_0000_0000);
        let random = &mut random;
        let nodes = *random.choice([1, 2, 3, 3, 3, 4, 5].iter()).unwrap_or(&3);
        let copies = random.usize(0..=2);
        let durability = match random.u32(0..10) {
            0..=3 => Durability::Memory,
            4..=7 if copies > 0 => {
                Durability::Copies { wanted: random.usize(1..=copies), of: copies }
            }
            _ => Durability::Fsync,
        };
        let ends = between(random, 8_000, 60_000);
        let campaigns: Vec<_> =
            (0..random.usize(1..=3)).map(|number| campaign(random, number, ends)).collect();
        let mut plan = Self {
            seed,
            nodes,
            copies,
            durability,
            log: None,
            ledger: random.u32(0..10) > 0,
            noise: random.u32(0..3) > 0,
            latency: *random.choice([20, 200, 200, 1_000, 5_000].iter()).unwrap_or(&200),
            snapshot_every: between(random, 2_000, 15_000),
            keep_for: random.bool().then(|| between(random, 2_000, 20_000)),
            invents_level: false,
            newer: false,
            late: false,
            remembers: true,
            on_emptied: OnEmptied::Wait,
            campaigns,
            steps: Vec::new(),
            ends,
        };
        plan.draw_people(random);
        plan.draw_faults(random);
        plan.draw_scenarios(random);
        plan.newer = random.u32(0..40) == 0;
        plan.draw_venues(&mut Rng::with_seed(seed ^ 0x5ea7_0f00_0000_0000));
        plan.draw_refusals(&mut Rng::with_seed(seed ^ 0x10c6_0f00_0000_0000));
        plan.draw_bars(&mut Rng::with_seed(seed ^ 0xba25_0f00_0000_0000));
        plan.draw_level(&mut Rng::with_seed(seed ^ 0x1e7e_0f00_0000_0000));
        plan.draw_lists(&mut Rng::with_seed(seed ^ 0x11e5_0f00_0000_0000));
        plan.draw_coupons(&mut Rng::with_seed(seed ^ 0xc0de_0f00_0000_0000));
        plan.draw_lost_codes(&mut Rng::with_seed(seed ^ 0x105e_c0de_0000_0000));
        plan.draw_public(&mut Rng::with_seed(seed ^ 0x9b11_0f00_0000_0000));
        plan.draw_desks(&mut Rng::with_seed(seed ^ 0xde5c_0f00_0000_0000));
        plan.draw_log(&mut Rng::with_seed(seed ^ 0x10f0_0f00_0000_0000));
        plan.draw_leaving(&mut Rng::with_seed(seed ^ 0x1ea5_0f00_0000_0000));
        plan.draw_swings(&mut Rng::with_seed(seed ^ 0x5316_0f00_0000_0000));
        plan.draw_early(&mut Rng::with_seed(seed ^ 0xea21_0f00_0000_0000));
        plan.draw_newcomers(&mut Rng::with_seed(seed ^ 0xe391_0f00_0000_0000));
        plan.steps.sort_by_key(|step| step.at);
        plan
    }

    pub(super) fn ask(&mut self, random: &mut Rng, at: Duration, want: Want) {
        let ask = Ask {
            slot: random.usize(..self.nodes),
            want,
            order: DESK,
            retries: random.u32(0..6),
            sends_position: random.bool(),
            seed: random.u64(..),
        };
        self.steps.push(Step { at, what: What::Ask(ask) });
    }

    /// A third of the stores is a log that takes each append; in some, entries are late after a few messages.
    fn draw_log(&mut self, random: &mut Rng) {
        if random.u32(0..3) == 0 {
            self.log = random.choice([1, 2, 4, 16, 1024].iter()).copied();
        }
    }

    /// In some worlds builds read one level more than there is, and most of those spaces are raised to it, a few twice.
    fn draw_level(&mut self, random: &mut Rng) {
        self.invents_level = random.u32(0..8) == 0;
        if !self.invents_level {
            return;
        }
        for _ in 0..*random.choice([0, 1, 1, 1, 2].iter()).unwrap_or(&1) {
            let at = random_moment(random, Duration::ZERO, self.ends);
            self.ask(random, at, Want::Raise);
        }
    }

    /// Half of the campaigns are public.
    fn draw_public(&mut self, random: &mut Rng) {
        self.campaigns.iter_mut().for_each(|campaign| campaign.public = random.bool());
    }

    fn draw_people(&mut self, random: &mut Rng) {
        for number in 0..self.campaigns.len() {
            let campaign = self.campaigns[number].clone();
            let made = between(random, 0, 400);
            self.ask(random, made, Want::Put { campaign: number, capacity: None });
            // The operator asks until it is there.
            self.insist();
            let units: u32 = campaign.pools.iter().map(|(_, capacity)| capacity).sum();
            // Some know each other's names: the same subject comes again, elsewhere.
            let subjects = random.u32(2..=units * 2 + 8);
            let claims = random.u32(subjects / 2..=subjects * 2);
            let bursts: Vec<Duration> = (0..random.u32(1..6))
                .map(|_| random_moment(random, made, self.ends))
                .chain([campaign.opens])
                .collect();
            for _ in 0..claims {
                let at = match random.u32(0..4) {
                    0 => random_moment(random, made, self.ends),
                    _ => bursts[random.usize(..bursts.len())] + between(random, 0, 60),
                };
                let pool = (random.u32(0..20) > 0 || campaign.pools.len() == 1 && random.bool())
                    .then(|| random.usize(..campaign.pools.len()));
                let subject = random.u32(..subjects);
                self.ask(random, at, Want::Claim { campaign: number, pool, subject });
                if random.u32(0..5) == 0 {
                    let later = at + between(random, 0, 6_000);
                    let (pool, operator) = (pool.unwrap_or_default(), random.u32(0..4) == 0);
                    let names_pool = true;
                    let want =
                        Want::Cancel { campaign: number, pool, names_pool, subject, operator };
                    self.ask(random, later, want);
                    if random.bool() {
                        let again = later + between(random, 0, 3_000);
                        let want = Want::Claim { campaign: number, pool: Some(pool), subject };
                        self.ask(random, again, want);
                    }
                }
            }
            for _ in 0..random.u32(0..4) {
                let at = random_moment(random, made, self.ends);
                let want = match random.u32(0..6) {
                    0 | 1 => {
                        self.ask(random, at, Want::Pause(number));
                        let later = at + between(random, 100, 8_000);
                        self.ask(random, later, Want::Resume(number));
                        continue;
                    }
                    2 => Want::Close(number),
                    _ => Want::Put { campaign: number, capacity: Some(random.u32(1..=units * 2)) },
                };
                self.ask(random, at, want);
            }
        }
        for _ in 0..random.u32(0..4) {
            let at = random_moment(random, Duration::ZERO, self.ends);
            let subject = random.u32(0..5);
            self.ask(random, at, Want::Nowhere(subject));
        }
    }

    /// Has the last one who asked ask a certain node first.
    pub(super) fn at(&mut self, slot: usize) {
        if let Some(Step { what: What::Ask(ask), .. }) = self.steps.last_mut() {
            ask.slot = slot;
        }
    }

    /// Has the last one who asked not give up.
    pub(super) fn insist(&mut self) {
        if let Some(Step { what: What::Ask(ask), .. }) = self.steps.last_mut() {
            ask.retries = INSISTS;
        }
    }

    fn draw_faults(&mut self, random: &mut Rng) {
        if random.u32(0..20) == 0 {
            return;
        }
        for _ in 0..random.u32(1..14) {
            let at = random_moment(random, Duration::ZERO, self.ends);
            let fault = self.fault(random);
            self.steps.push(Step { at, what: What::Fault(fault) });
            // Troubles like company: what is worst comes together.
            if random.u32(0..3) == 0 {
                let at = at + between(random, 0, 1_500);
                let fault = self.fault(random);
                self.steps.push(Step { at, what: What::Fault(fault) });
            }
        }
    }

    fn fault(&self, random: &mut Rng) -> Fault {
        let slot = random.usize(..self.nodes);
        let copy = if self.copies == 0 { 0 } else { random.usize(..self.copies) };
        let time = match random.u32(0..3) {
            0 => between(random, 1, 300),
            1 => between(random, 300, 4_000),
            _ => between(random, 4_000, 14_000),
        };
        let down = between(random, 1, 6_000);
        let copies = self.copies > 0;
        match random.u32(0..36) {
            0..=3 => Fault::Crash { slot, down },
            4 => Fault::Stop { slot, down },
            5..=7 => Fault::Pause { slot, time },
            8..=11 => {
                let direction = [Cut::Both, Cut::There, Cut::Back, Cut::Refused];
                Fault::Cut {
                    slot,
                    time,
                    direction: *random.choice(direction.iter()).unwrap_or(&Cut::Both),
                }
            }
            12 | 13 => Fault::Slow { slot, time, by: between(random, 5, 2_000) },
            14 | 15 => Fault::LockAway { slot, time },
            16 | 17 if copies => Fault::Lag { copy, time },
            18..=21 if copies => {
                let lingers = random.bool().then(|| between(random, 10, 4_000));
                Fault::Promote { copy, lingers }
            }
            22 | 23 => Fault::Restart { down },
            24 | 25 if self.durability == Durability::Memory => {
                Fault::OldFile { age: between(random, 100, 8_000) }
            }
            26 if self.durability == Durability::Memory && random.u32(0..3) == 0 => Fault::Emptied,
            27 => Fault::Full { time },
            28 => Fault::Clock { by: clock_step(random) },
            29 => Fault::NoConfirms { time },
            30 | 31 => Fault::LedgerAway { time: time * 3 },
            32 | 33 => Fault::LostCommit,
            34 => Fault::StuckTransaction { time },
            35 => Fault::OldLedger { age: between(random, 100, 10_000) },
            _ => Fault::Cut { slot, time: ms(300), direction: Cut::Both },
        }
    }
}

fn clock_step(random: &mut Rng) -> i64 {
    let by = match random.u32(0..4) {
        0 => random.i64(0..2_000_000),
        1 => random.i64(0..60_000_000),
        2 => random.i64(0..3_000_000_000),
        // Far enough for what is kept for ten minutes to go, or for an hour.
        _ => random.i64(600_000_000..9_000_000_000),
    };
    if random.u32(0..3) == 0 { -by } else { by }
}

pub(super) fn random_moment(random: &mut Rng, from: Duration, to: Duration) -> Duration {
    let (from, to) = (from.as_micros() as u64, to.as_micros() as u64);
    Duration::from_micros(random.u64(from..to.max(from + 1)))
}

fn campaign(random: &mut Rng, number: usize, ends: Duration) -> PlannedCampaign {
    let pools = (0..*random.choice([1, 1, 2].iter()).unwrap_or(&1))
        .map(|pool| {
            let capacity = match random.u32(0..4) {
                0 => random.u32(1..4),
                1 | 2 => random.u32(1..20),
                _ => random.u32(20..120),
            };
            (format!("p{pool}"), capacity)
        })
        .collect();
    let opens =
        if random.bool() { Duration::ZERO } else { random_moment(random, ms(500), ends / 2) };
    let closes = (random.u32(0..3) == 0)
        .then(|| random_moment(random, opens + ms(1_000), opens.max(ends) + ms(5_000)));
    PlannedCampaign {
        name: format!("c{number}"),
        pools,
        codes: Vec::new(),
        opens,
        closes,
        limit: (random.u32(0..4) == 0).then_some(1),
        claim_again: random.bool(),
        units_return: random.u32(0..4) > 0,
        public: false,
        venue: None,
        holding: HoldSettings::default(),
    }
}
