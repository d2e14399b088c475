//! What the command line hands to the node: serving, auditing and reading a journal happen there.

use super::audit::AuditAsk;
use super::complaint::Exit;
use super::journal::JournalAsk;
use crate::config::Config;

/// Runs a server until it is told to stop.
pub(super) fn serve(_: Config) -> anyhow::Result<Exit> {
    Err(not_in_this_build("serve"))
}

/// Recomputes a folder's state from its journal and compares it with what the server and ledger have.
pub(super) fn audit(_: AuditAsk) -> anyhow::Result<Exit> {
    Err(not_in_this_build("audit"))
}

/// Shows, verifies or exports the journal of a folder.
pub(super) fn journal(_: JournalAsk) -> anyhow::Result<Exit> {
    Err(not_in_this_build("journal"))
}

fn not_in_this_build(verb: &str) -> anyhow::Error {
    anyhow::anyhow!("`{verb}` is not in this build")
}
