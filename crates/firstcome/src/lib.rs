//! Firstcome decides who was first.
//!
//! This crate puts a server together from its settings ([`serve`], [`config`]), reads journals offline ([`offline`]),
//! and is the command line ([`cli`]).

pub mod cli;
pub mod config;
mod data_folder;
mod logging;
pub mod offline;
pub mod serve;
