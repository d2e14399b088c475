//! `audit`: recompute and compare.

use std::path::PathBuf;

use clap::Args;

use super::complaint::{Complaint, Exit};
use super::connect::FolderArgs;
use super::node_side;

/// Options of `audit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Replays the journal of the folder (and its archive) through the rules and compares the digest, the ranks and the
ledger with what is stored. It only reads, so a running server is not disturbed.
Exit code 1 and the first position that differs when something differs.

Examples:
  firstcome audit
  firstcome audit --data /var/lib/firstcome --json")]
pub(super) struct AuditArgs {
    #[command(flatten)]
    folder: FolderArgs,
}

/// An audit as asked for.
#[derive(Debug, Clone)]
pub struct AuditAsk {
    /// The folder to audit.
    pub data: PathBuf,
    /// Whether the result is printed as JSON.
    pub json: bool,
}

pub(super) fn run(args: AuditArgs, json: bool) -> Result<Exit, Complaint> {
    Ok(node_side::audit(AuditAsk { data: args.folder.data, json })?)
}
