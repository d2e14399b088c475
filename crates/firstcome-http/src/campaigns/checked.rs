//! Checks of a campaign's settings without a server, as a PUT checks them.

use super::settings::{check, settings, take_seats};
use firstcome_api::campaign::CampaignRequest;
use firstcome_core::Settings;

/// Settings that a PUT would accept.
#[derive(Clone, Debug)]
pub struct CheckedCampaign {
    /// The settings. A coded pool that names no key has a stand-in for the server's.
    pub settings: Settings,
    /// The seats and areas that come with it.
    pub seats: usize,
    /// About how many bytes of memory it takes once everything is given out, without its seats.
    pub bytes: u64,
}

/// Accepts what a PUT would accept, as far as that can be known without a server.
///
/// What depends on the server is not known here: its memory, its keys for codes, and what a campaign of that name has
/// already.
///
/// # Errors
///
/// The sentence with which the server would refuse it.
pub fn check_campaign(mut ask: CampaignRequest) -> Result<CheckedCampaign, String> {
    let said = |problem: crate::answer::problem::Problem| problem.detail().to_owned();
    let seats = take_seats(&mut ask).map_err(said)?;
    let mut settings = settings(ask).map_err(said)?;
    for codes in settings.pools.iter_mut().filter_map(|pool| pool.codes.as_deref_mut()) {
        if codes.key.is_empty() {
            codes.key = "the server's".into();
        }
    }
    check(&settings).map_err(said)?;
    let bytes = settings.sizes().bytes();
    Ok(CheckedCampaign { settings, seats: seats.iter().map(|(_, rows)| rows.len()).sum(), bytes })
}
