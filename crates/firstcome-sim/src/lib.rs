//! A deterministic simulation: nodes, store, ledger, network and people, drawn from a seed and checked by a judge.

#[cfg(not(any(firstcome_lock_inject, doc)))]
compile_error!(
    "firstcome-sim is built with `--cfg firstcome_lock_inject`, so that it can let the clients of a lock make mistakes: \
     if RUSTFLAGS is set, add it there; .cargo/config.toml has it"
);

mod environment;
mod gate;
pub mod history;
pub mod judge;
mod ledger;
pub mod mistakes;
mod network;
mod nodes;
pub mod order;
mod people;
pub mod plan;
mod record;
mod store;
pub mod trace;
pub mod trial;
mod wallet;
pub mod world;
