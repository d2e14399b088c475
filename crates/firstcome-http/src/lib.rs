//! The HTTP face of a node: routes under `/v1`, problem documents, health and counts, and the guards before them.
//!
//! Limits, keys and counts of the claim route sit in the accept loop and in the handlers, not in layers around them.

mod app;
pub mod auth;
mod campaigns;
mod claims;
mod eligible;
mod forks;
pub mod guard;
mod guarded;
mod halls;
mod holds;
pub mod metrics;
mod pages;
mod patience;
mod problem;
mod request;
mod results;
mod routes;
mod seats;
pub mod server;
mod settling;
mod status;
mod subjects;
mod tokens;

pub use app::{App, Options};
pub use auth::{Key, Keys};
pub use halls::Halls;
pub use routes::{openapi, router};
