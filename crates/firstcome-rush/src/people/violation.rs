//! What breaks a promise, and what shows it.

/// The promises of a kind of visit.
pub(crate) trait Promises: Copy + 'static {
    /// Those that a report shows, in its order.
    const SHOWN: &'static [Self];

    /// A stable name.
    fn name(self) -> &'static str;

    /// The name of the one under which a report shows it.
    fn shown_as(self) -> &'static str {
        self.name()
    }
}

/// A broken promise and what shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The name of the promise.
    pub(crate) promise: &'static str,
    /// The name of the one under which a report shows it.
    pub(crate) shown_as: &'static str,
    pub(crate) evidence: String,
}

impl Violation {
    pub(crate) fn new(promise: impl Promises, evidence: String) -> Self {
        Self { promise: promise.name(), shown_as: promise.shown_as(), evidence }
    }
}

/// Collects what is broken.
#[derive(Default)]
pub(crate) struct Found(pub(crate) Vec<Violation>);

impl Found {
    pub(crate) fn add(&mut self, promise: impl Promises, evidence: String) {
        self.0.push(Violation::new(promise, evidence));
    }
}
