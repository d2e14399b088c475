//! Campaigns: created and changed, steered, shown.

pub(crate) mod acts;
pub(crate) mod bars;
pub(crate) mod by_campaign;
pub(crate) mod checked;
mod done;
pub(crate) mod put;
pub(crate) mod results;
mod settings;
pub(crate) mod show;
pub(crate) mod steer;
pub(crate) mod subjects;
pub(crate) mod winners;
