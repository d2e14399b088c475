//! The model's rules for waitlists: everybody in one list, looked through from its beginning every time.

use crate::campaign::ModelCampaign;
use crate::hall::{Hall, Unit};
use crate::holding::{Fate, Made, ModelHold, SaidBy, Take, Turn};
use crate::wanted::{Wanted, refused};
use firstcome_core::command::{BestPick, Wish};
use firstcome_core::outcome::UnitName;
use firstcome_core::results::Kind;
use firstcome_core::{Command, Outcome, Refusal};

/// Offers after which somebody is off the list who took none.
const OFFERS: u8 = 3;
/// How many may wait where nothing else is said.
const MOST: u32 = 100_000;

/// One who waits.
#[derive(Clone, Debug)]
pub(crate) struct ModelWaiter<'a> {
    pub(crate) pool: usize,
    pub(crate) subject: &'a str,
    wish: Wish<'a>,
    limit: Option<u32>,
    missed: u8,
    passed_over: bool,
    entry: usize,
}

/// What an offer was for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModelOffer<'a> {
    pool: usize,
    wish: Wish<'a>,
    missed: u8,
    /// Whether it is settled what became of the subject.
    over: bool,
}

impl<'a> ModelCampaign<'a> {
    pub(crate) fn is_anybody_listed(&self) -> bool {
        let offered = |hold: &ModelHold<'_>| hold.live && hold.offer.is_some();
        !self.lists.is_empty() || self.holds.iter().any(offered)
    }

    /// Says whether a unit may be for somebody whose turn comes when the campaign goes on.
    pub(crate) fn has_somebody_first(&self, pool: usize, unit: Unit) -> bool {
        let hall = self.pools[pool].hall.as_ref();
        let waits = |waiter: &ModelWaiter<'_>| {
            waiter.pool == pool
                && suits(hall, unit, &waiter.wish)
                && !self.tried.contains(&(pool, waiter.wish))
        };
        self.lists.iter().any(waits)
    }

    /// Notes that a unit came free, or that any may have: who may have it was not looked at since.
    pub(crate) fn came_free(&mut self, pool: usize, unit: Option<Unit>) {
        let hall = self.pools[pool].hall.as_ref();
        let is_no_more = |wish: &Wish<'_>| unit.is_none_or(|unit| suits(hall, unit, wish));
        self.tried.retain(|(of, wish)| *of != pool || !is_no_more(wish));
    }

    /// Notes that what is free does not do for a wish.
    fn is_tried(&mut self, pool: usize, wish: Wish<'a>) {
        if !self.tried.contains(&(pool, wish)) {
            self.tried.push((pool, wish));
        }
        self.pass_over(pool, &wish);
    }

    pub(crate) fn take_off_list(&mut self, pool: usize, subject: &str) {
        self.lists.retain(|waiter| (waiter.pool, waiter.subject) != (pool, subject));
    }

    /// Returns the live offer of a subject.
    pub(crate) fn offer_of(&self, pool: usize, subject: &str) -> Option<usize> {
        let is = |hold: &ModelHold<'_>| hold.offer.is_some_and(|offer| offer.pool == pool);
        self.holds.iter().position(|hold| hold.live && hold.subject == subject && is(hold))
    }

    fn place(&self, at: usize) -> SaidBy {
        let waiter = &self.lists[at];
        let ahead = self.lists[..at].iter().filter(|other| other.pool == waiter.pool).count();
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        let (quantity, passed_over) = (waiter.wish.quantity, waiter.passed_over);
        SaidBy::since(waiter.entry, Outcome::Waitlisted { ahead, quantity, passed_over })
    }

    pub(crate) fn join(
        &mut self,
        turn: &Turn,
        command: &Command<'a>,
        made: &mut Vec<Made<'a>>,
    ) -> Result<SaidBy, SaidBy> {
        let Command::Join { pool, subject, wish, limit, .. } = command else {
            unreachable!("somebody joins");
        };
        let pool = self.one_pool(*pool)?;
        let seated = self.pools[pool].hall.is_some();
        let coded = self.pools[pool].coupons.is_some();
        if let Some((rank, row)) = self.pools[pool].live(subject).filter(|_| !seated) {
            return Err(SaidBy::since(row.entry, self.already_won(pool, rank, row.at)));
        }
        let is = |waiter: &ModelWaiter<'_>| (waiter.pool, waiter.subject) == (pool, subject);
        if let Some(at) = self.lists.iter().position(is) {
            return Err(self.place(at).outcome.into());
        }
        if let Some(at) = self.offer_of(pool, subject) {
            return Err(Outcome::Offered(self.holding(turn, at)).into());
        }
        self.check_barred(subject)?;
        let gave_up =
            self.pools[pool].live(subject).is_none() && self.pools[pool].latest(subject).is_some();
        if gave_up && !self.settings.claim_again {
            return Err(Refusal::AlreadyCancelled.into());
        }
        self.check_admitted(turn.at, subject)?;
        if !seated && *wish != (Wish { quantity: wish.quantity, ..Wish::units(1) }) {
            return Err(Refusal::NotSeated.into());
        }
        self.check_names(pool, wish)?;
        if coded && wish.quantity > 1 {
            return Err(Refusal::LimitReached.into());
        }
        let mut wanted = Wanted::default();
        wanted.counts.push((pool, Unit::Counted, wish.quantity));
        self.check_limits(subject, &wanted, *limit)?;
        if let Some(own) = self.own_code(pool, subject) {
            let rank = self.give(turn, pool, subject, None, made);
            let coupons =
                self.pools[pool].coupons.as_mut().expect("an own code is of a coded pool");
            coupons.issue(None, Some(own), turn.entry);
            return Ok(self.won(pool, rank, turn.at).into());
        }
        let most = self.settings.pools[pool].waitlist.unwrap_or(MOST);
        if let Some(units) = self.fitting(pool, wish) {
            if !seated && !coded && wish.quantity == 1 {
                let rank = self.give(turn, pool, subject, None, made);
                return Ok(self.won(pool, rank, turn.at).into());
            }
            if most > 0 {
                if !self.keeps_grades(subject, &units) {
                    return Err(Refusal::LimitReached.into());
                }
                let offer = ModelOffer { pool, wish: *wish, missed: 0, over: false };
                let at = self.offer(turn, subject, offer, *limit, &units);
                return Ok(Outcome::Offered(self.holding(turn, at)).into());
            }
        }
        if most == 0 {
            return Err(Refusal::NoWaitlist.into());
        }
        let offers =
            |hold: &&ModelHold<'_>| hold.live && hold.offer.is_some_and(|offer| offer.pool == pool);
        let on_it = self.lists.iter().filter(|waiter| waiter.pool == pool).count()
            + self.holds.iter().filter(offers).count();
        if on_it >= most as usize {
            return Err(Refusal::WaitlistFull.into());
        }
        let (limit, entry) = (*limit, turn.entry);
        let waiter =
            ModelWaiter { pool, subject, wish: *wish, limit, missed: 0, passed_over: false, entry };
        self.lists.push(waiter);
        self.is_tried(pool, *wish);
        Ok(self.place(self.lists.len() - 1))
    }

    /// Refuses a wish for a grade or a channel that the pool does not have.
    fn check_names(&self, pool: usize, wish: &Wish<'_>) -> Result<(), Outcome> {
        if let Some(hall) = &self.pools[pool].hall {
            let missing = wish.grade.filter(|grade| !hall.has_grade(grade));
            let unknown = || wish.channel.filter(|channel| !hall.has_channel(channel));
            if let Some(missing) = missing.or_else(unknown) {
                let pool = self.settings.pools[pool].name.clone();
                let unit = UnitName { pool, unit: Some(missing.into()) };
                return Err(refused(Refusal::NoSuchUnit, vec![unit]));
            }
        }
        Ok(())
    }

    pub(crate) fn leave(
        &mut self,
        turn: &Turn,
        pool: Option<&str>,
        subject: &str,
    ) -> Result<SaidBy, SaidBy> {
        let pool = self.one_pool(pool)?;
        let before = self.lists.len();
        self.take_off_list(pool, subject);
        let offer = self.offer_of(pool, subject);
        if let Some(at) = offer {
            self.give_back(turn, at, 0..self.holds[at].takes.len(), Fate::Released);
            if let Some(offer) = &mut self.holds[at].offer {
                offer.over = true;
            }
        }
        let was_on = offer.is_some() || self.lists.len() < before;
        Ok(Outcome::LeftWaitlist { was_on }.into())
    }

    /// Takes off the list whose offer was confirmed after it had expired.
    pub(crate) fn is_late_and_served(&mut self, at: usize) {
        let hold = &self.holds[at];
        let (Some(offer), subject) = (hold.offer, hold.subject) else { return };
        if offer.over {
            self.take_off_list(offer.pool, subject);
        }
    }

    /// Decides what becomes of those whose offers have ended, then of what is free.
    pub(crate) fn serve_lists(&mut self, turn: &Turn, made: &mut Vec<Made<'a>>) {
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
        }
        let Self { tried, lists, holds, .. } = self;
        let has = |hold: &ModelHold<'_>, known: &(usize, Wish<'_>)| {
            hold.offer.is_some_and(|offer| !offer.over && (offer.pool, offer.wish) == *known)
        };
        tried.retain(|known| {
            lists.iter().any(|waiter| (waiter.pool, waiter.wish) == *known)
                || holds.iter().any(|hold| has(hold, known))
        });
    }

    fn end_offers(&mut self, turn: &Turn, made: &mut Vec<Made<'a>>) {
        let ended =
            |hold: &ModelHold<'_>| !hold.live && hold.offer.is_some_and(|offer| !offer.over);
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
            self.lists.push(ModelWaiter { pool, subject, wish, limit, missed, passed_over, entry });
        }
    }

    fn serve_list(&mut self, turn: &Turn, pool: usize, made: &mut Vec<Made<'a>>) {
        let mut failed: Vec<Wish<'a>> = Vec::new();
        let next = |lists: &[ModelWaiter<'a>], failed: &[Wish<'a>]| {
            let is =
                |waiter: &ModelWaiter<'a>| waiter.pool == pool && !failed.contains(&waiter.wish);
            lists.iter().position(is)
        };
        while let Some(at) = next(&self.lists, &failed) {
            let ModelWaiter { subject, wish, limit, missed, .. } = self.lists[at].clone();
            let Some(units) = self.fitting(pool, &wish) else {
                self.is_tried(pool, wish);
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
            self.offer(
                turn,
                subject,
                ModelOffer { pool, wish, missed, over: false },
                limit,
                &units,
            );
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
        offer: ModelOffer<'a>,
        limit: Option<u32>,
        units: &[(usize, Unit)],
    ) -> usize {
        let number = self.holds.len();
        for (pool, unit) in units {
            self.set_aside(*pool, *unit, number);
        }
        let take =
            |(pool, unit): &(usize, Unit)| Take { pool: *pool, unit: *unit, fate: Fate::Held };
        let takes = units.iter().map(take).collect();
        // An id lives as long as the process, and few offers are made.
        let id: &'a str = Box::leak(format!("offer-{}", number + 1).into_boxed_str());
        let hold = ModelHold::begin(turn, id, subject, takes, self.settings.holding.offer_us);
        self.holds.push(ModelHold { limit, offer: Some(offer), ..hold });
        number
    }
}

/// Says whether somebody with a wish may have a unit.
fn suits(hall: Option<&Hall<'_>>, unit: Unit, wish: &Wish<'_>) -> bool {
    match (hall, unit) {
        (None, _) => true,
        (Some(hall), Unit::Seat(seat)) => hall.is_for(seat, wish),
        (Some(_), Unit::Area(_) | Unit::Counted) => false,
    }
}

fn unserved<'a>(pool: usize, subject: &'a str) -> Made<'a> {
    let (kind, rank, unit, hold, from) = (Kind::Unserved, 0, None, None, None);
    Made { kind, pool, rank, subject, unit, hold, from }
}
