//! `codes imports` and `codes discard`.

use clap::Args;

use super::PoolArgs;
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{ServerArgs, yes};
use crate::cli::terminal::out;
use crate::cli::terminal::table::{Column, Table, TableArgs};
use firstcome_client::{Ask, CodeImport, CodeImportList};

/// Options of `codes imports`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  firstcome codes imports bring")]
pub(in crate::cli) struct ImportsArgs {
    /// The campaign.
    campaign: String,
    #[command(flatten)]
    pool: PoolArgs,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `codes discard`.
#[derive(Debug, Args)]
#[command(after_help = "\
A pool has one import at a time. One that was interrupted and is not continued can also be replaced by another file \
after an hour. What was imported completely is not affected.

Example:
  firstcome codes discard bring 4b7d3f9a2c1e8d60")]
pub(in crate::cli) struct DiscardArgs {
    /// The campaign.
    campaign: String,
    /// The import, as `firstcome codes imports` names it.
    import: String,
    #[command(flatten)]
    pool: PoolArgs,
    #[command(flatten)]
    server: ServerArgs,
}

const TABLE: [Column; 6] = [
    Column::new("import"),
    Column::new("at").spare(2),
    Column::new("who").least(8).spare(3),
    Column::number("lines"),
    Column::number("added"),
    Column::new("state").spare(1),
];

pub(super) async fn list(args: ImportsArgs, json: bool) -> Result<Exit, Complaint> {
    let ask = Ask::code_imports(&args.campaign, args.pool.pool.as_deref());
    let (list, raw) = yes(args.server.client()?.ask::<CodeImportList>(ask).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    let mut table = Table::new(args.table, &TABLE);
    for import in &list.imports {
        let state = if import.revoked { "revoked" } else { "" };
        table.row([
            import.import.clone(),
            table.time(&import.at),
            import.who.clone(),
            import.lines.to_string(),
            import.added.to_string(),
            state.to_owned(),
        ]);
    }
    if let Some(open) = list.open {
        let (none, taken) = (String::new, list.next.unwrap_or(0).to_string());
        table.row([open, none(), none(), taken, none(), "not finished".to_owned()]);
    }
    table.print();
    Ok(Exit::Yes)
}

pub(super) async fn discard(args: DiscardArgs, json: bool) -> Result<Exit, Complaint> {
    let ask = Ask::discard_code_import(&args.campaign, &args.import, args.pool.pool.as_deref());
    let (gone, raw) = yes(args.server.client()?.ask::<CodeImport>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        let CodeImport { import, campaign, pool, .. } = gone;
        out::line(format!("gave up import {import} of {campaign}/{pool}"));
    }
    Ok(Exit::Yes)
}
