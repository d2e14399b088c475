//! Venues with a seat map, and the people who hold, change, confirm or leave seats there.

use super::draw::{between, ms, random_moment};
use super::{Ask, Cut, DESK, Fault, Plan, PlannedCampaign, Want, What};
use fastrand::Rng;
use firstcome_core::Command;
use firstcome_core::command::{BestPick, Encoded, Late, Pick, Step, Wanted};
use firstcome_core::hall::{AreaSettings, Chunk, SeatSettings};
use firstcome_core::settings::{GradeLimit, HoldSettings, HoldsEach};
use std::time::Duration;

/// The seat map of a campaign's seated pool.
#[derive(Clone, Debug, Default)]
pub struct Venue {
    /// In the order they are added.
    pub seats: Vec<PlannedSeat>,
    /// Areas: name and capacity.
    pub areas: Vec<(String, u32)>,
    /// The most units one subject may have of the pool.
    pub limit: Option<u32>,
}

/// A seat.
#[derive(Clone, Debug)]
pub struct PlannedSeat {
    pub name: String,
    pub row: String,
    /// How good it is, 0 best.
    pub quality: u32,
    pub grade: &'static str,
    /// Through which channel it is sold.
    pub channel: &'static str,
    /// Whether it is sold at all.
    pub for_sale: bool,
    /// The group it is sold with.
    pub group: &'static str,
}

impl Venue {
    fn draw(random: &mut Rng) -> Self {
        let mut venue = Self::default();
        for row in ["A", "B", "C"].into_iter().take(random.usize(1..=3)) {
            let grade = if random.u32(0..4) == 0 { "R" } else { "" };
            for number in 1..=random.u32(2..=7) {
                venue.seats.push(PlannedSeat {
                    name: format!("{row}{number}"),
                    row: row.into(),
                    quality: random.u32(0..6),
                    grade,
                    channel: if random.u32(0..12) == 0 { "web" } else { "" },
                    for_sale: random.u32(0..15) > 0,
                    group: "",
                });
            }
        }
        if random.bool() {
            for number in 1..=random.u32(2..=3) {
                venue.seats.push(PlannedSeat {
                    name: format!("T{number}"),
                    row: "T".into(),
                    quality: 3,
                    grade: "",
                    channel: "",
                    for_sale: true,
                    group: "T",
                });
            }
        }
        if random.bool() {
            venue.areas.push(("GA".into(), random.u32(1..=4)));
        }
        venue.limit = (random.u32(0..5) == 0).then(|| random.u32(1..=4));
        venue
    }

    fn import(&self, campaign: &str, pool: &str) -> Option<Encoded> {
        let seats = self.seats.iter().map(|seat| SeatSettings {
            row: &seat.row,
            quality: seat.quality,
            grade: seat.grade,
            channel: seat.channel,
            for_sale: seat.for_sale,
            group: seat.group,
            ..SeatSettings::named(&seat.name)
        });
        let areas = self.areas.iter().map(|(name, capacity)| AreaSettings::named(name, *capacity));
        let chunk = Chunk { seats: seats.collect(), areas: areas.collect() };
        Encoded::new(&Command::Seats { campaign, pool, chunk, order: DESK }).ok()
    }

    fn random_seat(&self, random: &mut Rng) -> &str {
        // Now and then one that nobody ever made.
        if random.u32(0..40) == 0 {
            return "Z9";
        }
        &self.seats[random.usize(..self.seats.len())].name
    }
}

/// The ids that steps on a hold have.
const STEPS: [&str; 3] = ["step0", "step1", "step2"];

fn holding(random: &mut Rng) -> HoldSettings {
    let ttl = match random.u32(0..4) {
        0 => random.i64(1_000_000..3_000_000),
        1 | 2 => random.i64(3_000_000..9_000_000),
        _ => random.i64(9_000_000..30_000_000),
    };
    let grade = GradeLimit { grade: "R".into(), limit: random.u32(1..=2) };
    HoldSettings {
        ttl_us: ttl,
        max_us: ttl + random.i64(0..=ttl * 2),
        each: if random.bool() { HoldsEach::One } else { HoldsEach::Many },
        per_hour: if random.u32(0..4) == 0 { random.u32(1..5) } else { 60 },
        allow_orphans: random.u32(0..3) == 0,
        grades: if random.u32(0..4) == 0 { vec![grade] } else { Vec::new() },
        ..HoldSettings::default()
    }
}

/// Returns a step on a hold, now and then with an id of its own.
fn step<'a>(random: &mut Rng, campaign: &'a str, hold: &'a str, subject: &'a str) -> Step<'a> {
    let id = (random.u32(0..3) == 0).then(|| STEPS[random.usize(0..STEPS.len())]);
    Step { campaign, hold, subject, id }
}

/// A person with a basket.
struct Shopper<'a> {
    venue: &'a Venue,
    campaign: &'a str,
    /// The names of the counted pools.
    counted: &'a [(String, u32)],
    hall: &'a str,
}

impl<'a> Shopper<'a> {
    fn units(&self, names: &[&'a str], channel: Option<&'a str>) -> Pick<'a> {
        Pick { pool: Some(self.hall), wanted: Wanted::Units(names.to_vec()), channel }
    }

    fn pick(&self, random: &mut Rng) -> Pick<'a> {
        let channel = (random.u32(0..6) == 0).then_some("web");
        let hall = |wanted| Pick { pool: Some(self.hall), wanted, channel };
        match random.u32(0..16) {
            0..=4 => self.units(&[self.venue.random_seat(random)], channel),
            5..=8 => {
                // Neighbours.
                let from = random.usize(..self.venue.seats.len());
                let some = self.venue.seats[from..].iter().take(random.usize(2..=3));
                let names: Vec<&str> = some.map(|seat| &*seat.name).collect();
                self.units(&names, channel)
            }
            9 => {
                let names = [self.venue.random_seat(random), self.venue.random_seat(random)];
                self.units(&names, channel)
            }
            10 => self.units(&["T"], channel),
            11 if random.bool() => self.units(&["GA"], channel),
            11 | 12 => {
                let (count, area) = (random.u32(1..=3), Some("GA"));
                hall(Wanted::Quantity { count, area })
            }
            13 if !self.counted.is_empty() => {
                let (name, _) = &self.counted[random.usize(..self.counted.len())];
                let wanted = Wanted::Quantity { count: random.u32(1..=2), area: None };
                Pick { pool: Some(name), wanted, channel: None }
            }
            _ => {
                let grade = (random.u32(0..4) == 0).then_some("R");
                let (count, price) = (random.u32(1..=3), None);
                let best = BestPick { count, grade, price, adjacent: true, accessible: false };
                hall(Wanted::Best(best))
            }
        }
    }

    fn picks(&self, random: &mut Rng) -> Vec<Pick<'a>> {
        let many = if random.u32(0..5) == 0 { 2 } else { 1 };
        let mut picks: Vec<Pick<'a>> = (0..many).map(|_| self.pick(random)).collect();
        if random.u32(0..30) == 0 {
            picks[0].pool = None;
        }
        picks
    }

    /// Picks that name what the person may have; perhaps of what was picked before.
    fn parts(&self, random: &mut Rng, before: &[Pick<'a>]) -> Vec<Pick<'a>> {
        let named = before.iter().find_map(|pick| match &pick.wanted {
            Wanted::Units(names) => names.first(),
            Wanted::Quantity { .. } | Wanted::Best(_) => None,
        });
        match named {
            Some(name) if random.u32(0..4) > 0 => vec![self.units(&[name], None)],
            _ => vec![self.units(&[self.venue.random_seat(random)], None)],
        }
    }
}

impl Plan {
    /// Returns some of the campaigns a venue, and has people come there.
    pub(super) fn draw_venues(&mut self, random: &mut Rng) {
        if random.bool() {
            return;
        }
        for number in 0..self.campaigns.len() {
            if number > 0 && random.bool() {
                continue;
            }
            let campaign = &mut self.campaigns[number];
            let venue = Venue::draw(random);
            campaign.venue = Some(venue.clone());
            campaign.holding = holding(random);
            if campaign.limit.is_some() {
                campaign.limit = Some(random.u32(1..=6));
            }
            self.draw_visitors(random, number, &venue);
        }
    }

    fn on(&mut self, random: &mut Rng, at: Duration, command: &Command<'_>, wait: Duration) {
        let command = Encoded::new(command).expect("people ask for what a body can carry");
        self.ask(random, at, Want::On { command, wait });
    }

    fn draw_visitors(&mut self, random: &mut Rng, number: usize, venue: &Venue) {
        let campaign = self.campaigns[number].clone();
        let hall = campaign.pool(campaign.pools.len());
        let shopper = Shopper { venue, campaign: &campaign.name, counted: &campaign.pools, hall };
        if let Some(import) = venue.import(&campaign.name, hall) {
            let at = between(random, 50, 900);
            self.ask(random, at, Want::On { command: import, wait: Duration::ZERO });
            self.insist();
        }
        let bursts: Vec<Duration> = (0..random.u32(1..4))
            .map(|_| random_moment(random, ms(600), self.ends))
            .chain([campaign.opens + ms(400)])
            .collect();
        let subjects = random.u32(2..=venue.seats.len() as u32 + 2);
        for basket in 0..random.u32(4..=venue.seats.len() as u32 * 2) {
            let at = match random.u32(0..3) {
                0 => random_moment(random, ms(500), self.ends),
                _ => bursts[random.usize(..bursts.len())] + between(random, 0, 1_500),
            };
            let subject = random.u32(..subjects);
            self.draw_basket(random, at, &shopper, (number, basket, subject));
        }
        if random.bool() {
            let at = random_moment(random, ms(800).max(campaign.opens), self.ends);
            self.draw_waits(random, at, &shopper);
        }
        for _ in 0..random.u32(0..5) {
            let at = random_moment(random, ms(600), self.ends);
            self.draw_operator(random, at, &shopper);
        }
        // Who claims where units are held first.
        for _ in 0..random.u32(0..3) {
            let at = random_moment(random, ms(500), self.ends);
            let (pool, subject) = (Some(campaign.pools.len()), random.u32(..subjects));
            self.ask(random, at, Want::Claim { campaign: number, pool, subject });
        }
    }

    /// One basket, from its hold to its end.
    fn draw_basket(
        &mut self,
        random: &mut Rng,
        at: Duration,
        shopper: &Shopper<'_>,
        (number, basket, subject): (usize, u32, u32),
    ) {
        let (who, id) = (format!("s{subject}"), format!("h{basket}"));
        let picks = shopper.picks(random);
        let wait = if random.u32(0..3) == 0 { between(random, 300, 3_000) } else { ms(0) };
        // Some were said to be allowed only so many.
        let limit = (random.u32(0..12) == 0).then(|| random.u32(1..=3));
        let campaign = shopper.campaign;
        let hold = |picks| Command::Hold { campaign, id: &id, subject: &who, picks, limit };
        self.on(random, at, &hold(picks.clone()), wait);
        if random.u32(0..4) == 0 {
            // The same again, or something else under the same id.
            let again = at + between(random, 0, 8_000);
            let same = random.u32(0..6) > 0;
            let picks = if same { picks.clone() } else { shopper.picks(random) };
            self.on(random, again, &hold(picks), ms(0));
        }
        let ttl = self.campaigns[number].holding.ttl_us.unsigned_abs() / 1_000;
        let mut now = at + between(random, 10, ttl / 2);
        if random.u32(0..4) == 0 {
            let add = if random.u32(0..4) > 0 { shopper.picks(random) } else { Vec::new() };
            let drops = add.is_empty() || random.bool();
            let drop = if drops { shopper.parts(random, &picks) } else { Vec::new() };
            let step = step(random, campaign, &id, &who);
            self.on(random, now, &Command::Change { step, add, drop, limit }, ms(0));
            now += between(random, 10, ttl / 2);
        }
        if random.u32(0..4) == 0 {
            let by_us = random.bool().then(|| random.i64(1_000..20_000_000));
            let step = step(random, campaign, &id, &who);
            self.on(random, now, &Command::Extend { step, by_us }, ms(0));
            // The same again, after an answer that came or was lost; drawn apart, so that the rest stays as it was.
            let apart = &mut Rng::with_seed(self.seed ^ u64::from(basket) ^ 0xe47e_0f00_0000_0000);
            if apart.u32(0..3) == 0 {
                let again = now + between(apart, 0, ttl / 2);
                self.on(apart, again, &Command::Extend { step, by_us }, ms(0));
            }
            now += between(random, 10, ttl / 2);
        }
        if random.u32(0..5) == 0 {
            let all = random.bool();
            let units = if all { Vec::new() } else { shopper.parts(random, &picks) };
            let step = step(random, campaign, &id, &who);
            self.on(random, now, &Command::Release { step, units }, ms(0));
            now += between(random, 10, ttl / 2);
        }
        for _ in 0..random.u32(0..3) {
            // Some pay when it is nearly too late, some when it is.
            let paid = match random.u32(0..3) {
                0 => now,
                1 => (at + ms(ttl) + between(random, 0, 200)).saturating_sub(ms(100)),
                _ => now + between(random, 0, ttl * 2),
            };
            let all = random.u32(0..4) > 0;
            let units = if all { Vec::new() } else { shopper.parts(random, &picks) };
            let late = if random.bool() { Late::Retake } else { Late::Refuse };
            let other = format!("s{}", subject + 1);
            let whose = if random.u32(0..20) == 0 { &*other } else { &*who };
            let step = step(random, campaign, &id, whose);
            self.on(random, paid, &Command::Confirm { step, units, late }, ms(0));
            if random.u32(0..5) == 0 {
                let later = paid + between(random, 100, 6_000);
                let pool = self.campaigns[number].pools.len();
                let (names_pool, operator) = (true, random.u32(0..4) == 0);
                let want = Want::Cancel { campaign: number, pool, names_pool, subject, operator };
                self.ask(random, later, want);
            }
        }
    }

    /// Some wait for the same few seats at one node, until the holder gives them back.
    fn draw_waits(&mut self, random: &mut Rng, at: Duration, shopper: &Shopper<'_>) {
        let seats = &shopper.venue.seats;
        let from = random.usize(..seats.len());
        let names: Vec<&str> = seats[from..].iter().take(3).map(|seat| &*seat.name).collect();
        let front = random.usize(..self.nodes);
        let mut last = Duration::ZERO;
        for index in 0..random.u32(3..7) {
            let first = random.usize(..names.len());
            let many = if index == 0 { names.len() } else { random.usize(1..=names.len() - first) };
            let some = if index == 0 { &names[..] } else { &names[first..first + many] };
            let (campaign, id) = (shopper.campaign, &*format!("line{index}"));
            let (subject, picks) = (&*format!("w{index}"), vec![shopper.units(some, None)]);
            let hold = Command::Hold { campaign, id, subject, picks, limit: None };
            let wait = if index == 0 { ms(0) } else { between(random, 500, 3_000) };
            self.on(random, at + last, &hold, wait);
            if random.u32(0..8) > 0 {
                self.at(front);
            }
            last += between(random, 1, 150);
        }
        for index in 0..random.u32(1..4) {
            let given_back = at + last + between(random, 0, 1_500);
            let (hold, subject) = (&*format!("line{index}"), &*format!("w{index}"));
            let step = Step { campaign: shopper.campaign, hold, subject, id: None };
            let release = Command::Release { step, units: Vec::new() };
            self.on(random, given_back, &release, ms(0));
            if random.u32(0..3) == 0 {
                let behind = &*format!("w{}", random.u32(index + 1..7));
                let barred = given_back.saturating_sub(between(random, 0, 20));
                self.bar_for_a_moment(random, barred, (front, shopper.campaign, behind));
            }
        }
    }

    /// In some worlds people wait for seats at a node that does not know them yet, because it makes them itself or hears nothing
    /// meanwhile. One of the seats is held, most of them want it with others.
    pub(super) fn draw_early(&mut self, random: &mut Rng) {
        let is_early =
            |campaign: &&PlannedCampaign| campaign.venue.is_some() && campaign.opens < ms(900);
        let Some(campaign) = self.campaigns.iter().find(is_early).cloned() else { return };
        let (Some(venue), Some(import)) = (&campaign.venue, self.import_of(&campaign.name)) else {
            return;
        };
        if random.u32(0..3) > 0 {
            return;
        }
        let hall = campaign.pool(campaign.pools.len());
        let shopper = Shopper { venue, campaign: &campaign.name, counted: &campaign.pools, hall };
        let (front, begins) = (random.usize(..self.nodes), import.saturating_sub(ms(300)));
        let direction =
            *random.choice([Cut::Both, Cut::There, Cut::Back].iter()).unwrap_or(&Cut::Both);
        if random.u32(0..3) > 0 {
            let time = between(random, 300, 2_500);
            self.add_fault(begins, Fault::Cut { slot: front, time, direction });
        }
        let from = random.usize(..venue.seats.len());
        let names: Vec<&str> = venue.seats[from..].iter().take(3).map(|seat| &*seat.name).collect();
        for index in 0..random.u32(4..9) {
            let first = random.usize(..names.len());
            let many = if index == 0 { 1 } else { random.usize(1..=names.len() - first) };
            let (id, subject) = (&*format!("early{index}"), &*format!("e{index}"));
            let picks = vec![shopper.units(&names[first..first + many], None)];
            let hold =
                Command::Hold { campaign: shopper.campaign, id, subject, picks, limit: None };
            let wait = if index == 0 { ms(0) } else { between(random, 1_000, 3_000) };
            let at = begins + between(random, 0, 1_500);
            self.on(random, at, &hold, wait);
            if index > 0 {
                self.at(front);
            }
        }
        let (hold, subject) = ("early0", "e0");
        let step = Step { campaign: shopper.campaign, hold, subject, id: None };
        let release = Command::Release { step, units: Vec::new() };
        let at = begins + between(random, 1_500, 3_500);
        self.on(random, at, &release, ms(0));
    }

    /// Returns when somebody asks for the seats of a campaign.
    fn import_of(&self, name: &str) -> Option<Duration> {
        let imports = |what: &What| match what {
            What::Ask(Ask { want: Want::On { command, .. }, .. }) => {
                matches!(command.command(), Command::Seats { campaign, .. } if campaign == name)
            }
            What::Ask(_) | What::Fault(_) => false,
        };
        self.steps.iter().find(|step| imports(&step.what)).map(|step| step.at)
    }

    fn draw_operator(&mut self, random: &mut Rng, at: Duration, shopper: &Shopper<'_>) {
        let (campaign, pool, reason, order) = (shopper.campaign, shopper.hall, "", DESK);
        if random.bool() {
            let (from, to) = (shopper.venue.random_seat(random), shopper.venue.random_seat(random));
            let seat = Command::Move { campaign, pool, from, to, reason, order };
            return self.on(random, at, &seat, ms(0));
        }
        let unit = if random.u32(0..4) == 0 { "GA" } else { shopper.venue.random_seat(random) };
        let units = vec![shopper.units(&[unit], None)];
        for (at, blocked) in [(at, true), (at + between(random, 100, 6_000), false)] {
            let units = units.clone();
            let block = Command::Block { campaign, units, blocked, reason, order };
            self.on(random, at, &block, ms(0));
        }
    }
}
