//! Answers a request from the state of the model, as a node answers from memory.

use super::Model;
use crate::history::Asked;
use crate::judge::coupons::Found;
use crate::judge::hall::{Owner, Unit};
use crate::judge::wanted::refused;
use firstcome_core::outcome::Missing;
use firstcome_core::{CodeRefusal, Command, Outcome, Refusal};

/// What a state says to a caller that asks without the journal.
#[derive(Clone, Debug)]
pub(in crate::judge) struct Seen {
    pub(in crate::judge) outcome: Outcome,
    pub(in crate::judge) origin: usize,
    /// Whether the campaign lets subjects claim again.
    pub(in crate::judge) again: bool,
    /// Of what another subject holds, for how long at least they have it still: microseconds of service.
    pub(in crate::judge) left: Option<i64>,
}

/// How long another subject must have a unit still for a node to say so, in microseconds of service.
const TAKEN_FOR: i64 = 2_000_000;

impl Model<'_> {
    /// Returns the answer of this state to a caller; none if it has no answer.
    pub(in crate::judge) fn look(&self, asked: &Asked) -> Option<Seen> {
        let not_found = |origin| Seen {
            outcome: Refusal::NotFound(Missing::Campaign).into(),
            origin,
            again: false,
            left: None,
        };
        let (name, pool, subject) = match asked {
            Asked::Claim { campaign, pool, subject } => (campaign, pool.as_deref(), subject),
            Asked::Put { campaign, settings, .. } => {
                let known = self.campaigns.get(campaign.as_str())?;
                let same = !known.archived && known.settings == **settings;
                let outcome = Outcome::Unchanged { version: known.version };
                let origin = known.entry;
                return same.then_some(Seen { outcome, origin, again: false, left: None });
            }
            Asked::On { command: asked_for, .. } => return self.look_at_hold(&asked_for.command()),
            Asked::Code { command: asked_for, number, .. } => {
                return self.look_at_code(&asked_for.command(), *number);
            }
            Asked::Cancel { .. } | Asked::Steer { .. } | Asked::Raise => return None,
        };
        let Some(campaign) = self.campaigns.get(name.as_str()) else {
            return Some(not_found(self.entry));
        };
        let origin = campaign.pool(pool).and_then(|pool| pool.live(subject));
        let origin = origin.map_or(self.entry, |(_, row)| row.entry);
        let again = campaign.settings.claim_again;
        if campaign.archived {
            return Some(Seen { outcome: Refusal::Archived.into(), origin, again, left: None });
        }
        let outcome = campaign.judge_claim(self.at?, pool, subject, None).err()?;
        Some(Seen { outcome, origin, again, left: None })
    }

    /// Returns the answer of this state to a caller that typed a code.
    fn look_at_code(&self, command: &Command<'_>, number: u32) -> Option<Seen> {
        let Command::Code(code) = command else { return None };
        let step = code.step()?;
        let no = |refusal: Refusal| {
            let (outcome, origin) = (refusal.into(), self.entry);
            Some(Seen { outcome, origin, again: false, left: None })
        };
        let Some(campaign) = self.campaigns.get(step.campaign) else {
            return no(Refusal::NotFound(Missing::Campaign));
        };
        if campaign.archived {
            return no(Refusal::Archived);
        }
        let coupons = campaign.pool(step.pool)?.coupons.as_ref()?;
        // A campaign that a fork made anew may have another number, and then it has other codes.
        if coupons.find(step.code) == Found::Nothing || campaign.number != number as usize {
            return no(CodeRefusal::NoSuchCode.into());
        }
        None
    }

    /// Returns the answer of this state to a caller that requests a hold.
    fn look_at_hold(&self, command: &Command<'_>) -> Option<Seen> {
        let Command::Hold { campaign, subject, .. } = command else { return None };
        let seen = |outcome: Outcome, origin, left| Seen { outcome, origin, again: false, left };
        let Some(campaign) = self.campaigns.get(campaign) else {
            let missing = Refusal::NotFound(Missing::Campaign);
            return Some(seen(missing.into(), self.entry, None));
        };
        if campaign.archived {
            return Some(seen(Refusal::Archived.into(), self.entry, None));
        }
        let wanted = match campaign.may_hold(&self.turn(self.at?), command) {
            Ok(wanted) => wanted,
            Err((outcome, origin)) => return Some(seen(outcome, origin, None)),
        };
        let (mut names, mut left) = (Vec::new(), None::<i64>);
        for (pool, seat) in campaign.taken(&wanted) {
            match campaign.pools[pool].hall.as_ref()?.seats[seat].owner {
                Owner::Rank(_) => {}
                Owner::Hold(at) => {
                    let hold = &campaign.holds[at];
                    let more = hold.deadline - self.service;
                    if hold.subject == *subject || more <= TAKEN_FOR {
                        return None;
                    }
                    left = Some(left.map_or(more, |left| left.min(more)));
                }
                Owner::Nobody | Owner::Kept => return None,
            }
            names.push(campaign.unit_name(pool, Unit::Seat(seat)));
        }
        if !names.is_empty() {
            return Some(seen(refused(Refusal::UnitTaken, names), self.entry, left));
        }
        let too_few = |(pool, unit, n): &(usize, Unit, u32)| campaign.free(*pool, *unit) < *n;
        let sold_out = wanted.counts.iter().any(too_few);
        sold_out.then(|| seen(Refusal::SoldOut.into(), self.entry, None))
    }
}
