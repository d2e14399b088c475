//! Seats that are not next to each other, as near as is reasonable.

use super::Hall;
use super::best::Wanted;

impl Hall {
    /// Gives seats apart; with `strict`, only such as leave no orphan.
    pub(super) fn apart(&self, _wanted: &Wanted, _strict: bool) -> Option<Vec<u32>> {
        None
    }
}
