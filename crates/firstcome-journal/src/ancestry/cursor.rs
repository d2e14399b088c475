//! Where a reader stands in the log, and which messages are entries that count.

use super::message::{Ancestor, Message, Place, Raw, mark};
use crate::entry::Entry;
use crate::error::JournalError;
use crate::name::{Name, Tip};
use std::collections::VecDeque;

/// How many messages before an entry its ancestor may lie, which always may be the last entry that counts. So many messages are kept before the first entry that is kept.
pub(crate) const REACH: u64 = 1024;

/// Where a reader stands in the log: behind a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The sequence of the message read last.
    pub(crate) sequence: u64,
    /// The last entry that counts.
    pub(crate) tip: Tip,
    /// The message of that entry.
    pub(crate) place: Place,
    /// The epoch there.
    pub(crate) epoch: u32,
    /// Whether the message may be gone from the log, since what is known of it is known from elsewhere.
    pub(crate) bare: bool,
    /// Where the journal began, or was begun again after a state: no message before it is an ancestor.
    origin: Place,
    /// Marks of the last messages up to `sequence`, at most `reach`.
    marks: VecDeque<u64>,
    /// How many messages before an entry its ancestor may lie in this log: [`REACH`], or what a test says.
    reach: u64,
}

/// What a message was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TakenMessage {
    /// An entry that counts. Its body is whole where `part` is 0; else the rest is in that message.
    Entry { entry: Entry, part: u64 },
    /// One that does not count.
    Ignored,
    /// A part of a body.
    Part,
    /// The journal goes on after another state from here: what the cursor knows says nothing about it.
    Restart,
}

/// Why a message cannot be taken in.
#[derive(Debug)]
pub(crate) enum Stuck {
    /// Its ancestor lies before the messages whose marks are known.
    FurtherBack,
    /// It is damaged, or missing.
    Failed(JournalError),
}

impl From<JournalError> for Stuck {
    fn from(failure: JournalError) -> Self {
        Self::Failed(failure)
    }
}

/// Whether an ancestor is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Yes,
    No,
    Unclear,
}

impl Cursor {
    /// Returns the last entry before it that counts.
    pub fn tip(&self) -> Tip {
        self.tip
    }

    /// Begins behind a message of which all is known.
    pub(crate) fn at(place: Place, tip: Tip, epoch: u32, origin: Place) -> Self {
        let marks = [place.mark].into();
        let (sequence, bare, reach) = (place.sequence, false, REACH);
        Self { sequence, tip, place, epoch, bare, origin, marks, reach }
    }

    /// Returns what an entry rests on that is appended here.
    pub(crate) fn ancestor(&self) -> Ancestor {
        let (place, epoch) = (self.place, self.epoch);
        Ancestor { place, position: self.tip.position, at: self.tip.at, epoch }
    }

    /// Begins behind a message that may be gone from the log, of which all is known from elsewhere.
    pub(crate) fn bare(place: Place, tip: Tip, epoch: u32, origin: Place) -> Self {
        Self { bare: true, ..Self::at(place, tip, epoch, origin) }
    }

    /// Has an ancestor lie at most so many messages before its entry.
    pub(crate) fn reaching(self, reach: u64) -> Self {
        Self { reach, ..self }
    }

    pub(crate) fn reach(&self) -> u64 {
        self.reach
    }

    /// Says whether the message read last has this mark.
    pub(crate) fn has_mark(&self, mark: u64) -> bool {
        self.marks.back() == Some(&mark)
    }

    /// Returns where the journal began, or was begun again after a state.
    pub(crate) fn origin(&self) -> Place {
        self.origin
    }

    /// Returns the first message whose mark is known.
    fn known_from(&self) -> u64 {
        self.sequence + 1 - self.marks.len() as u64
    }

    /// Returns the messages whose marks matter and are not known: from the first one to before the second one.
    pub(crate) fn unknown(&self) -> (u64, u64) {
        let reached = (self.sequence + 1).saturating_sub(self.reach);
        let known = self.known_from();
        (reached.max(self.origin.sequence + 1).min(known), known)
    }

    /// Adds the marks of the messages right before those that are known, the newest last.
    pub(crate) fn know_before(&mut self, marks: impl DoubleEndedIterator<Item = u64>) {
        for mark in marks.rev() {
            if self.marks.len() as u64 >= self.reach {
                break;
            }
            self.marks.push_front(mark);
        }
    }

    /// Takes in the next message; changes nothing where it cannot. `everything` counts each entry, whatever it rests on: see
    /// `Mistake::PredecessorIgnored`.
    pub(crate) fn take(
        &mut self,
        stored: &Raw<'_>,
        everything: bool,
    ) -> Result<TakenMessage, Stuck> {
        let position = self.tip.position;
        if stored.sequence != self.sequence + 1 {
            let why = format!("message {} of the log is missing", self.sequence + 1);
            return Err(JournalError::Damaged { position: position + 1, why }.into());
        }
        let taken = match Message::read(stored.bytes, position)? {
            Message::Part(_) => TakenMessage::Part,
            Message::Restart(_) => TakenMessage::Restart,
            Message::Entry { ancestor, epoch, clock, content } => {
                let found = if everything { Found::Yes } else { self.has(ancestor.place) };
                match found {
                    Found::Unclear => return Err(Stuck::FurtherBack),
                    Found::No => TakenMessage::Ignored,
                    Found::Yes => {
                        let stored_at = clock.unwrap_or(stored.at);
                        let at = stored_at.max(self.tip.at);
                        let epoch = epoch.max(ancestor.epoch).max(self.epoch);
                        let (before, body) = (self.tip.name, content.body.into());
                        let position = position + 1;
                        let entry = Entry { position, at, epoch, before, body };
                        self.stand_at(stored, &entry, content.name);
                        TakenMessage::Entry { entry, part: content.part }
                    }
                }
            }
            Message::Exact { position: exact, at, epoch, before, content } => {
                if exact != position + 1 || before != self.tip.name {
                    let why = format!(
                        "it was written again behind entry {} {before}",
                        exact.saturating_sub(1)
                    );
                    return Err(JournalError::Damaged { position: position + 1, why }.into());
                }
                let entry = Entry { position: exact, at, epoch, before, body: content.body.into() };
                self.stand_at(stored, &entry, content.name);
                TakenMessage::Entry { entry, part: content.part }
            }
        };
        (self.sequence, self.bare) = (stored.sequence, false);
        self.marks.push_back(mark(stored.bytes));
        if self.marks.len() as u64 > self.reach {
            self.marks.pop_front();
        }
        Ok(taken)
    }

    fn stand_at(&mut self, stored: &Raw<'_>, entry: &Entry, name: Name) {
        self.tip = Tip { position: entry.position, name, at: entry.at };
        self.place = stored.place();
        self.epoch = entry.epoch;
    }

    /// Says whether a message is in the log, near enough to the next message.
    fn has(&self, place: Place) -> Found {
        let next = self.sequence + 1;
        // However many are ignored, something can follow the last entry.
        if place == self.place {
            return Found::Yes;
        }
        if place.sequence < self.origin.sequence
            || place.sequence >= next
            || next - place.sequence > self.reach
        {
            return Found::No;
        }
        if place.sequence == self.origin.sequence {
            return if place == self.origin { Found::Yes } else { Found::No };
        }
        let Some(back) = place.sequence.checked_sub(self.known_from()) else {
            return Found::Unclear;
        };
        let mark = usize::try_from(back).ok().and_then(|back| self.marks.get(back));
        if mark == Some(&place.mark) { Found::Yes } else { Found::No }
    }
}

/// Finds where a reader can begin among messages that follow one another: behind the ancestor of one of them, or behind an
/// entry that says all of itself. Gives a cursor there; `None` where no message tells.
pub(crate) fn begin_among(messages: &[Raw<'_>], origin: Place) -> Option<Cursor> {
    let first = messages.first()?.sequence;
    let marks: Vec<u64> = messages.iter().map(|stored| mark(stored.bytes)).collect();
    let index = |sequence: u64| usize::try_from(sequence.checked_sub(first)?).ok();
    for (number, stored) in messages.iter().enumerate() {
        if stored.sequence <= origin.sequence {
            continue;
        }
        let (behind, tip, epoch) = match Message::read(stored.bytes, 0).ok()? {
            Message::Exact { position, at, epoch, content, .. } => {
                (number, Tip { position, name: content.name, at }, epoch)
            }
            Message::Entry { ancestor, .. } => {
                let place = ancestor.place;
                // One that lies ahead is of another history.
                let far = stored.sequence.checked_sub(place.sequence);
                let near = far.is_some_and(|far| (1..=REACH).contains(&far));
                let there =
                    index(place.sequence).filter(|_| near && place.sequence > origin.sequence);
                let Some(behind) = there.filter(|there| marks[*there] == place.mark) else {
                    continue;
                };
                // Whoever counts on a part or a restart is looked at elsewhere.
                let name = match Message::read(messages[behind].bytes, 0).ok()? {
                    Message::Entry { content, .. } | Message::Exact { content, .. } => content.name,
                    Message::Part(_) | Message::Restart(_) => continue,
                };
                let tip = Tip { position: ancestor.position, name, at: ancestor.at };
                (behind, tip, ancestor.epoch)
            }
            Message::Part(_) | Message::Restart(_) => continue,
        };
        let place = Place { sequence: messages[behind].sequence, mark: marks[behind] };
        let mut cursor = Cursor::at(place, tip, epoch, origin);
        cursor.know_before(marks[..behind].iter().copied());
        return Some(cursor);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::message::Content;
    use super::*;
    use firstcome_core::{NodeId, Timestamp};

    /// A log in memory, whose clock a test sets.
    #[derive(Clone, Default)]
    struct Log {
        messages: Vec<(i64, Vec<u8>)>,
        clock: i64,
    }

    impl Log {
        fn put(&mut self, message: &Message<'_>) -> u64 {
            let nonce = self.messages.len() as u64 ^ (self.clock as u64) << 32;
            self.messages.push((self.clock, message.write(nonce)));
            self.messages.len() as u64
        }

        fn append(&mut self, cursor: &Cursor, node: u8, number: u64, epoch: u32) -> u64 {
            let name = Name { node: NodeId([node; 16]), number };
            let content = Content { name, part: 0, body: &[node] };
            let ancestor = cursor.ancestor();
            self.put(&Message::Entry { ancestor, epoch, clock: None, content })
        }

        fn raws(&self, from: u64) -> Vec<Raw<'_>> {
            let raws = self.messages.iter().zip(1..).map(|((at, bytes), sequence)| {
                let at = Timestamp::from_micros(*at);
                Raw { sequence, at, bytes }
            });
            raws.skip_while(|raw| raw.sequence < from).collect()
        }
    }

    fn start() -> Cursor {
        let tip = Tip { position: 0, name: Name::default(), at: Timestamp::from_micros(0) };
        Cursor::bare(Place::default(), tip, 0, Place::default())
    }

    /// Reads on to a message; gives what was taken.
    fn read_on(cursor: &mut Cursor, log: &Log, to: u64) -> Vec<TakenMessage> {
        let raws = log.raws(cursor.sequence + 1);
        let raws = raws.iter().take_while(|raw| raw.sequence <= to);
        raws.map(|raw| cursor.take(raw, false).unwrap()).collect()
    }

    fn counts(taken: &TakenMessage) -> bool {
        matches!(taken, TakenMessage::Entry { .. })
    }

    #[test]
    fn entries_of_nodes_that_append_at_the_same_time_all_count() {
        let mut log = Log::default();
        let nodes = [start(), start(), start()];
        for (node, cursor) in (1..).zip(&nodes) {
            log.append(cursor, node, 1, 0);
        }
        let mut reader = start();
        assert!(read_on(&mut reader, &log, 3).iter().all(counts));
        assert_eq!(reader.tip.position, 3);
    }

    #[test]
    fn an_entry_whose_ancestor_is_not_there_takes_no_position_and_no_time() {
        let mut log = Log { clock: 10, ..Log::default() };
        log.append(&start(), 1, 1, 0);
        let mut here = start();
        read_on(&mut here, &log, 1);
        // Another history of the same length, in which the sender was.
        let mut other = Log { clock: 11, ..Log::default() };
        other.append(&start(), 1, 1, 0);
        let mut elsewhere = start();
        read_on(&mut elsewhere, &other, 1);
        log.clock = 99;
        log.append(&elsewhere, 2, 1, 7);
        log.clock = 20;
        log.append(&here, 1, 2, 0);
        let mut reader = start();
        let taken = read_on(&mut reader, &log, 3);
        assert_eq!(taken.iter().map(counts).collect::<Vec<_>>(), [true, false, true]);
        let TakenMessage::Entry { entry, .. } = &taken[2] else { panic!("{taken:?}") };
        assert_eq!((entry.position, entry.at.as_micros(), entry.epoch), (2, 20, 0));
        // The twin: whoever counts each entry counts that one, too.
        let mut everything = start();
        let all = log.raws(1);
        assert!(all.iter().all(|raw| counts(&everything.take(raw, true).unwrap())));
    }

    #[test]
    fn a_late_entry_counts_up_to_so_many_messages_behind_its_ancestor() {
        for late in [REACH - 1, REACH] {
            let mut log = Log::default();
            log.append(&start(), 1, 1, 0);
            let mut paused = start();
            read_on(&mut paused, &log, 1);
            let mut busy = paused.clone();
            for number in 0..late {
                let sequence = log.append(&busy, 2, number + 1, 0);
                read_on(&mut busy, &log, sequence);
            }
            let sequence = log.append(&paused, 1, 2, 0);
            let taken = read_on(&mut busy, &log, sequence);
            assert_eq!(taken.iter().all(counts), late < REACH, "{late}");
            // It is not behind itself, and not behind what comes after it.
            let mut ahead = busy.ancestor();
            ahead.place.sequence += 1;
            let content = Content { name: Name::default(), part: 0, body: &[] };
            let entry = Message::Entry { ancestor: ahead, epoch: 0, clock: None, content };
            let sequence = log.put(&entry);
            assert_eq!(read_on(&mut busy, &log, sequence), [TakenMessage::Ignored]);
        }
    }

    #[test]
    fn however_many_entries_are_ignored_one_can_follow_the_last_that_counts() {
        let mut log = Log::default();
        log.append(&start(), 1, 1, 0);
        let mut reader = start();
        read_on(&mut reader, &log, 1);
        let mut elsewhere = reader.clone();
        elsewhere.place.mark ^= 1;
        for number in 0..=REACH {
            log.append(&elsewhere, 2, number, 0);
        }
        let taken = read_on(&mut reader, &log, REACH + 2);
        assert!(taken.iter().all(|taken| *taken == TakenMessage::Ignored));
        let sequence = log.append(&reader, 1, 2, 0);
        assert!(read_on(&mut reader, &log, sequence).iter().all(counts));
        assert_eq!(reader.tip.position, 2);
    }

    #[test]
    fn what_is_missing_and_what_was_written_again_behind_another_end_is_damage() {
        let mut log = Log::default();
        log.append(&start(), 1, 1, 0);
        log.append(&start(), 2, 1, 0);
        let missing = start().take(&log.raws(2)[0], false);
        assert!(matches!(missing, Err(Stuck::Failed(JournalError::Damaged { position: 1, .. }))));
        let mut reader = start();
        read_on(&mut reader, &log, 2);
        let (at, before) = (reader.tip.at, Name::default());
        let content = Content { name: before, part: 0, body: &[] };
        log.put(&Message::Exact { position: 3, at, epoch: 0, before, content });
        let wrong = reader.take(&log.raws(3)[0], false);
        assert!(matches!(wrong, Err(Stuck::Failed(JournalError::Damaged { position: 3, .. }))));
        assert_eq!(reader.sequence, 2, "nothing was taken in");
    }

    #[test]
    fn readers_that_begin_anywhere_agree() {
        let mut random = 0x9e37_79b9_u64;
        let mut next = move |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
            (random >> 33) % below
        };
        for _ in 0..40 {
            let mut log = Log { clock: 1_000, ..Log::default() };
            let mut nodes: Vec<Cursor> = vec![start(); 4];
            for number in 1..=300 {
                // A clock that goes back at times, as that of another server.
                log.clock = (log.clock + next(50) as i64 - 20).max(1);
                let node = next(4) as usize;
                let end = log.messages.len() as u64;
                if next(3) > 0 {
                    let to = end - next(8).min(end - nodes[node].sequence);
                    read_on(&mut nodes[node], &log, to);
                }
                let mut sender = nodes[node].clone();
                if next(10) == 0 {
                    // Of another history, which may be longer.
                    sender.place.mark ^= 1;
                    sender.place.sequence += next(2) * 20;
                }
                let epoch = u32::try_from(number / 100).unwrap();
                log.append(&sender, node as u8, number, epoch);
            }
            let mut first = start();
            let all: Vec<TakenMessage> = read_on(&mut first, &log, 300);
            assert!(all.iter().filter(|taken| !counts(taken)).count() > 5);
            for _ in 0..20 {
                let from = 1 + next(290);
                let raws = log.raws(from);
                let Some(mut other) = begin_among(&raws, Place::default()) else { continue };
                let behind = other.sequence;
                let mut agreed = 0;
                for (raw, taken) in raws.iter().zip(&all[from as usize - 1..]) {
                    if raw.sequence <= behind {
                        continue;
                    }
                    match other.take(raw, false) {
                        Ok(found) => {
                            assert_eq!(&found, taken, "message {} from {from}", raw.sequence);
                            agreed += 1;
                        }
                        Err(Stuck::FurtherBack) => break,
                        Err(Stuck::Failed(failure)) => panic!("{failure}"),
                    }
                }
                if agreed as u64 == 300 - behind {
                    let marks = first.marks.iter().rev().zip(other.marks.iter().rev());
                    assert!(marks.clone().count() > 1 && marks.into_iter().all(|(a, b)| a == b));
                    assert_eq!((other.tip, other.epoch), (first.tip, first.epoch));
                }
            }
        }
    }
}
