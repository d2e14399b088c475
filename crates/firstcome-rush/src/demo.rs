//! Demonstrations: start a server as a child process, run a load test on it, and prove every promise.
//!
//! Nothing is staged inside the server: it is the same program on a temporary folder, and it is judged by what it
//! answered over HTTP and by the program's own `audit`.

mod campaign;
pub mod claims;
pub mod codes;
pub mod page;
mod proofs;
pub mod seats;
mod server;

pub use campaign::{CAMPAIGN, DemoError};
pub use proofs::Proof;
pub use server::ServerError;
