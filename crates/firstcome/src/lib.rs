//! First-come-first-served campaigns: the server, its command line, and a load generator that checks the promises.

pub mod client;
pub mod config;
