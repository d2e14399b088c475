//! A small house from its opening until it is sold out: people who pay, who leave, and who pay too late.
//!
//! The server's own node runs in this process, on the embedded store in a temporary folder, with its ledger and its
//! leader; only HTTP is left out. What people are told is kept apart from what the node knows, and at the end one is
//! held against the other, against the ledger, and against the journal recomputed.

mod book;
mod guest;
mod proofs;
mod stage;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use firstcome_core::hall::Counts;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::offline::audit;
use book::Book;
pub use book::Totals;
use firstcome_rush::demo::{Proof, StageError};
use firstcome_rush::house::{self, HouseSeat};
use firstcome_rush::picture::RowOfSeats;
use guest::{Guest, Nature};
use stage::House;

/// What the demo is to show.
#[derive(Debug, Clone)]
pub struct SeatsPlan {
    /// Seats of the house: 40 to 2,000.
    pub seats: u32,
    /// Everything drawn follows from it; who is first depends on the machine, too.
    pub seed: u64,
    /// Leave the folder behind.
    pub keep: bool,
}

/// The house at one moment.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Since the opening.
    pub elapsed: Duration,
    /// How many seats stand how.
    pub counts: Counts,
    /// How many holds are live.
    pub holds: usize,
    /// How many people came so far.
    pub guests: u32,
    pub(crate) rows: Vec<RowOfSeats>,
}

/// Tells what happens while it happens.
pub trait SeatsVoice: Sync {
    /// Something happened.
    fn say(&self, what: &str);
    /// How the house stands, about ten times a second.
    fn frame(&self, now: &Frame);
}

/// What the demo showed.
#[derive(Debug)]
pub struct SeatsShown {
    /// The seed.
    pub seed: u64,
    /// How long it took from the opening until it was sold out.
    pub took: Duration,
    /// The house at the end.
    pub last: Frame,
    /// What people did and were told.
    pub totals: Totals,
    /// Every proof, kept or not.
    pub proofs: Vec<Proof>,
    /// The folder, where it was kept.
    pub folder: Option<PathBuf>,
}

impl SeatsShown {
    /// Whether every proof holds.
    pub fn kept(&self) -> bool {
        self.proofs.iter().all(|proof| proof.kept)
    }

    /// The result for machines.
    pub fn json(&self) -> Value {
        let Counts { free, held, confirmed, blocked, left: _ } = self.last.counts;
        json!({
            "kept": self.kept(),
            "proofs": self.proofs.iter().map(Proof::json).collect::<Vec<_>>(),
            "seed": self.seed,
            "sold_out_in_ms": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            "seats": {"free": free, "held": held, "confirmed": confirmed, "blocked": blocked},
            "totals": self.totals.json(),
            "folder": self.folder,
        })
    }
}

/// The campaign everybody wants seats of.
pub const CAMPAIGN: &str = "demo";

/// How long a hold lasts: minutes in a shop, moments here.
pub(crate) const HOLD: Duration = Duration::from_millis(2_000);

/// How long people look at the empty house before it opens.
const BEFORE: Duration = Duration::from_millis(1_200);

/// How long the crowd keeps coming; after that everybody who comes pays, so that the end comes too.
const CROWD: Duration = Duration::from_secs(8);

/// When it is given up: no house takes so long.
const LONGEST: Duration = Duration::from_secs(60);

/// The share of people who leave without a word, who give back what they held, and who pay too late.
const SHARES: [(Nature, f64); 3] =
    [(Nature::Leaves, 0.15), (Nature::GivesBack, 0.05), (Nature::PaysLate, 0.2)];

/// Shows it.
///
/// # Errors
///
/// When it cannot be carried to its end. A broken promise is no error: it is in what was [`SeatsShown`].
///
/// # Cancel safety
///
/// Dropping the future ends the node and removes its folder.
pub async fn run(plan: &SeatsPlan, voice: &dyn SeatsVoice) -> Result<SeatsShown, StageError> {
    let seats: Arc<[HouseSeat]> = house::house(plan.seats).into();
    let house = House::build(plan.keep).await?;
    let opens_at = house.schedule(&seats, HOLD, BEFORE).await?;
    let kept_back = kept_back(&seats);
    house.block(&kept_back).await?;
    voice.say(&format!(
        "{} seats, {} of them kept back; a hold lasts {:.0} s; a journal, a ledger and their leader in {}",
        seats.len(),
        kept_back.len(),
        HOLD.as_secs_f64(),
        house.folder().display()
    ));

    let book = Arc::new(Book::default());
    let mut evening = Evening {
        house: &house,
        seats: seats.len() as u32,
        book: Arc::clone(&book),
        random: fastrand::Rng::with_seed(plan.seed),
        guests: 0,
        running: JoinSet::new(),
        began: Instant::now(),
        per_second: seats.len() as f64 / 15.0,
    };
    let took = evening.play(opens_at, voice).await;
    let last = evening.frame();
    let looked = house.look_into_holds();
    house.settled().await;
    let digest = house.recompute().await?;
    let totals = book.totals(evening.guests);
    let proofs = proofs::all(&book, &last, &looked, &digest, took.is_some());
    let folder = house.close().await;
    Ok(SeatsShown { seed: plan.seed, took: took.unwrap_or(LONGEST), last, totals, proofs, folder })
}

/// Seats that are not sold: the two outermost of the last row on either side.
fn kept_back(seats: &[HouseSeat]) -> Vec<String> {
    let last = seats.last().map_or("", |seat| &*seat.row);
    let of = |section: &str| {
        let row = seats.iter().filter(|seat| seat.row == last && seat.section == section);
        row.map(|seat| seat.name.clone()).collect::<Vec<_>>()
    };
    let (left, right) = (of("A"), of("C"));
    left.iter().take(2).chain(right.iter().rev().take(2)).cloned().collect()
}

/// The crowd, as it comes.
struct Evening<'a> {
    house: &'a House,
    seats: u32,
    book: Arc<Book>,
    random: fastrand::Rng,
    guests: u32,
    running: JoinSet<()>,
    began: Instant,
    per_second: f64,
}

/// How often somebody looks at the house.
const LOOK: Duration = Duration::from_millis(100);

impl Evening<'_> {
    /// Lets people come until nothing is left and nobody holds anything; gives how long that took, if it came to that.
    async fn play(&mut self, opens_at: Instant, voice: &dyn SeatsVoice) -> Option<Duration> {
        voice.frame(&self.frame());
        // The impatient come a little early, and are told so.
        tokio::time::sleep_until((opens_at - Duration::from_millis(300)).into()).await;
        self.come(3);
        tokio::time::sleep_until(opens_at.into()).await;
        self.began = opens_at;
        voice.say("the doors open");
        let (mut due, mut sold_out) = (0.0, None);
        while self.began.elapsed() < LONGEST {
            let now = self.frame();
            voice.frame(&now);
            let sold = now.counts.left == 0 && now.counts.held == 0;
            if sold && sold_out.is_none() {
                sold_out = Some(self.began.elapsed());
                voice.say("sold out; waiting for those who come to pay late");
            }
            if sold && self.running.is_empty() {
                break;
            }
            if !sold {
                due += self.per_second * LOOK.as_secs_f64();
                self.come(due as u32);
                due -= f64::from(due as u32);
            }
            tokio::time::sleep(LOOK).await;
            while let Some(ended) = self.running.try_join_next() {
                ended.expect("a guest does not panic");
            }
        }
        self.running.shutdown().await;
        sold_out
    }

    fn come(&mut self, people: u32) {
        let everybody_pays = self.began.elapsed() > CROWD;
        for _ in 0..people {
            self.guests += 1;
            let nature = if everybody_pays { Nature::Pays } else { self.nature() };
            let guest = Guest {
                name: format!("guest-{:04}", self.guests),
                nature,
                party: *self.random.choice([1, 2, 2, 2, 3, 4].iter()).unwrap_or(&2),
                random: fastrand::Rng::with_seed(self.random.u64(..)),
                door: self.house.door(),
                book: Arc::clone(&self.book),
            };
            self.running.spawn(guest.visit());
        }
    }

    fn nature(&mut self) -> Nature {
        let mut drawn = self.random.f64();
        for (nature, share) in SHARES {
            if drawn < share {
                return nature;
            }
            drawn -= share;
        }
        Nature::Pays
    }

    fn frame(&self) -> Frame {
        let (counts, holds, rows) = self.house.look();
        let letters = |wanted| {
            let all = rows.iter().flat_map(|row: &RowOfSeats| row.letters.chars());
            all.filter(|letter| *letter == wanted).count() as u32
        };
        let (free, left) = (letters('.') + letters('-'), letters('.'));
        let (held, confirmed, blocked) = (letters('h'), letters('c'), letters('b'));
        let by_seat = Counts { free, held, confirmed, blocked, left };
        self.book.counted(counts, self.seats, by_seat);
        Frame { elapsed: self.began.elapsed(), counts, holds, guests: self.guests, rows }
    }
}

/// What recomputing the journal and reading the ledger gave.
pub(super) type Recomputed = audit::Report;
