//! How a load test of people is going.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

/// How it is going.
#[derive(Debug, Clone)]
pub struct Progress<D> {
    /// Since the load test began.
    pub elapsed: Duration,
    /// How many people come.
    pub people: u32,
    /// How many have come.
    pub came: u32,
    /// How many have gone home.
    pub gone: u32,
    /// What they have got so far.
    pub done: D,
    /// How long no server could be reached by now, if none can.
    pub outage: Option<Duration>,
    /// Answers by their outcome; `looked` are looks at the map.
    pub answers: BTreeMap<String, u64>,
}

/// Called about ten times a second; after [`ControlFlow::Break`] nobody else comes.
pub type Observer<'a, D> = dyn FnMut(&Progress<D>) -> ControlFlow<()> + Send + 'a;
