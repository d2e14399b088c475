//! The rules once more, for tests: what the commands of an entry come to, written from the documents and as plainly as
//! possible. Lists are walked from the front, and what is best is found by trying everything.
//!
//! [`Model::apply`] takes the commands of one entry after the other, and returns what each came to. What it has at the
//! end can be compared: [`Model::campaigns`], [`Event::result`], [`is_as_listed`].
//!
//! It shares nothing with the rules that nodes run but the words of commands and outcomes: a mistake in one of the two
//! shows where they differ. The random tests of `firstcome-core` compare them, and the judge of the simulation asks the
//! model what a node should have answered.

mod acts;
mod campaign;
mod confirming;
mod coupons;
mod event;
mod hall;
mod holding;
mod lists;
mod model;
mod reseating;
mod seating;
mod stocking;
mod wanted;

pub use acts::{Act, is_as_listed};
pub use campaign::{ModelCampaign, ModelPool, Row, Undone};
pub use event::{Applied, Claimed, Decision, Event, Issued};
pub use holding::ModelHold;
pub use model::{Model, Seen};
