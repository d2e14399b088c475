//! First-come-first-served campaigns: the server, its command line, and a load generator that checks the promises.

pub mod cli;
pub mod client;
pub mod config;
pub mod demo;
mod picture;
pub mod rush;
