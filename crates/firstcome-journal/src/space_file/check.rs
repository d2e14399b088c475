//! Checks a file from its first byte to its last, and notes where what is.

use super::record::{CHECKSUM_BYTES, FRONT_BYTES, Kind, checksum};
use super::{About, HEADER_BYTES, Purpose, bad, chunk};
use crate::archive::read_entry;
use crate::entry::Chain;
use crate::error::JournalError;
use crate::name::{Name, Tip};
use firstcome_core::names::PieceName;
use firstcome_core::newest_level;
use firstcome_core::snapshot::Manifest;
use firstcome_core::state::{Skip, Stamp};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Every so many entries it is noted where one begins.
const MARK_EVERY: u64 = 256;

/// What a file was found to have.
#[derive(Debug)]
pub(super) struct Found {
    /// The manifest of the snapshot that the entries go on from.
    pub(super) start: Option<Manifest>,
    pub(super) skips: Vec<Skip>,
    /// Where the bytes of each piece begin, and how many there are.
    pub(super) pieces: BTreeMap<PieceName, (u64, usize)>,
    /// The position of the first entry.
    pub(super) first: Option<u64>,
    /// Where the record of every [`MARK_EVERY`]th entry begins, from the first on.
    marks: Vec<u64>,
    /// The manifest of the state behind the last entry.
    pub(super) state: Manifest,
    /// Where the first row of the ledger begins, and how many there are.
    pub(super) rows: (u64, u64),
}

impl Found {
    /// Returns where the record of an entry at or shortly before a position begins, and which entry that is.
    pub(super) fn mark(&self, position: u64) -> (u64, u64) {
        let first = self.first.unwrap_or(position);
        let mark = (position - first) / MARK_EVERY;
        (self.marks[mark as usize], first + mark * MARK_EVERY)
    }
}

/// Checks a file from its first byte on.
pub(super) fn check(
    path: &Path,
    file: &mut impl Read,
    bytes: u64,
    mut progress: impl FnMut(u64, u64),
) -> Result<(About, Found), JournalError> {
    let mut head = [0; HEADER_BYTES];
    file.read_exact(&mut head).map_err(|_| bad(path, "it ends within its head"))?;
    let about = About::decode(&head).map_err(|why| bad(path, why))?;
    if about.level > newest_level() {
        return Err(JournalError::TooNew(about.level));
    }
    let mut check = FileCheck::new(about);
    let mut at = HEADER_BYTES as u64;
    let mut content = Vec::new();
    while at < bytes {
        let wrong = |why: String| {
            let number = check.records + 1;
            bad(path, format!("record {number}, at byte {at}, {why}"))
        };
        let (kind, checksum) =
            read(file, bytes - at, &mut content, check.checksum).map_err(wrong)?;
        let begins = at + FRONT_BYTES as u64;
        check.checksum = checksum;
        check.take(kind, &content, begins).map_err(|why| {
            bad(path, format!("record {}, at byte {at}, does not fit: {why}", check.records))
        })?;
        at = begins + (content.len() + CHECKSUM_BYTES) as u64;
        progress(at, bytes);
    }
    let found = check.finish().ok_or_else(|| bad(path, "it ends before its last record"))?;
    Ok((about, found))
}

/// Reads a record; gives its kind and its checksum, or what is wrong with it.
fn read(
    file: &mut impl Read,
    left: u64,
    content: &mut Vec<u8>,
    before: u64,
) -> Result<(Kind, u64), String> {
    let torn = |_| "is torn: the file ends within it".to_owned();
    let mut front = [0; FRONT_BYTES];
    file.read_exact(&mut front).map_err(torn)?;
    let length = u32::from_le_bytes(chunk(&front, 1));
    if u64::from(length) + (FRONT_BYTES + CHECKSUM_BYTES) as u64 > left {
        return Err("is torn or altered: it says that it is longer than the file".to_owned());
    }
    content.resize(length as usize, 0);
    file.read_exact(content).map_err(torn)?;
    let mut stored = [0; CHECKSUM_BYTES];
    file.read_exact(&mut stored).map_err(torn)?;
    let computed = checksum(before, &front, &[content]);
    if stored != computed.to_le_bytes() {
        let why = "is torn or altered, or one before it is missing: its checksum does not fit";
        return Err(why.to_owned());
    }
    match Kind::read(front[0]) {
        Some(kind) => Ok((kind, computed)),
        None => Err("is of a kind that this build does not know".to_owned()),
    }
}

/// What a file said so far.
struct FileCheck {
    about: About,
    start: Option<Manifest>,
    skips: Vec<Skip>,
    pieces: BTreeMap<PieceName, (u64, usize)>,
    first: Option<u64>,
    marks: Vec<u64>,
    state: Option<Manifest>,
    rows: (u64, u64),
    /// What stands before the next entry.
    tip: Option<Tip>,
    chain: Chain,
    /// The kind of the record before, its checksum, and how many there were.
    kind: Option<Kind>,
    checksum: u64,
    records: u64,
}

impl FileCheck {
    fn new(about: About) -> Self {
        Self {
            about,
            start: None,
            skips: Vec::new(),
            pieces: BTreeMap::new(),
            first: None,
            marks: Vec::new(),
            state: None,
            rows: (0, 0),
            tip: None,
            chain: Chain::default(),
            kind: None,
            checksum: about.checksum(),
            records: 0,
        }
    }

    /// Returns what there is, if the last record was the last there is to come.
    fn finish(self) -> Option<Found> {
        let Self { start, skips, pieces, first, marks, state, rows, kind, .. } = self;
        let state = state.filter(|_| kind == Some(Kind::End))?;
        Some(Found { start, skips, pieces, first, marks, state, rows })
    }

    /// Takes in a record whose content begins at a byte of the file.
    fn take(&mut self, kind: Kind, content: &[u8], begins: u64) -> Result<(), String> {
        self.records += 1;
        if !kind.may_follow(self.kind) {
            return Err("it is not the kind that comes there".to_owned());
        }
        self.kind = Some(kind);
        match kind {
            Kind::Start => {
                let manifest = self.manifest(content)?;
                self.tip = tip(&manifest);
                self.start = Some(manifest);
            }
            Kind::StartPiece | Kind::Piece => self.piece(content, begins)?,
            Kind::Skip => self.skips.push(Skip::decode(content).map_err(|why| why.to_string())?),
            Kind::Entry => self.entry(content, begins)?,
            Kind::State => {
                let manifest = self.manifest(content)?;
                self.ends_with(&manifest)?;
                self.state = Some(manifest);
            }
            Kind::Row if self.about.purpose != Purpose::Backup => {
                return Err("only a backup has rows of a ledger".to_owned());
            }
            Kind::Row => {
                let (first, count) = self.rows;
                let begins = begins - FRONT_BYTES as u64;
                self.rows = (if count == 0 { begins } else { first }, count + 1);
            }
            Kind::End if content == (self.records - 1).to_le_bytes() => {}
            Kind::End => return Err("it says another number of records".to_owned()),
        }
        Ok(())
    }

    fn manifest(&self, content: &[u8]) -> Result<Manifest, String> {
        let manifest = Manifest::decode(content).map_err(|why| why.to_string())?;
        match manifest.space == self.about.space {
            true => Ok(manifest),
            false => Err("the snapshot is of another space".to_owned()),
        }
    }

    fn piece(&mut self, content: &[u8], begins: u64) -> Result<(), String> {
        let (name, bytes) = content.split_first_chunk::<16>().ok_or("the piece has no name")?;
        let name = PieceName(*name);
        if PieceName::of(bytes) != name {
            return Err("the bytes of the piece give another name".to_owned());
        }
        self.pieces.insert(name, (begins + 16, bytes.len()));
        Ok(())
    }

    fn entry(&mut self, content: &[u8], begins: u64) -> Result<(), String> {
        let wanted = self.tip.map_or(1, |tip| tip.position + 1);
        let (entry, name) =
            read_entry(content, &self.about.sealer(), wanted).map_err(|why| why.to_string())?;
        self.chain.follow(&entry, name).map_err(|why| why.to_string())?;
        let before = self.tip.map_or_else(Name::default, |tip| tip.name);
        if entry.before != before {
            return Err(format!("entry {wanted} names {} before it, not {before}", entry.before));
        }
        if entry.is_end() {
            return Err(format!("entry {wanted} is the end of the space"));
        }
        let first = *self.first.get_or_insert(wanted);
        if (wanted - first).is_multiple_of(MARK_EVERY) {
            self.marks.push(begins - FRONT_BYTES as u64);
        }
        self.tip = Some(Tip { position: entry.position, name, at: entry.at });
        Ok(())
    }

    /// Checks that a manifest is of the state behind the last entry, and that all pieces are there.
    fn ends_with(&self, manifest: &Manifest) -> Result<(), String> {
        if tip(manifest) != self.tip {
            return Err("its state is not the one behind the last entry".to_owned());
        }
        let of_start = self.start.iter().flat_map(|start| &start.pieces);
        let mut named = manifest.pieces.iter().chain(of_start);
        match named.find(|name| !self.pieces.contains_key(name)) {
            Some(name) => Err(format!("piece {name} is missing")),
            None => Ok(()),
        }
    }
}

/// Returns the last entry that a snapshot covers, if there is one.
fn tip(manifest: &Manifest) -> Option<Tip> {
    let Stamp { position, at, .. } = manifest.stamp;
    (position > 0).then_some(Tip { position, name: manifest.stamp.name(), at })
}
