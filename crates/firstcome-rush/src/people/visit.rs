//! A kind of visit: what people come for, and what is promised to them; and one person of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::connections::{Answer, Connections};
use super::record::{Record, Recorder};
use super::{Plan, Promises, Violation};
use crate::error::LoadError;
use firstcome_client::Ask;

/// A kind of visit; its value says what people want and do.
pub(crate) trait Visit: Send + Sync + Sized + 'static {
    /// What is recorded of the answers.
    type Answers: Default + Send + 'static;
    /// What is read at the end.
    type Read: Default + Send;
    /// What is promised.
    type Promised: Promises;
    /// How many people did what, once all have gone.
    type Totals: Default;
    /// What people have got so far.
    type Done;

    /// Comes when due, and goes home.
    fn visit(
        person: Person<Self>,
        due: Duration,
    ) -> impl Future<Output = Result<(), LoadError>> + Send + 'static;

    /// Reads the results and whatever else is compared.
    fn read(
        plan: &Arc<Plan<Self>>,
        connections: &Arc<Connections>,
        record: &Record<Self::Answers>,
    ) -> impl Future<Output = Result<Self::Read, LoadError>> + Send;

    /// Returns how many results were read.
    fn results(read: &Self::Read) -> u64;

    /// Compares the answers with each other, and with what was read if that was possible.
    fn check(
        plan: &Plan<Self>,
        record: &Record<Self::Answers>,
        read: Option<&Self::Read>,
    ) -> Vec<Violation>;

    /// Returns what people have got so far.
    fn done(answers: &Self::Answers) -> Self::Done;

    /// Returns how many people did what.
    fn totals(record: &Record<Self::Answers>) -> Self::Totals;

    /// Returns a promise in words, with the numbers that show it.
    fn words(
        promised: Self::Promised,
        plan: &Plan<Self>,
        record: &Record<Self::Answers>,
        read: &Self::Read,
    ) -> String;
}

/// One person.
pub(crate) struct Person<V: Visit> {
    pub(crate) plan: Arc<Plan<V>>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) recorder: Arc<Recorder<V::Answers>>,
    pub(crate) subject: String,
    pub(crate) random: fastrand::Rng,
}

impl<V: Visit> Person<V> {
    /// Returns a companion with the same name, who asks at the same time.
    pub(crate) fn companion(&mut self) -> Self {
        Self {
            plan: Arc::clone(&self.plan),
            connections: Arc::clone(&self.connections),
            recorder: Arc::clone(&self.recorder),
            subject: self.subject.clone(),
            random: self.random.fork(),
        }
    }

    pub(crate) async fn ask(&mut self, ask: Ask, due: Instant) -> Result<Answer, LoadError> {
        let cut = self.plan.cut > 0.0 && self.random.f64() < self.plan.cut;
        self.connections.ask(ask, due, &mut self.random, cut).await
    }

    /// Thinks, for a while that differs from person to person; a part of the usual time for small questions.
    pub(crate) async fn think(&mut self, part: u32) {
        let usual = self.plan.think.as_secs_f64() / f64::from(part);
        tokio::time::sleep(Duration::from_secs_f64(usual * self.random.f64() * 2.0)).await;
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
