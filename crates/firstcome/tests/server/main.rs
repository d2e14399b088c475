//! The server: real processes that are flooded and killed, and nodes in this process whose journal
//! and clock misbehave.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there")]

mod bad_input;
mod bad_luck;
mod buyers;
mod crashes;
mod crowds;
mod eligibility;
mod entitled;
mod forks;
mod full;
mod halls;
mod holding;
mod holds;
mod inside;
mod keys;
mod kill;
mod limits;
mod lines;
mod lost;
mod memory;
mod mended;
mod mending;
mod mistakes;
mod outcomes;
mod pages;
#[cfg(feature = "postgres")]
mod postgres;
mod process;
mod rates;
mod restored;
mod results;
mod settling;
mod several;
mod steering;
mod stop;
mod storms;
mod team;
mod time;
mod tokens;
mod wire;
