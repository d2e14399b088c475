//! `lock`, `elect` and `locks` as two shells meet them, on a real server.

#![cfg(feature = "redis")]
#![expect(clippy::unwrap_used, reason = "a scene that cannot be set up fails its test")]

#[cfg(all(feature = "postgres", feature = "mysql"))]
mod databases;
mod elections;
mod examples;
mod locking;
mod looking;
mod losing;
mod overlaps;
mod places;
mod scene;
mod terminal;
mod trouble;
