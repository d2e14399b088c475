//! The seats of the page for people: what is known of a campaign, the map, and the basket.

pub(super) const WORDS: &str = include_str!("seats/words.js");
pub(super) const SESSION: &str = include_str!("seats/session.js");
pub(super) const PANEL: &str = include_str!("seats/panel.js");
