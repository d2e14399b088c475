//! The HTTP server of a node: routes under `/v1`, problem documents, health and counts, and the guards before them.
//!
//! Limits, keys and counts of the claim route sit in the accept loop and in the handlers, not in layers around them.

pub mod answer;
mod app;
mod asks;
mod bulk;
mod campaigns;
mod claims;
pub mod clock_text;
mod codes;
pub mod guard;
mod holds;
pub mod limits;
pub mod metrics;
mod minute;
mod openapi;
mod options;
mod pages;
mod request;
mod routes;
mod seat_map;
mod seats;
pub mod server;
mod status;
mod waitlist;
mod watch;

pub use app::App;
pub use bulk::requests::BulkRequests;
pub use campaigns::checked::{CheckedCampaign, check_campaign};
pub use codes::missing_key::MissingKey;
pub use openapi::Description;
pub use options::{HttpOptions, Pages, RareOptions};
pub use request::auth::{Key, KeyTable, Keys};
pub use routes::{openapi, paths_and_methods, router};
pub use seat_map::SeatMaps;
pub use server::base_path::BasePath;
pub use server::dev_clock::DevClock;
pub use server::runtimes::Runtimes;
pub use server::serves::Serves;
pub use server::tls::{Tls, TlsFiles};
pub use status::durability::Durability;
pub use watch::watch;
