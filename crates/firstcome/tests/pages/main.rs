//! The pages for people, in a real Chromium against the built server; and what they read.
//!
//! `FIRSTCOME_PICTURES=FOLDER` keeps a picture of every state on every screen.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there")]

mod axe;
mod console;
#[path = "../server/documented.rs"]
mod documented;
mod element;
mod files;
mod own;
#[path = "../server/process.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod process;
mod public;
#[path = "../server/webhooks/receiver.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod receiver;
mod scene;
mod seats;
mod several;
mod shop;
mod states;
mod trouble;
mod under_a_path;
mod webhooks;
#[path = "../server/wire.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod wire;
