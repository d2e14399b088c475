//! A row: seats that are next to each other, and which of them may be taken one by one.

/// A row of a section.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: Box<str>,
    pub(super) section: u32,
    /// Its seats in the order they were added, which is their order in the row.
    pub(super) seats: Vec<u32>,
    /// One bit a seat: set while it is free, for sale and not part of a group.
    open: Vec<u64>,
    /// How many of its bits are set.
    pub(super) left: u32,
    /// The quality of its best seat, taken or not.
    pub(super) best: u32,
}

impl Row {
    pub(super) fn new(name: &str, section: u32) -> Self {
        Self {
            name: name.into(),
            section,
            seats: Vec::new(),
            open: Vec::new(),
            left: 0,
            best: u32::MAX,
        }
    }

    pub(super) fn push(&mut self, seat: u32, quality: u32) {
        if self.seats.len().is_multiple_of(64) {
            self.open.push(0);
        }
        self.seats.push(seat);
        self.best = self.best.min(quality);
    }

    /// Sets whether a seat is open, and says whether it was otherwise.
    pub(super) fn set_open(&mut self, index: usize, open: bool) -> bool {
        let (word, bit) = (&mut self.open[index / 64], 1 << (index % 64));
        let changes = (*word & bit != 0) != open;
        if changes {
            *word ^= bit;
            if open {
                self.left += 1;
            } else {
                self.left -= 1;
            }
        }
        changes
    }

    pub(super) fn is_open(&self, index: usize) -> bool {
        self.open.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Returns the next longest run of open seats that begins at `from` or later.
    pub(super) fn next_run(&self, from: usize) -> Option<std::ops::Range<usize>> {
        let start = self.next(from, |word| word)?;
        let end = self.next(start, |word| !word).unwrap_or(self.seats.len());
        Some(start..end.min(self.seats.len()))
    }

    /// Returns the open seats around one of them, at most so many on either side; none if it is not open.
    pub(super) fn run_around(&self, index: usize, most: usize) -> std::ops::Range<usize> {
        if !self.is_open(index) {
            return index..index;
        }
        let before = (1..=most.min(index)).take_while(|by| self.is_open(index - by)).count();
        let behind = (1..=most).take_while(|by| self.is_open(index + by)).count();
        index - before..index + behind + 1
    }

    /// Says whether so many neighbouring seats are open.
    pub(super) fn has_run(&self, count: usize) -> bool {
        let mut before = 0;
        for word in &self.open {
            let begins = word.trailing_ones() as usize;
            if before + begins >= count || longest_is(*word, count) {
                return true;
            }
            before = if begins == 64 { before + 64 } else { word.leading_ones() as usize };
        }
        false
    }

    /// Returns the first index from `from` on whose bit is set in what `of` makes of its word.
    fn next(&self, from: usize, of: impl Fn(u64) -> u64) -> Option<usize> {
        let mut mask = u64::MAX << (from % 64);
        for (i, word) in self.open.iter().enumerate().skip(from / 64) {
            let bits = of(*word) & mask;
            if bits != 0 {
                return Some(i * 64 + bits.trailing_zeros() as usize);
            }
            mask = u64::MAX;
        }
        None
    }

    pub(super) fn memory(&self) -> usize {
        self.name.len() * 2 + self.seats.capacity() * 4 + self.open.capacity() * 8
    }
}

/// Says whether so many neighbouring bits of a word are set.
fn longest_is(word: u64, bits: usize) -> bool {
    let (mut runs, mut missing) = (word, bits.saturating_sub(1));
    let mut step = 1;
    while missing > 0 && runs != 0 {
        // A bit that stays has `step` set bits above it: twice as many are looked at next.
        let by = step.min(missing);
        runs &= runs.checked_shr(by as u32).unwrap_or(0);
        (missing, step) = (missing - by, step * 2);
    }
    runs != 0
}
