//! Scenarios of several faults at once, which single random faults hardly ever reach.

use super::draw::{between, ms, random_moment};
use super::{Cut, Fault, Plan, Step, Want, What};
use crate::history::Durability;
use fastrand::Rng;
use std::time::Duration;

impl Plan {
    /// Draws at most a few plots.
    pub(super) fn draw_scenarios(&mut self, random: &mut Rng) {
        if random.u32(0..2) == 0 {
            return;
        }
        for _ in 0..random.u32(1..3) {
            let at = random_moment(random, ms(1_500), self.ends);
            match random.u32(0..7) {
                0 | 1 => self.lose_newest_entries(random, at),
                2 => self.pause_leader(random, at),
                3 => self.pause_nodes(random, at),
                4 => self.slow_snapshot(random, at),
                5 => self.resend_hours_later(random, at),
                _ => self.join_during_load(random, at),
            }
        }
    }

    pub(super) fn add_fault(&mut self, at: Duration, fault: Fault) {
        self.steps.push(Step { at, what: What::Fault(fault) });
    }

    /// Some claim a little before a moment, and a little after it.
    pub(super) fn claims_around(
        &mut self,
        random: &mut Rng,
        at: Duration,
        before: u64,
        after: u64,
    ) {
        let campaign = random.usize(..self.campaigns.len());
        for _ in 0..random.u32(2..9) {
            let when = (at + between(random, 0, before + after)).saturating_sub(ms(before));
            let pool = Some(random.usize(..self.campaigns[campaign].pools.len()));
            let subject = random.u32(0..30);
            self.ask(random, when, Want::Claim { campaign, pool, subject });
        }
    }

    /// What was claimed last is nowhere else yet when the primary goes, and neither are those who know of it.
    fn lose_newest_entries(&mut self, random: &mut Rng, at: Duration) {
        let gone = at + between(random, 100, 900);
        for copy in 0..self.copies {
            if random.u32(0..4) > 0 {
                self.add_fault(at, Fault::Lag { copy, time: between(random, 900, 3_000) });
            }
        }
        if random.bool() || self.durability == Durability::Fsync {
            self.add_fault(at, Fault::NoConfirms { time: between(random, 900, 3_000) });
        }
        self.claims_around(random, at, 100, 800);
        let down = between(random, 1, 1_500);
        let copy = random.usize(..self.copies.max(1));
        let fault = match self.durability {
            Durability::Fsync if self.copies == 0 || random.u32(0..3) > 0 => {
                Fault::Restart { down }
            }
            Durability::Memory if self.copies == 0 => Fault::OldFile { age: ms(600) },
            _ if self.copies == 0 => Fault::Restart { down },
            Durability::Memory | Durability::Copies { .. } | Durability::Fsync => {
                let longest = *random.choice([20, 200, 2_000].iter()).unwrap_or(&20);
                let lingers = random.bool().then(|| between(random, 10, longest));
                Fault::Promote { copy, lingers }
            }
        };
        self.add_fault(gone, fault);
        if random.u32(0..3) > 0 {
            for slot in 0..self.nodes {
                let at = gone.saturating_sub(ms(100)) + between(random, 0, 600);
                self.add_fault(at, Fault::Crash { slot, down: between(random, 500, 4_000) });
            }
        }
    }

    /// The leader stands still with results to settle, and its successor does not know of them yet.
    fn pause_leader(&mut self, random: &mut Rng, at: Duration) {
        self.claims_around(random, at, 90, 0);
        let held = random.usize(..self.nodes);
        let time = between(random, 3_200, 9_000);
        for slot in 0..self.nodes {
            if slot == held {
                self.add_fault(at, Fault::Pause { slot, time });
            } else if random.u32(0..3) > 0 {
                let at = at.saturating_sub(between(random, 0, 200));
                let direction = *random.choice([Cut::Both, Cut::Back].iter()).unwrap_or(&Cut::Both);
                self.add_fault(at, Fault::Cut { slot, time: time + ms(1_500), direction });
            }
        }
        if random.bool() {
            self.add_fault(at + ms(200), Fault::NoConfirms { time });
        }
    }

    /// A copy that lags takes over, and those who saw more reach it a little later than others.
    fn pause_nodes(&mut self, random: &mut Rng, at: Duration) {
        let gone = at + between(random, 100, 500);
        for copy in 0..self.copies {
            self.add_fault(at, Fault::Lag { copy, time: ms(1_000) });
        }
        for slot in 0..self.nodes {
            match random.u32(0..4) {
                0 => {
                    let time = between(random, 300, 3_000);
                    self.add_fault(at, Fault::Cut { slot, time, direction: Cut::Back });
                }
                1 => self.add_fault(gone, Fault::Pause { slot, time: between(random, 50, 900) }),
                2 => {
                    let (time, by) = (between(random, 500, 5_000), between(random, 5, 400));
                    self.add_fault(gone, Fault::Slow { slot, time, by });
                }
                _ => {}
            }
        }
        self.claims_around(random, at, 0, 400);
        self.claims_around(random, gone, 0, 600);
        let copy = random.usize(..self.copies.max(1));
        if self.copies > 0 {
            let lingers = random.bool().then(|| between(random, 1, 50));
            self.add_fault(gone, Fault::Promote { copy, lingers });
        } else if self.durability == Durability::Memory {
            self.add_fault(gone, Fault::OldFile { age: between(random, 100, 1_000) });
        }
    }

    /// The clock jumps so far that all there is may be dropped, while snapshots are made and a node joins.
    fn join_during_load(&mut self, random: &mut Rng, at: Duration) {
        self.snapshot_every = between(random, 1_000, 2_500);
        self.add_fault(at, Fault::Clock { by: random.i64(610_000_000..700_000_000) });
        for _ in 0..random.u32(1..4) {
            let at = at + between(random, 0, 6_000);
            self.claims_around(random, at, 0, 1_500);
        }
        let slot = random.usize(..self.nodes);
        let joins = at + between(random, 500, 6_000);
        self.add_fault(joins, Fault::Crash { slot, down: between(random, 1, 2_000) });
        if random.bool() {
            let (time, by) = (between(random, 2_000, 9_000), between(random, 50, 900));
            let slot = random.usize(..self.nodes);
            self.add_fault(joins + ms(50), Fault::Slow { slot, time, by });
        }
        if self.copies > 0 && random.bool() {
            let copy = random.usize(..self.copies);
            self.add_fault(joins, Fault::Lag { copy, time: between(random, 500, 2_500) });
            let at = joins + between(random, 300, 2_500);
            self.add_fault(at, Fault::Promote { copy, lingers: None });
        }
    }

    /// The clock jumps far while a snapshot is on its way and people claim; then all who know of it die.
    fn slow_snapshot(&mut self, random: &mut Rng, at: Duration) {
        self.snapshot_every = between(random, 1_000, 2_500);
        let by = between(random, 200, 900);
        for slot in 0..self.nodes {
            self.add_fault(at, Fault::Slow { slot, time: ms(7_000), by });
        }
        for _ in 0..3 {
            let at = at + between(random, 0, 3_000);
            self.claims_around(random, at, 0, 1_500);
        }
        let jumps = at + between(random, 1_000, 5_000);
        self.add_fault(jumps, Fault::Clock { by: random.i64(610_000_000..700_000_000) });
        if random.bool() {
            // It was wrong, and is put right before anybody writes.
            let back = -random.i64(610_000_000..700_000_000);
            self.add_fault(jumps + between(random, 1, 3_000), Fault::Clock { by: back });
        }
        let gone = jumps + between(random, 200, 3_500);
        for slot in 0..self.nodes {
            let at = gone + between(random, 0, 300);
            self.add_fault(at, Fault::Crash { slot, down: between(random, 500, 3_000) });
        }
    }

    /// The clock jumps by hours between a batch whose answer is lost and its copy.
    fn resend_hours_later(&mut self, random: &mut Rng, at: Duration) {
        for slot in 0..self.nodes {
            let at = at + between(random, 0, 300);
            let time = between(random, 600, 2_500);
            self.add_fault(at, Fault::Cut { slot, time, direction: Cut::Back });
        }
        self.claims_around(random, at, 0, 900);
        let campaign = random.usize(..self.campaigns.len());
        for _ in 0..random.u32(1..3) {
            let paused = at + between(random, 0, 900);
            self.ask(random, paused, Want::Pause(campaign));
            let resumed = paused + between(random, 10, 400);
            self.ask(random, resumed, Want::Resume(campaign));
        }
        let jumps = at + between(random, 100, 1_000);
        self.add_fault(jumps, Fault::Clock { by: random.i64(3_600_000_000..9_000_000_000) });
        self.claims_around(random, jumps, 0, 2_000);
    }
}
