//! One hold from its beginning to its end, as its subject was told.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Plan;
use super::super::promised::Promised;
use super::super::record::{Basket, Heard, HoldRecord, HoldVerb, Shown, UnitsFate, WishedUnits};
use super::times::{Bounds, Span, Times, micros};
use crate::people::Found;

const NEVER: (i64, u64) = (i64::MAX, u64::MAX);

/// A no that is about units others have.
pub(super) struct RefusedUnits {
    pub(super) hold: String,
    pub(super) when: Bounds,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// These were asked for, those named as taken.
    Taken { asked: BTreeSet<String>, named: Basket },
    /// There was no more of what was wished.
    SoldOut(WishedUnits),
    /// It was paid for too late, and these cannot be had.
    Refund(Basket),
}

/// What a hold came to.
#[derive(Default)]
pub(super) struct End {
    pub(super) hold: String,
    pub(super) subject: String,
    /// Ranks by unit.
    pub(super) ranks: BTreeMap<String, BTreeSet<u64>>,
    pub(super) refunded: Basket,
}

/// What is known of a hold by what its subject was told.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) spans: Vec<Span>,
    pub(super) refusals: Vec<RefusedUnits>,
    pub(super) end: End,
}

/// Some units it has.
struct HeldPiece {
    unit: String,
    count: u32,
    begin: Bounds,
}

/// The way along a hold.
pub(super) struct Walk<'a> {
    plan: &'a Plan,
    times: &'a Times,
    record: &'a HoldRecord,
    found: &'a mut Found,
    walked: Walked,
    pieces: Vec<HeldPiece>,
    /// When it is over: at the earliest, and at the latest.
    deadline: (i64, i64),
    /// Whether an extension may have happened that was not heard of.
    extended_unheard: bool,
    started: i64,
    /// What became of its units, those that are still held left out.
    fates: BTreeMap<(String, &'static str), u32>,
    /// Units of which nobody can tell.
    loose: BTreeSet<String>,
    /// What was decided last.
    last: Option<&'a Heard>,
}

impl<'a> Walk<'a> {
    /// Goes along a hold; compares it with what is shown of it at the end, if somebody looked.
    pub(super) fn along(
        plan: &'a Plan,
        times: &'a Times,
        (record, shown): (&'a HoldRecord, Option<&Option<Shown>>),
        found: &'a mut Found,
    ) -> Walked {
        let mut walk = Self {
            plan,
            times,
            record,
            found,
            walked: Walked::default(),
            pieces: Vec::new(),
            deadline: (0, 0),
            extended_unheard: false,
            started: 0,
            fates: BTreeMap::new(),
            loose: BTreeSet::new(),
            last: None,
        };
        walk.walked.end.hold.clone_from(&record.hold);
        walk.walked.end.subject.clone_from(&record.subject);
        for heard in &record.heard {
            if heard.again {
                walk.again(heard);
            } else {
                walk.step(heard);
                walk.last = Some(heard);
            }
        }
        walk.ends(shown);
        walk.walked
    }

    fn breach(&mut self, promise: Promised, why: &str, heard: Option<&Heard>) {
        let about = heard.map_or(String::new(), |heard| format!(": {heard:?}"));
        let (hold, deadline) = (&self.record.hold, self.deadline);
        self.found.add(promise, format!("hold {hold} (over at {deadline:?}) {why}{about}"));
    }

    /// How much longer than it says a hold may last.
    fn slack(&self) -> i64 {
        micros(self.plan.slack)
    }

    /// The longest a hold can be extended to.
    fn longest(&self) -> i64 {
        let hall = self.plan.visit.hall.as_ref();
        self.started + hall.map_or(micros(self.plan.visit.hold), |hall| micros(hall.longest))
    }

    fn step(&mut self, heard: &Heard) {
        match (heard.verb, &*heard.outcome) {
            (HoldVerb::Hold, "held" | "already_held") => self.held(heard),
            (HoldVerb::Hold, "unit_taken" | "sold_out") => self.refused(heard),
            // It was, before anybody was told: what is shown of it says what it had.
            (HoldVerb::Hold, "hold_expired") if heard.doubt => {}
            (HoldVerb::Hold, _) if self.plan.visit.hall.is_none() => {}
            (HoldVerb::Add, "held" | "already_held") => self.changed(heard, true),
            (HoldVerb::Drop, "held" | "already_held") => self.changed(heard, false),
            (HoldVerb::Add, "unit_taken" | "sold_out") => self.refused(heard),
            (HoldVerb::Extend, "extended") => self.extended(heard),
            (HoldVerb::Confirm | HoldVerb::Retake, "confirmed") => self.confirmed(heard),
            (HoldVerb::Retake, "refund_due") => self.refund(heard),
            (HoldVerb::Release, "released") => self.released(heard),
            (
                HoldVerb::Add
                | HoldVerb::Drop
                | HoldVerb::Extend
                | HoldVerb::Confirm
                | HoldVerb::Release,
                "hold_expired",
            ) => {
                self.is_over_by(heard);
                if heard.doubt {
                    self.may_have_been_done(heard);
                }
            }
            _ => self.breach(Promised::Late, "was answered strangely", Some(heard)),
        }
    }

    fn held(&mut self, heard: &Heard) {
        let Some(until) = heard.until else {
            return self.breach(Promised::Late, "shows no end", Some(heard));
        };
        if heard.outcome == "already_held" && !heard.doubt {
            self.breach(Promised::Repeats, "was held before it was asked for", Some(heard));
        }
        self.is_whole(&heard.wish, &heard.units, Some(heard));
        let units = heard.units.values().copied().sum::<u32>();
        if self.plan.visit.limit.is_some_and(|limit| units > limit) {
            self.breach(Promised::Limits, &format!("has {units} units"), None);
        }
        self.started = until - micros(self.plan.visit.hold);
        self.deadline = (until, until.saturating_add(self.slack()));
        // The entry of a repeated answer is not known; its time is.
        let begin = match &*heard.outcome {
            "held" => Bounds::at((self.started, heard.position)),
            _ => Bounds { lo: (self.started, 0), hi: (self.started, heard.position) },
        };
        self.begin(&heard.units, begin);
    }

    fn begin(&mut self, units: &Basket, begin: Bounds) {
        let pieces = units.iter().map(|(unit, count)| HeldPiece {
            unit: unit.clone(),
            count: *count,
            begin,
        });
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
                    self.breach(Promised::Baskets, &why, None);
                    break;
                };
                let count = left.min(self.pieces[at].count);
                left -= count;
                self.pieces[at].count -= count;
                let begin = self.pieces[at].begin;
                if self.pieces[at].count == 0 {
                    self.pieces.remove(at);
                }
                let (hold, unit) = (self.record.hold.clone(), unit.clone());
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
            self.breach(Promised::Late, "went on after its end", Some(heard));
        }
    }

    /// Checks that it was over when somebody was told so.
    fn is_over_by(&mut self, heard: &Heard) {
        let first = &self.record.heard[0];
        let by_this_clock = heard.answered < first.sent + self.plan.visit.hold;
        if self.times.at(heard.position).hi.0 < self.deadline.0 || by_this_clock {
            self.breach(Promised::Late, "was over before its end", Some(heard));
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
            self.breach(Promised::Baskets, "has something else than it says", Some(heard));
        }
        if !heard.until.is_some_and(|until| (self.deadline.0..=self.deadline.1).contains(&until)) {
            self.breach(Promised::Kept, "shows another end than before", Some(heard));
        }
    }

    fn extended(&mut self, heard: &Heard) {
        self.is_not_over_by(heard);
        let most = self.longest().saturating_add(self.slack());
        let until = heard.until.unwrap_or_default();
        if until < self.deadline.0 || until > most {
            self.breach(Promised::Kept, "was extended to where it cannot be", Some(heard));
        }
        // One that is still on its way would extend it once more.
        self.extended_unheard |= heard.doubt;
        let latest = if self.extended_unheard { most } else { until.saturating_add(self.slack()) };
        self.deadline = (until, latest);
    }

    fn confirmed(&mut self, heard: &Heard) {
        let Some(at) = heard.at else {
            return self.breach(Promised::Late, "was confirmed at no time", Some(heard));
        };
        let wanted =
            if heard.wish.units.is_empty() { self.has() } else { heard.wish.units.clone() };
        let ranked = |(unit, count): (&String, &u32)| {
            heard.ranks.get(unit).map_or(0, BTreeSet::len) == *count as usize
        };
        if heard.units != wanted || !wanted.iter().all(ranked) {
            self.breach(Promised::Baskets, "was confirmed in part", Some(heard));
        }
        let entry = if heard.doubt { (at, 0) } else { (at, heard.position) };
        if heard.retaken {
            if at < self.deadline.0 || heard.verb == HoldVerb::Confirm {
                self.breach(Promised::Late, "was taken again before its end", Some(heard));
            }
            self.expire();
            let hi = (at, if heard.doubt { u64::MAX } else { heard.position });
            self.begin(&heard.units, Bounds { lo: entry, hi });
        } else if at >= self.deadline.1 || self.record.late {
            self.breach(Promised::Late, "was confirmed after its end", Some(heard));
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
            self.breach(Promised::Baskets, "is owed something else", Some(heard));
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
            self.breach(Promised::Baskets, "was released in part", Some(heard));
        }
        let when = self.decided(heard);
        let end = Bounds { lo: when.lo, hi: (when.hi.0, when.hi.1 + 1) };
        self.end(&wanted, end, "released");
    }

    fn refuse(&mut self, when: Bounds, kind: Kind) {
        self.walked.refusals.push(RefusedUnits { hold: self.record.hold.clone(), when, kind });
    }

    fn refused(&mut self, heard: &Heard) {
        let area = self.plan.visit.hall.as_ref().map(|hall| &hall.area.0);
        let seats = heard.wish.units.keys().filter(|unit| Some(*unit) != area).cloned();
        let kind = match &*heard.outcome {
            "unit_taken" => Kind::Taken { asked: seats.collect(), named: heard.units.clone() },
            _ => Kind::SoldOut(heard.wish.clone()),
        };
        self.refuse(self.times.at(heard.position), kind);
        if heard.verb == HoldVerb::Add && heard.doubt {
            self.may_have(heard);
        }
    }

    /// Notes that a step on a hold that was over when it was decided may have been done in time, unheard.
    fn may_have_been_done(&mut self, heard: &Heard) {
        match heard.verb {
            HoldVerb::Add => self.may_have(heard),
            HoldVerb::Extend => {
                self.extended_unheard = true;
                self.deadline.1 = self.longest().saturating_add(self.slack());
            }
            HoldVerb::Drop | HoldVerb::Release => {
                let lo = self.times.at(heard.before).lo;
                let end = Bounds { lo, hi: (self.deadline.1, 0) };
                self.end(&heard.wish.units, end, "dropped");
                self.loose.extend(heard.wish.units.keys().cloned());
            }
            // Confirmed once, it would have been answered so again.
            HoldVerb::Hold | HoldVerb::Confirm | HoldVerb::Retake => {}
        }
    }

    /// Notes that it may have what was asked for all the same: what may have happened may also happen later.
    fn may_have(&mut self, heard: &Heard) {
        let (hold, units) = (&self.record.hold, &heard.wish.units);
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
            return self.breach(Promised::Late, "was repeated before it was decided", Some(heard));
        };
        let before = match &*last.outcome {
            "held" => "already_held",
            other => other,
        };
        // That a hold is over is answered later than that it is held.
        if heard.outcome == "hold_expired" && matches!(before, "already_held" | "hold_expired") {
            return self.is_over_by(heard);
        }
        let ends = |heard: &Heard| (heard.until, heard.at, heard.retaken);
        let same = heard.outcome == before
            && (&heard.units, &heard.ranks) == (&last.units, &last.ranks)
            && ends(heard) == ends(last);
        if !same {
            let why = format!("was answered {last:?} and then otherwise");
            self.breach(Promised::Repeats, &why, Some(heard));
        }
    }

    /// Compares what it came to with what is shown of it.
    fn ends(&mut self, shown: Option<&Option<Shown>>) {
        let (told, first) = (self.record.is_held(), self.record.heard.first());
        let doubt = first.is_some_and(|first| first.doubt);
        match (shown, told) {
            (_, true) => {
                let (has, over) = (self.has(), self.over());
                self.end(&has, over, "expired");
                match shown {
                    Some(Some(shown)) => self.compare(shown),
                    Some(None) => {
                        self.breach(Promised::Kept, "was held, and there is no such hold", None);
                    }
                    None => {}
                }
            }
            (None | Some(None), false) => {}
            (Some(Some(_)), false) if !doubt => {
                self.breach(Promised::Kept, "was refused, and there is such a hold", None);
            }
            (Some(Some(shown)), false) => self.haunts(shown),
        }
    }

    /// Takes in a hold that nobody was told of: it may have happened, and it did.
    fn haunts(&mut self, shown: &Shown) {
        self.started = shown.started;
        let over = shown.started + micros(self.plan.visit.hold);
        self.deadline = (over, over.saturating_add(self.slack()));
        let mut units = Basket::new();
        for fate in &shown.fates {
            *units.entry(fate.unit.clone()).or_default() += fate.count;
        }
        self.is_whole(&self.record.heard[0].wish, &units, None);
        let started = Bounds { lo: (shown.started, 0), hi: (shown.started, u64::MAX) };
        self.begin(&units, started);
        self.end(&units, self.over(), "expired");
        self.compare(shown);
    }

    fn compare(&mut self, shown: &Shown) {
        if (shown.started - self.started).abs() > self.slack() {
            self.breach(Promised::Kept, &format!("began at {}", shown.started), None);
        }
        let mut fates = BTreeMap::<(String, &str), u32>::new();
        let mut ranks = BTreeMap::<String, BTreeSet<u64>>::new();
        for UnitsFate { unit, count, state, rank } in &shown.fates {
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
            self.breach(Promised::Kept, &why, None);
        }
    }

    /// Checks that a hold has what was wished.
    fn is_whole(&mut self, wish: &WishedUnits, units: &Basket, heard: Option<&Heard>) {
        let area = self.plan.visit.hall.as_ref().map(|hall| &hall.area.0);
        let named = wish.units.iter().all(|(unit, count)| units.get(unit) == Some(count));
        let mut others = units.iter().filter(|(unit, _)| !wish.units.contains_key(*unit));
        let seats = others.clone().all(|(unit, count)| *count == 1 && Some(unit) != area);
        if !named || !seats || others.by_ref().count() != wish.best as usize {
            self.breach(Promised::Baskets, "is not what was wished", heard);
        }
    }
}
