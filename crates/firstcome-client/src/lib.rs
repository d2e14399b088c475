#![warn(missing_docs)]
#![doc = include_str!("../README.md")]
//!
//! # Contents
//!
//! - [`Client`] has a method for each operation; [`Builder`] says how it is made, [`Retry`] how it repeats itself.
//! - [`Answer`] is what the rules decided, [`Refusal`] why they said no, [`Problem`] the whole document of a no.
//! - [`Error`] is everything else, with [`Unknown`] for what may have happened.
//! - [`TakeHold`], [`HoldStep`] and [`Picks`] say which units; [`Pages`] reads long lists.
//! - [`UseCode`] says which coupon code is used for what.
//! - [`Commands`] are many commands in one request, one on each line ([`CommandLine`]).
//! - [`Ask`], [`Reply`] and [`Failure`] are a layer below: one request, sent once, for routes that have no method here and
//!   for programs that repeat requests themselves.
//! - Everything else are documents of the HTTP interface. Times in them are RFC 3339 in UTC.

mod answer;
mod bars;
mod bulk;
mod call;
mod campaigns;
mod claims;
mod client;
mod codes;
mod documents;
mod error;
mod holds;
mod nodes;
mod pages;
mod retry;
mod routes;
mod seats;
mod tokens;
mod waitlists;

pub use answer::Answer;
pub use bulk::{Commanded, Commands, Done};
pub use claims::{CancelBy, Which};
pub use client::address::{Server, encode_segment};
pub use client::builder::{BuildError, Builder};
pub use client::{Client, Exchange, Reply};
pub use codes::{CodeVerdict, UseCode};
pub use documents::{Ended, Extended, Held, LeftWaitlist, Minted, Ticket, Waitlisted, Won};
pub use error::failure::Failure;
pub use error::problem::Problem;
pub use error::refusal::{CodeError, Refusal, SeatError};
pub use error::{Error, Unchanged, Unknown};
pub use holds::picks::{HoldStep, Picks};
pub use holds::{Late, TakeHold, Taken};
pub use pages::{Page, Pages};
pub use retry::Retry;
pub use routes::{Ask, CancelAsk, Match, ResultFormat, ResultRange};
pub use waitlists::Joined;

pub use firstcome_api::bar::{BarLifted, BarLine, BarPage, BarSet};
pub use firstcome_api::bulk::{CommandLine, Do};
pub use firstcome_api::campaign::{
    Campaign, CampaignList, CampaignPool, CampaignRequest, Clamped, Deleted, HoldsRequest,
    LimitsRequest, OperatorDone, PoolKind, PoolRequest,
};
pub use firstcome_api::claim::{Cancel, Cancelled, Claim, SubjectClaims};
pub use firstcome_api::code::{
    CodeImport, CodeImportLine, CodeImportList, CodeMark, CodeSource, CodeStep, CodeUse,
    CodesFound, CodesMarked, CodesRequest, CommitCodesRequest, ImportCodesRequest,
    ImportLinesRequest, IssuedCode, MarkCodesRequest, PoolCodes, ReissueRequest, Reissued,
};
pub use firstcome_api::hidden::Hidden;
pub use firstcome_api::hold::{HeldUnit, Hold, HoldAnswer, HoldLookup, LateRequest, PickRequest};
pub use firstcome_api::key::Secret;
pub use firstcome_api::node::{Leader, Node, Nodes, Ready, Time};
pub use firstcome_api::result::{ResultLine, ResultPage};
pub use firstcome_api::seat::{
    Imported, SeatChangeRequest, SeatRow, SeatsBlocked, SeatsChanged, SeatsMoved,
};
pub use firstcome_api::seat_map::{MapArea, MapRow, SeatMap};
pub use firstcome_api::subject::{Subject, SubjectIn};
pub use firstcome_api::waitlist::{Place, WaitingLine, WaitlistPage, Wish};
pub use firstcome_api::winner::{WinnerLine, WinnerPage};

#[cfg(test)]
mod tests;
