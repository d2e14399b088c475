//! Campaigns: created and changed, steered, shown.

pub(crate) mod checked;
mod done;
pub(crate) mod put;
mod settings;
pub(crate) mod show;
pub(crate) mod steer;
