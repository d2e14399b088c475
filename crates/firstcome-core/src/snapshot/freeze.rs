//! Writes a snapshot: takes the state apart into pieces.

use super::campaign::{campaign_fields, note_fields};
use super::{Manifest, acts, bars, codes, field, holds, waiting};
use crate::acts::NeighbourActs;
use crate::bars::NeighbourBars;
use crate::codes::{Codes, IssuedRun, NeighbourUses, StockRun};
use crate::grants::GrantRun;
use crate::hall::Hall;
use crate::hall::pieces::HallPart;
use crate::holds::{NeighbourHolders, Neighbours as NeighbourHolds};
use crate::limits::PIECE_BYTES;
use crate::names::PieceName;
use crate::pool::Notes;
use crate::results::Record;
use crate::segment::Segment;
use crate::state::{Named, State};
use crate::waitlist::{Neighbours, Unserved, Waitlist};
use crate::wire::Write;
use std::collections::VecDeque;
use std::sync::Arc;

/// A part of the state that is still to be written.
enum Part {
    /// Fields that are written already.
    Fields(Vec<u8>),
    Segment {
        campaign: u32,
        pool: u32,
        segment: Arc<Segment>,
        sealed: bool,
    },
    Notes {
        campaign: u32,
        pool: u32,
        notes: Arc<Notes>,
    },
    Hall {
        campaign: u32,
        pool: u32,
        part: HallPart,
    },
    Grants {
        campaign: u32,
        pool: u32,
        run: Arc<GrantRun>,
    },
    Holders {
        campaign: u32,
        chunk: Arc<NeighbourHolders>,
    },
    Holds {
        campaign: u32,
        chunk: Arc<NeighbourHolds>,
    },
    Bars {
        campaign: u32,
        chunk: Arc<NeighbourBars>,
    },
    Acts {
        campaign: u32,
        number: u32,
        chunk: Arc<NeighbourActs>,
    },
    Waiters {
        campaign: u32,
        pool: u32,
        part: Arc<Neighbours>,
    },
    Unserved {
        campaign: u32,
        first: u32,
        part: Arc<Vec<Unserved>>,
    },
    Codes {
        campaign: u32,
        pool: u32,
        part: CodesPart,
    },
    Results {
        run: Arc<Vec<Record>>,
        skip: usize,
    },
}

/// A part of the codes of a pool.
enum CodesPart {
    Stock(Arc<StockRun>),
    Issued(Arc<IssuedRun>),
    Uses(Arc<NeighbourUses>),
    /// Fields that are written already.
    Fields(u32, Vec<u8>),
}

/// What stands alone in a piece, because it never changes again.
enum SealedPart {
    Segment(Arc<Segment>),
    Seats(HallPart),
    Grants(Arc<GrantRun>),
    Stock(Arc<StockRun>),
    Issued(Arc<IssuedRun>),
}

impl SealedPart {
    fn of(part: &Part) -> Option<Self> {
        match part {
            Part::Segment { segment, sealed: true, .. } => Some(Self::Segment(Arc::clone(segment))),
            Part::Hall { part, .. } if part.is_sealed() => Some(Self::Seats(part.clone())),
            Part::Grants { run, .. } if run.is_full() => Some(Self::Grants(Arc::clone(run))),
            Part::Codes { part: CodesPart::Stock(run), .. } if run.is_full() => {
                Some(Self::Stock(Arc::clone(run)))
            }
            Part::Codes { part: CodesPart::Issued(run), .. } if run.is_full() => {
                Some(Self::Issued(Arc::clone(run)))
            }
            Part::Fields(_)
            | Part::Codes { .. }
            | Part::Segment { .. }
            | Part::Notes { .. }
            | Part::Hall { .. }
            | Part::Grants { .. }
            | Part::Holders { .. }
            | Part::Holds { .. }
            | Part::Bars { .. }
            | Part::Acts { .. }
            | Part::Waiters { .. }
            | Part::Unserved { .. }
            | Part::Results { .. } => None,
        }
    }

    fn stored(&self) -> Option<PieceName> {
        match self {
            Self::Segment(segment) => segment.stored.get().copied(),
            Self::Seats(part) => part.stored(),
            Self::Grants(run) => run.stored.get().copied(),
            Self::Stock(run) => run.stored.get().copied(),
            Self::Issued(run) => run.stored.get().copied(),
        }
    }
}

/// A snapshot under way: the state as of one entry, to be taken piece by piece.
pub struct Frozen {
    manifest: Manifest,
    parts: VecDeque<Part>,
    whole: bool,
}

/// One piece of a snapshot.
pub struct Piece {
    /// Its name, which follows from its bytes.
    pub name: PieceName,
    /// Its bytes, at most 256 KiB; none if a store has had it since an earlier snapshot.
    pub bytes: Option<Vec<u8>>,
    sealed: Option<SealedPart>,
}

impl Piece {
    /// Notes that the store has this piece now, so that no later snapshot brings its bytes again.
    pub fn stored(&self) {
        match &self.sealed {
            None => {}
            Some(SealedPart::Segment(segment)) => {
                segment.stored.get_or_init(|| self.name);
            }
            Some(SealedPart::Seats(part)) => part.set_stored(self.name),
            Some(SealedPart::Grants(run)) => {
                run.stored.get_or_init(|| self.name);
            }
            Some(SealedPart::Stock(run)) => {
                run.stored.get_or_init(|| self.name);
            }
            Some(SealedPart::Issued(run)) => {
                run.stored.get_or_init(|| self.name);
            }
        }
    }
}

impl State {
    /// Begins a snapshot as of the last entry applied.
    ///
    /// With `whole`, pieces bring their bytes even if a store is recorded to have them.
    pub fn freeze(&self, whole: bool) -> Frozen {
        let mut parts = VecDeque::new();
        for campaign in self.campaigns.values() {
            parts.push_back(fields(field::CAMPAIGN, |out| campaign_fields(out, campaign)));
            for (index, pool) in campaign.pools.iter().enumerate() {
                let (campaign, index) = (campaign.number, index as u32);
                let last = pool.segments.len().wrapping_sub(1);
                parts.extend(pool.segments.iter().enumerate().map(|(i, segment)| {
                    let segment = Arc::clone(segment);
                    Part::Segment { campaign, pool: index, segment, sealed: i != last }
                }));
                parts.extend(pool.notes.values().map(|notes| Part::Notes {
                    campaign,
                    pool: index,
                    notes: Arc::clone(notes),
                }));
                let hall = pool.hall().into_iter().flat_map(Hall::freeze);
                parts.extend(hall.map(|part| Part::Hall { campaign, pool: index, part }));
                let runs = pool.grants.runs.iter().map(Arc::clone);
                parts.extend(runs.map(|run| Part::Grants { campaign, pool: index, run }));
                parts.extend(
                    pool.list().into_iter().flat_map(|list| list_parts((campaign, index), list)),
                );
                let codes = pool.codes().map_or_else(Vec::new, code_parts);
                parts.extend(codes.into_iter().map(|part| Part::Codes {
                    campaign,
                    pool: index,
                    part,
                }));
            }
            let number = campaign.number;
            let holders = campaign.holds.holders.values().map(Arc::clone);
            parts.extend(holders.map(|chunk| Part::Holders { campaign: number, chunk }));
            let holds = campaign.holds.chunks.values().map(Arc::clone);
            parts.extend(holds.map(|chunk| Part::Holds { campaign: number, chunk }));
            let bars = campaign.bars.chunks.values().map(Arc::clone);
            parts.extend(bars.map(|chunk| Part::Bars { campaign: number, chunk }));
            let acts = campaign.acts.chunks.iter();
            parts.extend(acts.map(|(at, chunk)| Part::Acts {
                campaign: number,
                number: *at,
                chunk: Arc::clone(chunk),
            }));
            parts.extend(campaign.unserved.parts().map(|(first, part)| Part::Unserved {
                campaign: number,
                first,
                part: Arc::clone(part),
            }));
            for refund in &campaign.refunds {
                parts.push_back(fields(field::REFUND, |out| {
                    holds::refund_fields(out, number, refund);
                }));
            }
            for moved in &campaign.moves {
                parts
                    .push_back(fields(field::MOVED, |out| holds::moved_fields(out, number, moved)));
            }
        }
        for (name, named) in &self.names {
            if let Named::Archived(archived) = named {
                parts.push_back(fields(field::ARCHIVED, |out| {
                    out.text(1, name);
                    out.time(2, archived.at);
                    out.text(3, &archived.title);
                }));
            }
        }
        for (node, last) in &self.batches.last {
            parts.push_back(fields(field::BATCH, |out| {
                out.bytes(1, &node.0);
                out.number(2, last.number);
                out.signed(3, last.used);
            }));
        }
        for (who, orders) in &self.orders.by_key {
            for id in &orders.oldest_first {
                let Some(answered) = orders.by_id.get(id) else { continue };
                let mut out = Vec::new();
                out.nested(field::ORDER, |out| {
                    out.text(1, id);
                    out.number(2, answered.content);
                    out.nested(3, |out| answered.outcome.encode(out));
                    out.signed(4, answered.service);
                    if !who.is_empty() {
                        out.text(5, who);
                    }
                });
                parts.push_back(Part::Fields(out));
            }
        }
        parts.extend(self.results.runs().map(|(run, skip)| Part::Results { run, skip }));
        let manifest = Manifest {
            space: self.space,
            stamp: self.stamp,
            digest: self.digest.0,
            pieces: Vec::new(),
            skipped: self.skips.done.clone(),
            service: self.service,
            settled: self.results.settled,
            term: self.results.term,
            fingerprint: self.results.fingerprint,
            last_campaign: self.last_campaign,
            sweep_at: self.batches.sweep_at,
            list_turn: self.list_turn,
        };
        Frozen { manifest, parts, whole }
    }
}

/// Returns a part that is written at once.
fn fields(field: u32, fill: impl FnOnce(&mut Vec<u8>)) -> Part {
    let mut out = Vec::new();
    out.nested(field, fill);
    Part::Fields(out)
}

/// Takes the waitlist of a pool apart: its kinds of wish, which the others point at, then its people, and seats that came free.
fn list_parts(of: (u32, u32), list: &Waitlist) -> Vec<Part> {
    let kinds = list.kinds();
    let mut parts: Vec<Part> =
        kinds.map(|kind| fields(field::WISH, |out| waiting::kind_fields(out, of, kind))).collect();
    let waiters = list.parts().map(Arc::clone);
    parts.extend(waiters.map(|part| Part::Waiters { campaign: of.0, pool: of.1, part }));
    if !list.freed().is_empty() {
        parts.push(fields(field::FREED, |out| waiting::freed_fields(out, of, list)));
    }
    parts
}

/// Takes the codes of a pool apart: what others point at comes first.
fn code_parts(of: &Codes) -> Vec<CodesPart> {
    let written = |field, fill: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        fill(&mut out);
        CodesPart::Fields(field, out)
    };
    let mut parts = Vec::new();
    if let Some(stock) = of.stock.as_deref() {
        parts.extend(stock.runs.iter().map(|run| CodesPart::Stock(Arc::clone(run))));
        parts.push(written(codes::part::HEAD, &|out| codes::head_fields(out, stock)));
        for import in &stock.imports {
            parts.push(written(codes::part::IMPORT, &|out| codes::import_fields(out, import)));
        }
    }
    parts.extend(of.issued.runs.iter().map(|run| CodesPart::Issued(Arc::clone(run))));
    for (rank, first) in &of.came_back {
        parts.push(written(codes::part::CAME_BACK, &|out| {
            out.varint(u64::from(*rank));
            out.varint(u64::from(*first));
        }));
    }
    parts.extend(of.uses.chunks.values().map(|chunk| CodesPart::Uses(Arc::clone(chunk))));
    for mark in &of.marks {
        parts.push(written(codes::part::MARK, &|out| codes::mark_fields(out, mark)));
    }
    for (rank, tag) in &of.replaced {
        parts.push(written(codes::part::REPLACED, &|out| {
            out.varint(u64::from(*rank));
            out.varint(*tag);
        }));
    }
    parts
}

impl Frozen {
    /// Returns the position this is a snapshot of.
    pub fn position(&self) -> u64 {
        self.manifest.stamp.position
    }

    /// Returns the next piece, or nothing when all were given.
    ///
    /// What is sealed stands alone, so that it gives the same piece in every snapshot; everything
    /// else is packed together.
    pub fn next_piece(&mut self) -> Option<Piece> {
        let mut packed = Vec::new();
        while let Some(part) = self.parts.pop_front() {
            let sealed = SealedPart::of(&part);
            if sealed.is_some() && !packed.is_empty() {
                self.parts.push_front(part);
                break;
            }
            if let Some(name) = sealed.as_ref().and_then(SealedPart::stored).filter(|_| !self.whole)
            {
                self.manifest.pieces.push(name);
                return Some(Piece { name, bytes: None, sealed: None });
            }
            let before = packed.len();
            write_part(&mut packed, &part);
            if packed.len() > PIECE_BYTES && before > 0 {
                packed.truncate(before);
                self.parts.push_front(part);
                break;
            }
            if sealed.is_some() {
                return Some(self.named(packed, sealed));
            }
        }
        (!packed.is_empty()).then(|| self.named(packed, None))
    }

    /// Returns the manifest. Every piece must have been taken.
    ///
    /// # Panics
    ///
    /// Pieces are left: a manifest of some of them would be no snapshot.
    pub fn finish(self) -> Manifest {
        assert!(self.parts.is_empty(), "a manifest names every piece");
        self.manifest
    }

    fn named(&mut self, bytes: Vec<u8>, sealed: Option<SealedPart>) -> Piece {
        assert!(bytes.len() <= PIECE_BYTES, "a piece of {} bytes", bytes.len());
        let name = PieceName::of(&bytes);
        self.manifest.pieces.push(name);
        Piece { name, bytes: Some(bytes), sealed }
    }
}

fn write_part(out: &mut Vec<u8>, part: &Part) {
    match part {
        Part::Fields(fields) => out.extend_from_slice(fields),
        Part::Segment { campaign, pool, segment, .. } => out.nested(field::SEGMENT, |out| {
            out.number(1, u64::from(*campaign));
            out.number(2, u64::from(*pool));
            segment.encode(out);
        }),
        Part::Notes { campaign, pool, notes } => {
            for (rank, note) in notes.iter() {
                out.nested(field::NOTE, |out| note_fields(out, *campaign, *pool, *rank, note));
            }
        }
        Part::Hall { campaign, pool, part } => out.nested(field::HALL, |out| {
            out.number(1, u64::from(*campaign));
            out.number(2, u64::from(*pool));
            out.nested(3, |out| part.encode(out));
        }),
        Part::Grants { campaign, pool, run } => out.nested(field::GRANTS, |out| {
            out.number(1, u64::from(*campaign));
            out.number(2, u64::from(*pool));
            out.nested(3, |out| holds::grant_rows(out, run));
        }),
        Part::Holders { campaign, chunk } => {
            for (number, holder) in chunk.iter() {
                let fill =
                    |out: &mut Vec<u8>| holds::holder_fields(out, *campaign, *number, holder);
                out.nested(field::HOLDER, fill);
            }
        }
        Part::Holds { campaign, chunk } => {
            for hold in chunk.values() {
                out.nested(field::HOLD, |out| holds::hold_fields(out, *campaign, hold));
            }
        }
        Part::Bars { campaign, chunk } => {
            for (number, bar) in chunk.iter() {
                out.nested(field::BAR, |out| bars::bar_fields(out, *campaign, *number, bar));
            }
        }
        Part::Acts { campaign, number, chunk } => {
            acts::act_rows(out, field::ACT, *campaign, *number, chunk);
        }
        Part::Waiters { campaign, pool, part } => out.nested(field::WAITERS, |out| {
            waiting::waiter_fields(out, (*campaign, *pool), part);
        }),
        Part::Unserved { campaign, first, part } => out.nested(field::UNSERVED, |out| {
            waiting::unserved_fields(out, *campaign, *first, part);
        }),
        Part::Codes { campaign, pool, part } => {
            let mut of_pool = |field, fill: &dyn Fn(&mut Vec<u8>)| {
                out.nested(field::CODES, |out| {
                    out.number(1, u64::from(*campaign));
                    out.number(2, u64::from(*pool));
                    out.nested(field, |out| fill(out));
                });
            };
            match part {
                CodesPart::Stock(run) => {
                    of_pool(codes::part::STOCK, &|out| codes::stock_rows(out, run));
                }
                CodesPart::Issued(run) => {
                    of_pool(codes::part::ISSUED, &|out| codes::issued_rows(out, run));
                }
                CodesPart::Uses(chunk) => {
                    for (number, known) in chunk.iter() {
                        let fill = |out: &mut Vec<u8>| codes::use_fields(out, *number, known);
                        of_pool(codes::part::USE, &fill);
                    }
                }
                CodesPart::Fields(field, fields) => {
                    of_pool(*field, &|out| out.extend_from_slice(fields));
                }
            }
        }
        Part::Results { run, skip } => out.nested(field::RESULTS, |out| {
            for record in &run[*skip..] {
                out.varint(u64::from(record.campaign));
                out.varint(u64::from(record.pool));
                out.varint(u64::from(record.kind.code()));
                out.varint(u64::from(record.rank));
            }
        }),
    }
}
