//! The command line as scripts meet it: what stands on stdout, and what the exit code says.

#![expect(clippy::unwrap_used, reason = "whatever is missing here is a failed test")]

mod campaigns;
mod configuration;
mod floods;
mod scene;
mod trouble;
