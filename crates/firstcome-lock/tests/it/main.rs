//! The locks against real stores, real faults and real peers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends where it stands")]

mod bad_input;
mod clocks;
mod conformance;
mod crowds;
mod cuts;
mod databases;
mod election;
mod endings;
mod failovers;
mod faults;
mod interop;
mod killed;
mod permits;
mod postgres;
mod processes;
mod refusals;
mod reigns;
mod shedlock;
mod sql_guard;
mod stage;
mod stores;
mod ways;
