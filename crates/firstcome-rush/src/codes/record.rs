//! What is recorded of codes.

use std::time::Duration;

use crate::people;
use firstcome_core::names::Position;

/// A code that somebody was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenCode {
    pub(super) subject: String,
    pub(super) code: String,
    pub(super) rank: u64,
}

/// What can be done with a code under a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Reserve,
    Redeem,
    RollBack,
    Release,
}

impl Verb {
    /// The last part of its route.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Reserve => "reserve",
            Self::Redeem => "redeem",
            Self::RollBack => "roll-back",
            Self::Release => "release",
        }
    }
}

/// A step on a code, and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) verb: Verb,
    pub(super) code: String,
    pub(super) reference: String,
    pub(super) outcome: String,
    pub(super) rank: Option<u64>,
    /// When it was done the first time, in the server's words; for a reservation, when it ends.
    pub(super) at: Option<String>,
    /// For a rollback, whether the use did not come back.
    pub(super) expired: bool,
    /// Since the load test began.
    pub(super) sent: Duration,
    pub(super) answered: Duration,
}

impl Step {
    /// Whether it was done, now or when it was sent before.
    pub(super) fn is_done(&self) -> bool {
        let outcome = self.outcome.as_str();
        match self.verb {
            Verb::Reserve => matches!(outcome, "reserved" | "already_reserved"),
            Verb::Redeem => outcome == "redeemed",
            Verb::RollBack => outcome == "rolled_back",
            Verb::Release => outcome == "reservation_ended",
        }
    }
}

/// A claim that was cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cancelled {
    pub(super) subject: String,
    pub(super) code: String,
    pub(super) rank: u64,
}

/// Somebody who was on the waitlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waited {
    pub(super) subject: String,
    /// The newest position that anybody had heard of before they asked: they joined after that.
    pub(super) after: Position,
    /// The position of the answer that gave the place: they joined then or before, as the answer to a request that is sent
    /// again is a later one.
    pub(super) joined: Position,
    /// The last position at which they were seen to wait and had let no offer go.
    pub(super) seen_waiting: Option<Position>,
    /// The number of their first offer, and the first position at which it was seen.
    pub(super) offered: Option<(u64, Position)>,
    /// Whether they were seen to have an offer. From then on they may have another place: whoever asks for an offer that is
    /// over, and was the last they could have, joins anew.
    had_offer: bool,
    /// Whether they did nothing about it.
    pub(super) let_go: bool,
}

impl Waited {
    pub(super) fn since(subject: String, after: Position, joined: Position) -> Self {
        Self {
            subject,
            after,
            joined,
            seen_waiting: None,
            offered: None,
            had_offer: false,
            let_go: false,
        }
    }

    /// They were seen to wait, and to have let no offer go.
    pub(super) fn waits(&mut self, at: Position) {
        if !self.had_offer {
            self.seen_waiting = Some(at);
        }
    }

    /// They were seen to have an offer; its number and the position where it is the first.
    pub(super) fn is_offered(&mut self, first: Option<(u64, Position)>) {
        if !self.had_offer {
            self.offered = first;
        }
        self.had_offer = true;
    }
}

/// What was answered about codes so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub(super) issued: Vec<GivenCode>,
    /// Who won a code by a claim that did not wait, and at which position.
    pub(super) claimed: Vec<(String, Position)>,
    /// Those who waited, once they do not wait any more.
    pub(super) waited: Vec<Waited>,
    pub(super) steps: Vec<Step>,
    pub(super) cancelled: Vec<Cancelled>,
    /// Codes that were accepted and do not count, and what they were answered.
    pub(super) accepted: Vec<String>,
    /// Codes that do not count and were tried.
    pub(super) wrong: u64,
    pub(super) redeemed: u64,
    pub(super) rolled_back: u64,
}

/// What people have got so far.
#[derive(Debug, Clone)]
pub struct CodesDone {
    /// Codes that were issued in answers.
    pub issued: u64,
    /// Redemptions that were not rolled back.
    pub redeemed: u64,
    /// Redemptions that were rolled back.
    pub rolled_back: u64,
    /// Claims that were cancelled.
    pub cancelled: u64,
}

pub(super) type Record = people::Record<Steps>;
pub(super) type Recorder = people::Recorder<Steps>;

impl Recorder {
    pub(super) fn issued(&self, issued: GivenCode) {
        self.record().answers.issued.push(issued);
    }

    pub(super) fn claimed(&self, subject: String, at: Position) {
        self.record().answers.claimed.push((subject, at));
    }

    pub(super) fn waited(&self, waited: Waited) {
        self.record().answers.waited.push(waited);
    }

    pub(super) fn cancelled(&self, cancelled: Cancelled) {
        self.record().answers.cancelled.push(cancelled);
    }

    /// Records a step; one that only repeats another counts once.
    pub(super) fn step(&self, step: Step, repeats: bool) {
        let answers = &mut self.record().answers;
        if step.is_done() && !repeats {
            answers.redeemed += u64::from(step.verb == Verb::Redeem);
            answers.rolled_back += u64::from(step.verb == Verb::RollBack);
        }
        answers.steps.push(step);
    }

    /// Records a code that does not count, and what it was answered if it was accepted.
    pub(super) fn wrong(&self, accepted: Option<String>) {
        let answers = &mut self.record().answers;
        answers.wrong += 1;
        answers.accepted.extend(accepted);
    }
}
