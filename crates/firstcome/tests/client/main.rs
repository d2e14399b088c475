//! The client library against real servers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there")]

mod campaigns;
mod codes;
mod commands;
mod conformance;
mod faults;
mod outcomes;
mod seats;
mod secured;
mod server;
mod tls;
mod waitlists;
