//! What this server answered to requests about a campaign, second by second.

use axum::http::Method;
use firstcome_api::minute::{MinuteSecond, RefusalCount};
use firstcome_node::minutes::{CAMPAIGNS, QUIET, SECONDS};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Kinds of refusal that are told apart in one second.
const KINDS: usize = 8;
/// Classes of latency: the first up to 32 µs, each √2 times the one before.
const CLASSES: usize = 34;
const FIRST_US: u64 = 32;

/// What was answered in one second.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    second: i64,
    successes: u32,
    refusals: Vec<(&'static str, u32)>,
    others: u32,
    took: [u32; CLASSES],
}

impl Cell {
    fn new(second: i64) -> Self {
        Self { second, successes: 0, refusals: Vec::new(), others: 0, took: [0; CLASSES] }
    }

    fn add(&mut self, outcome: Option<&'static str>, took: Duration) {
        self.took[class(took.as_micros() as u64)] += 1;
        let Some(outcome) = outcome else {
            self.successes += 1;
            return;
        };
        let known = self.refusals.iter_mut().find(|(known, _)| *known == outcome);
        if let Some((_, count)) = known {
            *count += 1;
        } else if self.refusals.len() < KINDS {
            self.refusals.push((outcome, 1));
        } else {
            self.others += 1;
        }
    }

    /// Returns the end of the class in which so many of a hundred answers are.
    fn percentile(&self, percent: u64) -> Option<u64> {
        let all: u64 = self.took.iter().map(|count| u64::from(*count)).sum();
        let wanted = (all * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let found = self.took.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        found.map(end_us)
    }

    /// Writes what it knows into a second.
    pub(crate) fn tell(&self, second: &mut MinuteSecond) {
        second.here_successes = self.successes;
        let refusals = self.refusals.iter().copied();
        let others = (self.others > 0).then_some(("other", self.others));
        let count = |(outcome, count): (&str, u32)| RefusalCount { outcome: outcome.into(), count };
        second.here_refusals = refusals.chain(others).map(count).collect();
        second.here_p50_us = self.percentile(50);
        second.here_p90_us = self.percentile(90);
        second.here_p99_us = self.percentile(99);
    }
}

/// Returns the end of a class in microseconds.
fn end_us(class: usize) -> u64 {
    let whole = FIRST_US << (class / 2);
    if class.is_multiple_of(2) { whole } else { whole * 1_414 / 1_000 }
}

/// Returns the first class that ends at so many microseconds or later, the last one if none does.
fn class(us: u64) -> usize {
    let doublings = u64::BITS - (us.saturating_sub(1) / FIRST_US).leading_zeros();
    let whole = 2 * doublings as usize;
    if whole >= CLASSES {
        CLASSES - 1
    } else if whole > 0 && us <= end_us(whole - 1) {
        whole - 1
    } else {
        whole
    }
}

type Cells = Arc<Mutex<VecDeque<Cell>>>;

/// What this server answered, by campaign. The campaign that is quiet longest, for a minute at least, gives its place to
/// another: requests about many campaigns in turn take nothing from those that are asked about.
#[derive(Debug, Default)]
pub(crate) struct Here(RwLock<BTreeMap<Box<str>, Cells>>);

fn lock(cells: &Cells) -> std::sync::MutexGuard<'_, VecDeque<Cell>> {
    cells.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This server's clock, in seconds since 1970.
fn second_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().cast_signed()
}

impl Here {
    /// Counts an answer about a campaign: of one that has no place yet only if `is_there` says that there is such a one.
    pub(crate) fn answered(
        &self,
        campaign: &str,
        outcome: Option<&'static str>,
        took: Duration,
        is_there: impl FnOnce() -> bool,
    ) {
        self.count(second_now(), campaign, (outcome, took), is_there);
    }

    fn count(
        &self,
        second: i64,
        campaign: &str,
        (outcome, took): (Option<&'static str>, Duration),
        is_there: impl FnOnce() -> bool,
    ) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(campaign).cloned();
        let place = || if is_there() { self.place(campaign, second) } else { None };
        let Some(cells) = known.or_else(place) else { return };
        let mut cells = lock(&cells);
        // Threads that hold an answer back for a moment count it in the newest second.
        if cells.back().is_none_or(|last| last.second < second) {
            cells.push_back(Cell::new(second));
            while cells.front().is_some_and(|first| first.second <= second - SECONDS) {
                cells.pop_front();
            }
        }
        if let Some(last) = cells.back_mut() {
            last.add(outcome, took);
        }
    }

    /// Returns a campaign a place, if there is one: a campaign that was quiet for a minute may lose its own.
    fn place(&self, campaign: &str, second: i64) -> Option<Cells> {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= CAMPAIGNS && !kept.contains_key(campaign) {
            let last = |cells: &Cells| lock(cells).back().map_or(i64::MIN, |cell| cell.second);
            let quiet = kept.iter().map(|(name, cells)| (last(cells), name)).min();
            let (_, name) = quiet.filter(|(since, _)| *since <= second - QUIET)?;
            let name = name.clone();
            kept.remove(&name);
        }
        Some(Arc::clone(kept.entry(campaign.into()).or_default()))
    }

    /// Shows the cells of a campaign from a second on, in order.
    pub(crate) fn each(&self, campaign: &str, from: i64, mut show: impl FnMut(i64, &Cell)) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(campaign).cloned();
        let Some(cells) = known else { return };
        for cell in lock(&cells).iter().filter(|cell| cell.second >= from) {
            show(cell.second, cell);
        }
    }
}

/// Returns the campaign whose claims, holds, waitlist or codes a request wants to change.
pub(crate) fn campaign_of<'p>(method: &Method, path: &'p str) -> Option<&'p str> {
    if *method != Method::POST && *method != Method::DELETE {
        return None;
    }
    let (campaign, rest) = path.strip_prefix("/v1/campaigns/")?.split_once('/')?;
    let first = rest.split('/').next()?;
    ["claims", "holds", "waitlist", "codes"].contains(&first).then_some(campaign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(here: &Here, campaign: &str, from: i64) -> Vec<MinuteSecond> {
        let mut seconds = Vec::new();
        here.each(campaign, from, |second, cell| {
            let mut all = std::collections::BTreeMap::new();
            let known = super::super::at(&mut all, second);
            cell.tell(known);
            seconds.push(known.clone());
        });
        seconds
    }

    #[test]
    fn answers_are_counted_by_second_and_kind() {
        let here = Here::default();
        let ms = Duration::from_millis;
        for _ in 0..98 {
            here.count(100, "spring", (None, Duration::from_micros(40)), || true);
        }
        here.count(100, "spring", (Some("sold_out"), ms(1)), || true);
        here.count(100, "spring", (Some("sold_out"), ms(300)), || true);
        here.count(101, "spring", (Some("paused"), ms(5_000)), || panic!("it is known"));
        here.count(101, "nowhere", (None, ms(1)), || false);
        let seconds = told(&here, "spring", 0);
        assert_eq!(seconds.len(), 2);
        assert_eq!(seconds[0].here_successes, 98);
        let sold_out = RefusalCount { outcome: "sold_out".into(), count: 2 };
        assert_eq!(seconds[0].here_refusals, [sold_out]);
        assert_eq!(seconds[0].here_p50_us, Some(45));
        assert_eq!(seconds[0].here_p90_us, Some(45));
        assert_eq!(seconds[0].here_p99_us, Some(1_024));
        // What takes longer than the last class ends is in it.
        assert_eq!(seconds[1].here_p50_us, Some(end_us(CLASSES - 1)));
        assert!(told(&here, "spring", 102).is_empty());
        assert!(told(&here, "nowhere", 0).is_empty());
    }

    #[test]
    fn memory_is_bounded_in_kinds_seconds_and_campaigns() {
        const NAMES: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let here = Here::default();
        for name in NAMES {
            here.count(1, "spring", (Some(name), Duration::ZERO), || true);
        }
        let first = &told(&here, "spring", 0)[0];
        assert_eq!(first.here_refusals.len(), KINDS + 1);
        let other = RefusalCount { outcome: "other".into(), count: 2 };
        assert_eq!(first.here_refusals[KINDS], other);
        for second in 2..2_000 {
            here.count(second, "spring", (None, Duration::ZERO), || true);
        }
        assert_eq!(told(&here, "spring", 0).len(), SECONDS as usize);
        for number in 0..CAMPAIGNS {
            here.count(3_000, &format!("c{number}"), (None, Duration::ZERO), || true);
        }
        assert_eq!(here.0.read().unwrap().len(), CAMPAIGNS);
        assert!(told(&here, "spring", 0).is_empty(), "it was quiet longest");
        here.count(3_000 + QUIET - 1, "late", (None, Duration::ZERO), || true);
        assert!(told(&here, "late", 0).is_empty(), "nobody was quiet for a minute");
        here.count(3_000 + QUIET, "late", (None, Duration::ZERO), || true);
        assert_eq!(told(&here, "late", 0).len(), 1);
        assert_eq!(here.0.read().unwrap().len(), CAMPAIGNS);
    }

    #[test]
    fn only_what_people_ask_is_counted() {
        let of = |method: Method, path: &'static str| campaign_of(&method, path);
        assert_eq!(of(Method::POST, "/v1/campaigns/spring/claims"), Some("spring"));
        assert_eq!(of(Method::DELETE, "/v1/campaigns/spring/claims/ann"), Some("spring"));
        assert_eq!(of(Method::POST, "/v1/campaigns/spring/holds/h1/confirm"), Some("spring"));
        assert_eq!(of(Method::POST, "/v1/campaigns/spring/pause"), None);
        assert_eq!(of(Method::GET, "/v1/campaigns/spring/claims/ann"), None);
        assert_eq!(of(Method::POST, "/v1/commands"), None);
    }

    #[test]
    fn classes_of_latency_rise() {
        let ends: Vec<_> = (0..CLASSES).map(end_us).collect();
        assert!(ends.is_sorted() && ends[0] == 32 && ends[CLASSES - 1] > 2_000_000, "{ends:?}");
        for (number, end) in ends.iter().enumerate() {
            let after = (number + 1).min(CLASSES - 1);
            assert_eq!((class(end - 1), class(*end), class(end + 1)), (number, number, after));
        }
        assert_eq!((class(0), class(u64::MAX)), (0, CLASSES - 1));
    }
}
