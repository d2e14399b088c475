//! ShedLock's locks: by themselves, and beside real ShedLock.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends where it stands")]

mod alone;
mod clocks;
mod cuts;
mod java;
mod scene;
mod stage;
mod table;
