//! A pool: its capacity, and its claims by rank.

mod units;

use crate::codes::{Codes, Word};
use crate::command::Wish;
use crate::grants::Grants;
use crate::hall::{Hall, Kept};
use crate::hold::UnitId;
use crate::index::SubjectIndex;
use crate::outcome::By;
use crate::segment::Segment;
use crate::settings::{PoolKind, PoolSettings};
use crate::time::Timestamp;
use crate::waitlist::{Waitlist, suits};
use firstcome_inject::{Mistake, inject};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Ranks whose notes are kept, and written, together: with the longest reasons they fit one piece.
const NOTE_RANKS: u32 = 1 << 9;
/// Bytes of a note, about.
const NOTE_BYTES: usize = 96;

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
    /// The rank the same subject had before this one.
    pub(crate) earlier: Option<u32>,
    /// How many ranks it had before this one: not stored, since they are counted when the notes are read in order.
    pub(crate) before: u32,
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
    pub(crate) name: Arc<str>,
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
    /// The codes of a coded pool.
    codes: Option<Box<Codes>>,
    /// Which unit and which hold a claim came from, where it came from a hold.
    pub(crate) grants: Grants,
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) notes: BTreeMap<u32, Arc<Notes>>,
    /// How many may wait for its units, as the operator said it.
    pub(crate) waitlist: Option<u32>,
    /// Who waits for its units: none before the first.
    list: Option<Box<Waitlist>>,
    cancelled: u32,
    index: SubjectIndex,
    /// Bytes of all segments but the last.
    sealed: usize,
    /// How many claims have a note.
    noted: usize,
}

impl Pool {
    pub(crate) fn new(wanted: &PoolSettings) -> Self {
        let seated = wanted.kind == PoolKind::Seated;
        Self {
            name: (*wanted.name).into(),
            capacity: wanted.capacity,
            limit: wanted.limit,
            taken: 0,
            held: 0,
            hall: seated.then(Box::default),
            codes: wanted.codes.as_deref().map(|codes| Box::new(Codes::new(codes))),
            grants: Grants::default(),
            segments: Vec::new(),
            notes: BTreeMap::new(),
            waitlist: wanted.waitlist,
            list: None,
            cancelled: 0,
            index: SubjectIndex::new(),
            sealed: 0,
            noted: 0,
        }
    }

    /// Returns the pool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the pool's name, for who needs it when the pool may be gone.
    pub fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Returns how many units the pool has.
    pub fn capacity(&self) -> u32 {
        self.hall().map_or(self.capacity, |hall| hall.counts().all())
    }

    /// Returns how many units are free and for sale.
    pub fn left(&self) -> u32 {
        match self.hall() {
            None => self.capacity.saturating_sub(self.taken),
            Some(hall) => hall.counts().left,
        }
    }

    /// Returns how many units are held or given.
    pub fn taken(&self) -> u32 {
        match self.hall() {
            None => self.taken,
            Some(hall) => hall.counts().held + hall.counts().confirmed,
        }
    }

    /// Returns the last rank given; ranks run from 1 to it without a gap.
    pub fn last_rank(&self) -> u32 {
        self.segments.last().map_or(0, |s| s.first_rank - 1 + s.len() as u32)
    }

    /// Returns how many ranks can be given still: a rank is never given again, whatever is cancelled.
    pub(crate) fn ranks_left(&self) -> u32 {
        u32::MAX - self.last_rank()
    }

    /// Returns how many units the claims so far keep from being free.
    pub(crate) fn owed(&self, units_return: bool) -> u32 {
        self.last_rank() - if units_return { self.cancelled } else { 0 }
    }

    /// Returns how many claims were cancelled.
    pub fn cancelled(&self) -> u32 {
        self.cancelled
    }

    /// Returns the claim of a rank.
    pub fn claim(&self, rank: u32) -> Option<Claim<'_>> {
        let segment = self.segment(rank)?;
        let subject = std::str::from_utf8(segment.subject(rank))
            .expect("a subject is text when it comes in and stays as it came");
        Some(Claim { rank, subject, at: segment.at(rank), cancel: self.cancel_of(rank) })
    }

    /// Returns a subject's claims, the latest first.
    pub fn claims_of<'a>(&'a self, subject: &str) -> impl Iterator<Item = Claim<'a>> {
        let earlier = |rank: &u32| self.note(*rank).and_then(|note| note.earlier);
        std::iter::successors(self.latest(subject), earlier).filter_map(|rank| self.claim(rank))
    }

    /// Returns the latest rank of a subject, live or cancelled.
    pub fn latest(&self, subject: &str) -> Option<u32> {
        let subject = subject.as_bytes();
        let is = |known| self.segment(known).is_some_and(|s| s.subject(known) == subject);
        self.index.find(subject, is)
    }

    /// Returns how many claims a subject had, live or cancelled.
    pub(crate) fn claims_had(&self, subject: &str) -> u32 {
        self.latest(subject).map_or(0, |rank| self.claims_up_to(rank))
    }

    /// Returns how many claims the subject of a rank had with it.
    pub(crate) fn claims_up_to(&self, rank: u32) -> u32 {
        self.note(rank).map_or(0, |note| note.before) + 1
    }

    /// Says whether a claim is not cancelled.
    pub fn is_live(&self, rank: u32) -> bool {
        self.cancel_of(rank).is_none()
    }

    /// Returns about how many bytes of memory the pool takes.
    /// They are counted as they come: see [`State::memory`](crate::State::memory).
    pub fn memory(&self) -> usize {
        let hall = self.hall().map_or(0, Hall::memory);
        let open = self.segments.last().map_or(0, bytes_of);
        let notes = self.noted * NOTE_BYTES;
        let list = self.list().map_or(0, Waitlist::memory);
        let codes = self.codes().map_or(0, Codes::memory);
        let index = self.index.memory();
        self.sealed + open + notes + index + hall + self.grants.memory() + list + codes
    }

    /// Returns [`Pool::memory`] by looking at everything.
    pub(crate) fn walked_memory(&self) -> usize {
        let hall = self.hall().map_or(0, Hall::walked_memory);
        let segments: usize = self.segments.iter().map(bytes_of).sum();
        let notes = self.notes.values().map(|notes| notes.len() * NOTE_BYTES).sum::<usize>();
        let list = self.list().map_or(0, Waitlist::walked_memory);
        let codes = self.codes().map_or(0, Codes::walked_memory);
        let index = self.index.walked_memory();
        segments + notes + index + hall + self.grants.walked_memory() + list + codes
    }

    /// Counts the bytes of its seats once more.
    pub(crate) fn count_seats(&mut self) {
        if let Some(hall) = &mut self.hall {
            hall.count_memory();
        }
    }

    /// Gives a subject a unit of a counted or a coded pool. A generated code has the tag that came with the claim.
    pub(crate) fn give(&mut self, subject: &str, at: Timestamp, tag: Option<u64>) -> u32 {
        let own = self.own_code(subject);
        if own.is_none() {
            self.taken += 1;
            assert!(self.taken <= self.capacity, "pool {} gave more units than it has", self.name);
        }
        let rank = self.rank(subject, at);
        self.issue(rank, tag, own);
        rank
    }

    /// Returns the rank whose imported code comes back to a subject that claims again: nothing but its own cancel withdrew
    /// it. So nobody sees more than one code by claiming and cancelling.
    pub(crate) fn own_code(&self, subject: &str) -> Option<u32> {
        let codes = self.codes().filter(|codes| codes.stock.is_some())?;
        let rank = self.latest(subject)?;
        let own = self.cancel_of(rank)?.by == By::Subject || inject(Mistake::WithdrawnCodeBack);
        (own && codes.comes_back(rank) && !inject(Mistake::CancelDrainsCodes)).then_some(rank)
    }

    /// Gives a subject the code that was set aside for it by an offer. `whose` is the subject and the hold's id.
    pub(crate) fn take_held_code(
        &mut self,
        whose: (&str, &str),
        at: Timestamp,
        tag: Option<u64>,
    ) -> u32 {
        let rank = self.confirm(UnitId::Counted, whose, at);
        self.issue(rank, tag, None);
        rank
    }

    /// Issues the code of a rank of a coded pool: that of `own` if it comes back, or another.
    fn issue(&mut self, rank: u32, tag: Option<u64>, own: Option<u32>) {
        let Some(codes) = self.codes.as_deref_mut() else { return };
        let number = match (codes.stock.as_deref_mut(), own) {
            (None, _) => tag.expect("it was looked whether the claim has a tag"),
            (Some(stock), None) => u64::from(stock.give(rank)),
            (Some(_), Some(own)) => codes.bring_back(own, rank),
        };
        codes.issued.push(Word::new(number, 1));
        codes.stands(rank);
    }

    /// Gives a subject the next rank.
    fn rank(&mut self, subject: &str, at: Timestamp) -> u32 {
        let rank = self.last_rank().checked_add(1).expect("a pool has fewer units than ranks");
        self.push(subject, at, rank);
        if let Some(earlier) = self.point(rank) {
            let before = self.claims_up_to(earlier);
            let note = self.note_mut(rank);
            (note.earlier, note.before) = (Some(earlier), before);
        }
        rank
    }

    pub(crate) fn undo(&mut self, rank: u32, cancel: Cancel, units_return: bool) {
        let note = self.note_mut(rank);
        assert!(note.cancel.is_none(), "a claim is cancelled once");
        note.cancel = Some(cancel);
        self.cancelled += 1;
        if let Some(codes) = self.codes.as_deref_mut() {
            codes.stands_no_more(rank);
        }
        // An imported code is known to who had it: nobody else gets it.
        if units_return && !self.has_stock() {
            let unit = self.free_confirmed(rank);
            self.came_free(unit);
        }
    }

    /// Returns who waits for its units.
    pub(crate) fn list(&self) -> Option<&Waitlist> {
        self.list.as_deref()
    }

    /// Returns who waits for its units, if anybody ever did.
    pub(crate) fn list_of(&mut self) -> Option<&mut Waitlist> {
        self.list.as_deref_mut()
    }

    /// Returns who waits for its units, for somebody to join.
    pub(crate) fn list_mut(&mut self) -> &mut Waitlist {
        self.list.get_or_insert_default()
    }

    /// Notes that a unit came free, for those who wait: every way in which one does ends here, or at
    /// [`Self::all_came_free`].
    pub(crate) fn came_free(&mut self, unit: UnitId) {
        if let Some(list) = &mut self.list {
            list.came_free(unit, self.hall.as_deref());
        }
    }

    /// Notes that any unit may have come free, or may be for others than before.
    pub(crate) fn all_came_free(&mut self) {
        if let Some(list) = &mut self.list {
            list.all_came_free();
        }
    }

    /// Says whether anything that is free may be for somebody who waits.
    pub(crate) fn is_promised(&self) -> bool {
        self.list.as_ref().is_some_and(|list| list.is_behind())
    }

    /// Says whether a unit may be for somebody who waits: then nobody else gets it.
    pub(crate) fn is_kept(&self, unit: UnitId) -> bool {
        let mut untried = self.list().into_iter().flat_map(Waitlist::untried);
        untried.any(|wish| suits(self.hall(), unit, &wish))
    }

    /// Returns the seats of a hall that may be for somebody who waits.
    pub(crate) fn kept(&self) -> Vec<Kept> {
        let Some(hall) = self.hall() else { return Vec::new() };
        let untried = self.list().into_iter().flat_map(Waitlist::untried);
        let seats = untried.filter(|wish| wish.area.is_none());
        let kept = seats.filter_map(|wish| hall.keeps(wish.grade, wish.channel));
        let mut all: Vec<Kept> = kept.collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Says whether something may be for somebody who waits and for one with this wish.
    pub(crate) fn is_promised_beside(&self, wish: &Wish<'_>) -> bool {
        let mut untried = self.list().into_iter().flat_map(Waitlist::untried);
        untried.any(|other| {
            let grades = other.grade.is_none() || wish.grade.is_none() || other.grade == wish.grade;
            other.area == wish.area && (wish.area.is_some() || grades)
        })
    }

    /// Adds a whole segment of a snapshot; it must follow the last rank.
    pub(crate) fn restore_segment(&mut self, mut segment: Segment) -> bool {
        let first = segment.first_rank;
        if self.last_rank().checked_add(1) != Some(first) {
            return false;
        }
        segment.seal();
        let last = first - 1 + segment.len() as u32;
        self.add_segment(segment);
        for rank in first..=last {
            self.point(rank);
        }
        true
    }

    /// Adds a note of a snapshot; a rank has one at most, and those of lower ranks are there already.
    pub(crate) fn restore_note(&mut self, rank: u32, mut note: Note) -> bool {
        let last = self.notes.last_key_value().and_then(|(_, notes)| notes.last_key_value());
        if last.is_some_and(|(last, _)| *last >= rank) {
            return false;
        }
        note.before = note.earlier.map_or(0, |earlier| self.claims_up_to(earlier));
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
                self.add_segment(next);
                self.segments.last_mut().expect("it was just added")
            }
        };
        // A snapshot under way may hold the open segment: then this copies it, 256 KiB at most.
        Arc::make_mut(open).push(subject, at);
    }

    fn add_segment(&mut self, segment: Segment) {
        self.sealed += self.segments.last().map_or(0, bytes_of);
        self.segments.push(Arc::new(segment));
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
        self.noted += usize::from(!notes.contains_key(&rank));
        Arc::make_mut(notes).entry(rank).or_default()
    }

    pub(crate) fn cancel_of(&self, rank: u32) -> Option<&Cancel> {
        if self.notes.is_empty() {
            return None;
        }
        self.note(rank)?.cancel.as_ref()
    }
}

fn bytes_of(segment: &Arc<Segment>) -> usize {
    segment.memory() + 112
}

fn segment_of(segments: &[Arc<Segment>], rank: u32) -> Option<&Segment> {
    let after = segments.partition_point(|s| s.first_rank <= rank);
    let segment = segments.get(after.checked_sub(1)?)?;
    ((rank - segment.first_rank) < segment.len() as u32).then_some(segment)
}
