//! An open load: claims leave when they are due, and the wait counts from then.

use crate::arrivals::{self, Arrival, Lane};
use anyhow::{Context, Result, ensure};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::LocalSet;

/// Connections of an open load. More than are ever busy at once, unless the server cannot do the rate.
const CONNECTIONS: usize = 512;
/// Before anything is measured.
const WARM: Duration = Duration::from_millis(300);
/// Until nobody waits any more, after the last arrival.
const DRAIN: Duration = Duration::from_secs(60);

/// An open load on one campaign.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) campaign: &'static str,
    /// Claims that arrive a second.
    pub(crate) a_second: f64,
    /// How long it is measured.
    pub(crate) length: Duration,
    /// The number of the first subject.
    pub(crate) first: usize,
}

/// What an open load came to.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    /// Claims that arrived a second, as it happened, and answers in the same time.
    pub(crate) offered: f64,
    pub(crate) answered: f64,
    /// All claims, those before the measurement included.
    pub(crate) claims: usize,
    /// Waits from the time a claim was due until its answer, in milliseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
}

/// Lets claims arrive at a server at random times, and waits until all have their place.
pub(crate) fn open(address: &str, load: Load) -> Result<Opened> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, run(address, load))
}

async fn run(address: &str, load: Load) -> Result<Opened> {
    let streams = super::connect(&[address], CONNECTIONS).await?;
    let lane = Arc::new(Lane::default());
    let due = Rc::new(Due {
        claims: RefCell::default(),
        permits: Semaphore::new(0),
        arrived: Cell::new(0),
        over: Cell::new(false),
        statuses: RefCell::default(),
        lane: Arc::clone(&lane),
        load,
    });
    let sending: Vec<_> = streams
        .into_iter()
        .map(|stream| tokio::task::spawn_local(send(stream, Rc::clone(&due))))
        .collect();
    let arriving = arrivals::begin(&[Arc::clone(&lane)], load.a_second, WARM + load.length);
    let measuring = tokio::task::spawn_local(rates(Rc::clone(&due)));
    while let Some(arrivals) = lane.arrivals().await {
        let count = arrivals.len();
        due.arrived.set(due.arrived.get() + count);
        due.claims.borrow_mut().extend(arrivals);
        due.permits.add_permits(count);
    }
    due.over.set(true);
    due.permits.close();
    ensure!(arriving.join().is_ok(), "nobody arrived any more");
    let (offered, answered) = measuring.await?;
    let drained = tokio::time::timeout(DRAIN, async {
        for sending in sending {
            sending.await??;
        }
        anyhow::Ok(())
    });
    drained.await.context("an open load was not answered within a minute")??;
    let claims = lane.accepted.load(Ordering::Relaxed) as usize;
    let statuses = due.statuses.take();
    ensure!(statuses.get(&201) == Some(&claims), "expected only 201, got {statuses:?}");
    let lanes = [lane];
    let wait = |share| arrivals::wait_ms(&lanes, share);
    Ok(Opened { offered, answered, claims, p50: wait(0.5), p99: wait(0.99), p999: wait(0.999) })
}

/// The claims that are due and not sent yet, for whichever connection is free.
struct Due {
    claims: RefCell<VecDeque<Arrival>>,
    /// One for each of these claims.
    permits: Semaphore,
    /// How many arrived so far.
    arrived: Cell<usize>,
    over: Cell<bool>,
    statuses: RefCell<BTreeMap<u16, usize>>,
    lane: Arc<Lane>,
    load: Load,
}

/// Measures the time behind the warm-up: gives the arrivals and the answers a second in it.
async fn rates(due: Rc<Due>) -> (f64, f64) {
    let counts = || (due.arrived.get() as f64, due.lane.accepted.load(Ordering::Relaxed) as f64);
    tokio::time::sleep(WARM).await;
    due.lane.measured.store(true, Ordering::Relaxed);
    let (begun, (arrived, answered)) = (Instant::now(), counts());
    tokio::time::sleep(due.load.length).await;
    let (took, (arrived_now, answered_now)) = (begun.elapsed().as_secs_f64(), counts());
    ((arrived_now - arrived) / took, (answered_now - answered) / took)
}

/// Sends claims on one connection, one after the other, until none is left and none arrives any more.
async fn send(mut stream: TcpStream, due: Rc<Due>) -> Result<()> {
    let mut buffer = vec![0; 8192];
    loop {
        // Once nobody arrives any more there are no permits, and nothing to wait for.
        if let Ok(permit) = due.permits.acquire().await {
            permit.forget();
        }
        let next = due.claims.borrow_mut().pop_front();
        let Some(Arrival { number, at }) = next else {
            if due.over.get() {
                return Ok(());
            }
            continue;
        };
        let request = super::claim(due.load.campaign, due.load.first + number as usize);
        let status = super::ask(&mut stream, &request, &mut buffer).await?;
        *due.statuses.borrow_mut().entry(status).or_default() += 1;
        due.lane.answered(std::iter::once(at));
    }
}
