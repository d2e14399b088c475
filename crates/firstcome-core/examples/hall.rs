//! What a hall costs: memory a seat, adding it, finding the best seats, a snapshot.
//!
//! `cargo run --release -p firstcome-core --example hall [SEATS] [letters=FILE]` prints one table. The house is half sold at
//! random: rows of fifty, four grades, and several ways to say what is best. With `letters`, the letter of every seat is written to
//! a file, to see what compressing them gives.

#![expect(clippy::disallowed_methods, reason = "this measures time; the rules do not")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use firstcome_core::hall::{Best, Hall, NoBest, Orphans, Price, SeatSettings, Standing};
use firstcome_core::limits::CHUNK_SEATS;
use firstcome_core::snapshot::PieceName;
use firstcome_core::wire::Reader;
use std::time::{Duration, Instant};

const ROW: usize = 50;

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
    let hall = house(seats, "added", 100, focal);
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
    for (name, rows, quality) in [
        ("by distance", 100, focal as fn(usize, usize) -> u32),
        ("all alike", 100, |_, _| 0),
        ("every row has a best", 100, |_, place| (place as u32).min(30)),
        ("the worst first", 100, |row, _| u32::MAX / 2 - row as u32),
        ("a section a row", 1, focal),
    ] {
        let mut hall = house(seats, name, rows, quality);
        let mut dice = Dice(1);
        for seat in 0..hall.seats() {
            if dice.upto(2) == 1 {
                hall.set(seat, Standing::Confirmed(seat));
            }
        }
        if let Some(file) = letters.take() {
            std::fs::write(file, hall.letters().collect::<Vec<u8>>()).expect("a file to write to");
        }
        for most in [4, 10, 20, 50, 100] {
            for (rule, adjacent, orphans) in [
                ("together", true, Orphans::Never),
                ("or apart", false, Orphans::LastResort),
                ("apart, nobody alone", false, Orphans::Never),
            ] {
                best(&mut hall, most, adjacent, orphans, rule);
            }
        }
    }
}

/// Asks for up to `most` seats, takes them and gives something else back, a thousand times.
fn best(hall: &mut Hall, most: u64, adjacent: bool, orphans: Orphans, rule: &str) {
    let mut dice = Dice(most);
    let mut took: Vec<Duration> = Vec::new();
    let mut refused = 0;
    for round in 0..1_000 {
        let quantity = (most / 2 + dice.upto(most / 2)) as u32;
        let grade = ["stalls", "circle", "gallery", "box"][round % 4];
        let ask = Best {
            grade: Some(grade).filter(|_| round % 3 == 0),
            adjacent,
            orphans,
            ..Best::of(quantity)
        };
        // It changes nothing, so it can be asked thrice: the least of it is not somebody else's turn on the core.
        let timed = |_| {
            let began = Instant::now();
            let answer = hall.best(&ask);
            (began.elapsed(), answer)
        };
        let times = [0; 3].map(timed);
        took.push(times.iter().map(|(took, _)| *took).min().unwrap_or_default());
        let [(_, answer), ..] = times;
        match answer {
            Ok(found) => {
                found.iter().for_each(|seat| hall.set(*seat, Standing::Held(1)));
                for _ in 0..found.len() {
                    let seat = dice.upto(u64::from(hall.seats())) as u32 - 1;
                    hall.set(seat, Standing::Free);
                }
            }
            Err(NoBest::TooFew { .. } | NoBest::Apart | NoBest::Orphan) => refused += 1,
        }
    }
    took.sort_unstable();
    let micros = |at: usize| took[at].as_secs_f64() * 1e6;
    let name = format!("{}-{most}, {rule}", most / 2 + 1);
    println!(
        "{name:>26} {:>8.0} {:>8.0} {:>8.0} {refused:>9}",
        micros(500),
        micros(990),
        micros(999)
    );
}

/// How far a seat is from the middle of the stage.
fn focal(row: usize, place: usize) -> u32 {
    let (deep, aside) = ((row / 2 * 10) as f64, place.abs_diff(ROW / 2) as f64);
    deep.hypot(aside * 8.0) as u32
}

/// Builds a house with so many rows a section.
fn house(seats: usize, name: &str, rows: usize, quality: impl Fn(usize, usize) -> u32) -> Hall {
    let mut hall = Hall::new();
    let (mut spent, mut longest) = (Duration::ZERO, Duration::ZERO);
    let all: Vec<usize> = (0..seats).collect();
    for chunk in all.chunks(CHUNK_SEATS) {
        let texts: Vec<[String; 4]> = chunk
            .iter()
            .map(|n| {
                let (row, number) = (n / ROW, n % ROW + 1);
                let section = format!("S{}", row / rows);
                [
                    format!("{section}-{}-{number}", row % rows),
                    section,
                    row.to_string(),
                    number.to_string(),
                ]
            })
            .collect();
        let settings: Vec<_> = chunk
            .iter()
            .zip(&texts)
            .map(|(n, [name, section, row, number])| {
                let grade = n * 4 / seats;
                SeatSettings {
                    section,
                    row,
                    number,
                    x: (n % ROW) as u16 * 20,
                    y: (n / ROW) as u16 * 20,
                    quality: quality(n / ROW, n % ROW),
                    grade: ["stalls", "circle", "gallery", "box"][grade],
                    price: Some(Price { minor: 9_900 - grade as i64 * 2_000, currency: *b"EUR" }),
                    ..SeatSettings::named(name)
                }
            })
            .collect();
        let began = Instant::now();
        hall.add(&settings, &[]).expect("seats that fit");
        spent += began.elapsed();
        longest = longest.max(began.elapsed());
    }
    println!(
        "{name:>26} {} seats added in {spent:?}, a chunk in {longest:?} at most",
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

struct Dice(u64);

impl Dice {
    fn upto(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most + 1
    }
}

/// Bytes of memory this process holds.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
