//! Finished campaigns leave memory.

use super::without_ledger;
use crate::{Intake, stopped_within};
use firstcome_core::command::{Order, Steer};
use firstcome_core::{Command, State};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How often finished campaigns are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// Who archives a campaign that nobody archived.
const WHO: &str = "keep_for";

/// Archives campaigns that have been closed for `keep_for` of journal time, are settled and have no live hold.
///
/// Without a ledger nothing is ever settled: then what was not settled goes too, unless another server of the space has a
/// ledger or had one. A live hold never goes: its subject may still confirm it, also after the campaign closed. Nor does a
/// campaign whose codes can be redeemed still.
pub(super) async fn run(
    intake: Arc<Intake>,
    keep_for: Duration,
    has_ledger: bool,
    mut stop: watch::Receiver<bool>,
) {
    let keep_for = i64::try_from(keep_for.as_micros()).unwrap_or(i64::MAX);
    while !stopped_within(&mut stop, LOOK_EVERY.min(Duration::from_micros(keep_for as u64))).await {
        let now = intake.clock.now();
        let drop_unsettled = !has_ledger && without_ledger::reason(&intake).is_none();
        let finished: Vec<Box<str>> = intake.replica.look(|state: &State| {
            let finished = |campaign: &&firstcome_core::campaign::Campaign| {
                let closed = campaign.closed_since(state.at());
                closed.is_some_and(|closed| now.micros_since(closed) >= keep_for)
                    && campaign.live_holds() == 0
                    && !campaign.has_valid_codes(state.at())
                    && (drop_unsettled || campaign.unsettled() == 0)
            };
            state.campaigns().filter(finished).map(|campaign| campaign.name().into()).collect()
        });
        for campaign in finished {
            let steer = Steer::Archive { drop_unsettled };
            let order = Order { id: None, who: WHO };
            // What fails now is found again.
            drop(intake.decide(&Command::Steer { campaign: &campaign, steer, order }).await);
        }
    }
}
