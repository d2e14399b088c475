//! A leader that has no ledger, in a space whose results are settled into one.

use super::Standing;
use crate::{Intake, stopped_within};
use firstcome_core::State;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Says why this leader should have a ledger, while there is a reason.
pub(super) async fn run(
    intake: Arc<Intake>,
    standing: Arc<Mutex<Standing>>,
    mut stop: watch::Receiver<bool>,
) {
    let _nothing = Clear(Arc::clone(&standing));
    loop {
        lock(&standing).trouble = reason(&intake);
        if stopped_within(&mut stop, LOOK_EVERY).await {
            return;
        }
    }
}

/// Says why results of this space belong into a ledger, if they do: a server had one lately, or some were settled.
pub(super) fn reason(intake: &Intake) -> Option<String> {
    let settled = intake.replica.look(State::settled);
    let who = match intake.agreement.lacks_ledger() {
        Some(address) => format!("the server {address} has one"),
        None if settled > 0 => format!("the first {settled} results are in one"),
        None => return None,
    };
    Some(format!(
        "no_ledger: this server leads and has no ledger, but {who}: results wait. Start a server that has it, or \
         restart this one with the same `ledger` setting"
    ))
}

/// What is wrong with the ledger is for whoever leads next to say.
struct Clear(Arc<Mutex<Standing>>);

impl Drop for Clear {
    fn drop(&mut self) {
        lock(&self.0).trouble = None;
    }
}

fn lock(standing: &Mutex<Standing>) -> std::sync::MutexGuard<'_, Standing> {
    standing.lock().unwrap_or_else(PoisonError::into_inner)
}
