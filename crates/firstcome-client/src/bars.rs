//! Bars: subjects that are kept out of a campaign.

use crate::answer::Answer;
use crate::campaigns::command_id;
use crate::client::Client;
use crate::error::Error;
use crate::routes::Ask;
use firstcome_api::bar::{BarLifted, BarSet};

impl Client {
    /// Keeps a subject from having anything more of a campaign, for a reason of 1 to 256 bytes. Its live holds end, its
    /// claims stay.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn bar(
        &self,
        campaign: &str,
        subject: &str,
        reason: &str,
    ) -> Result<Answer<BarSet>, Error> {
        self.call(Ask::bar(campaign, subject, reason, &command_id())).await
    }

    /// Takes a bar back.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn unbar(&self, campaign: &str, subject: &str) -> Result<Answer<BarLifted>, Error> {
        self.call(Ask::unbar(campaign, subject, &command_id())).await
    }
}
