//! Seats and holds on three servers: crowds at one seat, evenings under faults, a store that was away.
//!
//! Guests write down all they hear; a judge holds it against the promises, and lies are told about it to see
//! that the judge notices.

mod away;
mod crowd;
mod evening;
mod guests;
mod heard;
mod house;
mod judge;
mod lies;
mod nights;
