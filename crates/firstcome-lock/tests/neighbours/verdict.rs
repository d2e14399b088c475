//! The judge: what the diaries, the number and the store say about a run.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::Path;

use crate::crew::{Life, Tongue};
use crate::monitor::Step;

/// How many of Java and of Rust.
type Both = [u64; 2];

/// What one process wrote down.
#[derive(Debug)]
struct Diary {
    tongue: Tongue,
    id: String,
    killed: bool,
    paused: u32,
    client: String,
    /// Of the marker, at each entry, in milliseconds.
    left: Vec<i64>,
    wrote: Vec<u64>,
    /// What it was about to write when it was killed.
    uncertain: Option<u64>,
    /// It was killed between an entry and its end.
    inside: bool,
    overlaps: u64,
    lost: u64,
    bye: bool,
}

impl Diary {
    fn read(folder: &Path, life: &Life) -> Self {
        let path = folder.join(format!("{}.diary", life.id));
        // One that was killed at its start has written none.
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut diary = Self {
            tongue: life.tongue,
            id: life.id.clone(),
            killed: life.killed,
            paused: life.paused,
            client: String::new(),
            left: Vec::new(),
            wrote: Vec::new(),
            uncertain: None,
            inside: false,
            overlaps: 0,
            lost: 0,
            bye: false,
        };
        for line in text.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "id" => rest.clone_into(&mut diary.client),
                "in" => diary.left.push(rest.parse().unwrap()),
                "try" => diary.uncertain = Some(rest.parse().unwrap()),
                "did" => {
                    diary.wrote.push(rest.parse().unwrap());
                    diary.uncertain = None;
                }
                "overlap" => diary.overlaps += 1,
                "lost" => diary.lost += 1,
                "bye" => diary.bye = true,
                other => panic!("{} has the line {other}", diary.id),
            }
            diary.inside = ["in", "try", "overlap"].contains(&word);
        }
        diary
    }
}

/// What all of them wrote down.
#[derive(Debug)]
pub(crate) struct Diaries(Vec<Diary>);

impl Diaries {
    pub(crate) fn read<'a>(folder: &Path, lives: impl Iterator<Item = &'a Life>) -> Self {
        Self(lives.map(|life| Diary::read(folder, life)).collect())
    }

    /// Returns how often each of them has been inside, at least.
    pub(crate) fn entries_of_each(&self) -> usize {
        self.0.iter().map(|diary| diary.left.len()).min().unwrap_or(0)
    }

    /// Returns how often one was inside while another was.
    pub(crate) fn overlaps(&self) -> u64 {
        self.0.iter().map(|diary| diary.overlaps).sum()
    }

    /// Returns the numbers that were written more than once, so that a write was lost.
    pub(crate) fn written_twice(&self) -> BTreeSet<u64> {
        let mut seen = BTreeSet::new();
        let wrote = self.0.iter().flat_map(|diary| &diary.wrote);
        wrote.filter(|number| !seen.insert(**number)).copied().collect()
    }

    fn count(&self, of: impl Fn(&Diary) -> u64) -> Both {
        let mut both = Both::default();
        for diary in &self.0 {
            both[diary.tongue as usize] += of(diary);
        }
        both
    }

    /// Returns how many writes of killed processes took place though they did not get to say so, and what is wrong:
    /// each number up to the last must have been written once.
    fn account(&self, number: u64, broken: &mut Vec<String>) -> u64 {
        for twice in self.written_twice() {
            broken.push(format!("{twice} was written twice: a write was lost"));
        }
        let said: BTreeSet<u64> = self.0.iter().flat_map(|diary| &diary.wrote).copied().collect();
        let uncertain: BTreeSet<u64> = self.0.iter().filter_map(|diary| diary.uncertain).collect();
        if let Some(beyond) = said.range(number + 1..).next() {
            broken.push(format!("{beyond} was written and the number is {number}"));
        }
        let mut happened = 0;
        for unsaid in (1..=number).filter(|n| !said.contains(n)) {
            if uncertain.contains(&unsaid) {
                happened += 1;
            } else {
                broken.push(format!("nobody wrote {unsaid}, and the number is {number}"));
            }
        }
        for diary in &self.0 {
            if !diary.killed && (diary.uncertain.is_some() || !diary.bye) {
                broken.push(format!("{} ended in the middle", diary.id));
            }
        }
        happened
    }
}

/// How entries followed one another, by who left and who came: `[from][to]`.
#[derive(Debug, Default)]
struct Turns {
    /// The one before had given the lock back.
    freed: [Both; 2],
    /// And the one who came had waited for just that, and came before that lease would have ended.
    by_message: [Both; 2],
    /// And the one who came had waited for just that, and came when that lease was nearly used up.
    late: [Both; 2],
    /// The one before had not given it back: its lease ran out.
    ran_out: Both,
}

impl Turns {
    /// Reads them from what the store did, in its order.
    ///
    /// One who waits asks, subscribes, asks again, and sleeps until a message comes or the lease it was told of ends.
    /// So one who was refused at least twice, the last time by the very holder who then gave the lock back, slept
    /// when that happened. Nobody who comes while there is still something left of that holder's lease has been
    /// woken by its end: there was a message. How much is left is what the store says about a key that was made to
    /// live as long; a third is enough, for a holder or a waiter may have been paused for another.
    fn read(diaries: &Diaries, steps: &[Step], lease_ms: u64, broken: &mut Vec<String>) -> Self {
        struct Client<'a> {
            diary: &'a Diary,
            entries: usize,
            refused: u32,
            refused_in: usize,
        }
        let mut clients: HashMap<&str, Client<'_>> = HashMap::new();
        for diary in diaries.0.iter().filter(|diary| !diary.client.is_empty()) {
            let client = Client { diary, entries: 0, refused: 0, refused_in: 0 };
            clients.insert(&diary.client, client);
        }
        let mut turns = Self::default();
        let (mut turn, mut freed, mut holder) = (0, true, None);
        for step in steps {
            match step {
                Step::Freed => freed = true,
                Step::Refused(id) => {
                    if let Some(client) = clients.get_mut(id.as_str()) {
                        client.refused += 1;
                        client.refused_in = turn;
                    }
                }
                Step::Granted(id) => {
                    // One that was killed before its first line is nobody.
                    let came = clients.get_mut(id.as_str());
                    let to = came.as_ref().map(|client| client.diary.tongue as usize);
                    if let Some(client) = came {
                        let slept = client.refused >= 2 && client.refused_in == turn;
                        let left = client.diary.left.get(client.entries).copied();
                        client.entries += 1;
                        client.refused = 0;
                        match (holder, freed, left, to) {
                            (Some(from), true, Some(left), Some(to)) => {
                                let from: usize = from;
                                turns.freed[from][to] += 1;
                                let early = left > i64::try_from(lease_ms / 3).unwrap();
                                if slept && early {
                                    turns.by_message[from][to] += 1;
                                } else if slept {
                                    turns.late[from][to] += 1;
                                }
                            }
                            (_, false, _, Some(to)) => turns.ran_out[to] += 1,
                            _ => {}
                        }
                    }
                    (turn, freed, holder) = (turn + 1, false, to);
                }
            }
        }
        for client in clients.values().filter(|client| client.entries > 0 && !client.diary.killed) {
            let (said, seen) = (client.diary.left.len(), client.entries);
            if said != seen {
                let id = &client.diary.id;
                broken.push(format!("{id} says {said} entries and the store {seen}"));
            }
        }
        turns
    }
}

/// What is to be said about a run.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// What must not be, in words.
    pub(crate) broken: Vec<String>,
    /// How often one was inside while another was.
    pub(crate) overlaps: u64,
    entries: Both,
    killed: Both,
    killed_inside: Both,
    paused: Both,
    lost: Both,
    number: u64,
    said: u64,
    uncertain: u64,
    happened: u64,
    turns: Turns,
}

impl Verdict {
    pub(crate) fn of(diaries: &Diaries, steps: &[Step], number: u64, lease_ms: u64) -> Self {
        let mut broken = Vec::new();
        let happened = diaries.account(number, &mut broken);
        Self {
            turns: Turns::read(diaries, steps, lease_ms, &mut broken),
            overlaps: diaries.overlaps(),
            entries: diaries.count(|diary| diary.left.len() as u64),
            killed: diaries.count(|diary| diary.killed.into()),
            killed_inside: diaries.count(|diary| (diary.killed && diary.inside).into()),
            paused: diaries.count(|diary| diary.paused.into()),
            lost: diaries.count(|diary| diary.lost),
            said: diaries.count(|diary| diary.wrote.len() as u64).iter().sum(),
            uncertain: diaries.count(|diary| diary.uncertain.is_some().into()).iter().sum(),
            number,
            happened,
            broken,
        }
    }

    pub(crate) fn entries_of(&self, tongue: Tongue) -> u64 {
        self.entries[tongue as usize]
    }

    /// Returns how often one came after the other had given the lock back.
    pub(crate) fn in_turn(&self, from: Tongue, to: Tongue) -> u64 {
        self.turns.freed[from as usize][to as usize]
    }

    /// Returns how often one that waited was woken by the end of a lease, though the other had given the lock back.
    pub(crate) fn late(&self, from: Tongue, to: Tongue) -> u64 {
        self.turns.late[from as usize][to as usize]
    }

    /// Returns how often one that waited was woken by the message of the other.
    pub(crate) fn by_message(&self, from: Tongue, to: Tongue) -> u64 {
        self.turns.by_message[from as usize][to as usize]
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let both = |f: &mut fmt::Formatter<'_>, what: &str, [java, rust]: Both| {
            writeln!(f, "{what:<34} {java:>7} {rust:>7}")
        };
        let turns = &self.turns;
        writeln!(f, "{:<34} {:>7} {:>7}", "", "java", "rust")?;
        both(f, "entries", self.entries)?;
        both(f, "killed", self.killed)?;
        both(f, "  of them inside", self.killed_inside)?;
        both(f, "paused", self.paused)?;
        both(f, "came when a dead one's lease ended", turns.ran_out)?;
        both(f, "found its lock gone", self.lost)?;
        for from in [Tongue::Java, Tongue::Rust] {
            let at = from as usize;
            both(f, &format!("came after {from}"), turns.freed[at])?;
            both(f, "  woken by its message", turns.by_message[at])?;
            both(f, "  not before its lease ended", turns.late[at])?;
        }
        let Self { number, said, uncertain, happened, .. } = self;
        writeln!(
            f,
            "the number is {number}: {said} writes, and {happened} of {uncertain} cut short by a kill"
        )?;
        writeln!(f, "overlaps {}, things that must not be {}", self.overlaps, self.broken.len())?;
        for what in self.broken.iter().take(10) {
            writeln!(f, "BROKEN: {what}")?;
        }
        Ok(())
    }
}
