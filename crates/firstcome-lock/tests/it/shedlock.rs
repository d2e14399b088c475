//! ShedLock's locks: by themselves, and beside real ShedLock.

mod alone;
mod clocks;
mod cuts;
mod java;
mod scene;
mod table;
