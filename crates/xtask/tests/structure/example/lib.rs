//! A crate that only the test of import loops reads: two loops, and what looks like one.

mod kept;
mod left;
mod parent;
mod right;

pub use kept::Kept;
