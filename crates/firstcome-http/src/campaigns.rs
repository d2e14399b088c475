//! Campaigns: created and changed, steered, shown.

mod done;
pub(crate) mod put;
mod settings;
pub(crate) mod show;
pub(crate) mod steer;
