//! What a hall costs: memory a seat, adding it, finding the best seats, a snapshot.
//!
//! `cargo run --release -p firstcome-core --example hall [SEATS] [letters=FILE]` prints one table. The house is half sold at
//! random: rows of fifty, four grades, and several ways to say what is best. With `letters`, the letter of every seat is written to
//! a file, to see what compressing them gives.

#![expect(clippy::disallowed_methods, reason = "this measures time; the rules do not")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

mod house;

use firstcome_core::hall::{Hall, Orphans};
use firstcome_core::names::PieceName;
use firstcome_core::wire::Reader;
use house::{Asked, KINDS, KindOfHouse, MOST, RULES, ask, focal, house, resident, sell_half};
use std::time::Instant;

fn main() {
    let mut seats = 100_000;
    let mut letters = None;
    for arg in std::env::args().skip(1) {
        match arg.strip_prefix("letters=") {
            Some(file) => letters = Some(file.to_owned()),
            None => seats = arg.parse().unwrap_or(seats),
        }
    }
    let before = resident();
    let hall = told(seats, ("added", 100, focal));
    let after = resident();
    println!(
        "{:>26} {:.1} B a seat by the process, {:.1} B as the hall counts",
        "memory",
        (after - before) as f64 / seats as f64,
        hall.memory() as f64 / seats as f64
    );
    snapshot(&hall);
    drop(hall);
    println!("{:>26} {:>8} {:>8} {:>8} {:>9}", "best", "p50 us", "p99 us", "max us", "refused");
    for kind in KINDS {
        let mut hall = told(seats, kind);
        sell_half(&mut hall);
        if let Some(file) = letters.take() {
            std::fs::write(file, hall.letters().collect::<Vec<u8>>()).expect("a file to write to");
        }
        for most in MOST {
            for (rule, adjacent, orphans) in RULES {
                best(&mut hall, most, adjacent, orphans, rule);
            }
        }
    }
}

/// Asks for the best of up to `most` seats, again and again, and shows how long that took.
fn best(hall: &mut Hall, most: u64, adjacent: bool, orphans: Orphans, rule: &str) {
    let Asked { took, refused } = ask(hall, most, adjacent, orphans);
    let micros = |at: usize| took[at].as_secs_f64() * 1e6;
    let name = format!("{}-{most}, {rule}", most / 2 + 1);
    println!(
        "{name:>26} {:>8.0} {:>8.0} {:>8.0} {refused:>9}",
        micros(500),
        micros(990),
        micros(999)
    );
}

/// Builds a house and shows how long its seats took.
fn told(seats: usize, kind: KindOfHouse) -> Hall {
    let (hall, spent, longest) = house(seats, kind);
    println!(
        "{:>26} {} seats added in {spent:?}, a chunk in {longest:?} at most",
        kind.0,
        hall.seats()
    );
    hall
}

fn snapshot(hall: &Hall) {
    let began = Instant::now();
    let frozen: Vec<_> = hall.freeze().collect();
    let froze = began.elapsed();
    let pieces: Vec<Vec<u8>> = frozen
        .iter()
        .map(|part| {
            let mut out = Vec::new();
            part.encode(&mut out);
            out
        })
        .collect();
    let wrote = began.elapsed();
    let bytes: usize = pieces.iter().map(Vec::len).sum();
    let largest = pieces.iter().map(Vec::len).max().unwrap_or(0);
    let began = Instant::now();
    let mut again = Hall::new();
    for piece in &pieces {
        let name = PieceName::of(piece);
        let fields = Reader::new(piece);
        fields.fields(|field, value| again.restore(field, value, name)).expect("as written");
    }
    println!(
        "{:>26} freeze {froze:?}, {} parts of {} KB (the largest {} KB) in {wrote:?}, restored in {:?}",
        "snapshot",
        pieces.len(),
        bytes >> 10,
        largest >> 10,
        began.elapsed()
    );
    assert_eq!(again.counts(), hall.counts());
}
