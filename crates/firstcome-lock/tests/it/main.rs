//! The locks against real stores, real faults and real peers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends where it stands")]

mod bad_input;
mod conformance;
mod crowds;
mod election;
mod faults;
mod interop;
mod processes;
mod stage;
mod stores;
