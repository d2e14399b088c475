//! A world in a seed: nodes, store, ledger, network and people, simulated until a promise breaks.

pub mod history;
pub mod judge;
