//! Rules of barring a subject from a campaign, and of taking that back.

use super::Campaign;
use crate::acts::Act;
use crate::bars::Bar;
use crate::context::ApplyContext;
use crate::hold::Fate;
use crate::limits::BARS;
use crate::outcome::{Outcome, Refusal};
use firstcome_inject::{Mistake, inject};

impl Campaign {
    /// Keeps a subject from anything more: its live holds end, it leaves every waitlist, what it has for good stays.
    ///
    /// Asked again it is as it was the first time. Refuses with `too_many_bars`.
    pub(crate) fn bar(
        &mut self,
        context: &mut ApplyContext<'_>,
        subject: &str,
        (reason, who): (&str, &str),
    ) -> Outcome {
        if let Some(known) = self.bars.of(subject) {
            return Outcome::BarSet { at: known.at, holds: 0 };
        }
        if self.bars.len() >= BARS || self.bars.last == u32::MAX {
            return Refusal::TooManyBars.into();
        }
        let at = context.at;
        let bar = Bar { subject: subject.into(), at, reason: reason.into(), who: who.into() };
        self.bars.add(bar);
        self.leave_lists(subject);
        let live = self.holds.holder(subject).map_or(Vec::new(), |holder| holder.live.clone());
        if inject(Mistake::BarKeepsHolds) {
            return Outcome::BarSet { at, holds: 0 };
        }
        for number in &live {
            let hold = self.holds.at_mut(*number);
            for take in &mut hold.takes {
                if take.fate == Fate::Held {
                    take.fate = Fate::Released;
                    self.pools[usize::from(take.pool)].give_back(take.unit);
                    self.pools[usize::from(take.pool)].came_free(take.unit);
                }
            }
            self.end(context, *number);
        }
        Outcome::BarSet { at, holds: live.len() as u32 }
    }

    /// Lets a barred subject have something again. What ended with the bar does not come back.
    pub(crate) fn unbar(&mut self, subject: &str) -> Outcome {
        if inject(Mistake::UnbarIgnored) {
            return Outcome::BarLifted { was_barred: self.bars.of(subject).is_some() };
        }
        let was_barred = self.bars.remove(subject).is_some();
        Outcome::BarLifted { was_barred }
    }

    /// Returns the last acts of operators on it with their numbers, the newest first: at most
    /// [`ACTS`](crate::limits::ACTS).
    pub fn acts(&self) -> impl Iterator<Item = (u32, &Act)> {
        self.acts.newest_first()
    }

    /// Returns the bar of a subject.
    pub fn bar_of(&self, subject: &str) -> Option<&Bar> {
        self.bars.of(subject)
    }

    /// Returns how many subjects are barred.
    pub fn barred_subjects(&self) -> usize {
        self.bars.len()
    }

    /// Returns the bars beyond a number, each with its own, in the order of barring.
    pub fn bars_after(&self, number: u32) -> impl Iterator<Item = (u32, &Bar)> {
        self.bars.after(number)
    }

    /// Says whether a subject may have nothing more.
    pub fn keeps_out(&self, subject: &str) -> bool {
        self.check_barred(subject).is_err()
    }

    /// Refuses with `barred` a subject that an operator barred.
    pub(super) fn check_barred(&self, subject: &str) -> Result<(), Refusal> {
        if self.bars.of(subject).is_some() { Err(Refusal::Barred) } else { Ok(()) }
    }
}
