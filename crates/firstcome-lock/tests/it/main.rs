//! The locks against real stores, real faults and real peers.

mod bad_input;
mod conformance;
mod crowds;
mod election;
mod faults;
mod interop;
mod processes;
mod stage;
mod stores;
