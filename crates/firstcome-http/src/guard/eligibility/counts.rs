//! What is counted of each check.

use super::breaker::BreakerState;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

type Labels = Vec<(&'static str, String)>;

/// The counts of all checks.
#[derive(Clone, Debug, Default)]
pub struct CountsOfAll {
    answers: Family<Labels, Counter>,
    breaker: Family<Labels, Counter>,
    open: Family<Labels, Gauge>,
    under_way: Family<Labels, Gauge>,
}

impl CountsOfAll {
    /// Adds them to the metrics of a server.
    pub fn register(&self, registry: &mut Registry) {
        let help =
            "Claims and holds that were checked with the team's own service, by what came of it";
        registry.register("eligibility", help, self.answers.clone());
        let help = "Times the breaker of a check went to another state";
        registry.register("eligibility_breaker", help, self.breaker.clone());
        let help = "1 while the service of a check is not asked, or only to see";
        registry.register("eligibility_breaker_open", help, self.open.clone());
        let help = "Calls under way to the service of a check";
        registry.register("eligibility_calls", help, self.under_way.clone());
    }

    /// Returns those of one check, which begin at zero.
    pub fn of(&self, check: &str) -> Counts {
        let with = |name, value: &str| vec![("campaign", check.to_owned()), (name, value.into())];
        let answer = |of| self.answers.get_or_create(&with("answer", of)).clone();
        let to = |state| self.breaker.get_or_create(&with("to", state)).clone();
        let only = vec![("campaign", check.to_owned())];
        Counts {
            yes: answer("yes"),
            no: answer("no"),
            kept_yes: answer("kept_yes"),
            kept_no: answer("kept_no"),
            joined: answer("joined"),
            open: answer("open"),
            full: answer("full"),
            slow: answer("slow"),
            unreachable: answer("unreachable"),
            wrong: answer("wrong"),
            admitted: answer("admitted"),
            opened: to("open"),
            half_opened: to("half_open"),
            closed: to("closed"),
            is_open: self.open.get_or_create(&only).clone(),
            under_way: self.under_way.get_or_create(&only).clone(),
        }
    }
}

/// The counts of one check.
#[derive(Clone, Debug)]
pub struct Counts {
    pub(super) yes: Counter,
    pub(super) no: Counter,
    /// Answered without a call.
    pub(super) kept_yes: Counter,
    pub(super) kept_no: Counter,
    /// Waited for an equal call of another request.
    pub(super) joined: Counter,
    pub(super) open: Counter,
    pub(super) full: Counter,
    pub(super) slow: Counter,
    pub(super) unreachable: Counter,
    pub(super) wrong: Counter,
    /// Let through because the answer is not known.
    pub(super) admitted: Counter,
    opened: Counter,
    half_opened: Counter,
    closed: Counter,
    is_open: Gauge,
    pub(super) under_way: Gauge,
}

impl Counts {
    /// Counts a breaker that went from one state to another.
    pub(super) fn went(&self, from: BreakerState, to: BreakerState) {
        if from == to {
            return;
        }
        match to {
            BreakerState::Closed => self.closed.inc(),
            BreakerState::Open => self.opened.inc(),
            BreakerState::HalfOpen => self.half_opened.inc(),
        };
        self.is_open.set(i64::from(to != BreakerState::Closed));
    }
}
