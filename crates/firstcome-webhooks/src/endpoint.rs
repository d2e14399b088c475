//! What is stored of an endpoint: what an operator said, and up to where results were sent.

use crate::clock::now;
use crate::event::{TYPES, type_of};
use crate::schedule;
use crate::signature::Secret;
use firstcome_node::ledger::Row;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Results that are parked for an endpoint at most: with as many it is switched off.
pub(crate) const PARKED_MOST: usize = 10_000;
/// Results that may wait to be tried again while others go on, where order does not matter.
const WAITING_MOST: usize = 1_000;
/// Failures in a row after which nothing new is tried, until something that failed comes through.
const BREAKS_AFTER: u32 = 10;
/// Answers that are kept to be shown.
const RECENT: usize = 20;
/// Marks of where it was that are kept.
const MARKS: usize = 24;
/// Ledgers, one in the place of the other, whose ids are remembered.
const LEDGERS: usize = 16;
/// Secrets that were replaced and count still.
const OLD_SECRETS: usize = 7;
/// Results between one such mark and the next, at least.
const MARK_EVERY: u64 = 500;

/// What of all results an endpoint is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Names of campaigns, or beginnings that end with `*`; all, if none.
    pub campaigns: Vec<String>,
    /// Types of events; all, if none.
    pub types: Vec<String>,
}

impl Wanted {
    pub(crate) fn has(&self, row: &Row) -> bool {
        let is_it = |said: &String| match said.strip_suffix('*') {
            Some(beginning) => row.campaign.starts_with(beginning),
            None => *said == *row.campaign,
        };
        let campaign = self.campaigns.is_empty() || self.campaigns.iter().any(is_it);
        let kind = type_of(row.kind);
        campaign && (self.types.is_empty() || self.types.iter().any(|said| said == kind))
    }

    /// Returns the first type that no event has.
    pub fn unknown_type(&self) -> Option<&str> {
        let known = |said: &&String| TYPES.iter().any(|(name, _)| name == said);
        self.types.iter().find(|said| !known(said)).map(String::as_str)
    }
}

/// Why an endpoint is sent nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Off {
    /// When it was switched off, in microseconds since 1970.
    pub at: i64,
    pub why: String,
}

/// What came of a try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The number of the result.
    pub number: u64,
    /// The id of the event.
    pub id: String,
    /// When, in microseconds since 1970.
    pub at: i64,
    pub took_ms: u64,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// What it said, cut short; or why there was no answer.
    pub said: String,
    pub taken: bool,
}

/// A result that is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub number: u64,
    /// How often it was tried.
    pub tries: u32,
    /// When it is tried again, in microseconds since 1970.
    pub next: i64,
}

/// Up to where results were sent, and a checksum over all results up to there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) number: u64,
    pub(crate) sum: u64,
}

impl Mark {
    /// Goes on over a result.
    pub(crate) fn over(self, row: &Row) -> Self {
        let sum =
            (self.sum ^ row.fingerprint()).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        Self { number: row.number, sum }
    }
}

/// What an operator wants sent to an endpoint, and up to where it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub url: String,
    pub wanted: Wanted,
    /// Whether a result that fails holds back those behind it.
    pub ordered: bool,
    pub note: String,
    /// The newest first; one that was replaced counts for a while.
    pub(crate) secrets: Vec<(Secret, Option<i64>)>,
    /// When it was added, in microseconds since 1970.
    pub added: i64,
    pub off: Option<Off>,
    /// The ids of the ledgers whose results it was sent, each with the first number that it has from there. An event keeps
    /// the id that it had first.
    pub(crate) ledgers: Vec<(u64, String)>,
    /// All results up to this number were sent, wait or are parked.
    pub cursor: u64,
    /// The last marks, in order.
    pub(crate) marks: Vec<Mark>,
    /// Since when nothing came through, and how many tries in a row.
    pub failing: Option<(i64, u32)>,
    /// By number; of an ordered one at most one.
    pub waiting: Vec<Waiting>,
    /// What was tried as often as it is, by number.
    pub parked: Vec<u64>,
    /// What an operator wants to be sent again.
    pub(crate) again: Vec<u64>,
    /// The last tries, the newest last.
    pub recent: Vec<Delivery>,
}

/// What became of an endpoint by a try that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Became {
    /// It is tried again.
    Waits,
    /// The result was tried as often as it is.
    Parked,
    /// The endpoint was switched off.
    Off,
}

impl Endpoint {
    /// Returns what is shown of one whose row cannot be read.
    pub(crate) fn unreadable(why: String) -> Self {
        let (url, note, wanted) = (String::new(), String::new(), Wanted::default());
        let off = Some(Off { at: 0, why });
        Self { off, added: 0, ..Self::new(url, wanted, true, note, (String::new(), 0)) }
    }

    /// Returns an endpoint that is sent all results of a ledger beyond a number.
    pub(crate) fn new(
        url: String,
        wanted: Wanted,
        ordered: bool,
        note: String,
        (ledger, from): (String, u64),
    ) -> Self {
        Self {
            url,
            wanted,
            ordered,
            note,
            secrets: vec![(Secret::draw(), None)],
            added: now(),
            off: None,
            ledgers: vec![(0, ledger)],
            cursor: from,
            marks: vec![Mark { number: from, sum: 0 }],
            failing: None,
            waiting: Vec::new(),
            parked: Vec::new(),
            again: Vec::new(),
            recent: Vec::new(),
        }
    }

    /// Returns the id of the ledger that a result is from.
    pub(crate) fn ledger_of(&self, number: u64) -> &str {
        let known = self.ledgers.iter().rev().find(|(first, _)| *first <= number);
        known.or(self.ledgers.first()).map_or("", |(_, ledger)| ledger)
    }

    /// Says whether it is sent results of this ledger now.
    pub(crate) fn is_of(&self, ledger: &str) -> bool {
        self.ledgers.last().is_some_and(|(_, last)| last == ledger)
    }

    /// Goes on with another ledger, which has the same results up to the last of these marks.
    pub(crate) fn resume(&mut self, ledger: String, marks: Vec<Mark>) {
        self.marks = marks;
        self.cursor = self.mark().number;
        let cursor = self.cursor;
        self.ledgers.retain(|(first, _)| *first <= cursor);
        let over = (self.ledgers.len() + 1).saturating_sub(LEDGERS);
        self.ledgers.drain(..over);
        self.ledgers.push((cursor + 1, ledger));
        self.waiting.retain(|waiting| waiting.number <= cursor);
        for numbers in [&mut self.parked, &mut self.again] {
            numbers.retain(|number| *number <= cursor);
        }
    }

    /// Returns the secrets that count now.
    pub(crate) fn secrets(&self, now: i64) -> impl Iterator<Item = &Secret> {
        let counts = move |until: &Option<i64>| until.is_none_or(|until| now < until);
        self.secrets.iter().filter(move |(_, until)| counts(until)).map(|(secret, _)| secret)
    }

    /// Draws another secret; the one before counts until a time.
    pub(crate) fn rotate(&mut self, now: i64, until: i64) -> Secret {
        self.secrets.retain(|(_, until)| until.is_none_or(|until| now < until));
        for (_, counts) in &mut self.secrets {
            counts.get_or_insert(until);
        }
        self.secrets.truncate(OLD_SECRETS);
        self.secrets.insert(0, (Secret::draw(), None));
        self.secrets[0].0.clone()
    }

    /// Says whether results that were not tried may be tried now.
    pub(crate) fn goes_on(&self) -> bool {
        let breaks = self.failing.is_some_and(|(_, in_row)| in_row >= BREAKS_AFTER);
        let held_back = self.ordered || breaks || self.waiting.len() >= WAITING_MOST;
        self.off.is_none() && (self.waiting.is_empty() || !held_back)
    }

    /// Returns the result that is tried again first, and when.
    pub(crate) fn due(&self) -> Option<Waiting> {
        self.waiting.iter().min_by_key(|waiting| (waiting.next, waiting.number)).copied()
    }

    /// Notes that a result was sent.
    pub(crate) fn received(&mut self, number: u64) {
        self.waiting.retain(|waiting| waiting.number != number);
        self.failing = None;
    }

    /// Notes a try that failed; it may be asked to wait so long.
    pub(crate) fn failed(&mut self, number: u64, asked: Option<Duration>, now: i64) -> Became {
        let (since, in_row) = self.failing.unwrap_or((now, 0));
        self.failing = Some((since, in_row.saturating_add(1)));
        let place = self.waiting.iter().position(|waiting| waiting.number == number);
        let tries = place.map_or(0, |place| self.waiting.remove(place).tries) + 1;
        let next = schedule::next(tries, asked, now);
        if now - since >= schedule::OFF_AFTER {
            self.switch_off(now, "nothing came through for five days");
            self.waiting.push(Waiting { number, tries, next: now });
            return Became::Off;
        }
        match next {
            Some(next) => {
                self.waiting.push(Waiting { number, tries, next });
                Became::Waits
            }
            None if self.parked.len() < PARKED_MOST => {
                self.parked.push(number);
                Became::Parked
            }
            None => {
                self.switch_off(now, "as many results are parked as may be");
                self.waiting.push(Waiting { number, tries, next: now });
                Became::Off
            }
        }
    }

    /// Sends it nothing until an operator switches it on, or asks for something by hand.
    pub(crate) fn switch_off(&mut self, now: i64, why: &str) {
        self.again.clear();
        self.off = Some(Off { at: now, why: why.to_owned() });
    }

    /// Sends to it again, beginning with what waits.
    pub(crate) fn switch_on(&mut self, now: i64) {
        (self.off, self.failing) = (None, None);
        self.waiting.iter_mut().for_each(|waiting| waiting.next = now);
    }

    /// Keeps a try to be shown.
    pub(crate) fn keep(&mut self, delivery: Delivery) {
        self.recent.push(delivery);
        let over = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..over);
    }

    /// Notes how far it is, with a checksum over all results up to there.
    pub(crate) fn moved_to(&mut self, mark: Mark) {
        self.cursor = mark.number;
        // The last one goes on; it stays where it is once it is far enough from the one before.
        let before = self.marks.len().checked_sub(2).map(|place| self.marks[place].number);
        if before.is_some_and(|before| mark.number < before + MARK_EVERY) {
            self.marks.pop();
        }
        self.marks.push(mark);
        if self.marks.len() > MARKS {
            // The further back, the fewer: every second of the older half.
            let mut place = 0;
            self.marks.retain(|_| {
                place += 1;
                place == 1 || place > MARKS / 2 || place % 2 == 0
            });
        }
    }

    /// Returns up to where results were sent, as the checksum goes on from there.
    pub(crate) fn mark(&self) -> Mark {
        self.marks.last().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000_000;

    fn endpoint(ordered: bool) -> Endpoint {
        Endpoint::new(
            "https://a".to_owned(),
            Wanted::default(),
            ordered,
            String::new(),
            ("a".to_owned(), 0),
        )
    }

    #[test]
    fn an_ordered_one_waits_for_what_failed_and_goes_on_once_it_is_parked() {
        let (mut endpoint, mut now) = (endpoint(true), 0);
        assert!(endpoint.goes_on());
        for tries in 1..=9 {
            assert_eq!(endpoint.failed(7, None, now), Became::Waits);
            assert!(!endpoint.goes_on(), "try {tries}");
            now = endpoint.due().unwrap().next;
        }
        assert_eq!(endpoint.failed(7, None, now), Became::Parked);
        assert!(endpoint.goes_on() && endpoint.parked == [7] && endpoint.waiting.is_empty());
    }

    #[test]
    fn one_without_order_goes_on_until_ten_failed_in_a_row() {
        let mut endpoint = endpoint(false);
        for number in 1..10 {
            endpoint.failed(number, None, 0);
            assert!(endpoint.goes_on());
        }
        endpoint.failed(10, None, 0);
        assert!(!endpoint.goes_on(), "it is left alone");
        endpoint.received(3);
        assert!(endpoint.goes_on() && endpoint.waiting.len() == 9);
    }

    #[test]
    fn where_nothing_comes_through_for_five_days_it_is_switched_off_and_nothing_is_lost() {
        let mut endpoint = endpoint(true);
        endpoint.failed(1, None, 0);
        assert_eq!(endpoint.failed(1, None, 5 * DAY - 1), Became::Waits);
        assert_eq!(endpoint.failed(1, None, 5 * DAY), Became::Off);
        assert!(!endpoint.goes_on() && endpoint.waiting[0].number == 1);
        endpoint.switch_on(6 * DAY);
        assert_eq!(endpoint.due().unwrap().next, 6 * DAY);
        assert_eq!(endpoint.failed(1, None, 6 * DAY), Became::Waits, "the days count anew");
    }

    #[test]
    fn marks_stay_few_and_reach_back_to_the_first() {
        let mut endpoint = endpoint(true);
        for number in 1..=200_000 {
            endpoint.moved_to(Mark { number, sum: number });
        }
        assert!(endpoint.marks.len() <= MARKS, "{}", endpoint.marks.len());
        assert!(endpoint.marks.is_sorted_by_key(|mark| mark.number));
        assert_eq!((endpoint.marks[0].number, endpoint.mark().number), (0, 200_000));
        assert!(endpoint.marks[1].number < 100_000, "{:?}", endpoint.marks);
    }

    #[test]
    fn an_event_keeps_the_id_of_the_ledger_it_was_told_of_first() {
        let mut endpoint = endpoint(true);
        endpoint.moved_to(Mark { number: 40, sum: 4 });
        let marks = endpoint.marks.clone();
        endpoint.moved_to(Mark { number: 70, sum: 7 });
        endpoint.resume("b".to_owned(), marks);
        assert!(endpoint.cursor == 40 && endpoint.is_of("b") && !endpoint.is_of("a"));
        assert_eq!([1, 40, 41].map(|number| endpoint.ledger_of(number)), ["a", "a", "b"]);
        for _ in 0..99 {
            endpoint.resume("c".to_owned(), endpoint.marks.clone());
        }
        assert!(endpoint.ledgers.len() <= LEDGERS && endpoint.ledger_of(41) == "c");
    }

    #[test]
    fn with_as_many_parked_as_may_be_it_is_off_and_what_failed_waits() {
        let mut endpoint = endpoint(true);
        endpoint.parked = (1..=PARKED_MOST as u64).collect();
        endpoint.waiting = vec![Waiting { number: 20_000, tries: 9, next: 0 }];
        assert_eq!(endpoint.failed(20_000, None, 0), Became::Off);
        assert_eq!((endpoint.parked.len(), endpoint.waiting[0].number), (PARKED_MOST, 20_000));
    }

    #[test]
    fn a_secret_that_was_replaced_counts_for_a_while() {
        let mut endpoint = endpoint(true);
        let first = endpoint.secrets(0).next().unwrap().clone();
        let second = endpoint.rotate(0, DAY);
        assert_eq!(endpoint.secrets(DAY - 1).collect::<Vec<_>>(), [&second, &first]);
        assert_eq!(endpoint.secrets(DAY).collect::<Vec<_>>(), [&second]);
        for _ in 0..9 {
            endpoint.rotate(1, DAY);
        }
        assert_eq!(endpoint.secrets(1).count(), OLD_SECRETS + 1);
    }
}
