//! The model's rules for what operators do to campaigns, and for results that a ledger has.

use super::{Event, Model, ModelCampaign, SaidBy, Turn};
use crate::acts::Act;
use firstcome_core::command::{Expect, Steer};
use firstcome_core::outcome::Missing;
use firstcome_core::{CodeRefusal, Command, Outcome, Refusal, Settings, Timestamp};

impl<'a> Model<'a> {
    pub(super) fn put(
        &mut self,
        turn: &Turn,
        name: &'a str,
        asked: &Settings,
        expect: Expect,
    ) -> Result<Outcome, Refusal> {
        match self.find(name) {
            Err(Refusal::NotFound(_)) => {}
            Err(refusal) => return Err(refusal),
            Ok(campaign) => {
                let version = campaign.version;
                let fits = match expect {
                    Expect::Anything => true,
                    Expect::Absent => false,
                    Expect::Version(demanded) => demanded == version,
                };
                if !fits {
                    return Err(Refusal::VersionMismatch { version });
                }
                return campaign.put(turn, asked.clone());
            }
        }
        if let Expect::Version(_) = expect {
            return Err(Refusal::NotFound(Missing::Campaign));
        }
        let mut campaign = ModelCampaign::create(turn, asked.clone())?;
        self.made += 1;
        campaign.number = self.made;
        self.campaigns.insert(name, campaign);
        Ok(Outcome::Created { version: 1 })
    }

    pub(super) fn steer(
        &mut self,
        turn: &Turn,
        name: &str,
        steer: Steer,
    ) -> Result<Outcome, Refusal> {
        let unsettled = (1..).zip(&self.results).skip(self.settled);
        let unsettled: Vec<u64> =
            unsettled.filter(|(_, of)| **of == name).map(|(number, _)| number).collect();
        if steer == Steer::Delete {
            let listed = self.find(name).is_ok_and(|campaign| campaign.is_anybody_listed());
            if (self.results.contains(&name) || listed) && self.find(name).is_ok() {
                return Err(Refusal::HasResults);
            }
            self.find(name)?;
            self.campaigns.remove(name);
            return Ok(Outcome::Deleted);
        }
        if let Steer::Archive { drop_unsettled } = steer {
            match self.find(name) {
                Err(Refusal::Archived) => return Ok(Outcome::Unchanged { version: 0 }),
                Err(refusal) => return Err(refusal),
                Ok(campaign) if !campaign.is_closed(turn.at) => return Err(Refusal::NotClosed),
                Ok(campaign)
                    if !drop_unsettled
                        && (!unsettled.is_empty()
                            || campaign.holds.iter().any(|hold| hold.live)) =>
                {
                    return Err(Refusal::Unsettled);
                }
                Ok(campaign) if !drop_unsettled && campaign.has_valid_codes(turn.at) => {
                    return Err(CodeRefusal::CodesValid.into());
                }
                Ok(_) => self.dropped.extend(unsettled),
            }
        }
        self.find(name)?.steer(turn, steer)
    }

    /// Lists a command that was decided: not one that was known under its id.
    pub(super) fn list_act(&mut self, at: Timestamp, command: &Command<'a>, outcome: &'static str) {
        let act = Act::of(at, command, outcome);
        let campaign = command.campaign().and_then(|name| self.campaigns.get_mut(name));
        if let (Some(act), Some(campaign)) = (act, campaign.filter(|found| !found.archived)) {
            campaign.acts.push(act);
        }
    }

    /// Notes the terms under which a campaign stands after a put or a steer.
    pub(super) fn stands(&mut self, name: &'a str, outcome: Result<Outcome, Refusal>) -> SaidBy {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(refusal) => return SaidBy::from(refusal),
        };
        let Some(campaign) = self.campaigns.get(name) else { return SaidBy::from(outcome) };
        self.events.push(Event::Terms {
            campaign: name,
            settings: Box::new(campaign.settings.clone()),
            shut: campaign.paused || campaign.closed_by_hand || campaign.archived,
        });
        let unchanged = matches!(outcome, Outcome::Unchanged { .. });
        SaidBy { outcome, since: unchanged.then_some(campaign.entry) }
    }

    pub(super) fn settle(&mut self, through: u64) -> Outcome {
        let asked = usize::try_from(through).unwrap_or(usize::MAX);
        if asked > self.results.len() {
            return Refusal::BeyondResults.into();
        }
        self.settled = self.settled.max(asked);
        Outcome::Settled { through: self.settled as u64 }
    }
}
