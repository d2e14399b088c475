//! Nodes in this process whose journal, clock and ledger misbehave.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there")]

mod crashes;
mod databases;
mod failovers;
mod forks;
mod holding;
mod large;
mod leading;
mod levels;
mod lines;
mod lines_and_forks;
mod lines_unknown;
mod listed;
mod mended;
mod mistakes;
mod moved;
mod panicked;
mod restored;
mod several;
mod storms;
mod stuck;
