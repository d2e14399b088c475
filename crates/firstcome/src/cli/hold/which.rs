//! Which hold a verb is about: its campaign and its id, or its id alone.

use clap::Args;
use serde_json::Value;

use crate::cli::campaign::all;
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::yes;
use firstcome_client::{Ask, Client, Hold, HoldStep, Reply};

/// A hold.
#[derive(Debug, Args)]
pub(super) struct WhichArgs {
    /// The campaign; the hold's id may stand here alone, then its campaign is looked for.
    #[arg(value_name = "CAMPAIGN")]
    campaign: String,
    /// The hold's id.
    #[arg(value_name = "HOLD")]
    hold: Option<String>,
    /// Refuse the hold of anybody else; whose it is need not be said.
    #[arg(long, value_name = "SUBJECT")]
    pub(super) subject: Option<String>,
}

impl WhichArgs {
    /// Reads the hold.
    pub(super) async fn find(&self, client: &mut Client) -> Result<(Hold, Value), Complaint> {
        match &self.hold {
            Some(hold) => {
                let ask = Ask::hold_of(&self.campaign, hold, self.subject.as_deref());
                yes(client.ask::<Hold>(ask).await?)
            }
            None => self.search(client).await,
        }
    }

    /// Returns what is needed for a step on the hold. Its subject is looked up, unless it is named.
    ///
    /// The subject may also stand before the units, as it had to before there was --subject: then it is taken from them.
    pub(super) async fn step(
        &self,
        client: &mut Client,
        units: &mut Vec<String>,
    ) -> Result<HoldStep, Complaint> {
        if let (Some(hold), Some(subject)) = (&self.hold, &self.subject) {
            let (campaign, hold, subject) = (self.campaign.clone(), hold.clone(), subject.clone());
            return Ok(HoldStep { campaign, hold, subject });
        }
        let (found, _) = self.find(client).await?;
        if units.first() == Some(&found.subject) {
            units.remove(0);
        }
        let Hold { campaign, hold, subject, .. } = found;
        Ok(HoldStep { campaign, hold, subject })
    }

    /// Asks every campaign for the hold.
    async fn search(&self, client: &mut Client) -> Result<(Hold, Value), Complaint> {
        let hold = &self.campaign;
        let (list, _) = all(client).await?;
        let mut found = Vec::new();
        for campaign in list.campaigns {
            let ask = Ask::hold_of(&campaign.campaign, hold, self.subject.as_deref());
            match client.ask::<Hold>(ask).await? {
                Reply::Yes(one, raw) => found.push((one, raw)),
                Reply::No(none) if ["no_such_hold", "not_found"].contains(&&*none.outcome) => {}
                Reply::No(problem) => return Err(problem.into()),
            }
        }
        match found.len() {
            0 => {
                let sentence = format!("no campaign has a hold {hold}");
                let hint = "a hold has an id: `firstcome hold take` prints it, --id chooses it";
                Err(Complaint::new(Exit::Refused, sentence).hint(hint))
            }
            1 => Ok(found.remove(0)),
            several => {
                let names: Vec<&str> = found.iter().map(|(one, _)| &*one.campaign).collect();
                let names = names.join(", ");
                let sentence = format!("{several} campaigns have a hold {hold}: {names}");
                Err(Complaint::usage(sentence).hint("name the campaign before the hold's id"))
            }
        }
    }
}
