//! The counts of webhooks.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

type ByResult = Family<Vec<(&'static str, &'static str)>, Counter>;
type ByEndpoint = Family<Vec<(&'static str, String)>, Gauge>;

/// What came of delivering. Clones are the same counts.
#[derive(Clone, Debug)]
pub struct Counts {
    by_result: ByResult,
    behind: ByEndpoint,
    pub(crate) taken: Counter,
    pub(crate) failed: Counter,
    pub(crate) parked: Counter,
}

impl Default for Counts {
    fn default() -> Self {
        let by_result = ByResult::default();
        let of = |result| by_result.get_or_create(&vec![("result", result)]).clone();
        let (taken, failed, parked) = (of("taken"), of("failed"), of("parked"));
        Self { by_result, behind: ByEndpoint::default(), taken, failed, parked }
    }
}

impl Counts {
    /// Returns counts of nothing yet, which are in a registry.
    pub fn registered(registry: &mut Registry) -> Self {
        let counts = Self::default();
        let help = "Tries to send a result, by what came of it, and results that were parked";
        registry.register("webhook_deliveries", help, Family::clone(&counts.by_result));
        let help = "Results that were not sent to an endpoint yet, by its id";
        registry.register("webhook_behind", help, Family::clone(&counts.behind));
        counts
    }

    /// Notes how many results were not sent to an endpoint yet.
    pub(crate) fn behind(&self, id: &str, results: u64) {
        let gauge = self.behind.get_or_create(&vec![("webhook", id.to_owned())]);
        gauge.set(i64::try_from(results).unwrap_or(i64::MAX));
    }

    /// Forgets an endpoint.
    pub(crate) fn forget(&self, id: &str) {
        self.behind.remove(&vec![("webhook", id.to_owned())]);
    }
}
