//! The locks against real stores, real faults and real peers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends where it stands")]

#[macro_use]
mod every_store;

mod bad_input;
mod bounds;
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
mod no_room;
mod operators;
mod permits;
mod postgres;
mod processes;
mod reconnecting;
mod reentrancy;
mod refusals;
mod reigns;
mod rights;
mod row_in_use;
mod shedlock;
mod slow_disks;
mod sql_guard;
mod stage;
mod stores;
mod ways;
