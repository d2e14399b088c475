//! What is there when everything is over: counts and results.

use super::super::heard::{Book, Count, Line};
use super::super::house::House;
use super::walk::End;
use super::{Breach, Promise};
use std::collections::{BTreeMap, BTreeSet};

/// Checks that free, held, confirmed and blocked are all there is, at every time and on every server.
pub(super) fn counts(house: &House, book: &Book, found: &mut Vec<Breach>) {
    let mut wrong = |count: &Count, why: String| {
        found.push(Breach { promise: Promise::Counts, evidence: format!("{why}: {count:?}") });
    };
    for count in book.counts.iter().chain(&book.last_counts) {
        let Count { capacity, left, taken, held, blocked } = *count;
        if capacity != house.capacity() || left + taken + blocked != capacity || held > taken {
            wrong(count, "it does not come to all there is".to_owned());
        }
        if blocked != house.pillars.len() as u64 {
            wrong(count, format!("{} are blocked", house.pillars.len()));
        }
    }
    let sold = book.results.iter().filter(|line| line.kind == "claim").count() as u64;
    for count in &book.last_counts {
        if (count.held, count.taken) != (0, sold) {
            wrong(count, format!("{sold} are confirmed and nothing is held"));
        }
    }
}

/// Checks that the results are what guests were told, all of it and nothing else.
pub(super) fn results(book: &Book, ends: &[End], found: &mut Vec<Breach>) {
    let mut last = 0;
    let mut claims = BTreeMap::<(&str, &str), BTreeSet<u64>>::new();
    let mut refunds = BTreeMap::<(&str, &str), u32>::new();
    for line in &book.results {
        let Line { kind, rank, unit, hold, .. } = line;
        match &**kind {
            "claim" if *rank == last + 1 => {
                last = *rank;
                claims.entry((hold, unit)).or_default().insert(*rank);
            }
            "refund_due" => *refunds.entry((hold, unit)).or_default() += 1,
            _ => {
                let evidence = format!("{line:?} follows rank {last}");
                found.push(Breach { promise: Promise::Ranks, evidence });
            }
        }
    }
    let subjects: BTreeMap<&str, &str> =
        ends.iter().map(|end| (&*end.hold, &*end.subject)).collect();
    for line in &book.results {
        if subjects.get(&*line.hold) != Some(&&*line.subject) {
            let evidence = format!("{line:?} is of somebody else's hold");
            found.push(Breach { promise: Promise::Ranks, evidence });
        }
    }
    for end in ends {
        for (unit, ranks) in &end.ranks {
            let listed = claims.remove(&(&*end.hold, &**unit)).unwrap_or_default();
            if listed != *ranks {
                let evidence = format!(
                    "{} was told ranks {ranks:?} for {unit}, and the results say {listed:?}",
                    end.hold
                );
                found.push(Breach { promise: Promise::Kept, evidence });
            }
        }
        for (unit, count) in &end.refunded {
            let listed = refunds.remove(&(&*end.hold, &**unit)).unwrap_or_default();
            if listed != *count {
                let evidence = format!(
                    "{} is owed a refund for {count} of {unit}, and the results say {listed}",
                    end.hold
                );
                found.push(Breach { promise: Promise::Refunds, evidence });
            }
        }
    }
    // A confirm is never in doubt for ever: nobody was told of what is left here.
    for ((hold, unit), ranks) in claims {
        let evidence = format!("{hold} has {unit} with {ranks:?}, and nobody was told");
        found.push(Breach { promise: Promise::Kept, evidence });
    }
    for ((hold, unit), _) in refunds {
        let evidence = format!("{hold} is owed a refund for {unit}, and nobody was told");
        found.push(Breach { promise: Promise::Refunds, evidence });
    }
}
