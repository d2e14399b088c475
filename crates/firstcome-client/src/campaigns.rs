//! Campaigns: created, changed, steered, shown.

use crate::answer::Answer;
use crate::client::Client;
use crate::error::Error;
use crate::error::refusal::Refusal;
use crate::routes::{Ask, Match};
use firstcome_api::campaign::{Campaign, CampaignList, CampaignRequest, Deleted, OperatorDone};

/// How often a change is made anew that somebody else came before.
const CHANGES: u32 = 16;

/// Draws the id of one operator command.
pub(crate) fn command_id() -> String {
    format!("client-{:032x}", fastrand::u128(..))
}

impl Client {
    /// Creates a campaign; one of that name that is there already is [`Refusal::VersionMismatch`].
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn create_campaign(
        &self,
        campaign: &str,
        settings: &CampaignRequest,
    ) -> Result<Answer<OperatorDone>, Error> {
        self.put_campaign(campaign, settings, Match::Nothing).await
    }

    /// Creates a campaign, or changes it to what is given; `expect` says what there must be for that.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn put_campaign(
        &self,
        campaign: &str,
        settings: &CampaignRequest,
        expect: Match,
    ) -> Result<Answer<OperatorDone>, Error> {
        let settings = serde_json::to_value(settings).expect("settings can be written as JSON");
        self.call(Ask::put_campaign(campaign, settings, expect, &command_id())).await
    }

    /// Reads the settings of a campaign, has them changed, and writes them back if nobody else did meanwhile; otherwise it
    /// begins again, up to 16 times. Each request has a deadline of its own.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn change_campaign(
        &self,
        campaign: &str,
        mut change: impl FnMut(&mut CampaignRequest),
    ) -> Result<Answer<OperatorDone>, Error> {
        let mut tried = 0;
        loop {
            tried += 1;
            let now = match self.campaign(campaign).await? {
                Answer::Yes(now) => now,
                Answer::No(refusal, problem) => return Ok(Answer::No(refusal, problem)),
            };
            let mut settings = now.settings();
            change(&mut settings);
            let answer =
                self.put_campaign(campaign, &settings, Match::Version(now.version)).await?;
            let came_later = matches!(answer, Answer::No(Refusal::VersionMismatch { .. }, _));
            if !came_later || tried == CHANGES {
                return Ok(answer);
            }
        }
    }

    /// Raises the capacity of a counted pool to this, 1 to 4,294,967,294; one that is as large already stays.
    ///
    /// # Errors
    ///
    /// As [`Client::change_campaign`]. A pool that is not there is created, where that is still possible.
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn raise_capacity(
        &self,
        campaign: &str,
        pool: &str,
        capacity: u32,
    ) -> Result<Answer<OperatorDone>, Error> {
        self.change_campaign(campaign, |settings| settings.raise(pool, capacity)).await
    }

    /// Reads a campaign as it stands.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn campaign(&self, campaign: &str) -> Result<Answer<Campaign>, Error> {
        self.call(Ask::campaign(campaign)).await
    }

    /// Reads all campaigns that the key may see, by name; page by page, so one that is made meanwhile may be missing.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn campaigns(&self) -> Result<CampaignList, Error> {
        let mut all: CampaignList = self.read(Ask::campaigns("")).await?;
        while let Some(after) = all.next.take() {
            let page: CampaignList = self.read(Ask::campaigns(&after)).await?;
            all.campaigns.extend(page.campaigns);
            all.archived.extend(page.archived);
            (all.next, all.position) = (page.next, page.position);
            all.durable &= page.durable;
        }
        Ok(all)
    }

    /// Pauses a campaign: until it is resumed nobody wins and nobody holds anything new.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn pause_campaign(&self, campaign: &str) -> Result<Answer<OperatorDone>, Error> {
        self.call(Ask::operate(campaign, "pause", None, &command_id())).await
    }

    /// Lets a paused campaign go on.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn resume_campaign(&self, campaign: &str) -> Result<Answer<OperatorDone>, Error> {
        self.call(Ask::operate(campaign, "resume", None, &command_id())).await
    }

    /// Closes a campaign, for good. Live holds can be confirmed still.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn close_campaign(&self, campaign: &str) -> Result<Answer<OperatorDone>, Error> {
        self.call(Ask::operate(campaign, "close", None, &command_id())).await
    }

    /// Lets a closed campaign leave memory once its results are in the ledger. Its name is never used again.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn archive_campaign(&self, campaign: &str) -> Result<Answer<OperatorDone>, Error> {
        self.call(Ask::operate(campaign, "archive", None, &command_id())).await
    }

    /// Removes a campaign that has no result, whatever its state. Its name is free then.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn delete_campaign(&self, campaign: &str) -> Result<Answer<Deleted>, Error> {
        self.call(Ask::delete_campaign(campaign, &command_id())).await
    }
}
