//! A world in a seed: nodes, store, ledger, network and people, simulated until a promise breaks.

pub mod history;
mod life;
mod people;
pub mod plan;
mod record;
mod road;
mod store;
pub mod trace;
pub mod world;
