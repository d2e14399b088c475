//! Subject tokens and tickets, for browsers.

use std::time::Duration;

use crate::answer::Answer;
use crate::client::Client;
use crate::documents::{Minted, Ticket};
use crate::error::Error;
use crate::routes::Ask;

impl Client {
    /// Mints a token with which a browser acts for one subject in a campaign, or in all whose names begin as `campaign`
    /// does before its `*`. It lasts so long, 1 s to 31 days in whole seconds. `cancel` says whether its bearer may cancel.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn mint_token(
        &self,
        campaign: &str,
        subject: &str,
        lasts: Duration,
        cancel: bool,
    ) -> Result<Answer<Minted>, Error> {
        let seconds = u32::try_from(lasts.as_secs()).unwrap_or(u32::MAX);
        self.call(Ask::mint(campaign, subject, seconds, cancel)).await
    }

    /// Mints a ticket with which the bearer of a subject token, this client's key, follows events.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn mint_ticket(&self) -> Result<Answer<Ticket>, Error> {
        self.call(Ask::ticket()).await
    }
}
