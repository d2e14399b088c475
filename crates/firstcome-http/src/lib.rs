//! The HTTP server of a node: routes under `/v1`, problem documents, health and counts, and the guards before them.
//!
//! Limits, keys and counts of the claim route sit in the accept loop and in the handlers, not in layers around them.

mod accepting;
mod admission;
mod app;
pub mod auth;
mod bearer;
mod campaigns;
mod claims;
mod frames;
pub mod guard;
mod holds;
mod idle;
pub mod limits;
mod memory;
pub mod metrics;
mod nodes;
mod options;
mod pages;
mod problem;
mod request;
mod respond;
mod results;
mod routes;
mod seat_map;
mod seats;
pub mod server;
mod serves;
mod slots;
mod status;
mod subjects;
mod tokens;

pub use app::App;
pub use auth::{Key, Keys};
pub use options::Options;
pub use routes::{openapi, router};
pub use seat_map::SeatMaps;
pub use serves::Serves;
