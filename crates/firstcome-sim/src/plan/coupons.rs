//! People with codes: they claim them, reserve, redeem, roll back and give back, under their own reference and under
//! others, type wrong ones, and race; operators revoke, suspend, restore and replace codes, and import them in parts.

use super::draw::{between, ms, random_moment};
use super::{Cut, Fault, Plan, Want};
use crate::history::Durability;
use fastrand::Rng;
use firstcome_core::Command;
use firstcome_core::codes::CodeVerdict;
use firstcome_core::command::{CodeCommand, Order};
use firstcome_node::intake::CodeVerb;
use std::time::Duration;

/// People who come for codes: they claim other things, too.
const PEOPLE: u32 = 8;
/// References under which codes are used.
const REFERENCES: u32 = 5;

/// How the codes of a pool are.
#[derive(Clone, Debug)]
pub struct Codes {
    /// Whether an operator brings them; else they are generated.
    pub imported: bool,
    /// How often each can be redeemed.
    pub uses: u32,
    /// How many uses one subject may have.
    pub each: Option<u32>,
    /// Until when they are valid, after the beginning.
    pub until: Option<Duration>,
    /// How long each is valid after it was issued.
    pub valid_for: Option<Duration>,
    /// Whether nobody but its holder may redeem one.
    pub only_by_holder: bool,
    /// How many may wait for one.
    pub waitlist: Option<u32>,
}

/// What somebody wants of the codes of a pool.
#[derive(Clone, Debug)]
pub struct CouponWant {
    pub campaign: usize,
    pub pool: usize,
    pub what: CouponStep,
}

/// What somebody wants of a code.
#[derive(Clone, Debug)]
pub enum CouponStep {
    /// To do something with a code that somebody was shown.
    Use {
        /// Who was shown it.
        subject: u32,
        /// How many codes before the last one.
        before: usize,
        /// What to do.
        verb: CodeVerb,
        /// Under which reference.
        reference: String,
        /// Who is said to use it.
        user: Option<u32>,
    },
    /// The same with a code that nobody was given.
    Guess {
        /// What to do.
        verb: CodeVerb,
        /// Of a generated code, which unit it is said to be.
        unit: u32,
    },
    /// To revoke, suspend or restore the code of somebody.
    Mark {
        /// Whose.
        subject: u32,
        /// What is decided.
        verdict: CodeVerdict,
    },
    /// To replace the code of somebody.
    Reissue {
        /// Whose.
        subject: u32,
    },
    /// To bring lines of a file.
    Stage {
        import: String,
        /// Which line is the first.
        first: u32,
        lines: Vec<String>,
    },
}

impl Codes {
    fn draw(random: &mut Rng, ends: Duration) -> Self {
        Self {
            imported: random.u32(0..3) == 0,
            uses: *random.choice([1, 1, 1, 2, 3].iter()).unwrap_or(&1),
            each: (random.u32(0..5) == 0).then(|| random.u32(1..4)),
            until: (random.u32(0..5) == 0).then(|| random_moment(random, ms(3_000), ends)),
            valid_for: (random.u32(0..3) == 0).then(|| between(random, 1_000, 9_000)),
            only_by_holder: random.u32(0..4) == 0,
            waitlist: (random.u32(0..4) == 0).then(|| random.u32(0..5)),
        }
    }
}

impl Plan {
    /// Makes pools of most worlds pools of codes, and adds such people.
    pub(super) fn draw_coupons(&mut self, random: &mut Rng) {
        if random.u32(0..3) == 0 {
            return;
        }
        for number in 0..self.campaigns.len() {
            if number > 0 && random.bool() {
                continue;
            }
            let pool = random.usize(..self.campaigns[number].pools.len());
            let codes = Codes::draw(random, self.ends);
            let campaign = &mut self.campaigns[number];
            campaign.codes.resize(campaign.pools.len(), None);
            campaign.codes[pool] = Some(codes.clone());
            if codes.imported {
                self.draw_imports(random, (number, pool));
            }
            for subject in 0..random.u32(2..PEOPLE) {
                self.draw_life(random, (number, pool), subject);
            }
            for _ in 0..random.u32(0..4) {
                self.draw_race(random, (number, pool));
            }
        }
    }

    fn coupon(&mut self, random: &mut Rng, at: Duration, of: (usize, usize), what: CouponStep) {
        let (campaign, pool) = of;
        self.ask(random, at, Want::Coupon(CouponWant { campaign, pool, what }));
    }

    /// Somebody claims a code, and this and that is done with it.
    fn draw_life(&mut self, random: &mut Rng, of: (usize, usize), subject: u32) {
        let (campaign, pool) = of;
        let opens = self.campaigns[campaign].opens;
        let mut at = random_moment(random, opens.max(ms(500)), self.ends.max(opens + ms(900)));
        let claim = Want::Claim { campaign, pool: Some(pool), subject };
        self.ask(random, at, claim.clone());
        self.draw_expiry(random, (at, of), subject);
        for _ in 0..random.u32(2..10) {
            let most = *random.choice([300, 1_500, 5_000].iter()).unwrap_or(&300);
            at += between(random, 20, most);
            let what = match random.u32(0..24) {
                0 => {
                    let unit = random.u32(1..5);
                    CouponStep::Guess { verb: verb(random), unit }
                }
                1 | 2 => {
                    let verdict = CodeVerdict::ALL[random.usize(..3)];
                    CouponStep::Mark { subject, verdict }
                }
                3 => {
                    self.coupon(random, at, of, CouponStep::Reissue { subject });
                    at += between(random, 20, 900);
                    self.ask(random, at, claim.clone());
                    continue;
                }
                4 | 5 => {
                    let (names_pool, operator) = (true, random.u32(0..4) == 0);
                    let cancel = Want::Cancel { campaign, pool, names_pool, subject, operator };
                    self.ask(random, at, cancel);
                    continue;
                }
                6 => {
                    self.ask(random, at, claim.clone());
                    continue;
                }
                _ => draw_use(random, subject),
            };
            self.coupon(random, at, of, what);
        }
    }

    /// A code is redeemed in time, and rolled back when it has expired; or it was reserved in time, and is redeemed then.
    fn draw_expiry(
        &mut self,
        random: &mut Rng,
        (at, of): (Duration, (usize, usize)),
        subject: u32,
    ) {
        let codes = self.campaigns[of.0].codes.get(of.1).cloned().flatten();
        let Some(valid) = codes.and_then(|codes| codes.valid_for) else { return };
        let reference = reference(random);
        let redeems = random.bool();
        let first = match redeems {
            true => CodeVerb::Redeem,
            false => CodeVerb::Reserve { ttl_us: 20_000_000 },
        };
        let then = if redeems { CodeVerb::RollBack } else { CodeVerb::Redeem };
        let begins = at + between(random, 30, 700);
        let over = at + valid + between(random, 0, 1_500);
        for (at, verb) in [(begins, first), (over, then), (over + ms(400), CodeVerb::Redeem)] {
            let (reference, before, user) = (reference.clone(), 0, Some(subject));
            let step = CouponStep::Use { subject, before, verb, reference, user };
            self.coupon(random, at, of, step);
        }
    }

    /// Several want the last use of a code at one instant, on several nodes.
    fn draw_race(&mut self, random: &mut Rng, of: (usize, usize)) {
        let at = random_moment(random, ms(900), self.ends);
        let subject = random.u32(..PEOPLE);
        for _ in 0..random.u32(2..5) {
            let at = at + between(random, 0, 30);
            let reference = reference(random);
            let verb = if random.u32(0..3) > 0 { CodeVerb::Redeem } else { verb(random) };
            let (before, user) = (0, None);
            let step = CouponStep::Use { subject, before, verb, reference, user };
            self.coupon(random, at, of, step);
        }
    }

    /// An operator imports files, a part at a time; some parts come again, and some files come twice.
    fn draw_imports(&mut self, random: &mut Rng, of: (usize, usize)) {
        let mut at = between(random, 300, 900);
        for file in 0..random.u32(1..4) {
            // The later ones spell their codes otherwise, and in the last one the spelling counts.
            let import = if file < 2 { format!("file-{file}") } else { format!("exact-{file}") };
            let letter = if file == 0 { 'T' } else { 't' };
            let first = random.u32(0..2) * random.u32(0..12);
            let lines: Vec<String> = (first..first + random.u32(2..14))
                .map(|n| if random.u32(0..12) == 0 { "T1".into() } else { format!("{letter}{n}") })
                .collect();
            let parts = random.usize(1..=4);
            // Whoever brings it is killed in the middle, and begins again.
            for again in 0..random.u32(1..3) {
                let all = lines.chunks(parts).zip((0..).step_by(parts));
                for (nth, (lines, first)) in all.enumerate() {
                    if again == 0 && nth > 0 && random.u32(0..12) == 0 {
                        break;
                    }
                    let (import, lines) = (import.clone(), lines.to_vec());
                    let stage = CouponStep::Stage { import, first, lines };
                    self.coupon(random, at, of, stage);
                    at += between(random, 30, 300);
                }
            }
            for _ in 0..random.u32(1..4) {
                self.draw_end_of_import(random, (at, of), (&import, lines.len() as u32));
                at += between(random, 20, 600);
            }
            at = random_moment(random, at, self.ends.max(at + ms(200)));
            if random.u32(0..12) == 0 {
                let (campaign, pool) = self.names(of);
                let (import, order, reason) = (&*import, DESK, "printed twice");
                let (campaign, pool) = (&*campaign, &*pool);
                let revoke = CodeCommand::RevokeImport { campaign, pool, import, reason, order };
                self.wants(random, at, &Command::Code(revoke));
            }
        }
    }

    fn draw_end_of_import(
        &mut self,
        random: &mut Rng,
        (at, of): (Duration, (usize, usize)),
        (import, lines): (&str, u32),
    ) {
        let (campaign, pool) = self.names(of);
        let (campaign, pool, order) = (&*campaign, &*pool, DESK);
        let end = match random.u32(0..12) {
            0 => CodeCommand::Discard { campaign, pool, import, order },
            _ => CodeCommand::Commit { campaign, pool, import, lines, order },
        };
        self.wants(random, at, &Command::Code(end));
    }

    /// Pools with imported codes lose the newest claims once, and others are given those codes.
    pub(super) fn draw_lost_codes(&mut self, random: &mut Rng) {
        for campaign in 0..self.campaigns.len() {
            let imported = |codes: &Option<Codes>| codes.as_ref().is_some_and(|it| it.imported);
            let pool = self.campaigns[campaign].codes.iter().position(imported);
            if let Some(pool) = pool.filter(|_| self.nodes > 1) {
                self.lose_codes(random, (campaign, pool));
            }
        }
    }

    /// Some are given codes, which an operator replaces, or they give them back; then the store goes on without that, and
    /// a node that has not heard of it gives the same codes to others before the rest reach the store.
    fn lose_codes(&mut self, random: &mut Rng, (campaign, pool): (usize, usize)) {
        let opens = self.campaigns[campaign].opens.max(ms(1_500));
        let at = random_moment(random, opens, self.ends.max(opens + ms(900)));
        let gone = at + between(random, 900, 1_900);
        if self.copies > 0 {
            self.add_fault(at, Fault::Lag { copy: 0, time: gone - at + ms(500) });
            self.add_fault(gone, Fault::Promote { copy: 0, lingers: None });
        } else if self.durability == Durability::Memory {
            self.add_fault(gone, Fault::OldFile { age: gone - at });
        } else {
            return;
        }
        let late = random.usize(..self.nodes);
        for slot in 0..self.nodes {
            let (from, time) = match slot == late {
                true => (at, gone - at),
                false => (gone, between(random, 1_000, 6_000)),
            };
            self.add_fault(from, Fault::Cut { slot, time, direction: Cut::Both });
        }
        for subject in 0..PEOPLE {
            if random.bool() {
                let slot = (late + random.usize(1..self.nodes)) % self.nodes;
                let at = at + between(random, 50, 300);
                self.draw_lost_life(random, at, (campaign, pool), (subject, slot));
            }
        }
        for _ in 0..random.u32(1..5) {
            let (at, subject) = (gone + between(random, 0, 900), random.u32(..PEOPLE * 2));
            self.ask(random, at, Want::Claim { campaign, pool: Some(pool), subject });
            self.at(late);
        }
    }

    /// Somebody asks a node for a code, and may then be given another one.
    fn draw_lost_life(
        &mut self,
        random: &mut Rng,
        mut at: Duration,
        (campaign, pool): (usize, usize),
        (subject, slot): (u32, usize),
    ) {
        let claim = Want::Claim { campaign, pool: Some(pool), subject };
        let between_claims = match random.u32(0..4) {
            0 | 1 => {
                let what = CouponStep::Reissue { subject };
                Some(Want::Coupon(CouponWant { campaign, pool, what }))
            }
            2 => {
                let (names_pool, operator) = (true, false);
                Some(Want::Cancel { campaign, pool, names_pool, subject, operator })
            }
            _ => None,
        };
        let again = between_claims.as_ref().map(|_| claim.clone());
        for want in [Some(claim), between_claims, again].into_iter().flatten() {
            self.ask(random, at, want);
            self.at(slot);
            at += between(random, 30, 250);
        }
    }

    fn names(&self, (campaign, pool): (usize, usize)) -> (String, String) {
        let campaign = &self.campaigns[campaign];
        (campaign.name.clone(), campaign.pool(pool).to_owned())
    }
}

/// Who gives operator commands.
const DESK: Order<'static> = Order { id: None, who: "desk" };

fn reference(random: &mut Rng) -> String {
    format!("order-{}", random.u32(..REFERENCES))
}

fn verb(random: &mut Rng) -> CodeVerb {
    match random.u32(0..10) {
        0..=3 => CodeVerb::Reserve { ttl_us: random.i64(1_000_000..9_000_000) },
        4..=6 => CodeVerb::Redeem,
        7 | 8 => CodeVerb::RollBack,
        _ => CodeVerb::EndReservation,
    }
}

fn draw_use(random: &mut Rng, subject: u32) -> CouponStep {
    let user = match random.u32(0..6) {
        0 => Some(random.u32(..PEOPLE)),
        1 | 2 => Some(subject),
        _ => None,
    };
    let before = usize::from(random.u32(0..6) == 0);
    let (verb, reference) = (verb(random), reference(random));
    CouponStep::Use { subject, before, verb, reference, user }
}
