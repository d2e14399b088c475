//! Holds that wait for seats which somebody has.

use super::Intake;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::wait_queue::{Waiter, Wanted};
use firstcome_core::campaign::Campaign;
use firstcome_core::limits::SERVICE_STEP_US;
use firstcome_core::{Command, Refusal, State};
use firstcome_inject::{Mistake, inject};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// How much later than a hold is over by this node's clock somebody in line asks for its seats.
const A_LITTLE_LATER: Duration = Duration::from_millis(1);

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
    ) -> Result<Answer, Failure> {
        let Command::Hold { subject, .. } = *hold else { panic!("it is not a hold") };
        let until = Instant::now() + wait;
        let join = |wanted| self.replica.wait_queue.join(subject, wanted);
        if wait.is_zero() {
            return self.decide(hold).await;
        }
        let mut waiter = match self.wanted(hold) {
            Some(wanted) => match join(wanted) {
                Some(waiter) => Some(waiter),
                None => return self.decide(hold).await,
            },
            // This node may not know the seats yet: the journal's answer is applied here before it is heard.
            None => None,
        };
        let (mut tried, mut asked_again, mut was_refused) = (None, false, false);
        loop {
            let its_turn = match &mut waiter {
                Some(waiter) => self.comes_first(waiter, hold, &mut tried, until).await,
                None => true,
            };
            // Still taken: that is an answer, from memory where that can be.
            let answer =
                if its_turn { self.decide(hold).await } else { self.hold(hold, None).await };
            let answer = if was_refused { answer.map_err(Failure::of_later_try) } else { answer };
            let answer = answer?;
            if !its_turn || answer.outcome.refusal() != Some(Refusal::UnitTaken) {
                return Ok(answer);
            }
            was_refused = true;
            // Whoever could not be put in line, or has nothing to wait for any more, is not kept.
            let Some(wanted) = self.wanted(hold) else {
                // It could wait before. So something has changed since that answer, in the same entry perhaps, as the name
                // of a seat: the journal says what.
                if waiter.is_some() && !asked_again {
                    (waiter, asked_again) = (None, true);
                    continue;
                }
                return Ok(answer);
            };
            if waiter.is_none() {
                waiter = join(wanted);
                if waiter.is_none() {
                    return Ok(answer);
                }
            }
        }
    }

    /// Gives how many holds wait for a seat that somebody has.
    pub fn in_line(&self) -> usize {
        self.replica.wait_queue.len()
    }

    /// Gives what a hold waits for; none if waiting for it changes nothing, or this node does not know it.
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

    /// Waits until nobody is before this waiter and the seats are free; `false` if the time is over.
    ///
    /// Seats whose hold is due count as free, though no entry has said so yet: whoever came later and does not wait asks
    /// for them at that moment. That may be a little early, so it is `tried` once for each deadline.
    async fn comes_first(
        &self,
        waiter: &mut Waiter,
        hold: &Command<'_>,
        tried: &mut Option<i64>,
        until: Instant,
    ) -> bool {
        loop {
            if waiter.is_outdated() {
                let Some(wanted) = self.wanted(hold) else { return true };
                waiter.wants(wanted);
            }
            if self.is_barred(hold) && !inject(Mistake::BarredStaysInLine) {
                // The journal says so.
                return true;
            }
            let mut due = None;
            if waiter.is_first() {
                match self.free_in(&waiter.wanted()) {
                    Some((Duration::ZERO, _)) => return true,
                    Some((time, deadline))
                        if *tried != Some(deadline) && !inject(Mistake::WaitForTickFirst) =>
                    {
                        due = Some((Instant::now() + time, deadline));
                    }
                    Some(_) | None => {}
                }
            }
            if inject(Mistake::PollWhileWaiting) && Instant::now() < until {
                return true;
            }
            let due = due.filter(|(due, _)| *due < until);
            tokio::select! {
                () = waiter.called() => {}
                () = sleep_until(due.map_or(until, |(due, _)| due)) => {
                    let Some((_, deadline)) = due else { return false };
                    // The hold may have been extended, or confirmed, meanwhile: that calls nobody.
                    let still = self.free_in(&waiter.wanted()).is_some_and(|(_, now)| now <= deadline);
                    if still {
                        *tried = Some(deadline);
                        return true;
                    }
                }
            }
        }
    }

    /// Says whether the subject of a hold is barred, as far as this node knows.
    fn is_barred(&self, hold: &Command<'_>) -> bool {
        let Command::Hold { campaign, subject, .. } = hold else { return false };
        self.replica.look(|state: &State| {
            state.campaign(campaign).is_ok_and(|found| found.bar_of(subject).is_some())
        })
    }

    /// Gives how long it is until these seats are free by this node's clock, and the service time of that; no time at
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
