//! A simulated store, clock and network that nodes can run on, each the same again for the same seed.
//!
//! | File | Subject |
//! |---|---|
//! | [`distant`] | a journal reached over a simulated network with loss, delay and reordering |
//! | [`events`] | what the store tells whoever observes it |
//! | [`gate`] | whether a node runs or is paused |
//! | [`network`] | the link of one node to the store |
//! | [`runtime`] | a runtime whose time is virtual |
//! | [`store`] | the store: a primary, its copies and its clock |

pub mod distant;
pub mod events;
pub mod gate;
pub mod network;
pub mod runtime;
pub mod store;
