//! A hostile client against the built server: what somebody outside can try, one story for each finding of the security
//! review.
//!
//! Beside each attack somebody claims in another campaign, again and again, and has to be answered; afterwards the
//! server is ready, stops cleanly, and starts again with what it had.
//!
//! Findings that need another stage are told elsewhere: full disks in `server/full.rs`, too few open files in
//! `server/fullness.rs`, the key that the command line sends in `cli/trust.rs`, an entry that breaks a rule in
//! `server/stuck.rs`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there")]

mod browsers;
mod commands;
mod crowds;
#[path = "../server/documented.rs"]
mod documented;
mod machine;
mod network;
#[path = "../server/process.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod process;
mod siege;
mod streams;
#[path = "../server/wire.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod wire;
