//! What the load tests of people share: connections that send a request until it is decided, and a count of the answers.

mod answers;
mod connections;

pub(crate) use answers::{Answers, Counts};
pub(crate) use connections::{Access, Answer, Connections};
