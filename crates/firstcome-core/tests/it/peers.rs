//! What other systems do at each step of a hold, and what went wrong there, asked of these rules.
//!
//! A comment names the system and its thread as the source of the fact. Where the answer here is another one on
//! purpose, the script shows it and the comment says so. `docs/SCENARIOS.md` lists them all.

mod coupon_lives;
mod coupons;
mod seats_io;
mod shops;
mod two_phase;
