//! Holds that wait for seats which somebody has.

use super::Intake;
use crate::answer::Answer;
use crate::error::CommandError;
use crate::wait_queue::{SeatWaiter, Wanted};
use firstcome_core::campaign::Campaign;
use firstcome_core::command::{Pick, Wanted as Units};
use firstcome_core::limits::SERVICE_STEP_US;
use firstcome_core::{Command, Refusal, State};
use firstcome_inject::{Mistake, inject};
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Slack after a hold's deadline before a waiter asks for its seats.
const A_LITTLE_LATER: Duration = Duration::from_millis(1);

/// How often a waiter whose seats are not there looks again, while memory cannot say so.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What became of a position in line.
enum Turn {
    /// Nobody is before it: the journal decides.
    Comes,
    /// Its seats are not there, or its subject is barred: memory says so.
    Refused(Answer),
    /// The time is over, or waiting changes nothing.
    Never,
}

impl Intake {
    /// Has the journal decide a hold, once the seats it names are free or `wait` is over.
    ///
    /// Those who wait here come in the order of their arrival, seat by seat; nothing is asked of the store
    /// meanwhile, and they are woken when their turn comes. It is decided at once where too many wait already, or
    /// the subject waits in this campaign already: see [`wait_queue`](crate::wait_queue).
    ///
    /// # Errors
    ///
    /// As [`Self::decide`].
    ///
    /// # Cancel safety
    ///
    /// As [`Self::decide`]; dropped before its turn, it does not happen.
    ///
    /// # Panics
    ///
    /// The command is not a hold.
    pub async fn hold_in_line(
        &self,
        hold: &Command<'_>,
        wait: Duration,
    ) -> Result<Answer, CommandError> {
        let Command::Hold { campaign, subject, ref picks, .. } = *hold else {
            panic!("it is not a hold")
        };
        let until = Instant::now() + wait;
        let named = units_named(picks);
        let in_vain = || self.wanted(hold).is_some_and(|wanted| wanted.units.is_empty());
        if wait.is_zero() || named == 0 || in_vain() {
            return self.decide(hold).await;
        }
        // Its position is that of its arrival, whether or not this node knows the seats yet.
        let Some(waiter) = self.replica.wait_queue.join(campaign, subject, named) else {
            return self.decide(hold).await;
        };
        let (mut tried, mut was_refused) = (None, false);
        loop {
            let answer = match self.comes_first(&waiter, hold, &mut tried, until).await {
                Turn::Comes => self.decide(hold).await,
                Turn::Refused(answer) => Ok(answer),
                // Still taken: that is an answer, from memory where that can be.
                Turn::Never => self.hold(hold, None).await,
            };
            let answer =
                if was_refused { answer.map_err(CommandError::of_later_try) } else { answer };
            let answer = answer?;
            let is_taken = answer.outcome.refusal() == Some(Refusal::UnitTaken);
            if !is_taken || Instant::now() >= until || in_vain() {
                return Ok(answer);
            }
            was_refused = true;
        }
    }

    /// Returns how many holds wait for a seat that somebody has.
    pub fn in_line(&self) -> usize {
        self.replica.wait_queue.len()
    }

    /// Returns what a hold waits for; none if this node does not know it.
    fn wanted(&self, hold: &Command<'_>) -> Option<Wanted> {
        self.replica.look(|state: &State| {
            let campaign = state.campaign(hold.campaign()?).ok()?;
            let units = campaign.waits_for(hold)?;
            let mut pools: Vec<u16> = units.iter().map(|(pool, _)| *pool).collect();
            pools.dedup();
            let freed =
                |pool: u16| Some((pool, campaign.pools()[usize::from(pool)].hall()?.freed()));
            let freed = pools.into_iter().filter_map(freed).collect();
            Some(Wanted { campaign: campaign.number(), units, freed })
        })
    }

    /// Waits until nobody is before this waiter and the seats are free.
    ///
    /// Seats whose hold is due count as free, though no entry has said so yet: whoever came later and does not wait asks
    /// for them at that moment. That may be a little early, so it is `tried` once for each deadline.
    ///
    /// Of seats that this node does not know, the journal is asked by whoever came first to the campaign: the answer is
    /// applied here before it is heard. The others look again when that one is answered, or when this node has caught up: what
    /// is not there then is not waited for, nor does a subject wait who is barred then. Memory alone says so: who asks the
    /// journal before its turn could get the seats before those who came earlier. Where memory cannot say so, it keeps nobody
    /// waiting meanwhile.
    async fn comes_first(
        &self,
        waiter: &SeatWaiter,
        hold: &Command<'_>,
        tried: &mut Option<i64>,
        until: Instant,
    ) -> Turn {
        let (mut catches_up, mut caught_up) = (pin!(self.catch_up(until)), false);
        loop {
            let mut next_look = None;
            // Names, branches and groups may have changed.
            let wanted = self.wanted(hold);
            waiter.wants(wanted.as_ref());
            let is_barred = self.is_barred(hold);
            if is_barred && inject(Mistake::BarredJumpsLine) {
                return Turn::Comes;
            }
            let in_vain = wanted.is_none() || is_barred;
            let mut due = None;
            match &wanted {
                Some(wanted) if wanted.units.is_empty() => return Turn::Never,
                _ if in_vain && waiter.is_first() => return Turn::Comes,
                _ if in_vain && caught_up => {
                    if let Ok(Some(answer)) = self.hold_early(hold, None).await {
                        return Turn::Refused(answer);
                    }
                    waiter.stands_aside();
                    if self.wanted(hold).is_some() && !self.is_barred(hold) {
                        continue;
                    }
                    next_look = Some(Instant::now() + LOOK_AGAIN).filter(|look| *look < until);
                }
                Some(wanted) if waiter.is_first() => match self.free_in(wanted) {
                    Some((Duration::ZERO, _)) => return Turn::Comes,
                    Some((time, deadline))
                        if *tried != Some(deadline) && !inject(Mistake::WaitForTickFirst) =>
                    {
                        due = Some((Instant::now() + time, deadline));
                    }
                    Some(_) | None => {}
                },
                Some(_) | None => {}
            }
            if inject(Mistake::PollWhileWaiting) && Instant::now() < until {
                return Turn::Comes;
            }
            let due = due.filter(|(due, _)| *due < until);
            tokio::select! {
                () = waiter.called() => {}
                () = sleep_until(next_look.unwrap_or(until)), if next_look.is_some() => {}
                _ = &mut catches_up, if in_vain && !caught_up => caught_up = true,
                () = sleep_until(due.map_or(until, |(due, _)| due)) => {
                    let Some((_, deadline)) = due else { return Turn::Never };
                    // The hold may have been extended, or confirmed, meanwhile: that calls nobody.
                    let now = self.wanted(hold).and_then(|wanted| self.free_in(&wanted));
                    if waiter.is_first() && now.is_some_and(|(_, now)| now <= deadline) {
                        *tried = Some(deadline);
                        return Turn::Comes;
                    }
                }
            }
        }
    }

    /// Says whether the subject of a hold is barred, as far as this node knows.
    fn is_barred(&self, hold: &Command<'_>) -> bool {
        if inject(Mistake::BarredStaysInLine) {
            return false;
        }
        let Command::Hold { campaign, subject, .. } = hold else { return false };
        self.replica.look(|state: &State| {
            state.campaign(campaign).is_ok_and(|found| found.bar_of(subject).is_some())
        })
    }

    /// Returns how long it is until these seats are free by this node's clock, and the service time of that; no time at
    /// all where they are, and none where they stay taken.
    fn free_in(&self, wanted: &Wanted) -> Option<(Duration, i64)> {
        let now = self.clock.now();
        self.replica.look(|state| {
            let campaign = state.campaign_numbered(wanted.campaign);
            let free_from = |campaign: &Campaign| campaign.free_from(&wanted.units);
            let from = campaign.map_or(Some(i64::MIN), free_from)?;
            if from <= state.service() {
                return Some((Duration::ZERO, from));
            }
            let since = now.micros_since(state.at()).clamp(0, SERVICE_STEP_US);
            let more = u64::try_from(from - state.service() - since).unwrap_or(0);
            Some((Duration::from_micros(more) + A_LITTLE_LATER, from))
        })
    }
}

/// Returns how many units picks name.
fn units_named(picks: &[Pick<'_>]) -> usize {
    let names = picks.iter().map(|pick| match &pick.wanted {
        Units::Units(names) => names.len(),
        Units::Quantity { .. } | Units::Best(_) => 0,
    });
    names.sum()
}
