//! One person: who they are, and how they ask and think.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::connections::{Answer, Connections};
use super::plan::Plan;
use super::record::Recorder;
use super::visit::Visit;
use crate::failure::LoadError;
use firstcome_client::Ask;

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
