//! Demonstrations: start a server as a child process, run a load test on it, and prove every promise.
//!
//! Nothing is staged inside the server: it is the same program on a temporary folder, and it is judged by what it
//! answered over HTTP and by the program's own `audit`.

pub(crate) mod campaign;
pub mod claims;
pub mod codes;
pub mod page;
pub(crate) mod proofs;
pub mod seats;

pub use crate::server::ServerError;
pub use campaign::{CAMPAIGN, DemoError};
pub use proofs::Proof;
