//! All holds of a campaign, live or ended in the last 24 h, and the subjects that have them.

use crate::hold::{Hold, UnitId, room_for};
use crate::index::SubjectIndex;
use crate::limits::{HOLD_MEMORY, HOLD_MEMORY_US};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Holds whose numbers are neighbours, kept and written together: with the most they can have they fit one piece.
const TOGETHER: u32 = 16;
/// Subjects that are kept and written together.
const HOLDERS_TOGETHER: u32 = 32;
/// Ended holds that are forgotten at most with each command: two are for each that is added.
const FORGET: usize = 2;
/// Bytes of an entry in the list of ended holds, about.
const ENDED_BYTES: usize = 24;
/// An hour of service time.
const HOUR_US: i64 = 3_600_000_000;

pub(crate) type Neighbours = BTreeMap<u32, Hold>;
pub(crate) type NeighbourHolders = BTreeMap<u32, Holder>;

/// What is known of a subject that holds or held something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) subject: Box<str>,
    /// Service times at which holds of the last hour began, the oldest first.
    pub(crate) recent: VecDeque<i64>,
    /// Numbers of live holds.
    pub(crate) live: Vec<u32>,
    /// Holds that are remembered, live or ended.
    pub(crate) remembered: u32,
    /// Units of live claims, by pool: of holds and of claims alike.
    pub(crate) has: Vec<(u16, UnitId)>,
}

impl Holder {
    pub(crate) fn new(subject: &str) -> Self {
        Self {
            subject: subject.into(),
            recent: VecDeque::new(),
            live: Vec::new(),
            remembered: 0,
            has: Vec::new(),
        }
    }

    fn memory(&self) -> usize {
        let has = room_for(self.has.len()) * size_of::<(u16, UnitId)>();
        let times = room_for(self.recent.len()) * 8;
        size_of::<Self>() + self.subject.len() + times + room_for(self.live.len()) * 4 + has
    }

    /// Returns how many holds began in the hour before `service`.
    pub(crate) fn recently(&self, service: i64) -> usize {
        let old = self.recent.partition_point(|began| *began <= service - HOUR_US);
        self.recent.len() - old
    }
}

/// The holds of one campaign.
///
/// Numbers go up from 1 and are never used twice. Live and ended holds are found by id alike.
#[derive(Debug)]
pub(crate) struct Holds {
    pub(crate) chunks: BTreeMap<u32, Arc<Neighbours>>,
    pub(crate) last: u32,
    /// Ended holds by when they ended.
    pub(crate) ended: BTreeSet<(i64, u32)>,
    pub(crate) holders: BTreeMap<u32, Arc<NeighbourHolders>>,
    pub(crate) last_holder: u32,
    ids: SubjectIndex,
    subjects: SubjectIndex,
    len: usize,
    holder_count: usize,
    hold_bytes: Bytes,
    holder_bytes: Bytes,
}

/// Bytes of many things, counted as they change.
///
/// Whoever changes one gets a plain reference: what it takes then is counted when the next one is changed, or asked for.
#[derive(Debug, Default)]
struct Bytes {
    /// Of all, that of the one under change as it was before.
    sum: usize,
    /// The number of the one that may have changed since, and what it took before.
    changing: Option<(u32, usize)>,
}

impl Bytes {
    /// Counts the one that was changed last; `now` gives what one takes.
    fn count(&mut self, now: impl Fn(u32) -> Option<usize>) {
        if let Some((number, before)) = self.changing.take() {
            self.sum = self.sum + now(number).unwrap_or(0) - before;
        }
    }

    /// Returns the bytes of all.
    fn all(&self, now: impl Fn(u32) -> Option<usize>) -> usize {
        let (number, before) = self.changing.unwrap_or_default();
        self.sum + now(number).unwrap_or(0) - before
    }
}

impl Holds {
    pub(crate) fn new() -> Self {
        Self {
            chunks: BTreeMap::new(),
            last: 0,
            ended: BTreeSet::new(),
            holders: BTreeMap::new(),
            last_holder: 0,
            ids: SubjectIndex::new(),
            subjects: SubjectIndex::new(),
            len: 0,
            holder_count: 0,
            hold_bytes: Bytes::default(),
            holder_bytes: Bytes::default(),
        }
    }

    /// Says whether nobody ever held anything here, or all of it is forgotten.
    pub(crate) fn is_empty(&self) -> bool {
        self.holder_count == 0
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Hold> {
        self.chunks.get(&(number / TOGETHER))?.get(&number)
    }

    /// Returns a hold that is known to be there.
    pub(crate) fn at(&self, number: u32) -> &Hold {
        self.get(number).expect("a number leads to its hold until it is forgotten")
    }

    pub(crate) fn at_mut(&mut self, number: u32) -> &mut Hold {
        self.hold_changes(number);
        let chunk = self.chunks.get_mut(&(number / TOGETHER));
        // A snapshot under way may hold the chunk: then this copies it.
        let hold = chunk.and_then(|chunk| Arc::make_mut(chunk).get_mut(&number));
        hold.expect("a number leads to its hold until it is forgotten")
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Hold> {
        let is = |number| self.get(number).is_some_and(|hold| *hold.id == *id);
        self.get(self.ids.find(id.as_bytes(), is)?)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Hold> {
        self.chunks.values().flat_map(|chunk| chunk.values())
    }

    pub(crate) fn live(&self) -> usize {
        self.len - self.ended.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a live hold of the next number. Its subject has a holder.
    pub(crate) fn add(&mut self, hold: Hold) {
        assert_eq!(hold.number, self.last + 1, "holds are numbered without a gap");
        self.last = hold.number;
        let holder = self.holder_mut(&hold.subject);
        while holder.recent.front().is_some_and(|began| *began <= hold.started - HOUR_US) {
            holder.recent.pop_front();
        }
        if hold.offer.is_none() {
            holder.recent.push_back(hold.started);
        }
        self.put(hold);
    }

    /// Adds a hold, new or from a snapshot. Its subject has a holder.
    pub(crate) fn put(&mut self, mut hold: Hold) {
        let number = hold.number;
        hold.holder = self.holder_number(&hold.subject).expect("whoever has a hold is known");
        let holder = self.holder_at_mut(hold.holder);
        holder.remembered += 1;
        match hold.ended {
            None => holder.live.push(number),
            Some(ended) => assert!(self.ended.insert((ended, number)), "a hold ends once"),
        }
        let chunk = self.chunks.entry(number / TOGETHER).or_default();
        let id = hold.id.clone();
        self.hold_bytes.sum += hold.memory();
        let before = Arc::make_mut(chunk).insert(number, hold);
        assert!(before.is_none(), "a number is given once");
        let before = self.ids.set(id.as_bytes(), number, |_| false);
        assert!(before.is_none(), "an id is given once while it is remembered");
        self.len += 1;
    }

    /// Notes that a hold has ended.
    pub(crate) fn end(&mut self, number: u32, service: i64) {
        let hold = self.at_mut(number);
        assert!(hold.ended.is_none() && hold.held() == 0, "a hold ends once, with nothing held");
        hold.ended = Some(service);
        hold.steps.shrink_to_fit();
        let holder = hold.holder;
        self.holder_at_mut(holder).live.retain(|live| *live != number);
        self.ended.insert((service, number));
    }

    /// Forgets some of the holds that ended 24 h ago or earlier, and the oldest beyond the number remembered.
    pub(crate) fn forget(&mut self, service: i64) {
        for _ in 0..FORGET {
            let Some(&(ended, number)) = self.ended.first() else { return };
            if service - ended < HOLD_MEMORY_US && self.ended.len() <= HOLD_MEMORY {
                return;
            }
            self.ended.pop_first();
            self.hold_changes(number);
            let chunk = self.chunks.get_mut(&(number / TOGETHER)).expect("an ended hold is there");
            let neighbours = Arc::make_mut(chunk);
            let hold = neighbours.remove(&number).expect("an ended hold is there");
            if neighbours.is_empty() {
                self.chunks.remove(&(number / TOGETHER));
            }
            self.ids.remove(hold.id.as_bytes(), |known| known == number);
            self.len -= 1;
            self.forget_holder(&hold.subject);
        }
    }

    /// Takes note that one hold of a subject was forgotten, and forgets who has nothing left.
    fn forget_holder(&mut self, subject: &str) {
        let holder = self.holder_mut(subject);
        holder.remembered -= 1;
        if holder.remembered > 0 || !holder.has.is_empty() {
            return;
        }
        let holders = &self.holders;
        let is = |known| holder_of(holders, known).is_some_and(|h| *h.subject == *subject);
        let number = self.subjects.remove(subject.as_bytes(), is).expect("it was just found");
        self.holder_changes(number);
        let chunk = self.holders.get_mut(&(number / HOLDERS_TOGETHER)).expect("it was just found");
        let neighbours = Arc::make_mut(chunk);
        neighbours.remove(&number);
        if neighbours.is_empty() {
            self.holders.remove(&(number / HOLDERS_TOGETHER));
        }
        self.holder_count -= 1;
    }

    /// Notes that a hold may take more or less from here on, or be gone.
    fn hold_changes(&mut self, number: u32) {
        if self.hold_bytes.changing.is_some_and(|(changing, _)| changing == number) {
            return;
        }
        let chunks = &self.chunks;
        let now = |number| Some(chunks.get(&(number / TOGETHER))?.get(&number)?.memory());
        self.hold_bytes.count(now);
        self.hold_bytes.changing = now(number).map(|before| (number, before));
    }

    /// Notes that a holder may take more or less from here on, or be gone.
    fn holder_changes(&mut self, number: u32) {
        if self.holder_bytes.changing.is_some_and(|(changing, _)| changing == number) {
            return;
        }
        let holders = &self.holders;
        let now = |number| holder_of(holders, number).map(Holder::memory);
        self.holder_bytes.count(now);
        self.holder_bytes.changing = now(number).map(|before| (number, before));
    }

    fn holder_number(&self, subject: &str) -> Option<u32> {
        let is = |known| holder_of(&self.holders, known).is_some_and(|h| *h.subject == *subject);
        self.subjects.find(subject.as_bytes(), is)
    }

    pub(crate) fn holder(&self, subject: &str) -> Option<&Holder> {
        if self.holder_count == 0 {
            return None;
        }
        holder_of(&self.holders, self.holder_number(subject)?)
    }

    pub(crate) fn find_holder_mut(&mut self, subject: &str) -> Option<&mut Holder> {
        if self.holder_count == 0 {
            return None;
        }
        let number = self.holder_number(subject)?;
        self.holder_changes(number);
        Arc::make_mut(self.holders.get_mut(&(number / HOLDERS_TOGETHER))?).get_mut(&number)
    }

    /// Returns the holder of a subject that holds something or was just made one.
    pub(crate) fn holder_mut(&mut self, subject: &str) -> &mut Holder {
        self.find_holder_mut(subject).expect("whoever has a hold is known")
    }

    /// Returns a holder by number, which a hold of its own knows.
    fn holder_at_mut(&mut self, number: u32) -> &mut Holder {
        self.holder_changes(number);
        let chunk = self.holders.get_mut(&(number / HOLDERS_TOGETHER));
        let holder = chunk.and_then(|chunk| Arc::make_mut(chunk).get_mut(&number));
        holder.expect("whoever has a hold is known")
    }

    /// Adds a subject that is not known yet.
    pub(crate) fn add_holder(&mut self, holder: Holder) {
        self.last_holder += 1;
        self.put_holder(self.last_holder, holder);
    }

    /// Says whether a holder of this number is there.
    pub(crate) fn has_holder(&self, number: u32) -> bool {
        holder_of(&self.holders, number).is_some()
    }

    /// Adds a subject that is not known yet, new or from a snapshot.
    pub(crate) fn put_holder(&mut self, number: u32, holder: Holder) {
        let before = self.subjects.set(holder.subject.as_bytes(), number, |_| false);
        assert!(before.is_none());
        self.holder_bytes.sum += holder.memory();
        let chunk = self.holders.entry(number / HOLDERS_TOGETHER).or_default();
        Arc::make_mut(chunk).insert(number, holder);
        self.holder_count += 1;
    }

    /// Returns about how many bytes they take. They are counted as they change: see
    /// [`State::memory`](crate::State::memory).
    pub(crate) fn memory(&self) -> usize {
        let holds = self.hold_bytes.all(|number| self.get(number).map(Hold::memory));
        let holder = |number| holder_of(&self.holders, number).map(Holder::memory);
        holds
            + self.holder_bytes.all(holder)
            + self.ended.len() * ENDED_BYTES
            + self.ids.memory()
            + self.subjects.memory()
    }

    /// Returns [`Self::memory`] by looking at every hold and every holder.
    pub(crate) fn walked_memory(&self) -> usize {
        let holders = self.holders.values().flat_map(|chunk| chunk.values());
        self.iter().map(Hold::memory).sum::<usize>()
            + holders.map(Holder::memory).sum::<usize>()
            + self.ended.len() * ENDED_BYTES
            + self.ids.walked_memory()
            + self.subjects.walked_memory()
    }
}

fn holder_of(holders: &BTreeMap<u32, Arc<NeighbourHolders>>, number: u32) -> Option<&Holder> {
    holders.get(&(number / HOLDERS_TOGETHER))?.get(&number)
}
