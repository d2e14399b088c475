//! A pool: its capacity, and its claims by rank.

mod units;

use crate::grants::Grants;
use crate::hall::Hall;
use crate::index::SubjectIndex;
use crate::outcome::By;
use crate::segment::Segment;
use crate::settings::{PoolKind, PoolSettings};
use crate::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Ranks whose notes are kept, and written, together: with the longest reasons they fit one piece.
const NOTE_RANKS: u32 = 1 << 9;

/// A claim that was undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancel {
    /// When.
    pub at: Timestamp,
    /// On whose word.
    pub by: By,
    /// Why, as the operator gave it.
    pub reason: Box<str>,
    /// The name of the key it was given with.
    pub who: Box<str>,
}

/// What is known of a claim beyond its subject and time. Few claims have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) cancel: Option<Cancel>,
    /// The rank the same subject had, and cancelled, before this one.
    pub(crate) earlier: Option<u32>,
}

pub(crate) type Notes = BTreeMap<u32, Note>;

/// One claim as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    /// Its rank in the pool.
    pub rank: u32,
    /// Whose it is.
    pub subject: &'a str,
    /// When it was won.
    pub at: Timestamp,
    /// How it was undone, if it was.
    pub cancel: Option<&'a Cancel>,
}

/// A pool of a campaign.
#[derive(Debug)]
pub struct Pool {
    pub(crate) name: Box<str>,
    /// Of a counted pool; a seated one has as many units as its hall.
    pub(crate) capacity: u32,
    /// How many units of it one subject may have.
    pub(crate) limit: Option<u32>,
    /// Units of a counted pool that are not free: claims, less those whose cancelled unit came back, and
    /// what is held.
    pub(crate) taken: u32,
    /// Units of a counted pool that are held.
    pub(crate) held: u32,
    /// The seats of a seated pool.
    hall: Option<Box<Hall>>,
    /// Which unit and which hold a claim came from, where it came from a hold.
    pub(crate) grants: Grants,
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) notes: BTreeMap<u32, Arc<Notes>>,
    cancelled: u32,
    index: SubjectIndex,
}

impl Pool {
    pub(crate) fn new(wanted: &PoolSettings) -> Self {
        let seated = wanted.kind == PoolKind::Seated;
        Self {
            name: wanted.name.clone(),
            capacity: wanted.capacity,
            limit: wanted.limit,
            taken: 0,
            held: 0,
            hall: seated.then(Box::default),
            grants: Grants::default(),
            segments: Vec::new(),
            notes: BTreeMap::new(),
            cancelled: 0,
            index: SubjectIndex::new(),
        }
    }

    /// Gives the pool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives how many units the pool has.
    pub fn capacity(&self) -> u32 {
        self.hall().map_or(self.capacity, |hall| hall.counts().all())
    }

    /// Gives how many units are free and for sale.
    pub fn left(&self) -> u32 {
        match self.hall() {
            None => self.capacity.saturating_sub(self.taken),
            Some(hall) => hall.counts().left,
        }
    }

    /// Gives how many units are held or given.
    pub fn taken(&self) -> u32 {
        match self.hall() {
            None => self.taken,
            Some(hall) => hall.counts().held + hall.counts().confirmed,
        }
    }

    /// Gives the last rank given; ranks run from 1 to it without a gap.
    pub fn last_rank(&self) -> u32 {
        self.segments.last().map_or(0, |s| s.first_rank - 1 + s.len() as u32)
    }

    /// Gives how many ranks can be given still: a rank is never given again, whatever is cancelled.
    pub(crate) fn ranks_left(&self) -> u32 {
        u32::MAX - self.last_rank()
    }

    /// Gives how many units the claims so far keep from being free.
    pub(crate) fn owed(&self, units_return: bool) -> u32 {
        self.last_rank() - if units_return { self.cancelled } else { 0 }
    }

    /// Gives how many claims were cancelled.
    pub fn cancelled(&self) -> u32 {
        self.cancelled
    }

    /// Gives the claim of a rank.
    pub fn claim(&self, rank: u32) -> Option<Claim<'_>> {
        let segment = self.segment(rank)?;
        let subject = std::str::from_utf8(segment.subject(rank))
            .expect("a subject is text when it comes in and stays as it came");
        Some(Claim { rank, subject, at: segment.at(rank), cancel: self.cancel_of(rank) })
    }

    /// Gives a subject's claims, the latest first.
    pub fn claims_of<'a>(&'a self, subject: &str) -> impl Iterator<Item = Claim<'a>> {
        let earlier = |rank: &u32| self.note(*rank).and_then(|note| note.earlier);
        std::iter::successors(self.latest(subject), earlier).filter_map(|rank| self.claim(rank))
    }

    /// Gives the latest rank of a subject, live or cancelled.
    pub fn latest(&self, subject: &str) -> Option<u32> {
        let subject = subject.as_bytes();
        let is = |known| self.segment(known).is_some_and(|s| s.subject(known) == subject);
        self.index.find(subject, is)
    }

    /// Says whether a claim is not cancelled.
    pub fn is_live(&self, rank: u32) -> bool {
        self.cancel_of(rank).is_none()
    }

    /// Gives about how many bytes of memory the pool takes.
    pub fn memory(&self) -> usize {
        let hall = self.hall().map_or(0, Hall::memory);
        let segments: usize = self.segments.iter().map(|s| s.memory() + 112).sum();
        let notes = self.notes.values().map(|notes| notes.len() * 96).sum::<usize>();
        segments + notes + self.index.memory() + hall + self.grants.memory()
    }

    /// Gives a subject a unit of a counted pool.
    pub(crate) fn give(&mut self, subject: &str, at: Timestamp) -> u32 {
        self.taken += 1;
        assert!(self.taken <= self.capacity, "pool {} gave more units than it has", self.name);
        self.rank(subject, at)
    }

    /// Gives a subject the next rank.
    fn rank(&mut self, subject: &str, at: Timestamp) -> u32 {
        let rank = self.last_rank().checked_add(1).expect("a pool has fewer units than ranks");
        self.push(subject, at, rank);
        if let Some(before) = self.point(rank) {
            self.note_mut(rank).earlier = Some(before);
        }
        rank
    }

    pub(crate) fn undo(&mut self, rank: u32, cancel: Cancel, units_return: bool) {
        let note = self.note_mut(rank);
        assert!(note.cancel.is_none(), "a claim is cancelled once");
        note.cancel = Some(cancel);
        self.cancelled += 1;
        if units_return {
            self.free_confirmed(rank);
        }
    }

    /// Adds a whole segment of a snapshot; it must follow the last rank.
    pub(crate) fn restore_segment(&mut self, mut segment: Segment) -> bool {
        let first = segment.first_rank;
        if self.last_rank().checked_add(1) != Some(first) {
            return false;
        }
        segment.seal();
        let last = first - 1 + segment.len() as u32;
        self.segments.push(Arc::new(segment));
        for rank in first..=last {
            self.point(rank);
        }
        true
    }

    /// Adds a note of a snapshot; a rank has one at most.
    pub(crate) fn restore_note(&mut self, rank: u32, note: Note) -> bool {
        if self.note(rank).is_some() {
            return false;
        }
        self.cancelled += u32::from(note.cancel.is_some());
        *self.note_mut(rank) = note;
        true
    }

    fn push(&mut self, subject: &str, at: Timestamp, rank: u32) {
        let open = match self.segments.last_mut() {
            Some(last) if last.has_room(subject) => last,
            full => {
                let next = full.map_or_else(
                    || Segment::new(rank),
                    |full| {
                        Arc::make_mut(full).seal();
                        full.next()
                    },
                );
                self.segments.push(Arc::new(next));
                self.segments.last_mut().expect("it was just added")
            }
        };
        // A snapshot under way may hold the open segment: then this copies it, 256 KiB at most.
        Arc::make_mut(open).push(subject, at);
    }

    /// Makes a rank in the last segment the latest of its subject, and gives the one before it.
    fn point(&mut self, rank: u32) -> Option<u32> {
        let last = self.segments.last().expect("a rank was just added");
        let subject = last.subject(rank);
        let is =
            |known| segment_of(&self.segments, known).is_some_and(|s| s.subject(known) == subject);
        self.index.set(subject, rank, is)
    }

    fn segment(&self, rank: u32) -> Option<&Segment> {
        segment_of(&self.segments, rank)
    }

    fn note(&self, rank: u32) -> Option<&Note> {
        self.notes.get(&(rank / NOTE_RANKS))?.get(&rank)
    }

    fn note_mut(&mut self, rank: u32) -> &mut Note {
        let notes = self.notes.entry(rank / NOTE_RANKS).or_default();
        Arc::make_mut(notes).entry(rank).or_default()
    }

    pub(crate) fn cancel_of(&self, rank: u32) -> Option<&Cancel> {
        if self.notes.is_empty() {
            return None;
        }
        self.note(rank)?.cancel.as_ref()
    }
}

fn segment_of(segments: &[Arc<Segment>], rank: u32) -> Option<&Segment> {
    let after = segments.partition_point(|s| s.first_rank <= rank);
    let segment = segments.get(after.checked_sub(1)?)?;
    ((rank - segment.first_rank) < segment.len() as u32).then_some(segment)
}
