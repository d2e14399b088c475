//! What a process believes about a lock it holds, and for how long it may rely on that.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::event::Event;
use crate::event::teller::Teller;
use crate::fence::Fence;
use crate::keys::LockKeys;
use crate::lease::loss::Loss;
use crate::release::released::Released;
use firstcome_store::client::{later, safety_margin};

/// How long a lock is held for, and whether that is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseOptions {
    pub(crate) lease: Duration,
    pub(crate) renewed: bool,
    /// How long it is held in all, counted from when it was asked for, however often it is renewed.
    pub(crate) at_most: Option<Duration>,
}

/// A lock that this process believes it holds, for one owner.
#[derive(Debug)]
pub(crate) struct HeldLock {
    pub(crate) id: u64,
    pub(crate) keys: Arc<LockKeys>,
    pub(crate) owner: String,
    pub(crate) fence: u64,
    pub(crate) renewed: bool,
    /// The lease it was first given, to which it is renewed.
    pub(crate) first_lease: Duration,
    /// How many times in a row the lock has been passed on within this process.
    pub(crate) chain: u32,
    /// It is not trusted after this, however often it is renewed.
    ends_at: Option<Instant>,
    state: Mutex<State>,
    changed: Notify,
    /// Somebody has begun to give it back.
    leaving: AtomicBool,
    /// A renewal of it is under way, or is tried again and again.
    renewing: AtomicBool,
    endless_trust: bool,
    teller: Arc<Teller>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// A caller knows that it has the lock: so its later events are reported too.
    told: bool,
    /// When the request was sent that was confirmed last.
    confirmed: Instant,
    /// When the first renewal was sent that the store has not answered, nor any since.
    silent_since: Option<Instant>,
    lease: Duration,
    /// How often what is believed here has changed.
    belief: u64,
    /// Nobody else can have it before this, if the store keeps the key and its clock does not jump.
    trusted_until: Instant,
    /// It has certainly ended at the store after this, unless it is renewed.
    over_at: Instant,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Lost(Loss),
    GivenBack,
}

impl State {
    fn silent(&self) -> Duration {
        self.silent_since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// When a request about a hold was sent, and how often what is believed of it had changed by then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    at: Instant,
    belief: u64,
}

/// What a new hold is made of.
pub(crate) struct Grant {
    pub(crate) keys: Arc<LockKeys>,
    pub(crate) owner: String,
    pub(crate) fence: u64,
    pub(crate) options: LeaseOptions,
    /// When the request was sent: trust counts from then.
    pub(crate) sent: Instant,
    pub(crate) chain: u32,
    pub(crate) endless_trust: bool,
}

impl HeldLock {
    pub(crate) fn new(grant: Grant, teller: &Arc<Teller>) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let held = Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            keys: grant.keys,
            owner: grant.owner,
            fence: grant.fence,
            renewed: grant.options.renewed,
            first_lease: grant.options.lease,
            chain: grant.chain,
            ends_at: grant.options.at_most.map(|time| later(grant.sent, time)),
            state: Mutex::new(State {
                told: false,
                confirmed: grant.sent,
                silent_since: None,
                lease: grant.options.lease,
                belief: 0,
                trusted_until: trusted_until(grant.sent, grant.options.lease),
                over_at: later(Instant::now(), grant.options.lease),
                end: End::Open,
            }),
            changed: Notify::new(),
            leaving: AtomicBool::new(false),
            renewing: AtomicBool::new(false),
            endless_trust: grant.endless_trust,
            teller: Arc::clone(teller),
        };
        Arc::new(held)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change under this lock is a plain assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when trust ends unless it is renewed, and what that is called.
    fn trust_ends(&self, state: &State) -> (Instant, Loss) {
        match self.ends_at {
            Some(end) if end <= state.trusted_until => (end, Loss::HeldTooLong),
            Some(_) | None => (state.trusted_until, Loss::RanOut),
        }
    }

    /// Looks at the clock; a hold whose trust has run out is lost, whatever is answered later.
    fn looked_at(&self) -> State {
        let mut state = self.state();
        let (trusted_until, loss) = self.trust_ends(&state);
        if state.end == End::Open && !self.endless_trust && Instant::now() >= trusted_until {
            self.end_with(&mut state, loss);
            let seen = *state;
            drop(state);
            self.tell_lost(&seen, loss);
            return seen;
        }
        *state
    }

    fn end_with(&self, state: &mut State, loss: Loss) {
        state.end = End::Lost(loss);
        self.changed.notify_waiters();
    }

    /// Returns when trust ends unless it is renewed; `None` where it is over already.
    pub(crate) fn ends(&self) -> Option<Instant> {
        let state = self.looked_at();
        (state.end == End::Open && !self.endless_trust).then(|| self.trust_ends(&state).0)
    }

    /// Returns when trust ends unless it is renewed, without looking at the clock.
    pub(crate) fn trusted_until(&self) -> Instant {
        self.trust_ends(&self.state()).0
    }

    pub(crate) fn loss(&self) -> Option<Loss> {
        match self.looked_at().end {
            End::Lost(loss) => Some(loss),
            End::GivenBack => Some(Loss::GivenBack),
            End::Open => None,
        }
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.looked_at().end == End::Open
    }

    pub(crate) fn remaining(&self) -> Duration {
        let state = self.looked_at();
        match state.end {
            End::Open => self.trust_ends(&state).0.saturating_duration_since(Instant::now()),
            End::Lost(_) | End::GivenBack => Duration::ZERO,
        }
    }

    pub(crate) fn lease(&self) -> Duration {
        self.state().lease
    }

    pub(crate) fn over_at(&self) -> Instant {
        self.state().over_at
    }

    /// Marks a request about the lease as being sent now.
    pub(crate) fn asked_now(&self) -> Asked {
        Asked { at: Instant::now(), belief: self.state().belief }
    }

    /// Notes that the store confirmed the lock for `lease` when it was asked. Too late an answer changes nothing.
    ///
    /// Requests that were under way together may have been carried out in either order: of those, the one that ends
    /// first is believed.
    pub(crate) fn confirmed(&self, asked: Asked, lease: Duration) -> Result<(), Loss> {
        if let Some(loss) = self.loss() {
            return Err(loss);
        }
        let mut state = self.state();
        if state.end == End::Open {
            let until = trusted_until(asked.at, lease);
            let alone = state.belief == asked.belief;
            if alone || until < state.trusted_until {
                state.lease = lease;
                state.trusted_until = until;
            }
            state.confirmed = state.confirmed.max(asked.at);
            state.belief += 1;
            state.over_at = state.over_at.max(later(Instant::now(), lease));
            self.changed.notify_waiters();
            let until = state.trusted_until;
            drop(state);
            // It may end sooner than it would have.
            self.teller.ends_at(until);
        }
        Ok(())
    }

    /// Marks a renewal as being sent now.
    pub(crate) fn renewal_sent(&self) -> Asked {
        let asked = self.asked_now();
        self.state().silent_since.get_or_insert(asked.at);
        asked
    }

    /// Notes that the store answers renewals.
    pub(crate) fn answered(&self) {
        self.state().silent_since = None;
    }

    /// Notes that a renewal was confirmed, of a hold that is renewed each `every`, and reports if it is late.
    ///
    /// Where trust ran out meanwhile it is lost, and stays so.
    pub(crate) fn renewed(&self, asked: Asked, lease: Duration, every: Duration) {
        let before = *self.state();
        if self.confirmed(asked, lease).is_err() {
            return;
        }
        self.answered();
        let late = before.confirmed.elapsed().saturating_sub(every);
        if late >= every && before.told {
            let silent = before.silent();
            let (name, fence) = self.name_and_fence();
            self.teller.tell(|| Event::RenewedLate { name: name(), fence, late, silent });
        }
    }

    pub(crate) fn lose(&self, loss: Loss) {
        let mut state = self.state();
        if state.end == End::Open && !self.endless_trust {
            self.end_with(&mut state, loss);
            let seen = *state;
            drop(state);
            self.tell_lost(&seen, loss);
        }
    }

    /// Returns for how long the store has not answered a renewal; zero where it answered the last one.
    pub(crate) fn silent(&self) -> Duration {
        self.state().silent()
    }

    fn name_and_fence(&self) -> (impl FnOnce() -> String + '_, Fence) {
        (|| self.keys.name.clone(), Fence(self.fence))
    }

    /// Reports that a caller has it, and that it is lost if that was before.
    pub(crate) fn tell_acquired(&self, waited: Duration) {
        let (name, fence) = self.name_and_fence();
        self.teller.tell(|| Event::Acquired { name: name(), fence, waited });
        let first = {
            let mut state = self.state();
            let first = !state.told;
            state.told = true;
            first.then_some(*state)
        };
        if let Some(state) = first
            && let End::Lost(loss) = state.end
        {
            self.tell_lost(&state, loss);
        }
    }

    fn tell_lost(&self, state: &State, loss: Loss) {
        if state.told {
            let (name, fence) = self.name_and_fence();
            let silent = state.silent();
            self.teller.tell(|| Event::Lost { name: name(), fence, loss, silent });
        }
    }

    /// Reports the result of its release.
    pub(crate) fn tell_released(&self, released: Option<Released>) {
        if self.state().told {
            let (name, fence) = self.name_and_fence();
            self.teller.tell(|| Event::Released { name: name(), fence, released });
        }
    }

    /// Marks it as being renewed; gives `true` unless it was.
    pub(crate) fn begin_to_renew(&self) -> bool {
        !self.renewing.swap(true, Ordering::AcqRel)
    }

    /// Ends what [`HeldLock::begin_to_renew`] began.
    pub(crate) fn end_renewing(&self) {
        self.renewing.store(false, Ordering::Release);
    }

    /// Marks it as being given back; gives `true` to the first caller only.
    pub(crate) fn begin_to_leave(&self) -> bool {
        !self.leaving.swap(true, Ordering::AcqRel)
    }

    /// Marks it as given back: from now on it can be neither used nor lost in another way.
    pub(crate) fn given_back(&self) {
        let mut state = self.state();
        if state.end == End::Open {
            state.end = End::GivenBack;
            self.changed.notify_waiters();
        }
    }

    pub(crate) async fn lost(&self) -> Loss {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Registered before looking, so that a change in between is not missed.
            changed.as_mut().enable();
            let state = self.looked_at();
            match state.end {
                End::Lost(loss) => return loss,
                End::GivenBack => return Loss::GivenBack,
                End::Open => {}
            }
            if self.endless_trust {
                changed.await;
            } else {
                tokio::select! {
                    () = &mut changed => {}
                    () = tokio::time::sleep_until(self.trust_ends(&state).0) => {}
                }
            }
        }
    }
}

/// Returns the end of trust: the lease counted from when it was asked for, less a tenth and at least 20 ms.
fn trusted_until(sent: Instant, lease: Duration) -> Instant {
    later(sent, lease.saturating_sub(safety_margin(lease)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Kind;

    const MINUTE: Duration = Duration::from_secs(60);

    fn hold() -> Arc<HeldLock> {
        let grant = Grant {
            keys: Arc::new(LockKeys::new(Kind::Plain, "x").unwrap()),
            owner: "ann:1".to_owned(),
            fence: 1,
            options: LeaseOptions { lease: MINUTE, renewed: true, at_most: None },
            sent: Instant::now(),
            chain: 0,
            endless_trust: false,
        };
        HeldLock::new(grant, &Arc::default())
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_by_itself_is_believed() {
        let held = hold();
        let asked = held.asked_now();
        held.confirmed(asked, 10 * MINUTE).unwrap();
        assert_eq!(held.remaining(), 9 * MINUTE);
        let asked = held.asked_now();
        held.confirmed(asked, MINUTE).unwrap();
        assert_eq!(held.remaining(), MINUTE * 9 / 10);
    }

    /// A renewal and an extension are under way together: nobody knows which of them the store carried out last.
    #[tokio::test(start_paused = true)]
    async fn of_requests_under_way_together_the_shorter_one_is_believed() {
        for (first, second) in [(MINUTE, 10 * MINUTE), (10 * MINUTE, MINUTE)] {
            let held = hold();
            let (one, other) = (held.asked_now(), held.asked_now());
            held.confirmed(one, first).unwrap();
            held.confirmed(other, second).unwrap();
            assert_eq!(held.remaining(), MINUTE * 9 / 10);
            // And it is given back for as long as it may be there.
            assert!(held.over_at() >= Instant::now() + 10 * MINUTE);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_after_the_end_of_trust_changes_nothing() {
        let held = hold();
        let asked = held.asked_now();
        tokio::time::advance(MINUTE).await;
        assert_eq!(held.confirmed(asked, 10 * MINUTE), Err(Loss::RanOut));
        assert_eq!((held.is_valid(), held.remaining()), (false, Duration::ZERO));
    }
}
