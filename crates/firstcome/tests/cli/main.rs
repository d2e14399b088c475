//! The command line as scripts meet it: what stands on stdout, and what the exit code says.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set up fails its test")]

mod campaigns;
mod configuration;
mod floods;
#[cfg(feature = "redis")]
mod typed;
mod scene;
mod seats;
#[cfg(feature = "redis")]
mod stores;
mod trouble;
mod trust;
#[cfg(feature = "redis")]
mod unfit;
