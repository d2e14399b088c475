//! The judge's own rules for waitlists: everybody in one list, looked through from its beginning every time.

use super::campaign::Campaign;
use super::hall::Unit;
use super::holding::{Fate, Hold, Made, Said, Take, Turn};
use super::wanted::{Wanted, refused};
use firstcome_core::command::{BestPick, Mark, Wish};
use firstcome_core::outcome::{Missing, UnitName};
use firstcome_core::results::Kind;
use firstcome_core::{Command, Outcome, Refusal};

/// Offers after which somebody is off the list who took none.
const OFFERS: u8 = 3;
/// How many may wait where nothing else is said.
const MOST: u32 = 100_000;

/// One who waits.
#[derive(Clone, Debug)]
pub(super) struct Waiter<'a> {
    pub(super) pool: usize,
    pub(super) subject: &'a str,
    wish: Wish<'a>,
    limit: Option<u32>,
    missed: u8,
    passed_over: bool,
    entry: usize,
}

/// What an offer was for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer<'a> {
    pool: usize,
    wish: Wish<'a>,
    missed: u8,
    /// Whether it is settled what became of the subject.
    over: bool,
}

impl<'a> Campaign<'a> {
    pub(super) fn is_anybody_listed(&self) -> bool {
        let offered = |hold: &Hold<'_>| hold.live && hold.offer.is_some();
        !self.lists.is_empty() || self.holds.iter().any(offered)
    }

    /// Says whether somebody waits for a pool whose turn comes when the campaign goes on.
    pub(super) fn has_somebody_first(&self, pool: usize) -> bool {
        self.untried.contains(&pool) && self.lists.iter().any(|waiter| waiter.pool == pool)
    }

    pub(super) fn listed_pool(&self, pool: Option<&str>) -> Result<usize, Outcome> {
        match pool {
            None if self.pools.len() > 1 => Err(Refusal::PoolRequired.into()),
            None => Ok(0),
            Some(pool) => self.pool_index(pool).ok_or(Refusal::NotFound(Missing::Pool).into()),
        }
    }

    /// Returns the live offer of a subject.
    pub(super) fn offer_of(&self, pool: usize, subject: &str) -> Option<usize> {
        let is = |hold: &Hold<'_>| hold.offer.is_some_and(|offer| offer.pool == pool);
        self.holds.iter().position(|hold| hold.live && hold.subject == subject && is(hold))
    }

    fn place(&self, at: usize) -> Said {
        let waiter = &self.lists[at];
        let ahead = self.lists[..at].iter().filter(|other| other.pool == waiter.pool).count();
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        let (quantity, passed_over) = (waiter.wish.quantity, waiter.passed_over);
        (Outcome::Waitlisted { ahead, quantity, passed_over }, waiter.entry)
    }

    pub(super) fn join(
        &mut self,
        turn: &Turn,
        command: &Command<'a>,
        made: &mut Vec<Made<'a>>,
    ) -> Result<Said, Said> {
        let Command::Join { pool, subject, wish, limit, .. } = command else {
            unreachable!("somebody joins");
        };
        let no = |outcome: Outcome| turn.says(outcome);
        let pool = self.listed_pool(*pool).map_err(no)?;
        let seated = self.pools[pool].hall.is_some();
        let coded = self.pools[pool].coupons.is_some();
        if let Some((rank, row)) = self.pools[pool].live(subject).filter(|_| !seated) {
            return Err((self.already_won(pool, rank, row.at), row.entry));
        }
        let is = |waiter: &Waiter<'_>| (waiter.pool, waiter.subject) == (pool, subject);
        if let Some(at) = self.lists.iter().position(is) {
            return Err(turn.says(self.place(at).0));
        }
        if let Some(at) = self.offer_of(pool, subject) {
            return Err(turn.says(Outcome::Offered(self.holding(turn, at))));
        }
        self.check_barred(subject).map_err(no)?;
        let gave_up =
            self.pools[pool].live(subject).is_none() && self.pools[pool].latest(subject).is_some();
        if gave_up && !self.settings.claim_again {
            return Err(turn.says(Refusal::AlreadyCancelled));
        }
        self.check_admitted(turn.at, subject).map_err(no)?;
        if !seated && *wish != (Wish { quantity: wish.quantity, ..Wish::units(1) }) {
            return Err(turn.says(Refusal::NotSeated));
        }
        if let Some(hall) = &self.pools[pool].hall {
            let missing = wish.grade.filter(|grade| !hall.has_grade(grade));
            if let Some(missing) = missing {
                let pool = self.settings.pools[pool].name.clone();
                let unit = UnitName { pool, unit: Some(missing.into()) };
                return Err(turn.says(refused(Refusal::NoSuchUnit, vec![unit])));
            }
        }
        if coded && wish.quantity > 1 {
            return Err(turn.says(Refusal::LimitReached));
        }
        let mut wanted = Wanted::default();
        wanted.counts.push((pool, Unit::Counted, wish.quantity));
        self.check_limits(subject, &wanted, *limit).map_err(no)?;
        let most = self.settings.pools[pool].waitlist.unwrap_or(MOST);
        if let Some(units) = self.fitting(pool, wish) {
            if !seated && !coded && wish.quantity == 1 {
                let at = turn.at;
                let rank = self.give(turn.entry, at, pool, subject);
                let kind = Kind::Claim;
                let (unit, hold, from) = (None, None, None);
                made.push(Made { kind, pool, rank, subject, unit, hold, from });
                return Ok(turn.says(self.won(pool, rank, at)));
            }
            if most > 0 {
                if !self.keeps_grades(subject, &units) {
                    return Err(turn.says(Refusal::LimitReached));
                }
                let offer = Offer { pool, wish: *wish, missed: 0, over: false };
                let at = self.offer(turn, subject, offer, *limit, &units);
                return Ok(turn.says(Outcome::Offered(self.holding(turn, at))));
            }
        }
        if most == 0 {
            return Err(turn.says(Refusal::NoWaitlist));
        }
        let offers =
            |hold: &&Hold<'_>| hold.live && hold.offer.is_some_and(|offer| offer.pool == pool);
        let on_it = self.lists.iter().filter(|waiter| waiter.pool == pool).count()
            + self.holds.iter().filter(offers).count();
        if on_it >= most as usize {
            return Err(turn.says(Refusal::WaitlistFull));
        }
        let (limit, entry) = (*limit, turn.entry);
        let waiter =
            Waiter { pool, subject, wish: *wish, limit, missed: 0, passed_over: false, entry };
        self.lists.push(waiter);
        self.pass_over(pool, wish);
        Ok(self.place(self.lists.len() - 1))
    }

    pub(super) fn leave(
        &mut self,
        turn: &Turn,
        pool: Option<&str>,
        subject: &str,
    ) -> Result<Said, Said> {
        let pool = self.listed_pool(pool).map_err(|no| turn.says(no))?;
        let before = self.lists.len();
        self.lists.retain(|waiter| (waiter.pool, waiter.subject) != (pool, subject));
        let offer = self.offer_of(pool, subject);
        if let Some(at) = offer {
            for take in 0..self.holds[at].takes.len() {
                let Take { pool, unit, fate } = self.holds[at].takes[take];
                if fate == Fate::Held {
                    self.holds[at].takes[take].fate = Fate::Released;
                    self.put_back(pool, unit);
                }
            }
            let hold = &mut self.holds[at];
            (hold.live, hold.entry) = (false, turn.entry);
            if let Some(offer) = &mut hold.offer {
                offer.over = true;
            }
        }
        let was_on = offer.is_some() || self.lists.len() < before;
        Ok(turn.says(Outcome::LeftWaitlist { was_on }))
    }

    /// Takes off the list whose offer was confirmed after it had expired.
    pub(super) fn is_late_and_served(&mut self, at: usize) {
        let hold = &self.holds[at];
        let (Some(offer), subject) = (hold.offer, hold.subject) else { return };
        if offer.over {
            self.lists.retain(|waiter| (waiter.pool, waiter.subject) != (offer.pool, subject));
        }
    }

    /// Decides what becomes of those whose offers have ended, then of what is free.
    pub(super) fn serve_lists(&mut self, turn: &Turn, made: &mut Vec<Made<'a>>) {
        self.end_offers(turn, made);
        if self.is_closed(turn.at) {
            let mut waiting = std::mem::take(&mut self.lists);
            // Pool by pool, as their results are numbered; in each as they joined.
            waiting.sort_by_key(|waiter| waiter.pool);
            for waiter in waiting {
                made.push(unserved(waiter.pool, waiter.subject));
            }
        } else if !self.paused {
            (0..self.pools.len()).for_each(|pool| self.serve_list(turn, pool, made));
            self.untried.clear();
        }
    }

    fn end_offers(&mut self, turn: &Turn, made: &mut Vec<Made<'a>>) {
        let ended = |hold: &Hold<'_>| !hold.live && hold.offer.is_some_and(|offer| !offer.over);
        let mut all: Vec<usize> =
            (0..self.holds.len()).filter(|at| ended(&self.holds[*at])).collect();
        all.sort_by_key(|at| (self.holds[*at].deadline, *at));
        for at in all {
            let hold = &mut self.holds[at];
            let Some(offer) = &mut hold.offer else { continue };
            offer.over = true;
            let (offer, subject, limit) = (*offer, hold.subject, hold.limit);
            let taken = hold.has(|fate| matches!(fate, Fate::Confirmed(_)));
            let missed = offer.missed + 1;
            if taken || self.check_barred(subject).is_err() {
                continue;
            }
            if missed >= OFFERS || self.is_closed(turn.at) {
                made.push(unserved(offer.pool, subject));
                continue;
            }
            let (pool, wish, entry) = (offer.pool, offer.wish, turn.entry);
            let passed_over = false;
            self.lists.push(Waiter { pool, subject, wish, limit, missed, passed_over, entry });
        }
    }

    fn serve_list(&mut self, turn: &Turn, pool: usize, made: &mut Vec<Made<'a>>) {
        let mut failed: Vec<Wish<'a>> = Vec::new();
        let next = |lists: &[Waiter<'a>], failed: &[Wish<'a>]| {
            let is = |waiter: &Waiter<'a>| waiter.pool == pool && !failed.contains(&waiter.wish);
            lists.iter().position(is)
        };
        while let Some(at) = next(&self.lists, &failed) {
            let Waiter { subject, wish, limit, missed, .. } = self.lists[at].clone();
            let Some(units) = self.fitting(pool, &wish) else {
                self.pass_over(pool, &wish);
                failed.push(wish);
                continue;
            };
            self.lists.remove(at);
            let mut wanted = Wanted::default();
            for (_, unit) in &units {
                wanted.counts.push((pool, *unit, 1));
            }
            if self.check_limits(subject, &wanted, limit).is_err() {
                made.push(unserved(pool, subject));
                continue;
            }
            self.offer(turn, subject, Offer { pool, wish, missed, over: false }, limit, &units);
        }
    }

    /// Notes for all with a wish that something of it is free, but too little.
    fn pass_over(&mut self, pool: usize, wish: &Wish<'_>) {
        let one = Wish { quantity: 1, adjacent: false, ..*wish };
        if wish.quantity > 1 && self.fitting(pool, &one).is_some() {
            let same =
                self.lists.iter_mut().filter(|waiter| waiter.pool == pool && waiter.wish == *wish);
            same.for_each(|waiter| waiter.passed_over = true);
        }
    }

    /// Returns free units for a wish.
    fn fitting(&self, pool: usize, wish: &Wish<'_>) -> Option<Vec<(usize, Unit)>> {
        let Some(hall) = &self.pools[pool].hall else {
            let enough = self.left(pool) >= wish.quantity;
            return enough.then(|| vec![(pool, Unit::Counted); wish.quantity as usize]);
        };
        let Wish { quantity: count, grade, channel, adjacent, .. } = *wish;
        let best = BestPick { count, grade, price: None, adjacent, accessible: false };
        let seats = hall.best(&best, channel, self.settings.holding.allow_orphans)?;
        Some(seats.into_iter().map(|seat| (pool, Unit::Seat(seat))).collect())
    }

    fn offer(
        &mut self,
        turn: &Turn,
        subject: &'a str,
        offer: Offer<'a>,
        limit: Option<u32>,
        units: &[(usize, Unit)],
    ) -> usize {
        let number = self.holds.len();
        for (pool, unit) in units {
            self.set_aside(*pool, *unit, number);
        }
        let mut takes: Vec<Take> = units
            .iter()
            .map(|(pool, unit)| Take { pool: *pool, unit: *unit, fate: Fate::Held })
            .collect();
        takes.sort_by_key(|take| (take.pool, take.unit));
        // An id lives as long as the journal that is judged, and few offers are made.
        let id: &'a str = Box::leak(format!("offer-{}", number + 1).into_boxed_str());
        self.holds.push(Hold {
            id,
            subject,
            asked: Command::Tick { mark: Mark::default() },
            started: turn.service,
            deadline: turn.service + self.settings.holding.offer_us,
            live: true,
            steps: Vec::new(),
            extended: Vec::new(),
            takes,
            retaken: false,
            refunded_at: None,
            limit,
            entry: turn.entry,
            offer: Some(offer),
        });
        number
    }
}

fn unserved<'a>(pool: usize, subject: &'a str) -> Made<'a> {
    let (kind, rank, unit, hold, from) = (Kind::Unserved, 0, None, None, None);
    Made { kind, pool, rank, subject, unit, hold, from }
}
