//! The terminal: what is asked there, how wide it is, and what is printed.

pub(super) mod ask;
pub(super) mod lines;
pub(super) mod out;
pub(super) mod progress;
pub(super) mod screen;
pub(super) mod table;
