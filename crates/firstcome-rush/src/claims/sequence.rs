//! The sequence of requests: who asks next, from the seed.

use super::plan::{MOST_SUBJECTS, Plan};

/// The sequence of requests; the same seed gives the same sequence.
#[derive(Debug)]
pub(super) struct Sequence {
    random: fastrand::Rng,
    left: u64,
    index: u64,
    subjects: u32,
    met: u32,
    repeat: f64,
    cut: f64,
}

/// One request of the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// Its index in the sequence, from 0.
    pub(super) index: u64,
    /// Who asks.
    pub(super) subject: u32,
    /// Whether it is cut off once.
    pub(super) cut: bool,
}

impl Sequence {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            random: fastrand::Rng::with_seed(plan.seed),
            left: plan.requests,
            index: 0,
            subjects: plan.subjects.clamp(1, MOST_SUBJECTS),
            met: 0,
            repeat: plan.repeat,
            cut: plan.cut,
        }
    }

    /// The next request, or `None` when all have been given out.
    pub(super) fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let again = self.met > 0 && self.random.f64() < self.repeat;
        let subject = if again || self.met == self.subjects {
            self.random.u32(0..self.met)
        } else {
            self.met += 1;
            self.met - 1
        };
        let cut = self.cut > 0.0 && self.random.f64() < self.cut;
        let request = Request { index: self.index, subject, cut };
        self.index += 1;
        Some(request)
    }
}
