//! Houses of many seats, and what it costs to be asked for the best of them.

use firstcome_core::hall::{Best, Hall, NoBest, Orphans, Price, SeatSettings, Standing};
use firstcome_core::limits::CHUNK_SEATS;
use std::time::{Duration, Instant};

const ROW: usize = 50;

/// A name, rows a section, and how good a seat is by its row and its place in it.
pub(crate) type KindOfHouse = (&'static str, usize, fn(usize, usize) -> u32);

/// Several ways to say what is best.
pub(crate) const KINDS: [KindOfHouse; 5] = [
    ("by distance", 100, focal),
    ("all alike", 100, |_, _| 0),
    ("every row has a best", 100, |_, place| (place as u32).min(30)),
    ("the worst first", 100, |row, _| u32::MAX / 2 - row as u32),
    ("a section a row", 1, focal),
];

/// How many seats are asked for at most; at least half of that.
pub(crate) const MOST: [u64; 5] = [4, 10, 20, 50, 100];

/// What is asked of the seats: next to each other or not, and what becomes of seats that would be left alone.
pub(crate) const RULES: [(&str, bool, Orphans); 3] = [
    ("together", true, Orphans::Never),
    ("or apart", false, Orphans::LastResort),
    ("apart, nobody alone", false, Orphans::Never),
];

/// How far a seat is from the middle of the stage.
pub(crate) fn focal(row: usize, place: usize) -> u32 {
    let (deep, aside) = ((row / 2 * 10) as f64, place.abs_diff(ROW / 2) as f64);
    deep.hypot(aside * 8.0) as u32
}

/// Sells half of a house at random.
pub(crate) fn sell_half(hall: &mut Hall) {
    let mut dice = Dice(1);
    for seat in 0..hall.seats() {
        if dice.upto(2) == 1 {
            hall.set(seat, Standing::Confirmed(seat));
        }
    }
}

/// Builds a house; gives how long adding its seats took, and the longest chunk.
pub(crate) fn house(seats: usize, (_, rows, quality): KindOfHouse) -> (Hall, Duration, Duration) {
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
    (hall, spent, longest)
}

/// How long it took to be asked, in order, and how often nothing was found.
pub(crate) struct Asked {
    pub(crate) took: Vec<Duration>,
    pub(crate) refused: usize,
}

/// Asks for the best of up to `most` seats, takes them and gives something else back, a thousand times.
pub(crate) fn ask(hall: &mut Hall, most: u64, adjacent: bool, orphans: Orphans) -> Asked {
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
    Asked { took, refused }
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
pub(crate) fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
