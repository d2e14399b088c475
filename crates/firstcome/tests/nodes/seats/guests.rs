//! A guest: asks any of the servers until it is decided, and writes down what is heard.

use super::evening::Crowd;
use super::heard::{Basket, Evening, Heard, Shown, Verb, Wish};
use super::house::{CAMPAIGN, FLOOR};
use crate::talk::Talk;
use firstcome_client::Ask;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long one thing is asked for before the story fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many requests in a hundred are dropped around the moment they are sent.
const CUT: u32 = 2;
/// Rows people crowd around, from the first that is not sold on.
const CROWDED: usize = 8;

/// One guest, one evening after the other.
pub(crate) struct Guest {
    crowd: Arc<Crowd>,
    random: fastrand::Rng,
    talks: Vec<Talk>,
}

impl Guest {
    pub(crate) fn new(crowd: &Arc<Crowd>, seed: u64) -> Self {
        let talks = crowd.ports.iter().map(|port| Talk::to(*port)).collect();
        Self { crowd: Arc::clone(crowd), random: fastrand::Rng::with_seed(seed), talks }
    }

    /// Asks any server, and any again, until it is decided; says whether an earlier try may have happened.
    pub(crate) async fn decides(&mut self, ask: &Ask) -> (Value, bool) {
        let (mut doubt, end) = (false, Instant::now() + PATIENCE);
        loop {
            let node = self.random.usize(..self.talks.len());
            let cut = ask.method != "GET" && self.random.u32(..100) < CUT;
            let turns = self.random.u32(1..8);
            let talk = &mut self.talks[node];
            let said = if cut {
                let until = async {
                    for _ in 0..turns {
                        tokio::task::yield_now().await;
                    }
                };
                // What is dropped may have happened, which is what it is dropped for.
                tokio::select! {
                    biased;
                    said = talk.tell(ask.clone()) => Some(said),
                    () = until => None,
                }
            } else {
                Some(talk.tell(ask.clone()).await)
            };
            let last = match said {
                Some(Ok(said)) => match said["outcome"].as_str() {
                    Some("unknown") => {
                        doubt = true;
                        said
                    }
                    Some("unavailable" | "busy") => said,
                    Some(_) | None => return (said, doubt),
                },
                Some(Err(failure)) => {
                    doubt |= failure.may_have_happened();
                    self.talks[node] = Talk::to(self.crowd.ports[node]);
                    failure.to_string().into()
                }
                None => {
                    doubt = true;
                    self.talks[node] = Talk::to(self.crowd.ports[node]);
                    continue;
                }
            };
            assert!(Instant::now() < end, "{} is not decided: {last}", ask.path);
            sleep(Duration::from_millis(self.random.u64(10..40))).await;
        }
    }

    /// Takes a step, sometimes once more after it is decided, and gives what came of it.
    async fn takes(&mut self, evening: &mut Evening, verb: Verb, wish: Wish) -> Heard {
        let ask = self.asks(evening, verb, &wish);
        let before = evening.heard.last().map_or(0, |heard| heard.position);
        let (said, doubt) = self.decides(&ask).await;
        let heard = Heard { before, doubt, ..Heard::of((verb, &wish), &said) };
        evening.heard.push(heard.clone());
        let yes = !["unit_taken", "sold_out", "hold_expired"].contains(&&*heard.outcome);
        // An extension that is asked for again is another one.
        if yes && verb != Verb::Extend && self.random.u32(..5) == 0 {
            let before = heard.position;
            // As of then: who is behind would have to say what it knows.
            let mut ask = ask;
            ask.path.push_str(&format!("?min_position={}", said["position"].as_str().unwrap()));
            let (said, _) = self.decides(&ask).await;
            let again = Heard { before, again: true, ..Heard::of((verb, &wish), &said) };
            evening.heard.push(again);
        }
        if yes {
            self.crowd.acknowledge(verb, &heard);
        }
        heard
    }

    fn asks(&mut self, evening: &Evening, verb: Verb, wish: &Wish) -> Ask {
        let Evening { hold, subject, .. } = evening;
        let picks = picks(wish);
        let wait = if self.random.u32(..8) == 0 { 300 } else { 0 };
        let verb = match verb {
            Verb::Hold => {
                let picks = serde_json::from_value(picks).unwrap();
                return Ask::hold(CAMPAIGN, hold, subject, picks, wait);
            }
            Verb::Add => "add",
            Verb::Drop => "drop",
            Verb::Extend => "extend",
            Verb::Confirm => "confirm",
            Verb::Retake => {
                let body = json!({"subject": subject, "late": "retake"});
                return Ask::hold_step(CAMPAIGN, hold, "confirm", body, None);
            }
            Verb::Release => "release",
        };
        let mut body = json!({"subject": subject});
        if picks.as_array().is_some_and(|picks| !picks.is_empty()) {
            body["picks"] = picks;
        }
        let id = format!("{}-{}", evening.heard.len(), evening.hold);
        Ask::hold_step(CAMPAIGN, hold, verb, body, Some(&id))
    }

    /// Lives through one evening.
    pub(crate) async fn evening(&mut self, number: u64) -> Evening {
        let (hold, subject) = (format!("h{number}"), format!("s{number}"));
        let mut evening = Evening { hold, subject, heard: Vec::new(), shown: None };
        let wish = self.wants();
        let held = self.takes(&mut evening, Verb::Hold, wish).await;
        if !matches!(&*held.outcome, "held" | "already_held") {
            return evening;
        }
        self.thinks(200).await;
        let all = Wish::default;
        match self.random.u32(..100) {
            0..24 => drop(self.takes(&mut evening, Verb::Confirm, all()).await),
            24..30 => drop(self.takes(&mut evening, Verb::Retake, all()).await),
            30..38 => {
                if let Some(seat) = self.one_of(&held.units) {
                    let paid = self.takes(&mut evening, Verb::Confirm, seat).await;
                    if paid.outcome == "confirmed" && self.random.bool() {
                        self.takes(&mut evening, Verb::Release, all()).await;
                    }
                }
            }
            38..50 => {
                let longer = self.takes(&mut evening, Verb::Extend, all()).await;
                if longer.outcome == "extended" && self.random.u32(..3) > 0 {
                    self.thinks(400).await;
                    self.takes(&mut evening, Verb::Confirm, all()).await;
                }
            }
            50..58 => drop(self.takes(&mut evening, Verb::Release, all()).await),
            58..66 => {
                let more = self.adds(&held.units);
                let more = self.takes(&mut evening, Verb::Add, more).await;
                self.thinks(200).await;
                // What a refusal left behind that may have happened before it, nobody was told.
                if !more.doubt && more.outcome != "hold_expired" {
                    self.takes(&mut evening, Verb::Confirm, all()).await;
                }
            }
            66..74 => {
                let less = self.one_of(&held.units).filter(|_| held.units.len() > 1);
                if let Some(less) = less {
                    let verb = if self.random.bool() { Verb::Drop } else { Verb::Release };
                    let less = self.takes(&mut evening, verb, less).await;
                    self.thinks(200).await;
                    if less.outcome != "hold_expired" {
                        self.takes(&mut evening, Verb::Confirm, all()).await;
                    }
                }
            }
            74..80 => {}
            80..87 => {
                self.waits_for_the_end(&held, -15..15).await;
                self.takes(&mut evening, Verb::Confirm, all()).await;
            }
            87..97 => {
                self.waits_for_the_end(&held, 20..600).await;
                self.takes(&mut evening, Verb::Retake, all()).await;
            }
            _ => {
                self.waits_for_the_end(&held, 20..200).await;
                self.takes(&mut evening, Verb::Confirm, all()).await;
            }
        }
        evening
    }

    /// Looks at what became of an evening's hold, at or past a position.
    pub(crate) async fn looks_back(&mut self, evening: &mut Evening, min: &str) {
        let mut ask = Ask::hold_of(CAMPAIGN, &evening.hold, Some(&evening.subject));
        ask.path.push_str(&format!("&min_position={min}"));
        evening.shown = Shown::of(&self.decides(&ask).await.0);
    }

    fn wants(&mut self) -> Wish {
        let some = self.random.u32(2..=3);
        match self.random.u32(..10) {
            0..5 => self.neighbours(some as usize),
            5..7 => Wish { best: some, apart: self.random.u32(..4) == 0, ..Wish::default() },
            7..9 => {
                let mut wish = self.neighbours(1);
                wish.units.insert(FLOOR.to_owned(), some - 1);
                wish
            }
            _ => Wish { units: Basket::from([(FLOOR.to_owned(), some)]), ..Wish::default() },
        }
    }

    /// Chooses seats next to each other where everybody wants to sit.
    fn neighbours(&mut self, count: usize) -> Wish {
        let rows = &self.crowd.house.rows;
        let first = (self.crowd.sold() / rows[0].len()).min(rows.len().saturating_sub(CROWDED));
        let row = &rows[first + self.random.usize(..CROWDED)];
        let free: Vec<&String> =
            row.iter().filter(|seat| !self.crowd.house.pillars.contains(seat)).collect();
        let first = self.random.usize(..=free.len() - count);
        let units = free[first..first + count].iter().map(|seat| ((*seat).clone(), 1)).collect();
        Wish { units, ..Wish::default() }
    }

    fn adds(&mut self, has: &Basket) -> Wish {
        if self.random.u32(..4) == 0 {
            return Wish { units: Basket::from([(FLOOR.to_owned(), 1)]), ..Wish::default() };
        }
        loop {
            let wish = self.neighbours(1);
            if wish.units.keys().all(|seat| !has.contains_key(seat)) {
                return wish;
            }
        }
    }

    /// Chooses a seat of those one has.
    fn one_of(&mut self, has: &Basket) -> Option<Wish> {
        let seats: Vec<&String> = has.keys().filter(|unit| *unit != FLOOR).collect();
        let seat = (*self.random.choice(&seats)?).clone();
        Some(Wish { units: Basket::from([(seat, 1)]), ..Wish::default() })
    }

    async fn thinks(&mut self, most_ms: u64) {
        sleep(Duration::from_millis(self.random.u64(..most_ms))).await;
    }

    /// Waits until about so many milliseconds after the end of what is held.
    async fn waits_for_the_end(&mut self, held: &Heard, around: std::ops::Range<i64>) {
        let until = held.until.unwrap_or_default() + 1_000 * self.random.i64(around);
        let left = until - jiff::Timestamp::now().as_microsecond();
        sleep(Duration::from_micros(u64::try_from(left).unwrap_or(0))).await;
    }
}

/// Returns what is wanted as a request has it.
fn picks(wish: &Wish) -> Value {
    let seats: Vec<&String> = wish.units.keys().filter(|unit| *unit != FLOOR).collect();
    let mut picks = Vec::new();
    if !seats.is_empty() {
        picks.push(json!({"units": seats}));
    }
    if let Some(count) = wish.units.get(FLOOR) {
        picks.push(json!({"area": FLOOR, "quantity": count}));
    }
    if wish.best > 0 {
        picks.push(json!({"best": wish.best, "adjacent": !wish.apart}));
    }
    picks.into()
}
