//! Claims: `post` claims a unit, `get` looks up what a subject has, `delete` cancels.

pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod post;

use crate::app::App;
use firstcome_core::State;

/// Returns the name of a pool by its index: of one that the command did not name, and that this server did not know before
/// it was decided.
fn pool_name(app: &App, campaign: &str, index: u16) -> Option<Box<str>> {
    app.node.replica.look(|state: &State| {
        let pool = state.campaign(campaign).ok()?.pools().get(usize::from(index))?;
        Some(pool.name().into())
    })
}
