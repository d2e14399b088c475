//! What became of a call that ended without an answer.

use serde::de::DeserializeOwned;

use crate::answer::Answer;
use crate::client::{Client, Settings};
use crate::error::{Error, Unknown};

impl Unknown {
    /// Finds out what became of the call: makes the same request again, with the same identity, until it is answered or the
    /// deadline of `client` passes. `T` is what the method gives that failed.
    ///
    /// A yes is what happened, now or before; it happened once. A no is that it did not happen, by now. Looking without
    /// asking again would prove less: what is not there yet may come in the next moment.
    ///
    /// Nothing that must not happen any more should be resolved like this. Then look with [`Client::claims_of`] or
    /// [`Client::hold`], and cancel or release what is there.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; [`Error::Unknown`] where it is still not known. [`Error::Unknown`] at once, without
    /// asking, where the request has no identity ([`Ask::repeatable`](crate::Ask::repeatable)).
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn resolve<T: DeserializeOwned>(&self, client: &Client) -> Result<Answer<T>, Error> {
        if !self.asked().is_repeatable() {
            return Err(Error::Unknown(Box::new(self.clone())));
        }
        // A position that was asked for stands in the request already.
        let settings = Settings { past: None, ..client.settings.clone() };
        let client = Client { settings, ..client.clone() };
        match client.call(self.asked().clone()).await {
            // Nothing changed by this call; by the one before, that is as unknown as it was.
            Err(Error::Unchanged(_) | Error::Refused(_)) => {
                Err(Error::Unknown(Box::new(self.clone())))
            }
            answered => answered,
        }
    }
}
