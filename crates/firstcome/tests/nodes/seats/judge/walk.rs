//! One hold from its beginning to its end, as its guest was told.

use super::super::heard::{Basket, Evening, Fate, Heard, Shown, Verb, Wish};
use super::super::house::{FLOOR, House};
use super::{Bounds, Breach, Promise, Span, Times};
use std::collections::{BTreeMap, BTreeSet};

const NEVER: (i64, u64) = (i64::MAX, u64::MAX);

/// A no that is about units others have.
pub(super) struct Refusal {
    pub(super) hold: String,
    pub(super) when: Bounds,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// These were asked for, those named as taken.
    Taken { asked: BTreeSet<String>, named: Basket },
    /// There was no more of what was wished.
    SoldOut(Wish),
    /// It was paid for too late, and these cannot be had.
    Refund(Basket),
}

/// What a hold came to.
pub(super) struct End {
    pub(super) hold: String,
    pub(super) subject: String,
    /// Ranks by unit.
    pub(super) ranks: BTreeMap<String, BTreeSet<u64>>,
    pub(super) refunded: Basket,
}

/// What is known of a hold by its evening.
pub(super) struct Walked {
    pub(super) spans: Vec<Span>,
    pub(super) refusals: Vec<Refusal>,
    pub(super) end: End,
}

/// Some units it has.
struct Piece {
    unit: String,
    count: u32,
    begin: Bounds,
}

/// The way through an evening.
pub(super) struct Walk<'a> {
    house: &'a House,
    times: &'a Times,
    evening: &'a Evening,
    found: &'a mut Vec<Breach>,
    walked: Walked,
    pieces: Vec<Piece>,
    /// When it is over: at the earliest, and at the latest.
    deadline: (i64, i64),
    started: i64,
    /// What became of its units, those that are still held left out.
    fates: BTreeMap<(String, &'static str), u32>,
    /// Units of which nobody can tell.
    loose: BTreeSet<String>,
    /// What was decided last.
    last: Option<&'a Heard>,
}

impl<'a> Walk<'a> {
    /// Goes through an evening.
    pub(super) fn through(
        house: &'a House,
        times: &'a Times,
        evening: &'a Evening,
        found: &'a mut Vec<Breach>,
    ) -> Walked {
        let (hold, subject) = (evening.hold.clone(), evening.subject.clone());
        let end = End { hold, subject, ranks: BTreeMap::new(), refunded: Basket::new() };
        let walked = Walked { spans: Vec::new(), refusals: Vec::new(), end };
        let mut walk = Self {
            house,
            times,
            evening,
            found,
            walked,
            pieces: Vec::new(),
            deadline: (0, 0),
            started: 0,
            fates: BTreeMap::new(),
            loose: BTreeSet::new(),
            last: None,
        };
        for heard in &evening.heard {
            if heard.again {
                walk.again(heard);
            } else {
                walk.step(heard);
                walk.last = Some(heard);
            }
        }
        walk.ends();
        walk.walked
    }

    fn breach(&mut self, promise: Promise, why: &str, heard: Option<&Heard>) {
        let about = heard.map_or(String::new(), |heard| format!(": {heard:?}"));
        let (hold, deadline) = (&self.evening.hold, self.deadline);
        let evidence = format!("hold {hold} (over at {deadline:?}) {why}{about}");
        self.found.push(Breach { promise, evidence });
    }

    fn step(&mut self, heard: &Heard) {
        match (heard.verb, &*heard.outcome) {
            (Verb::Hold, "held" | "already_held") => self.held(heard),
            (Verb::Hold, "unit_taken" | "sold_out") => self.refused(heard),
            // It was, before anybody was told: what is shown of it says what it had.
            (Verb::Hold, "hold_expired") if heard.doubt => {}
            (Verb::Add, "held" | "already_held") => self.changed(heard, true),
            (Verb::Drop, "held" | "already_held") => self.changed(heard, false),
            (Verb::Add, "unit_taken" | "sold_out") => self.refused(heard),
            (Verb::Extend, "extended") => self.extended(heard),
            (Verb::Confirm | Verb::Retake, "confirmed") => self.confirmed(heard),
            (Verb::Retake, "refund_due") => self.refund(heard),
            (Verb::Release, "released") => self.released(heard),
            (
                Verb::Add | Verb::Drop | Verb::Extend | Verb::Confirm | Verb::Release,
                "hold_expired",
            ) => {
                self.is_over_by(heard);
                if heard.doubt {
                    self.may_have_been_done(heard);
                }
            }
            _ => self.breach(Promise::Answers, "was answered strangely", Some(heard)),
        }
    }

    fn held(&mut self, heard: &Heard) {
        let Some(until) = heard.until else {
            return self.breach(Promise::Answers, "shows no end", Some(heard));
        };
        if heard.outcome == "already_held" && !heard.doubt {
            self.breach(Promise::Repeated, "was held before it was asked for", Some(heard));
        }
        if !is_whole(&heard.wish, &heard.units) {
            self.breach(Promise::WholeBaskets, "is not what was wished", Some(heard));
        }
        self.started = until - self.house.ttl;
        self.deadline = (until, until);
        // The entry of a repeated answer is not known; its time is.
        let begin = match &*heard.outcome {
            "held" => Bounds::at((self.started, heard.position)),
            _ => Bounds { lo: (self.started, 0), hi: (self.started, heard.position) },
        };
        self.begin(&heard.units, begin);
    }

    fn begin(&mut self, units: &Basket, begin: Bounds) {
        let pieces =
            units.iter().map(|(unit, count)| Piece { unit: unit.clone(), count: *count, begin });
        self.pieces.extend(pieces);
    }

    /// Returns what it has set aside.
    fn has(&self) -> Basket {
        let mut has = Basket::new();
        for piece in &self.pieces {
            *has.entry(piece.unit.clone()).or_default() += piece.count;
        }
        has
    }

    /// Ends some of what it has.
    fn end(&mut self, units: &Basket, end: Bounds, fate: &'static str) {
        for (unit, count) in units {
            let mut left = *count;
            while left > 0 {
                let Some(at) = self.pieces.iter().rposition(|piece| piece.unit == *unit) else {
                    let why = format!("{fate} {unit}, which it does not have");
                    self.breach(Promise::WholeBaskets, &why, None);
                    break;
                };
                let count = left.min(self.pieces[at].count);
                left -= count;
                self.pieces[at].count -= count;
                let begin = self.pieces[at].begin;
                if self.pieces[at].count == 0 {
                    self.pieces.remove(at);
                }
                let (hold, unit) = (self.evening.hold.clone(), unit.clone());
                *self.fates.entry((unit.clone(), fate)).or_default() += count;
                self.walked.spans.push(Span { hold, unit, count, begin, end });
            }
        }
    }

    /// Returns between which points what an answer says was decided.
    fn decided(&self, heard: &Heard) -> Bounds {
        let at = self.times.at(heard.position);
        match heard.doubt {
            false => at,
            true => Bounds { lo: self.times.at(heard.before).lo, hi: at.hi },
        }
    }

    /// Checks that it was not over when something was done with it.
    fn is_not_over_by(&mut self, heard: &Heard) {
        if self.decided(heard).lo.0 >= self.deadline.1 {
            self.breach(Promise::NotLate, "went on after its end", Some(heard));
        }
    }

    /// Checks that it was over when somebody was told so.
    fn is_over_by(&mut self, heard: &Heard) {
        if self.times.at(heard.position).hi.0 < self.deadline.0 {
            self.breach(Promise::NotEarly, "was over before its end", Some(heard));
        }
    }

    fn changed(&mut self, heard: &Heard, more: bool) {
        self.is_not_over_by(heard);
        let when = self.decided(heard);
        if more {
            self.begin(&heard.wish.units, when);
        } else {
            let end = Bounds { lo: when.lo, hi: (when.hi.0, when.hi.1 + 1) };
            self.end(&heard.wish.units, end, "dropped");
        }
        if self.has() != heard.units {
            self.breach(Promise::WholeBaskets, "has something else than it says", Some(heard));
        }
        if heard.until != Some(self.deadline.0) && self.deadline.0 == self.deadline.1 {
            self.breach(Promise::Kept, "shows another end than before", Some(heard));
        }
    }

    fn extended(&mut self, heard: &Heard) {
        self.is_not_over_by(heard);
        let most = self.started + self.house.most;
        let until = heard.until.unwrap_or_default();
        if until < self.deadline.0 || until > most {
            self.breach(Promise::Kept, "was extended to where it cannot be", Some(heard));
        }
        // One that is still on its way would extend it once more.
        let loose = heard.doubt || self.deadline.0 != self.deadline.1;
        self.deadline = (until, if loose { most } else { until });
    }

    fn confirmed(&mut self, heard: &Heard) {
        let Some(at) = heard.at else {
            return self.breach(Promise::Answers, "was confirmed at no time", Some(heard));
        };
        let wanted =
            if heard.wish.units.is_empty() { self.has() } else { heard.wish.units.clone() };
        let ranked = |(unit, count): (&String, &u32)| {
            heard.ranks.get(unit).map_or(0, BTreeSet::len) == *count as usize
        };
        if heard.units != wanted || !wanted.iter().all(ranked) {
            self.breach(Promise::WholeBaskets, "was confirmed in part", Some(heard));
        }
        let entry = if heard.doubt { (at, 0) } else { (at, heard.position) };
        if heard.retaken {
            if at < self.deadline.0 || heard.verb == Verb::Confirm {
                self.breach(Promise::NotEarly, "was taken again before its end", Some(heard));
            }
            self.expire();
            let hi = (at, if heard.doubt { u64::MAX } else { heard.position });
            self.begin(&heard.units, Bounds { lo: entry, hi });
        } else if at >= self.deadline.1 {
            self.breach(Promise::NotLate, "was confirmed after its end", Some(heard));
        }
        self.end(&heard.units, Bounds::at(NEVER), "confirmed");
        for (unit, ranks) in &heard.ranks {
            self.walked.end.ranks.entry(unit.clone()).or_default().extend(ranks);
        }
    }

    fn refund(&mut self, heard: &Heard) {
        self.is_over_by(heard);
        let has = self.has();
        if has != heard.units {
            self.breach(Promise::WholeBaskets, "is owed something else", Some(heard));
        }
        self.end(&has, self.over(), "refund_due");
        self.walked.end.refunded = has.clone();
        self.refuse(self.decided(heard), Kind::Refund(has));
    }

    fn released(&mut self, heard: &Heard) {
        self.is_not_over_by(heard);
        let wanted =
            if heard.wish.units.is_empty() { self.has() } else { heard.wish.units.clone() };
        if heard.units != wanted {
            self.breach(Promise::WholeBaskets, "was released in part", Some(heard));
        }
        let when = self.decided(heard);
        let end = Bounds { lo: when.lo, hi: (when.hi.0, when.hi.1 + 1) };
        self.end(&wanted, end, "released");
    }

    fn refuse(&mut self, when: Bounds, kind: Kind) {
        self.walked.refusals.push(Refusal { hold: self.evening.hold.clone(), when, kind });
    }

    fn refused(&mut self, heard: &Heard) {
        let seats = heard.wish.units.keys().filter(|unit| *unit != FLOOR).cloned();
        let kind = match &*heard.outcome {
            "unit_taken" => Kind::Taken { asked: seats.collect(), named: heard.units.clone() },
            _ => Kind::SoldOut(heard.wish.clone()),
        };
        self.refuse(self.times.at(heard.position), kind);
        if heard.verb == Verb::Add && heard.doubt {
            self.may_have(heard);
        }
    }

    /// Notes that a step on a hold that was over when it was decided may have been done in time, unheard.
    fn may_have_been_done(&mut self, heard: &Heard) {
        match heard.verb {
            Verb::Add => self.may_have(heard),
            Verb::Extend => self.deadline.1 = self.started + self.house.most,
            Verb::Drop | Verb::Release => {
                let lo = self.times.at(heard.before).lo;
                let end = Bounds { lo, hi: (self.deadline.1, 0) };
                self.end(&heard.wish.units, end, "dropped");
                self.loose.extend(heard.wish.units.keys().cloned());
            }
            // Confirmed once, it would have been answered so again.
            Verb::Hold | Verb::Confirm | Verb::Retake => {}
        }
    }

    /// Notes that it may have what was asked for all the same: what may have happened may also happen later.
    fn may_have(&mut self, heard: &Heard) {
        let (hold, units) = (&self.evening.hold, &heard.wish.units);
        let begin = Bounds { lo: self.times.at(heard.before).lo, hi: NEVER };
        let end = Bounds { lo: (0, 0), hi: (self.deadline.1, 0) };
        let span = |(unit, count): (&String, &u32)| Span {
            hold: hold.clone(),
            unit: unit.clone(),
            count: *count,
            begin,
            end,
        };
        self.walked.spans.extend(units.iter().map(span));
        self.loose.extend(units.keys().cloned());
    }

    /// Returns when it is over by itself.
    fn over(&self) -> Bounds {
        Bounds { lo: (self.deadline.0, 0), hi: (self.deadline.1, 0) }
    }

    fn expire(&mut self) {
        let (has, over) = (self.has(), self.over());
        self.end(&has, over, "expired");
        // What was taken again is the fate that counts.
        self.fates.retain(|(_, fate), _| *fate != "expired");
    }

    fn again(&mut self, heard: &Heard) {
        let Some(last) = self.last else {
            return self.breach(
                Promise::Answers,
                "was repeated before it was decided",
                Some(heard),
            );
        };
        let before = match &*last.outcome {
            "held" => "already_held",
            other => other,
        };
        // That a hold is over is answered later than that it is held.
        if heard.outcome == "hold_expired" && before == "already_held" {
            return self.is_over_by(heard);
        }
        let ends = |heard: &Heard| (heard.until, heard.at, heard.retaken);
        let same = heard.outcome == before
            && (&heard.units, &heard.ranks) == (&last.units, &last.ranks)
            && ends(heard) == ends(last);
        if !same {
            let why = format!("was answered {last:?} and then otherwise");
            self.breach(Promise::Repeated, &why, Some(heard));
        }
    }

    /// Compares what it came to with what is shown of it.
    fn ends(&mut self) {
        let evening = self.evening;
        let told =
            matches!(self.evening.heard.first(), Some(first) if first.outcome.ends_with("held"));
        let doubt = evening.heard.first().is_some_and(|first| first.doubt);
        match (&evening.shown, told) {
            (None, false) => {}
            (None, true) => self.breach(Promise::Kept, "was held, and there is no such hold", None),
            (Some(_), false) if !doubt => {
                self.breach(Promise::Kept, "was refused, and there is such a hold", None);
            }
            (Some(shown), false) => self.haunts(shown),
            (Some(shown), true) => {
                let (has, over) = (self.has(), self.over());
                self.end(&has, over, "expired");
                self.compare(shown);
            }
        }
    }

    /// Takes in a hold that nobody was told of: it may have happened, and it did.
    fn haunts(&mut self, shown: &Shown) {
        self.started = shown.started;
        let over = shown.started + self.house.ttl;
        self.deadline = (over, over);
        let mut units = Basket::new();
        for fate in &shown.fates {
            *units.entry(fate.unit.clone()).or_default() += fate.count;
        }
        let wish = &self.evening.heard[0].wish;
        if !is_whole(wish, &units) {
            self.breach(Promise::WholeBaskets, "is not what was wished", None);
        }
        let started = Bounds { lo: (shown.started, 0), hi: (shown.started, u64::MAX) };
        self.begin(&units, started);
        self.end(&units, self.over(), "expired");
        self.compare(shown);
    }

    fn compare(&mut self, shown: &Shown) {
        if shown.started != self.started {
            self.breach(Promise::Kept, &format!("began at {}", shown.started), None);
        }
        let mut fates = BTreeMap::<(String, &str), u32>::new();
        let mut ranks = BTreeMap::<String, BTreeSet<u64>>::new();
        for Fate { unit, count, state, rank } in &shown.fates {
            *fates.entry((unit.clone(), state)).or_default() += count;
            if let Some(rank) = rank {
                ranks.entry(unit.clone()).or_default().insert(*rank);
            }
        }
        let known = |unit: &str| !self.loose.contains(unit);
        let shown: BTreeMap<_, _> =
            fates.into_iter().filter(|((unit, _), _)| known(unit)).collect();
        // What was dropped is not shown any more.
        let told = self.fates.iter().filter(|((_, fate), _)| *fate != "dropped");
        let told: BTreeMap<_, _> = told
            .filter(|((unit, _), _)| known(unit))
            .map(|((unit, fate), count)| ((unit.clone(), *fate), *count))
            .collect();
        if shown != told || ranks != self.walked.end.ranks {
            let why = format!("is shown as {shown:?} with {ranks:?}, and was told {told:?}");
            self.breach(Promise::Kept, &why, None);
        }
    }
}

/// Says whether a hold has what was wished.
fn is_whole(wish: &Wish, units: &Basket) -> bool {
    let named = wish.units.iter().all(|(unit, count)| units.get(unit) == Some(count));
    let others = units.iter().filter(|(unit, _)| !wish.units.contains_key(*unit));
    named
        && others.map(|(unit, count)| if unit == FLOOR { u32::MAX } else { *count }).sum::<u32>()
            == wish.best
}
