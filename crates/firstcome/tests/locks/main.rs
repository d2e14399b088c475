//! `lock`, `elect` and `locks` as two shells meet them, on a real server.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set up fails its test")]

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
