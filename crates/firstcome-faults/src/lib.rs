//! Journals that lose calls and answers, for tests and the simulation.
//!
//! | File | Subject |
//! |---|---|
//! | [`faulty`] | a journal whose calls fail as a test plans |
//! | [`distant`] | a journal reached over a simulated network with loss, delay and reordering |

pub mod distant;
pub mod faulty;
