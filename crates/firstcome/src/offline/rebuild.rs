//! Writes into the ledger what it lacks, recomputed from the journal and its archive.

use crate::offline::audit::restore;
use crate::offline::ledger_row;
use anyhow::{Context, bail};
use firstcome_core::snapshot::Manifest;
use firstcome_core::{Outcome, State};
use firstcome_journal::Reading;
use firstcome_journal::folder::DataFolder;
use firstcome_journal::space_file::SpaceFile;
use firstcome_node::ledger::choice::LedgerChoice;
use firstcome_node::ledger::{Batch, Ledger, Row};

/// Rows in one transaction at most.
const ROWS: usize = 4_096;

/// What a ledger had and has.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Rebuilt {
    /// The number up to which it had results.
    pub before: u64,
    /// How many were written.
    pub written: u64,
    /// The number up to which it has results.
    pub through: u64,
    /// The number of the last result in the journal.
    pub last_result: u64,
}

/// Brings a ledger up to the last result of a journal. No server that settles into it may run.
///
/// `folder` is the data folder, where there is one; `name` is the space's in the configuration; `progress` hears the position recomputed and the last one. Results that
/// were dropped on the operator's word are written too where the journal still has them. A backup brings its rows.
///
/// # Errors
///
/// The ledger is ahead of the journal or of another history, or the journal no longer has a result that it lacks: then
/// nothing was written. The ledger or the journal fails: what was written before counts.
pub fn run(
    journal: &Reading,
    folder: Option<&DataFolder>,
    (named, name): (&LedgerChoice, &str),
    mut progress: impl FnMut(u64, u64),
) -> anyhow::Result<Rebuilt> {
    // Reading blocks, and what blocks cannot be inside of a runtime: only the ledger is.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let wait = runtime.handle();
    let head = journal.head()?;
    let mut state = match journal.start()? {
        Some(start) => restore(journal, &Manifest::decode(&start)?)?,
        None => State::new(head.space),
    };
    state.learn_skips(journal.skips()?);
    let opened = Ledger::named(named, folder, name, head.space);
    let Some(ledger) = wait.block_on(opened)? else {
        bail!("there is no ledger to write to: it is `none`");
    };
    let minted = wait.block_on(ledger.mint_term())?;
    let mut writing =
        Writing { through: minted.through, term: minted.term, rows: Vec::new(), written: 0 };
    if let Reading::File(file) = journal {
        wait.block_on(writing.take_rows(&ledger, file))?;
    }
    if writing.through < state.settled() {
        let (from, to) = (writing.through + 1, state.settled());
        bail!(
            "results {from} to {to} are neither in the journal nor in its archive any more: \
             restore a newer copy of the ledger"
        );
    }
    let mut seen = state.settled();
    wait.block_on(writing.take(&ledger, &state, seen))?;
    seen = seen.max(state.last_result());
    for entry in journal.entries(state.position() + 1) {
        if state.position() >= head.position {
            break;
        }
        if state.position().is_multiple_of(64) {
            progress(state.position(), head.position);
        }
        let (entry, _) = entry?;
        if entry.is_end() {
            break;
        }
        let (stamp, body) = entry.open()?;
        let mut outcomes: Vec<Outcome> = Vec::new();
        if let Err(broke) = state.try_apply(stamp, &body.commands()?, &mut outcomes) {
            // What the entries before it made is written.
            wait.block_on(writing.write(&ledger))?;
            bail!("{broke}; {}", broke.advice());
        }
        wait.block_on(writing.take(&ledger, &state, seen))?;
        seen = seen.max(state.last_result());
        if writing.rows.len() >= ROWS {
            wait.block_on(writing.write(&ledger))?;
        }
    }
    let (before, last_result) = (minted.through, state.last_result());
    if before > last_result {
        bail!(
            "the ledger has results up to {before}, the journal made {last_result}: \
             `firstcome settle set-aside` puts this ledger out of the way, then run this again"
        );
    }
    wait.block_on(writing.write(&ledger))?;
    wait.block_on(ledger.close());
    Ok(Rebuilt { before, written: writing.written, through: writing.through, last_result })
}

/// Rows on their way into the ledger.
struct Writing {
    through: u64,
    term: u64,
    rows: Vec<Row>,
    written: u64,
}

impl Writing {
    /// Takes the results that are new since one, and compares the last one that the ledger has.
    async fn take(&mut self, ledger: &Ledger, state: &State, seen: u64) -> anyhow::Result<()> {
        for row in state.results_after(seen).map(Row::from) {
            self.take_row(ledger, row).await?;
        }
        Ok(())
    }

    /// Takes the rows that a backup brings.
    async fn take_rows(&mut self, ledger: &Ledger, file: &SpaceFile) -> anyhow::Result<()> {
        let mut before = 0;
        for row in file.rows() {
            let row = ledger_row::decode(&row?)?;
            if row.number <= std::mem::replace(&mut before, row.number) {
                bail!("the file has result {} of the ledger out of order", row.number);
            }
            self.take_row(ledger, row).await?;
            if self.rows.len() >= ROWS {
                self.write(ledger).await?;
            }
        }
        self.write(ledger).await
    }

    async fn take_row(&mut self, ledger: &Ledger, row: Row) -> anyhow::Result<()> {
        if row.number > self.through {
            self.rows.push(row);
        } else if row.number == self.through {
            let theirs = ledger.results(row.number - 1, 1, None).await?;
            if theirs.first().is_none_or(|theirs| !theirs.is_same_result(&row)) {
                bail!(
                    "result {} in the ledger is not the one of this journal: it belongs to another history; \
                     `firstcome settle set-aside` puts it out of the way, then run this again",
                    row.number
                );
            }
        }
        Ok(())
    }

    async fn write(&mut self, ledger: &Ledger) -> anyhow::Result<()> {
        while !self.rows.is_empty() {
            let rest = self.rows.split_off(self.rows.len().min(ROWS));
            let rows = std::mem::replace(&mut self.rows, rest);
            let (written, last) = (rows.len() as u64, rows.last().map_or(0, |row| row.number));
            let batch = Batch { after: self.through, term: self.term, rows };
            ledger.settle(batch).await.with_context(|| format!("results up to {last}"))?;
            self.through = last;
            self.written += written;
        }
        Ok(())
    }
}
