//! The documents of the HTTP interface, defined once for the server, the client and the OpenAPI description.
//!
//! A reader ignores unknown fields, and a field that is added later has a default: so servers and clients of different
//! versions understand each other. A request with an unknown field is refused.

#![warn(missing_docs)]

pub mod act;
pub mod bar;
pub mod bulk;
pub mod campaign;
pub mod claim;
pub mod code;
pub mod hidden;
pub mod hold;
pub mod key;
pub mod line_numbers;
pub mod minute;
pub mod node;
pub mod problem;
pub mod result;
pub mod seat;
pub mod seat_map;
pub mod subject;
pub mod token;
pub mod unseen;
pub mod waitlist;
pub mod webhook;
pub mod winner;
