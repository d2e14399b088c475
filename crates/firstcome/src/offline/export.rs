//! A space out of its store, into a file: its entries, and the state behind them.

use crate::offline::audit::restore;
use crate::offline::ledger_row;
use firstcome_core::snapshot::Manifest;
use firstcome_core::{Outcome, SpaceId, State};
use firstcome_inject::{Mistake, inject};
use firstcome_journal::space_file::{About, Purpose, SpaceWriter};
use firstcome_journal::{Entry, JournalError, Name, Reading};
use firstcome_node::ledger::{Look, Row};
use std::path::Path;

/// Rows of the ledger that are read together.
const ROWS: usize = 1_000;

/// What a file was written of.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Exported {
    /// The id of the space in the file.
    pub space: String,
    /// The position of the last entry in it.
    pub position: String,
    /// The digest there.
    pub digest: String,
    /// How many entries it has.
    pub entries: u64,
    /// Whether they begin with the first of all.
    pub complete: bool,
    /// How many rows of the ledger it has, if it is a backup with a ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger_rows: Option<u64>,
    /// The position of the last entry, as a number.
    #[serde(skip)]
    pub last: u64,
    /// How many results the space has.
    #[serde(skip)]
    pub results: u64,
}

/// What ends the space in its store: given the position and the name of the entry that was read last, and how many results
/// the space has, it appends the entry behind which nobody goes on.
pub type EndSpace<'a> = &'a mut dyn FnMut((u64, Name), u64) -> anyhow::Result<()>;

/// How a space is written into a file.
pub enum Kind<'a> {
    /// It moves: nobody goes on in its store.
    Move(EndSpace<'a>),
    /// It is copied under another id, and goes on in its store.
    Copy(SpaceId),
    /// To have it again after a loss: under its own id, with the rows of its ledger. Nothing ends.
    Backup(Rows<'a>),
}

/// Which rows of a ledger a backup gets.
#[derive(Clone, Copy)]
pub enum Rows<'a> {
    /// Those of this ledger.
    Of(&'a Look),
    /// None, since no ledger was found: this fails where there are results.
    NotFound,
    /// None, since the operator wants none.
    LeftOut,
}

/// Writes a space into a file. Its store is only read, but for the entry that ends it.
///
/// `progress` hears the position written and the last one. The space is ended once all entries that were there at the
/// beginning are written, so that its servers go on meanwhile. One that was ended before is written as it was left.
///
/// # Errors
///
/// The journal or its newest snapshot cannot be read, an entry breaks a rule, or the file cannot be written. There is no
/// file then. If the space was ended before that, it stays ended: the next try goes on from there.
pub fn run(
    journal: &Reading,
    path: &Path,
    mut kind: Kind<'_>,
    mut progress: impl FnMut(u64, u64),
) -> anyhow::Result<Exported> {
    let head = journal.head()?;
    let space = match &kind {
        Kind::Move(_) | Kind::Backup(_) => head.space,
        Kind::Copy(other) => *other,
    };
    let purpose = match &kind {
        Kind::Move(_) => Purpose::Move,
        Kind::Copy(_) => Purpose::Copy,
        Kind::Backup(_) => Purpose::Backup,
    };
    let about = About { space, level: head.level, purpose };
    let start = journal.start()?.map(|bytes| Manifest::decode(&bytes)).transpose()?;
    let newest = journal.newest_snapshot()?.map(|bytes| Manifest::decode(&bytes)).transpose()?;
    let state = match &newest {
        Some(newest) => restore(journal, newest)?,
        None => State::new(head.space).beginning_at(head.level),
    };
    let mut file = SpaceWriter::create(path, about)?;
    if let Some(start) = &start {
        file.start(start.clone())?;
        for name in &start.pieces {
            let piece = journal.piece(*name)?.ok_or(JournalError::PieceMissing(*name))?;
            file.piece(*name, &piece)?;
        }
    }
    for skip in journal.skips()? {
        file.skip(&skip)?;
    }
    let next = start.as_ref().map_or(0, |start| start.stamp.position) + 1;
    let mut writing =
        Writing { file, state, next, last: Name::default(), entries: 0, ended: false };
    if let Some(start) = &start {
        writing.last = Name { node: start.stamp.node, number: start.stamp.number };
    }
    writing.state.learn_skips(journal.skips()?);
    writing.take(journal, head.position, &mut progress)?;
    if !matches!(kind, Kind::Move(_)) {
        anyhow::ensure!(
            !(writing.ended && matches!(kind, Kind::Backup(_))),
            "the space was moved away from here: what it is now is in its new place"
        );
        anyhow::ensure!(
            writing.ended || writing.next > head.position,
            "the store ends behind entry {}, a moment ago it had {}: run the same command again",
            writing.next - 1,
            head.position
        );
    }
    if let Kind::Move(end) = &mut kind
        && !writing.ended
    {
        end((writing.next - 1, writing.last), writing.state.last_result())?;
        writing.take(journal, u64::MAX, &mut progress)?;
        anyhow::ensure!(
            writing.ended || inject(Mistake::ExportWithoutEnd),
            "the entry that ends the space is not in its store: run the same command again"
        );
    }
    let complete = start.is_none();
    // After the journal: by now the ledger has at least what this state says is settled.
    let ledger = match &kind {
        Kind::Backup(rows) => *rows,
        Kind::Move(_) | Kind::Copy(_) => Rows::LeftOut,
    };
    writing.finish(space, complete, ledger)
}

/// Writes a state into a file, without the entries before it.
///
/// # Errors
///
/// The file is there already, or cannot be written. There is no new file then.
pub fn write_state(state: &State, path: &Path) -> anyhow::Result<()> {
    let about = About { space: state.space(), level: state.level(), purpose: Purpose::Move };
    let mut file = SpaceWriter::create(path, about)?;
    let mut frozen = state.freeze(true);
    let mut pieces = Vec::new();
    while let Some(mut piece) = frozen.next_piece() {
        pieces.extend(piece.bytes.take().map(|bytes| (piece.name, bytes)));
    }
    let manifest = frozen.finish();
    let has_entries_before = state.position() > 0;
    if has_entries_before {
        file.start(manifest.clone())?;
    } else {
        file.entries_end();
    }
    for (name, bytes) in &pieces {
        file.piece(*name, bytes)?;
    }
    file.state(manifest)?;
    Ok(file.finish()?)
}

/// A file, and the state behind what is in it.
struct Writing {
    file: SpaceWriter,
    state: State,
    /// The position of the entry that is written next.
    next: u64,
    /// The name of the one before it.
    last: Name,
    entries: u64,
    /// Whether the entry that ends the space was met.
    ended: bool,
}

impl Writing {
    /// Writes the entries up to a position, as far as there are, and applies those that the state lacks.
    fn take(
        &mut self,
        journal: &Reading,
        through: u64,
        progress: &mut impl FnMut(u64, u64),
    ) -> anyhow::Result<()> {
        for entry in journal.entries(self.next) {
            if self.next > through {
                break;
            }
            let (entry, name) = entry?;
            if entry.is_end() {
                self.ended = true;
                break;
            }
            self.file.entry(&entry)?;
            self.apply(&entry)?;
            (self.next, self.last) = (entry.position + 1, name);
            self.entries += 1;
            if entry.position.is_multiple_of(64) {
                progress(entry.position, through.min(journal.head()?.position));
            }
        }
        Ok(())
    }

    fn apply(&mut self, entry: &Entry) -> anyhow::Result<()> {
        if entry.position <= self.state.position() {
            return Ok(());
        }
        let (stamp, body) = entry.open()?;
        let mut outcomes: Vec<Outcome> = Vec::new();
        let applied = self.state.try_apply(stamp, &body.commands()?, &mut outcomes);
        applied.map(drop).map_err(|broke| anyhow::anyhow!("{broke}; {}", broke.advice()))
    }

    /// Writes the state behind the last entry, and the ledger's rows up to its last result.
    fn finish(
        mut self,
        space: SpaceId,
        complete: bool,
        ledger: Rows<'_>,
    ) -> anyhow::Result<Exported> {
        let ends_before = self.state.position() + 1 == self.next;
        anyhow::ensure!(
            ends_before,
            "the newest snapshot is of entry {}, the journal ends before it",
            self.state.position()
        );
        self.file.entries_end();
        let (position, digest) = (self.state.token().to_string(), self.state.digest());
        let (results, settled) = (self.state.last_result(), self.state.settled());
        let unsettled: Vec<Row> = self.state.results_after(settled).map(Row::from).collect();
        let mut frozen = self.state.freeze(true);
        while let Some(mut piece) = frozen.next_piece() {
            let Some(bytes) = piece.bytes.take() else { continue };
            self.file.piece(piece.name, &bytes)?;
        }
        self.file.state(frozen.finish())?;
        let ledger_rows = match ledger {
            Rows::Of(ledger) => {
                Some(write_rows(&mut self.file, ledger, (settled, results), &unsettled)?)
            }
            Rows::NotFound if results > 0 => anyhow::bail!(
                "the space has {results} results, and no ledger is here: name the one of its servers with --ledger; \
                 --ledger none says that they have none, or leaves its rows out"
            ),
            Rows::NotFound | Rows::LeftOut => None,
        };
        self.file.finish()?;
        Ok(Exported {
            space: space.to_string(),
            position,
            digest: format!("{digest:016x}"),
            entries: self.entries,
            complete,
            ledger_rows,
            last: self.next - 1,
            results,
        })
    }
}

/// Writes the rows of a ledger up to a result; those up to the settled one must be there, and those behind it must be as the
/// state has them. Returns how many there were.
fn write_rows(
    file: &mut SpaceWriter,
    ledger: &Look,
    (settled, last): (u64, u64),
    unsettled: &[Row],
) -> anyhow::Result<u64> {
    let through = ledger.through()?;
    anyhow::ensure!(
        through >= settled,
        "the ledger has results up to {through}, but up to {settled} they were settled: name the ledger that the servers \
         have, or bring this one up to date with `firstcome settle rebuild`"
    );
    let (mut after, mut written) = (0, 0);
    loop {
        let rows = ledger.results(after, ROWS)?;
        let Some(read) = rows.last().map(|row| row.number) else { return Ok(written) };
        for row in rows.iter().take_while(|row| row.number <= last) {
            let ours = unsettled.binary_search_by_key(&row.number, |ours| ours.number);
            anyhow::ensure!(
                ours.is_ok_and(|at| unsettled[at].is_same_result(row)) || row.number <= settled,
                "result {} in the ledger is not the one of this journal: the journal forked a moment ago, or the ledger \
                 is another one's; run the same command again",
                row.number
            );
            file.row(&ledger_row::encode(row)?)?;
            written += 1;
        }
        if read >= last {
            return Ok(written);
        }
        after = read;
    }
}
