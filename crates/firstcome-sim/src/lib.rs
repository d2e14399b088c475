//! A deterministic simulation: nodes, store, ledger, network and people, drawn from a seed and checked by a judge.

mod environment;
pub mod history;
pub mod judge;
mod ledger;
pub mod mistakes;
mod nodes;
pub mod order;
mod people;
pub mod plan;
mod record;
pub mod trace;
pub mod trial;
mod wallet;
pub mod world;
