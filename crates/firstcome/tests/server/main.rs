//! The server: real processes that are flooded and killed, and nodes in this process whose journal
//! and clock misbehave.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there")]

mod allocations;
mod bad_input;
mod bad_luck;
mod bars;
mod bulk;
mod bulk_clients;
mod buyers;
mod code_keys;
mod code_races;
mod code_secrets;
mod codes;
mod codes_imported;
mod crowds;
mod deleting;
mod description;
mod documented;
mod eligibility;
mod entitled;
mod examples;
mod extreme_commands;
mod extremes;
mod full;
mod fullness;
mod generated;
mod guesses;
mod halls;
mod holds;
mod inside;
mod keys;
mod kill;
mod lagging;
mod leaving;
mod limits;
mod live_map;
mod logs;
mod lost;
mod memory;
mod mending;
mod metrics;
mod outcomes;
mod pages;
mod panicked;
mod permissions;
#[cfg(feature = "postgres")]
mod postgres;
mod process;
mod raised;
mod rates;
mod reseating;
mod results;
mod settling;
mod steering;
mod stop;
mod streams;
mod stuck;
mod team;
mod tickets;
mod time;
mod tokens;
mod waitlists;
mod waitlists_killed;
mod winners;
mod wire;
