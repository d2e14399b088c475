//! A number for what a command asks, to find a repetition under the same id.

use super::holds::{self, BLOCK, CHANGE, CONFIRM, HOLD, MOVE, RELEASE, SEATS};
use super::write::{PUT, STEER, put_fields, steer_fields};
use super::{Command, Order};
use xxhash_rust::xxh3::xxh3_64_with_seed;

impl Command<'_> {
    /// Gives a number that two commands with ids share if they ask the same, whatever their ids.
    pub fn content(&self) -> u64 {
        let mut bytes = Vec::new();
        let field = match self {
            Self::Put { campaign, settings, expect, .. } => {
                put_fields(&mut bytes, campaign, settings, *expect, Order::default());
                PUT
            }
            Self::Steer { campaign, steer, .. } => {
                steer_fields(&mut bytes, campaign, *steer, Order::default());
                STEER
            }
            Self::Hold { subject, picks, .. } => {
                holds::hold_content(&mut bytes, subject, picks);
                HOLD
            }
            Self::Change { add, drop, .. } => {
                holds::change_content(&mut bytes, add, drop);
                CHANGE
            }
            Self::Release { units, .. } => {
                holds::release_content(&mut bytes, units);
                RELEASE
            }
            Self::Confirm { units, late, .. } => {
                holds::confirm_content(&mut bytes, units, *late);
                CONFIRM
            }
            Self::Seats { campaign, pool, chunk, .. } => {
                holds::seats_fields(&mut bytes, campaign, pool, chunk, Order::default());
                SEATS
            }
            Self::Block { campaign, units, blocked, reason, .. } => {
                let why = (*blocked, *reason);
                holds::block_fields(&mut bytes, campaign, units, why, Order::default());
                BLOCK
            }
            Self::Move { campaign, pool, from, to, reason, .. } => {
                holds::move_fields(
                    &mut bytes,
                    (campaign, pool),
                    (from, to),
                    reason,
                    Order::default(),
                );
                MOVE
            }
            Self::Claim { .. }
            | Self::Cancel { .. }
            | Self::Extend { .. }
            | Self::Tick { .. }
            | Self::Settled { .. } => return 0,
        };
        xxh3_64_with_seed(&bytes, u64::from(field))
    }
}
