//! Seats and holds on three servers: crowds at one seat, evenings under faults, a store that was away.
//!
//! The load test of `rush --seats` writes down every answer and holds all of them against the promises.

mod away;
mod crowd;
mod house;
mod nights;
