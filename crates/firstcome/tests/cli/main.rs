//! The command line as scripts meet it: what stands on stdout, and what the exit code says.

mod campaigns;
mod configuration;
mod floods;
mod scene;
mod trouble;
