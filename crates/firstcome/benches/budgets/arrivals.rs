//! Arrivals on a schedule, whatever the answers: an open load on one or several servers.

mod serve;

pub(crate) use serve::serve;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How often what is due is handed over.
const TICK: Duration = Duration::from_micros(150);
/// The waiting times kept of one lane.
const KEPT: usize = 1 << 20;

/// Somebody asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Which of all arrivals it is, from 0: whoever asks is named by it.
    pub(crate) number: u64,
    /// When it was due.
    pub(crate) at: Instant,
}

/// What arrives at one server, and what becomes of it.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    waiting: Mutex<Vec<Arrival>>,
    news: Notify,
    over: AtomicBool,
    /// Whether waiting times are noted.
    pub(crate) measured: AtomicBool,
    pub(crate) accepted: AtomicU64,
    /// Those answered with anything else than a yes.
    pub(crate) others: AtomicU64,
    pub(crate) appends: AtomicU64,
    waits: Mutex<Vec<u32>>,
    /// Ranks with the time when their claim arrived at the server, if they are wanted.
    ranks: Option<Mutex<Vec<(u32, Instant)>>>,
}

impl Lane {
    /// A lane that notes the rank of each claim.
    pub(crate) fn with_ranks() -> Self {
        Self { ranks: Some(Mutex::default()), ..Self::default() }
    }

    /// Notes that the claim that arrived at its server then has this rank.
    pub(crate) fn ranked(&self, rank: u32, arrived: Instant) {
        if let Some(ranks) = &self.ranks {
            lock(ranks).push((rank, arrived));
        }
    }

    /// Returns what arrived, waiting for it; none once nothing arrives any more.
    pub(crate) async fn arrivals(&self) -> Option<Vec<Arrival>> {
        loop {
            // Looked at first: what arrives before the end is taken after this.
            let over = self.is_over();
            let arrived = std::mem::take(&mut *lock(&self.waiting));
            if !arrived.is_empty() {
                return Some(arrived);
            }
            if over {
                return None;
            }
            self.news.notified().await;
        }
    }

    /// Puts back what did not fit, before what arrived since.
    pub(crate) fn put_back(&self, mut rest: Vec<Arrival>) {
        let mut waiting = lock(&self.waiting);
        rest.append(&mut waiting);
        *waiting = rest;
    }

    /// Lets nobody arrive any more.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.news.notify_one();
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Notes that those who arrived at these moments have their yes.
    pub(crate) fn answered(&self, arrivals: impl Iterator<Item = Instant>) {
        let now = Instant::now();
        let measured = self.measured.load(Ordering::Relaxed);
        let mut count = 0;
        let mut waits = lock(&self.waits);
        for at in arrivals {
            count += 1;
            if measured && waits.len() < KEPT {
                waits.push((now - at).as_micros() as u32);
            }
        }
        self.accepted.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the waiting time of the share that waited least, in milliseconds.
    pub(crate) fn wait_ms(&self, share: f64) -> f64 {
        quantile(&mut lock(&self.waits), share)
    }
}

/// Returns the waiting time of the share of all that waited least, in milliseconds.
pub(crate) fn wait_ms(lanes: &[Arc<Lane>], share: f64) -> f64 {
    let mut all: Vec<u32> = lanes.iter().flat_map(|lane| lock(&lane.waits).clone()).collect();
    quantile(&mut all, share)
}

/// Returns all ranks, with the time from the first arrival until their claim arrived at its server.
pub(crate) fn ranks(lanes: &[Arc<Lane>]) -> Vec<(u32, Duration)> {
    let all: Vec<_> = lanes
        .iter()
        .filter_map(|lane| lane.ranks.as_ref())
        .flat_map(|ranks| lock(ranks).clone())
        .collect();
    let first = all.iter().map(|(_, arrived)| *arrived).min();
    all.into_iter()
        .map(|(rank, arrived)| (rank, first.map_or(Duration::ZERO, |first| arrived - first)))
        .collect()
}

fn quantile(waits: &mut [u32], share: f64) -> f64 {
    if waits.is_empty() {
        return f64::NAN;
    }
    let at = ((waits.len() - 1) as f64 * share) as usize;
    f64::from(*waits.select_nth_unstable(at).1) / 1e3
}

fn lock<T>(inside: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    inside.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to let people arrive, so many a second, each at a server drawn by chance; ends by itself, or when all lanes
/// have ended.
///
/// They come one by one, independently of each other, from a thread of its own: neither a slow server
/// nor a slow store makes them come later.
pub(crate) fn begin(
    lanes: &[Arc<Lane>],
    a_second: f64,
    length: Duration,
) -> std::thread::JoinHandle<()> {
    let lanes = lanes.to_vec();
    std::thread::spawn(move || {
        let mut random = fastrand::Rng::with_seed(7);
        let mut due: Vec<Vec<Arrival>> = lanes.iter().map(|_| Vec::new()).collect();
        let (begun, mut next, mut number) = (Instant::now(), 0.0_f64, 0);
        while next < length.as_secs_f64() && !lanes.iter().all(|lane| lane.is_over()) {
            let now = begun.elapsed().as_secs_f64().min(length.as_secs_f64());
            while next <= now {
                let at = begun + Duration::from_secs_f64(next);
                due[random.usize(..lanes.len())].push(Arrival { number, at });
                number += 1;
                next += -random.f64().max(1e-12).ln() / a_second;
            }
            for (lane, due) in lanes.iter().zip(&mut due).filter(|(_, due)| !due.is_empty()) {
                lock(&lane.waiting).append(due);
                lane.news.notify_one();
            }
            std::thread::sleep(TICK);
        }
        for lane in &lanes {
            lane.end();
        }
    })
}
