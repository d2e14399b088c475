//! The rules, told as scripts, as random commands and as bytes of earlier builds.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its own script has nothing to say"
)]

mod acts;
mod archiving;
mod bars;
mod buyers;
mod bytes;
mod campaigns;
mod claims;
mod codes;
mod coding;
mod comparison;
mod copies;
mod deleting;
mod digests;
mod golden;
mod hall;
mod holding;
mod holds;
mod instants;
mod ladder;
mod levels;
mod limits;
mod peers;
mod play;
mod random;
mod random_all;
mod random_codes;
mod random_holds;
mod reseating;
mod say;
mod seats;
mod sizes;
mod skips;
mod snapshots;
mod waiting;
mod waitlists;
mod winners;
mod world;
