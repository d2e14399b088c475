//! The command line as scripts meet it: what stands on stdout, and what the exit code says.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set up fails its test")]

mod bars;
mod campaigns;
mod cancels;
mod codes;
mod configuration;
mod dev;
mod examples;
mod files;
mod first_hour;
mod floods;
mod health;
mod help;
mod holds;
mod packaged;
mod refusals;
mod rehearsals;
mod scene;
mod screens;
mod seats;
mod stores;
mod trouble;
mod trust;
mod typed;
mod unfit;
mod watching;
mod winners;
