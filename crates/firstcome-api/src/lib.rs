//! What travels over HTTP, defined once: for the server that writes it, the client that reads it, and the OpenAPI
//! description.

pub mod answer;
pub mod clock_text;
pub mod key;
