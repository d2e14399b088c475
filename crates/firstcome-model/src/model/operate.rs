//! The model's rules for what operators do to campaigns, and for results that a ledger has.

use super::{Campaign, Decision, Model};
use crate::acts::Act;
use firstcome_core::command::{Expect, Steer};
use firstcome_core::outcome::Missing;
use firstcome_core::{CodeRefusal, Command, Outcome, Refusal, Settings, Timestamp};

impl<'a> Model<'a> {
    pub(super) fn put(
        &mut self,
        at: Timestamp,
        name: &'a str,
        asked: &Settings,
        expect: Expect,
    ) -> Result<Outcome, Refusal> {
        let entry = self.entry;
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
                return campaign.put(entry, at, asked.clone());
            }
        }
        if let Expect::Version(_) = expect {
            return Err(Refusal::NotFound(Missing::Campaign));
        }
        let mut campaign = Campaign::create(entry, at, asked.clone())?;
        self.made += 1;
        campaign.number = self.made;
        self.campaigns.insert(name, campaign);
        Ok(Outcome::Created { version: 1 })
    }

    pub(super) fn steer(
        &mut self,
        at: Timestamp,
        name: &str,
        steer: Steer,
    ) -> Result<Outcome, Refusal> {
        let entry = self.entry;
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
                Ok(campaign) if !campaign.is_closed(at) => return Err(Refusal::NotClosed),
                Ok(campaign)
                    if !drop_unsettled
                        && (!unsettled.is_empty()
                            || campaign.holds.iter().any(|hold| hold.live)) =>
                {
                    return Err(Refusal::Unsettled);
                }
                Ok(campaign) if !drop_unsettled && campaign.has_valid_codes(at) => {
                    return Err(CodeRefusal::CodesValid.into());
                }
                Ok(_) => self.dropped.extend(unsettled),
            }
        }
        self.find(name)?.steer(entry, at, steer)
    }

    /// Lists a command that was decided: not one that was known under its id.
    pub(super) fn list_act(&mut self, at: Timestamp, command: &Command<'a>, outcome: &'static str) {
        let act = Act::of(at, command, outcome);
        let campaign = command.campaign().and_then(|name| self.campaigns.get_mut(name));
        if let (Some(act), Some(campaign)) = (act, campaign.filter(|found| !found.archived)) {
            campaign.acts.push(act);
        }
    }

    pub(super) fn settle(&mut self, through: u64) -> Result<Decision, Refusal> {
        let asked = usize::try_from(through).unwrap_or(usize::MAX);
        if asked > self.results.len() {
            return Err(Refusal::BeyondResults);
        }
        self.settled = self.settled.max(asked);
        Ok(self.here(Outcome::Settled { through: self.settled as u64 }))
    }
}
