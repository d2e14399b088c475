//! Webhooks: other services are told of results, in the order of the ledger, at least once, signed as Standard Webhooks 1.0
//! says.
//!
//! Each *endpoint* is a row of the ledger's table `webhooks`: its settings, and how far it was told. The leader tells; a leader
//! that does not know yet that it was replaced may tell a result once more, under the same id, and then cannot write that it
//! did. Nothing is kept in memory that is not there: what was told is written after it was told.
//!
//! | File | Subject |
//! |---|---|
//! | `endpoint` | what is stored of an endpoint |
//! | `event` | what is told of a result |
//! | `signature` | how it is signed |
//! | `address` | where nothing is sent |
//! | `post` | one request over a kept connection |
//! | `schedule` | when it is tried again |
//! | `stored` | an endpoint with the version that is stored |
//! | `courier` | one endpoint is told |
//! | `takeover` | a ledger takes the place of another |
//! | `office` | all of them, while this server leads; and what operators ask |

mod address;
mod clock;
mod counts;
mod courier;
mod endpoint;
mod event;
mod office;
mod post;
mod schedule;
mod signature;
mod stored;
mod takeover;

pub use address::Allowed;
pub use counts::Counts;
pub use endpoint::{Delivery, Endpoint, Off, PARKED_MOST, Wanted};
pub use event::{Event, TYPES};
pub use office::{ENDPOINTS, New, Office, Tested};
pub use signature::Secret;
pub use stored::Failure;
pub use takeover::take_over;
