//! Answers a request from the state of the model, as a node answers from memory.

use super::{Model, SaidBy};
use crate::campaign::ModelCampaign;
use crate::coupons::Found;
use crate::hall::{SeatOwner, Unit};
use crate::wanted::refused;
use firstcome_core::command::CodeCommand;
use firstcome_core::outcome::Missing;
use firstcome_core::{CodeRefusal, Command, Outcome, Refusal};

/// What a state says to a caller that asks without the journal.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The answer.
    pub outcome: Outcome,
    /// The entry that made it true: the index that it was applied with.
    pub origin: usize,
    /// Whether the campaign lets subjects claim again.
    pub again: bool,
    /// Of what another subject holds, for how long at least they have it still: microseconds of service.
    pub left: Option<i64>,
}

/// How long another subject must have a unit still for a node to say so, in microseconds of service.
const TAKEN_FOR: i64 = 2_000_000;

impl<'a> Model<'a> {
    /// Returns the answer of this state to a caller; none if only the journal has one.
    ///
    /// A code that was typed comes with the number that its campaign had when it was shown.
    pub fn look(&self, command: &Command<'_>, number: Option<u32>) -> Option<Seen> {
        if let Command::Put { campaign, settings, .. } = command {
            let known = self.campaigns.get(campaign)?;
            let same = !known.archived && known.settings == *settings;
            let outcome = Outcome::Unchanged { version: known.version };
            return same.then(|| Seen { origin: known.entry, ..self.sees(outcome) });
        }
        if !matches!(command, Command::Claim { .. } | Command::Hold { .. }) && number.is_none() {
            return None;
        }
        let Some(campaign) = self.campaigns.get(command.campaign()?) else {
            return Some(self.sees(Refusal::NotFound(Missing::Campaign)));
        };
        if campaign.archived {
            return Some(self.sees(Refusal::Archived));
        }
        if let Command::Claim { pool, subject, limit, .. } = command {
            let turn = self.turn?;
            let claim = campaign.check_claim(turn.at, *pool, subject, *limit);
            let SaidBy { outcome, since } = claim.err()?;
            let origin = since.unwrap_or(turn.entry);
            let again = campaign.settings.claim_again;
            return Some(Seen { outcome, origin, again, left: None });
        }
        if let Command::Code(code) = command {
            return self.look_at_code(campaign, code, number?);
        }
        self.look_at_hold(campaign, command)
    }

    fn sees(&self, outcome: impl Into<Outcome>) -> Seen {
        let origin = self.turn.map_or(0, |turn| turn.entry);
        Seen { outcome: outcome.into(), origin, again: false, left: None }
    }

    /// Returns the answer to a caller that typed a code.
    fn look_at_code(
        &self,
        campaign: &ModelCampaign<'_>,
        code: &CodeCommand<'_>,
        number: u32,
    ) -> Option<Seen> {
        let step = code.step()?;
        let coupons = campaign.pool(step.pool)?.coupons.as_ref()?;
        // A campaign that a fork made anew may have another number, and then it has other codes.
        let other = campaign.number != number as usize;
        let unknown = other || coupons.find(step.code) == Found::Nothing;
        unknown.then(|| self.sees(Refusal::Code(CodeRefusal::NoSuchCode)))
    }

    /// Returns the answer to a caller that requests a hold.
    fn look_at_hold(&self, campaign: &ModelCampaign<'a>, command: &Command<'_>) -> Option<Seen> {
        let Command::Hold { subject, .. } = command else { return None };
        let turn = self.turn?;
        let wanted = match campaign.may_hold(&turn, command) {
            Ok(wanted) => wanted,
            Err(SaidBy { outcome, since }) => {
                let origin = since.unwrap_or(turn.entry);
                return Some(Seen { origin, ..self.sees(outcome) });
            }
        };
        let (mut names, mut left) = (Vec::new(), None::<i64>);
        for (pool, seat) in campaign.taken(&wanted) {
            match campaign.pools[pool].hall.as_ref()?.seats[seat].owner {
                SeatOwner::Rank(_) => {}
                SeatOwner::Hold(at) => {
                    let hold = &campaign.holds[at];
                    let more = hold.deadline - turn.service;
                    if hold.subject == *subject || more <= TAKEN_FOR {
                        return None;
                    }
                    left = Some(left.map_or(more, |left| left.min(more)));
                }
                SeatOwner::Nobody | SeatOwner::Kept => return None,
            }
            names.push(campaign.unit_name(pool, Unit::Seat(seat)));
        }
        if !names.is_empty() {
            return Some(Seen { left, ..self.sees(refused(Refusal::UnitTaken, names)) });
        }
        let too_few = |(pool, unit, n): &(usize, Unit, u32)| campaign.free(*pool, *unit) < *n;
        let sold_out = wanted.counts.iter().any(too_few);
        sold_out.then(|| self.sees(Refusal::SoldOut))
    }
}
