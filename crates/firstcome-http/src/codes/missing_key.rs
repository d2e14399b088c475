//! Whether this server lacks the key of a campaign's codes: then it is not ready.

use firstcome_core::State;
use firstcome_node::codes::CodeKeys;
use std::sync::{Mutex, PoisonError};

/// The campaign whose key was missing when it was last looked, with a sentence about it.
#[derive(Debug, Default)]
pub struct MissingKey(Mutex<Option<(String, String)>>);

impl MissingKey {
    /// Looks through the campaigns of a state: some nanoseconds for each of their pools. Called once a second, and never for a
    /// request. Gives what is missing where that is news.
    pub(crate) fn look(&self, state: &State, keys: &CodeKeys) -> Option<(String, String)> {
        let missing = state.campaigns().find_map(|campaign| {
            let missing = keys.lacks(campaign)?;
            Some((campaign.name().to_owned(), missing.to_string()))
        });
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let news = missing.clone().filter(|_| *known != missing);
        *known = missing;
        news
    }

    /// Returns the campaign and a sentence, where a key is missing.
    pub(crate) fn get(&self) -> Option<(String, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
