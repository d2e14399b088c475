//! The client against servers that misbehave.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there")]

mod deadlines;
mod documented;
mod identity;
mod lists;
mod peer;
mod retries;
mod secured;
mod servers;
