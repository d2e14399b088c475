//! The documents of the HTTP interface, defined once: for the server that writes them, the client that reads them, and
//! the OpenAPI description.
//!
//! A reader ignores fields it does not know, and a field that is added later has a default: so servers and clients of
//! different versions understand each other. A request with a field that is not known is refused.

pub mod bar;
pub mod campaign;
pub mod claim;
pub mod hold;
pub mod key;
pub mod node;
pub mod problem;
pub mod result;
pub mod seat;
pub mod seat_map;
pub mod subject;
pub mod token;
pub mod unseen;
pub mod winner;
