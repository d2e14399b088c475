//! `journal`: show, verify and export what is stored.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::complaint::{Complaint, Exit};
use super::connect::FolderArgs;
use super::node_side;

/// What can be done with a journal.
#[derive(Debug, Subcommand)]
pub(super) enum JournalVerb {
    /// Print entries in words.
    Show(ShowArgs),
    /// Read every entry and check its checksum, position and predecessor.
    Verify(FolderArgs),
    /// Write entries as one JSON document a line.
    Export(ExportArgs),
}

/// Options of `journal show`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  firstcome journal show --from 1 --limit 20\n  firstcome journal show --last 5 --json"
)]
pub(super) struct ShowArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// The first position to print.
    #[arg(long, value_name = "POSITION", conflicts_with = "last")]
    from: Option<u64>,
    /// At most so many entries.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    limit: u64,
    /// The last so many entries.
    #[arg(long, value_name = "COUNT")]
    last: Option<u64>,
}

/// Options of `journal export`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  firstcome journal export > journal.ndjson\n  firstcome journal export --from 100 --output tail.ndjson"
)]
pub(super) struct ExportArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// The first position to write.
    #[arg(long, value_name = "POSITION", default_value_t = 1)]
    from: u64,
    /// The file to write; without it, stdout.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What is asked of a journal.
#[derive(Debug, Clone)]
pub enum JournalAsk {
    /// Print entries.
    Show(ShowAsk),
    /// Check all of it.
    Verify {
        /// The folder.
        data: PathBuf,
        /// Whether the result is printed as JSON.
        json: bool,
    },
    /// Write entries out.
    Export(ExportAsk),
}

/// Which entries to print.
#[derive(Debug, Clone)]
pub struct ShowAsk {
    /// The folder.
    pub data: PathBuf,
    /// The first position; `None` is the oldest there is, unless `last` is given.
    pub from: Option<u64>,
    /// At most so many.
    pub limit: u64,
    /// The last so many.
    pub last: Option<u64>,
    /// Whether they are printed as JSON.
    pub json: bool,
}

/// Which entries to write, and where.
#[derive(Debug, Clone)]
pub struct ExportAsk {
    /// The folder.
    pub data: PathBuf,
    /// The first position.
    pub from: u64,
    /// The file; `None` is stdout.
    pub output: Option<PathBuf>,
}

pub(super) fn run(verb: JournalVerb, json: bool) -> Result<Exit, Complaint> {
    let ask = match verb {
        JournalVerb::Show(args) => JournalAsk::Show(ShowAsk {
            data: args.folder.data,
            from: args.from,
            limit: args.limit,
            last: args.last,
            json,
        }),
        JournalVerb::Verify(folder) => JournalAsk::Verify { data: folder.data, json },
        JournalVerb::Export(args) => JournalAsk::Export(ExportAsk {
            data: args.folder.data,
            from: args.from,
            output: args.output,
        }),
    };
    Ok(node_side::journal(ask)?)
}
