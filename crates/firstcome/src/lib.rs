//! Firstcome decides who was first.
//!
//! This crate is the server and the command line: [`node`] appends, follows and answers, [`leader`]
//! settles results into the [`ledger`], [`http`] is the face, [`guard`] stands before it; [`client`]
//! and [`config`] serve the command line.

pub mod answer;
pub mod audit;
pub mod cli;
pub mod client;
pub mod config;
pub mod demo;
pub mod entry_text;
pub mod guard;
mod house;
pub mod http;
pub mod leader;
pub mod ledger;
pub mod metrics;
pub mod node;
mod picture;
pub mod rebuild;
pub mod rush;
pub mod serve;
#[cfg(not(feature = "twins"))]
mod twins;
#[cfg(feature = "twins")]
pub mod twins;
