//! Load tests on running servers that check every answer, and demonstrations made of them.
//!
//! - [`claims`]: a load test that claims units, and checks ranks, repeats and results.
//! - [`seats`]: a load test of people who hold seats and pay, leave, or pay too late.
//! - [`codes`]: a load test of people who claim coupon codes and reserve, redeem and roll them back.
//! - [`people`]: what the load tests of people share: plan, progress, report.
//! - [`demo`]: starts a server as a child process, runs a load test on it, and prints the proofs.
//! - [`rehearsal`]: starts a server on a space of its own, and sends a crowd to a campaign with somebody's settings.
//! - [`venue`]: a sample venue with seats, prices and grades.
//! - [`terminal`]: bars, histograms and seat maps for a terminal.
//! - [`latency`], [`outage`], [`promise`], [`error`]: what all load tests measure, report, and fail with.

pub mod claims;
pub mod codes;
pub mod demo;
pub mod error;
#[cfg(test)]
mod faulty_server;
pub mod latency;
pub mod outage;
pub mod people;
pub mod promise;
pub mod rehearsal;
pub mod seats;
mod server;
pub mod terminal;
pub mod venue;
