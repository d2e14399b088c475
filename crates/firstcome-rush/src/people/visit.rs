//! A kind of visit: what people come for, and what is promised to them.

use std::sync::Arc;

use super::connections::Connections;
use super::person::Person;
use super::plan::Plan;
use super::record::Record;
use super::violation::{Promises, Violation};
use crate::failure::LoadError;

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
        due: std::time::Duration,
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
