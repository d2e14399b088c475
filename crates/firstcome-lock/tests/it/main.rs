//! The locks against real stores, real faults and real peers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends where it stands")]

#[macro_use]
mod every_store;

mod bad_input;
mod bounds;
mod by_hand;
mod clocks;
mod clusters;
mod conformance;
mod crowds;
mod cuts;
mod databases;
mod dropped;
mod election;
mod endings;
mod examples;
mod failover_of_many;
mod failovers;
mod fair;
mod fair_line;
mod faults;
mod fleet;
mod health;
mod interop;
mod killed;
mod locked;
mod matchable;
mod nats;
mod no_room;
mod operators;
mod permit_model;
mod permits;
mod postgres;
mod processes;
mod reconnecting;
mod redis_permits;
mod reentrancy;
mod refusals;
mod reigns;
mod replicas;
mod rights;
mod row_in_use;
mod run;
mod runtimes;
mod scripts;
mod several;
mod slow_disks;
mod sql_guard;
mod stage;
mod stores;
mod told;
mod traced;
mod ways;
