//! Chooses seats that are not next to each other, as near as is reasonable.

use super::{ACCESSIBLE, Criteria, Hall, Seat};
use std::ops::Range;

/// How many seats can be taken: bit *t* is set if *t* can. It has 127 bits, and no request is for more.
type Amounts = u128;

/// Neighbouring seats whose taking bears on no other seats: a stretch, as far as orphans go.
#[derive(Clone, Debug)]
struct Patch {
    section: u32,
    row: u32,
    range: Range<usize>,
    /// The number of its first seat.
    first: u32,
    can_give: Amounts,
}

/// Patches put in order at first, from the nearest on.
const NEAR: usize = 256;

impl Patch {
    /// Returns the most it can give of so many.
    fn most(&self, of: usize) -> u32 {
        let some = self.can_give & up_to(of);
        some.checked_ilog2().unwrap_or(0)
    }
}

impl Hall {
    /// Returns seats apart, in ascending order; with `strict`, only such as leave no orphan. None, if there is no such choice.
    ///
    /// They are of one row, if a row has as many: of the first such row, by its best seat. Otherwise they are of one section,
    /// if a section has as many: of the first, in the order of adding. Within the row, the section or the
    /// hall it begins where most can be had at once, and goes on with what is nearest to there: in the same section before
    /// others, then by rows between, then by index, then in the order of adding. From each it takes as many as it
    /// can without spoiling the rest.
    pub(super) fn apart(&self, wanted: &Criteria<'_>, strict: bool) -> Option<Vec<u32>> {
        if wanted.accessible {
            return self.near_accessible(wanted);
        }
        let mut patches = Vec::new();
        wanted.look_at(self.rows.len());
        for row in &self.rows_by_best {
            if (self.rows[*row as usize].left as usize) < wanted.quantity {
                continue;
            }
            patches.clear();
            self.patches(*row, wanted, strict, &mut patches);
            if reach(&patches, wanted.quantity) {
                return Some(self.gather(&mut patches, wanted, strict));
            }
        }
        // Rows with their section's first one, so that sections come in the order of adding.
        let mut firsts = vec![u32::MAX; self.sections.len() + 1];
        let mut rows: Vec<(u32, u32)> = Vec::new();
        for (number, row) in (0..).zip(&self.rows).filter(|(_, row)| row.left > 0) {
            let first = &mut firsts[row.section as usize];
            *first = number.min(*first);
            rows.push((*first, number));
        }
        rows.sort_unstable();
        let mut all = Vec::new();
        for section in rows.chunk_by(|a, b| a.0 == b.0) {
            let begins = all.len();
            let mut left = 0;
            for (_, row) in section {
                left += self.rows[*row as usize].left as usize;
                self.patches(*row, wanted, strict, &mut all);
            }
            let patches = &mut all[begins..];
            if left >= wanted.quantity && reach(patches, wanted.quantity) {
                return Some(self.gather(patches, wanted, strict));
            }
        }
        reach(&all, wanted.quantity).then(|| self.gather(&mut all, wanted, strict))
    }

    /// Returns the best accessible seat and those nearest to it.
    fn near_accessible(&self, wanted: &Criteria<'_>) -> Option<Vec<u32>> {
        let mut seats = Vec::new();
        for row in &self.rows {
            let mut from = 0;
            while let Some(run) = row.next_run(from) {
                from = run.end;
                let fits = |seat: &u32| wanted.fits(&self.seats[*seat as usize]);
                seats.extend(row.seats[run].iter().copied().filter(fits));
            }
        }
        let best = seats
            .iter()
            .filter(|seat| self.seats[**seat as usize].marks & ACCESSIBLE != 0)
            .min_by_key(|seat| (self.seats[**seat as usize].quality, **seat));
        let best = self.seats[*best? as usize];
        let section = |row: u32| self.rows[row as usize].section;
        seats.sort_unstable_by_key(|number| {
            let seat = &self.seats[*number as usize];
            let itself = (seat.row, seat.index) != (best.row, best.index);
            let elsewhere = section(seat.row) != section(best.row);
            let rows = seat.row.abs_diff(best.row);
            (itself, elsewhere, rows, seat.index.abs_diff(best.index), *number)
        });
        seats.truncate(wanted.quantity);
        seats.sort_unstable();
        (seats.len() == wanted.quantity).then_some(seats)
    }

    /// Adds the patches of a row that can give a seat.
    fn patches(&self, number: u32, wanted: &Criteria<'_>, strict: bool, found: &mut Vec<Patch>) {
        let row = &self.rows[number as usize];
        let mut from = 0;
        while let Some(run) = row.next_run(from) {
            from = run.end;
            wanted.look_at(run.len());
            // Every seat of a run is open: it is in a stretch if it is ordinary.
            let grade = |seat: &Seat| seat.is_ordinary().then_some(seat.grade);
            let mut start = run.start;
            while start < run.end {
                let first = row.seats[start];
                let begins = &self.seats[first as usize];
                let (of, mut fitting, mut end) =
                    (grade(begins), usize::from(wanted.fits(begins)), start + 1);
                while let Some(seat) = row.seats[..run.end].get(end) {
                    let seat = &self.seats[*seat as usize];
                    if grade(seat) != of {
                        break;
                    }
                    fitting += usize::from(wanted.fits(seat));
                    end += 1;
                }
                let range = start..end;
                start = end;
                if of.is_none() || fitting == 0 {
                    continue;
                }
                let can_give = self.can_give(number, range.clone(), fitting, wanted, strict);
                if can_give != 1 {
                    let section = row.section;
                    found.push(Patch { section, row: number, range, first, can_give });
                }
            }
        }
    }

    /// Returns how many seats a stretch can give, of which so many fit.
    fn can_give(
        &self,
        row: u32,
        range: Range<usize>,
        fitting: usize,
        wanted: &Criteria<'_>,
        strict: bool,
    ) -> Amounts {
        let many = range.len();
        if !strict || fitting == 0 {
            return up_to(fitting);
        }
        if fitting == many {
            // All but one leaves that one alone; anything less can be taken from an end.
            let alone = if (2..=128).contains(&many) { 1 << (many - 1) } else { 0 };
            return up_to(many) & !alone;
        }
        let mut after = Left::end(many, strict);
        for index in range.rev() {
            after = after.before(self.fits_at(row, index, wanted), strict);
        }
        after.none
    }

    /// Takes as many as are wanted from patches that can give as many together.
    fn gather(&self, patches: &mut [Patch], wanted: &Criteria<'_>, strict: bool) -> Vec<u32> {
        let quantity = wanted.quantity;
        let anchor = patches
            .iter()
            .max_by_key(|patch| (patch.most(quantity), std::cmp::Reverse(patch.first)))
            .expect("patches that give something are some")
            .clone();
        let distance = |patch: &Patch| {
            let itself = (patch.row, patch.range.start) != (anchor.row, anchor.range.start);
            let rows = patch.row.abs_diff(anchor.row);
            let apart = patch.range.start.abs_diff(anchor.range.start);
            (itself, patch.section != anchor.section, rows, apart, patch.first)
        };
        let (mut taken, mut missing, mut near) = (Vec::with_capacity(quantity), quantity, NEAR);
        let mut later = patches;
        while missing > 0 {
            assert!(!later.is_empty(), "patches give what they can give together");
            // Most of a large hall is too far away to be put in order, and even to be compared exactly.
            near = near.min(later.len());
            let some = bring_forward(later, near, self.rows.len() + 1, |patch| {
                let rows = patch.row.abs_diff(anchor.row) as usize;
                if patch.section == anchor.section { 0 } else { 1 + rows }
            });
            if near < some {
                later[..some].select_nth_unstable_by_key(near, distance);
            }
            let (now, rest) = later.split_at_mut(near);
            now.sort_unstable_by_key(distance);
            missing = self.gather_from(now, rest, missing, wanted, strict, &mut taken);
            (later, near) = (rest, near * 4);
        }
        taken.sort_unstable();
        taken
    }

    /// Takes from patches in their order, as much from each as the others can complete, and gives how many are missing.
    fn gather_from(
        &self,
        patches: &[Patch],
        later: &[Patch],
        missing: usize,
        wanted: &Criteria<'_>,
        strict: bool,
        taken: &mut Vec<u32>,
    ) -> usize {
        let mut missing = missing;
        let mut rest = vec![together(later, missing, up_to(missing)); patches.len() + 1];
        for (i, patch) in patches.iter().enumerate().rev() {
            rest[i] = sums(patch.can_give, rest[i + 1], missing);
        }
        for (patch, rest) in patches.iter().zip(&rest[1..]) {
            let fits =
                |take: &usize| patch.can_give >> take & 1 == 1 && rest >> (missing - take) & 1 == 1;
            let take = (0..=missing).rev().find(fits).expect("the rest can give the rest");
            if take > 0 {
                self.take(patch, take, wanted, strict, taken);
                missing -= take;
            }
            if missing == 0 {
                break;
            }
        }
        missing
    }

    /// Takes so many from a patch that can give them: the best that are next to each other, or else the leftmost.
    fn take(
        &self,
        patch: &Patch,
        quantity: usize,
        wanted: &Criteria<'_>,
        strict: bool,
        taken: &mut Vec<u32>,
    ) {
        let seats = &self.rows[patch.row as usize].seats;
        let some = Criteria { quantity, ..*wanted };
        if let Some((_, index)) =
            self.best_window(patch.row, patch.range.clone(), &some, strict, None)
        {
            taken.extend_from_slice(&seats[index..index + quantity]);
            return;
        }
        let mut after = vec![Left::end(patch.range.len(), strict)];
        for index in patch.range.clone().rev() {
            let next =
                after[after.len() - 1].before(self.fits_at(patch.row, index, wanted), strict);
            after.push(next);
        }
        after.pop();
        let (mut left, mut missing) = (0, quantity);
        for (index, after) in patch.range.clone().zip(after.iter().rev()) {
            let fits = self.fits_at(patch.row, index, wanted) && !(strict && left == 1);
            if fits && missing > 0 && after.none >> (missing - 1) & 1 == 1 {
                taken.push(seats[index]);
                (left, missing) = (0, missing - 1);
            } else {
                left = 2.min(left + 1);
            }
        }
        assert_eq!(missing, 0, "a patch gives what it can give");
    }

    fn fits_at(&self, row: u32, index: usize, wanted: &Criteria<'_>) -> bool {
        wanted.fits(&self.seats[self.rows[row as usize].seats[index] as usize])
    }
}

/// Puts those of the lowest classes first, so many of them and whoever else is of the last such class; gives how many
/// these are. Classes are below `classes`.
fn bring_forward(
    patches: &mut [Patch],
    many: usize,
    classes: usize,
    class: impl Fn(&Patch) -> usize,
) -> usize {
    let mut counts = vec![0; classes];
    for patch in &*patches {
        counts[class(patch)] += 1;
    }
    let (mut last, mut found) = (0, counts[0]);
    while found < many && last + 1 < classes {
        last += 1;
        found += counts[last];
    }
    let mut front = 0;
    for at in 0..patches.len() {
        if class(&patches[at]) <= last {
            patches.swap(front, at);
            front += 1;
        }
    }
    front
}

/// How many seats can be taken of the rest of a stretch, by how many were left since its beginning or the last one taken.
#[derive(Clone, Copy, Debug)]
struct Left {
    none: Amounts,
    one: Amounts,
    more: Amounts,
}

impl Left {
    /// Where a stretch of so many seats ends: one that is left alone must have been so before.
    fn end(many: usize, strict: bool) -> Self {
        Self { none: 1, one: Amounts::from(many == 1 || !strict), more: 1 }
    }

    /// One seat further to the left.
    fn before(self, fits: bool, strict: bool) -> Self {
        let taken = if fits { self.none << 1 } else { 0 };
        Self {
            none: taken | self.one,
            one: self.more | if strict { 0 } else { taken },
            more: taken | self.more,
        }
    }
}

/// Returns every amount from 0 to this one.
fn up_to(amount: usize) -> Amounts {
    Amounts::MAX.checked_shr(127_u32.saturating_sub(amount as u32)).unwrap_or(0)
}

/// Returns every amount up to `most` that two together can give.
fn sums(one: Amounts, other: Amounts, most: usize) -> Amounts {
    let (mut sums, mut rest) = (0, one & up_to(most));
    while rest != 0 {
        sums |= other << rest.trailing_zeros();
        rest &= rest - 1;
    }
    sums & up_to(most)
}

/// Returns every amount up to `most` that patches can give together, or at least those in `enough`.
fn together(patches: &[Patch], most: usize, enough: Amounts) -> Amounts {
    let mut given = 1;
    for patch in patches {
        given = sums(patch.can_give, given, most);
        if given & enough == enough {
            break;
        }
    }
    given
}

/// Says whether patches can give this many together.
fn reach(patches: &[Patch], quantity: usize) -> bool {
    let wanted = 1 << quantity;
    together(patches, quantity, wanted) & wanted != 0
}
