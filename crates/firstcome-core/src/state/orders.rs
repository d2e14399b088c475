//! Operator commands: once for each id; and those that make, change and end a campaign.

use super::{Named, State};
use crate::campaign::Campaign;
use crate::command::{Command, Expect, Order, Steer};
use crate::dedup::{Answered, Known};
use crate::outcome::{CodeRefusal, Missing, Outcome, Refusal};
use crate::settings::Settings;
use firstcome_inject::{Mistake, inject};

impl State {
    /// Runs an operator command once for each id.
    ///
    /// An id that was said yes to gives the same answer again, or `id_reused` with other content.
    pub(super) fn order(
        &mut self,
        command: &Command<'_>,
        order: Order<'_>,
        run: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        let content = command.content();
        // What an operator wanted shows in later outcomes only: the digest tells it at once.
        self.scratch.extend_from_slice(&content.to_le_bytes());
        let Some(id) = order.id else {
            let outcome = run(self);
            self.note_act(command, &outcome);
            return outcome;
        };
        self.orders.forget(self.service);
        // The ids of different keys are apart.
        let who = if inject(Mistake::IdsOfAllKeys) { "" } else { order.who };
        match self.orders.look_up(who, id, content) {
            Known::Same(outcome) => {
                if inject(Mistake::RepeatedActListed) {
                    self.note_act(command, &outcome);
                }
                return outcome;
            }
            Known::Other => {
                let outcome = Refusal::IdReused.into();
                self.note_act(command, &outcome);
                return outcome;
            }
            Known::No => {}
        }
        let outcome = run(self);
        self.note_act(command, &outcome);
        if !outcome.is_refusal() {
            let answered = Answered { content, outcome: outcome.clone(), service: self.service };
            self.orders.remember(who, id, answered);
        }
        outcome
    }

    /// Creates a campaign or changes it.
    ///
    /// The first refusal that applies is given, in this order: `archived`, `version_mismatch`,
    /// `not_found` (a version was demanded of nothing), then those of [`Campaign`].
    pub(super) fn put(&mut self, name: &str, wanted: &Settings, expect: Expect) -> Outcome {
        let at = self.stamp.at;
        match self.campaign_mut(name) {
            Err(Refusal::NotFound(_)) => {}
            Err(refusal) => return refusal.into(),
            Ok(campaign) => {
                let version = campaign.version;
                let fits = match expect {
                    Expect::Anything => true,
                    Expect::Version(demanded) => demanded == version,
                    Expect::Absent => false,
                };
                if !fits {
                    return Refusal::VersionMismatch { version }.into();
                }
                let before = campaign.settings();
                let outcome = campaign.put(at, wanted);
                if let Outcome::Changed { .. } = outcome {
                    let after = campaign.settings();
                    self.note_changes(&before, &after);
                }
                return outcome;
            }
        }
        if let Expect::Version(_) = expect {
            return Refusal::NotFound(Missing::Campaign).into();
        }
        let number = self.last_campaign + 1;
        let campaign = match Campaign::create(number, name, at, wanted) {
            Ok(campaign) => campaign,
            Err(refusal) => return refusal.into(),
        };
        self.last_campaign = number;
        self.counts.touch(number);
        self.names.insert(name.into(), Named::Live(number));
        self.campaigns.insert(number, campaign);
        Outcome::Created { version: 1 }
    }

    pub(super) fn steer(&mut self, name: &str, steer: Steer) -> Outcome {
        let at = self.stamp.at;
        let archived = matches!(self.names.get(name), Some(Named::Archived(_)));
        if let Steer::Archive { .. } = steer
            && archived
        {
            return Outcome::Unchanged { version: 0 };
        }
        let campaign = match self.campaign_mut(name) {
            Ok(campaign) => campaign,
            Err(refusal) => return refusal.into(),
        };
        let drop_unsettled = match steer {
            Steer::Archive { drop_unsettled } => drop_unsettled,
            Steer::Delete if campaign.has_results() && !inject(Mistake::DeleteWithResults) => {
                return Refusal::HasResults.into();
            }
            Steer::Delete => {
                let number = campaign.number;
                return self.delete(number);
            }
            Steer::Pause | Steer::Resume | Steer::Close => return campaign.steer(at, steer),
        };
        if campaign.closed_since(at).is_none() {
            return Refusal::NotClosed.into();
        }
        if (campaign.unsettled > 0 || campaign.live_holds() > 0 || campaign.waiters() > 0)
            && !drop_unsettled
        {
            return Refusal::Unsettled.into();
        }
        if campaign.has_valid_codes(at) && !drop_unsettled {
            return CodeRefusal::CodesValid.into();
        }
        let number = campaign.number;
        self.archive(number)
    }
}
