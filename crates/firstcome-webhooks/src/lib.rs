//! Webhooks: results are delivered to other services, in the order of the ledger, at least once, signed as Standard Webhooks 1.0
//! says.
//!
//! Each *endpoint* is a row of the ledger's table `webhooks`: its settings, and up to where results were sent. The leader delivers; a leader
//! that does not know yet that it was replaced may send a result once more, under the same id, and then cannot write that it
//! did. Nothing is kept in memory that is not there: what was sent is written after it was sent.
//!
//! | File | Subject |
//! |---|---|
//! | `endpoint` | what is stored of an endpoint |
//! | `event` | what is sent of a result |
//! | `signature` | how it is signed |
//! | `address` | where nothing is sent |
//! | `post` | one request over a kept connection |
//! | `schedule` | when it is tried again |
//! | `stored` | an endpoint with the version that is stored |
//! | `worker` | sends to one endpoint |
//! | `takeover` | a ledger takes the place of another |
//! | `dispatcher` | all of them, while this server leads; and what operators ask |

mod address;
mod clock;
mod counts;
mod dispatcher;
mod endpoint;
mod event;
mod post;
mod schedule;
mod signature;
mod stored;
mod takeover;
mod worker;

pub use address::Allowed;
pub use counts::Counts;
pub use dispatcher::{Dispatcher, New, Tested};
pub use endpoint::{Delivery, Endpoint, Off, Waiting, Wanted};
pub use event::TYPES;
pub use signature::Secret;
pub use stored::Failure;
pub use takeover::take_over;
