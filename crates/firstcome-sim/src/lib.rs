//! A world in a seed: nodes, store, ledger, network and people, simulated until a promise breaks.

mod around;
mod books;
pub mod history;
pub mod judge;
mod life;
pub mod mistakes;
mod people;
pub mod plan;
mod record;
mod road;
mod store;
pub mod trace;
pub mod trial;
pub mod world;
