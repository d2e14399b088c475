//! The HTTP server of a node: routes under `/v1`, problem documents, health and counts, and the guards before them.
//!
//! Limits, keys and counts of the claim route sit in the accept loop and in the handlers, not in layers around them.

mod accepting;
mod admission;
pub mod answer;
mod app;
pub mod auth;
mod bars;
mod bearer;
mod by_campaign;
mod campaigns;
mod claims;
pub mod clock_text;
mod drain;
mod format;
mod frames;
pub mod guard;
mod holds;
mod idle;
mod latency;
pub mod limits;
mod memory;
pub mod metrics;
mod nodes;
mod observed;
mod openapi;
mod options;
mod pages;
mod problem;
mod process;
mod request;
mod request_id;
mod respond;
mod results;
mod routes;
mod runtimes;
mod seat_map;
mod seats;
pub mod server;
mod serves;
mod slots;
mod status;
mod subjects;
mod tokens;
mod watch;
mod winners;

pub use app::App;
pub use auth::{Key, Keys};
pub use openapi::Description;
pub use options::Options;
pub use routes::{openapi, paths_and_methods, router};
pub use runtimes::Runtimes;
pub use seat_map::SeatMaps;
pub use serves::Serves;
pub use watch::watch;
