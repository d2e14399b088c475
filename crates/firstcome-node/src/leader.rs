//! What exactly one node does: settle results, write snapshots and trim the journal, go on with waitlists, let finished
//! campaigns leave memory.
//!
//! On the embedded store this process is the only node and so the leader; several nodes elect one of
//! them with a lock. Nothing rests on that lock: the ledger and the head of the journal each mint the
//! term they enforce, so a leader that does not know yet that it was replaced changes nothing.
//!
//! A node without the ledger that a live node has does not stand for election while that one does, and hands over when
//! such a node comes. Where nobody else can lead it writes snapshots and trims, and settles nothing.

mod housekeeping;
mod leaderless;
mod lists;
mod long_log;
mod settle;
mod snapshots;
mod told;
mod without_ledger;

pub use settle::SettleDelay;

use crate::agreement::{Agreement, LedgerMark};
use crate::event::Event;
use crate::ledger::Ledger;
use crate::metrics::Metrics;
use crate::says::Speaker;
use crate::stopped;
use crate::{Intake, Node, Task, stopped_within};
use firstcome_inject::{Mistake, inject};
use firstcome_journal::Journal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How the leader's work is paced.
#[derive(Clone, Copy, Debug)]
pub struct LeaderPace {
    /// The pause between two transactions of the ledger while little waits.
    pub settle_interval: Duration,
    /// How late results are written while new ones keep coming.
    pub settle_delay: SettleDelay,
    /// How long a closed and settled campaign stays in memory; for ever, if none.
    pub keep_for: Option<Duration>,
    /// Bytes of entries behind the newest snapshot that make a new one due.
    pub snapshot_bytes: u64,
    /// Time since the newest snapshot that makes a new one due, if there are entries behind it.
    pub snapshot_every: Duration,
}

/// How settling stands, for readers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The term the ledger minted for this leader; 0 before it did.
    pub term: u64,
    /// Why results are not being settled, if they are not.
    pub trouble: Option<String>,
}

/// Who leads, as far as this node knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leads {
    /// The node's id.
    pub node: String,
    /// The number of its term.
    pub term: u64,
}

/// How it is decided who leads.
#[derive(Debug)]
pub enum Election {
    /// This node does: it is the only one there can be.
    Alone,
    /// One of those who stand for it.
    Among {
        /// What this node stands with; its node id is the node's.
        candidate: firstcome_lock::Election,
        /// Where everybody sees who leads.
        watch: firstcome_lock::Watch,
    },
}

impl Election {
    /// Returns who leads, as far as is known; `own` is this node's own term.
    fn who(&self, own: Option<Leads>) -> Option<Leads> {
        match self {
            Self::Alone => own,
            Self::Among { watch, .. } => {
                let seen = watch.current();
                let seen = seen.map(|leader| Leads { node: leader.node, term: leader.term.get() });
                // Its own election this node knows before it sees it.
                seen.into_iter().chain(own).max_by_key(|leads| leads.term)
            }
        }
    }

    /// Returns what keeps this node from being elected, where the lock's store said something.
    fn trouble(&self) -> Option<String> {
        match self {
            Self::Alone => None,
            Self::Among { candidate, .. } => candidate.trouble().map(|why| why.to_string()),
        }
    }

    /// Says whether this node does its part in the election, where there is one.
    fn is_healthy(&self) -> bool {
        match self {
            Self::Alone => true,
            Self::Among { candidate, .. } => candidate.healthy(IN_TOUCH),
        }
    }

    /// Returns for how long the lock's store has not answered; zero while it does.
    fn store_silent(&self) -> Duration {
        match self {
            Self::Alone => Duration::ZERO,
            Self::Among { candidate, .. } => candidate.silent(),
        }
    }
}

/// How long ago the lock's store may have answered one who does not lead: whoever watches who leads asks each 30 s at least.
const IN_TOUCH: Duration = Duration::from_secs(35);

/// This node's part in leading: the leader's tasks while it leads, a place in the line while it does not.
///
/// Dropped without [`Leadership::stop`], all of it ends where it stands, at its next await; an elected leader's lock is given
/// back if its store can still be reached, else its lease runs out.
#[derive(Debug)]
pub struct Leadership {
    seat: Task<()>,
    stopping: watch::Sender<bool>,
    work: Arc<LeaderWork>,
    leads: watch::Receiver<Option<Leads>>,
    election: Arc<Election>,
    leaderless: Arc<leaderless::Leaderless>,
    watching: Task<()>,
    #[expect(dead_code, reason = "it ends when it is dropped")]
    told: Option<Task<()>>,
    looking: Task<()>,
}

/// What the leader does.
#[derive(Debug)]
struct LeaderWork {
    intake: Arc<Intake>,
    journal: Journal,
    ledger: Option<Ledger>,
    pace: LeaderPace,
    metrics: Arc<Metrics>,
    standing: Arc<Mutex<Standing>>,
    speaker: Speaker,
}

impl Leadership {
    /// Leads from now on, or whenever elected.
    pub fn start(
        node: &Node,
        ledger: Option<Ledger>,
        pace: LeaderPace,
        election: Election,
        metrics: &Arc<Metrics>,
    ) -> Self {
        let (stopping, stop) = watch::channel(false);
        let (leading, leads) = watch::channel(None);
        let work = Arc::new(LeaderWork {
            intake: Arc::clone(&node.intake),
            journal: node.journal.clone(),
            ledger,
            pace,
            metrics: Arc::clone(metrics),
            standing: Arc::default(),
            speaker: node.speaker.clone(),
        });
        let election = Arc::new(election);
        let leaderless = Arc::new(leaderless::Leaderless::default());
        let watching = Arc::clone(&leaderless).watch(
            Arc::clone(&election),
            leads.clone(),
            node.speaker.clone(),
        );
        let panics = &node.panics;
        let watching = panics.spawn("leaderless", watching);
        let told = match &*election {
            Election::Alone => None,
            Election::Among { candidate, .. } => Some(panics.spawn(
                "lock events",
                told::tell(candidate.events(), Arc::clone(metrics), node.speaker.clone()),
            )),
        };
        let agreement = Arc::clone(&node.intake.agreement);
        let looking = panics.spawn("ledger id", look_at_ledger(work.ledger.clone(), agreement));
        let seat =
            sit(Arc::clone(&election), Arc::clone(&work), leading, stop, node.id.to_string());
        let seat = panics.spawn("leader", seat);
        Self { seat, stopping, work, leads, election, leaderless, watching, looking, told }
    }

    /// Returns how settling stands.
    pub fn standing(&self) -> Standing {
        self.work.standing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says whether this node leads, as far as it knows.
    pub fn leads(&self) -> bool {
        self.leads.borrow().is_some()
    }

    /// Returns what says at any time whether this node leads, as far as it knows.
    pub fn leading(&self) -> impl Fn() -> bool + Send + use<> {
        let leads = self.leads.clone();
        move || leads.borrow().is_some()
    }

    /// Returns who leads, where there is an election and somebody won it.
    pub fn who(&self) -> Option<Leads> {
        match &*self.election {
            Election::Alone => None,
            Election::Among { .. } => self.election.who(self.leads.borrow().clone()),
        }
    }

    /// Returns for how long nobody has led, as far as this node knows; zero while somebody does. Exact to a second.
    pub fn leaderless(&self) -> Duration {
        self.leaderless.time()
    }

    /// Says whether this node leads with a lease that can be relied on, or stands for election and is in touch with the
    /// lock's store; `true` where there is no election.
    pub fn is_healthy(&self) -> bool {
        self.election.is_healthy()
    }

    /// Returns for how long the lock's store has not answered this node; zero while it does, and without an election.
    pub fn store_silent(&self) -> Duration {
        self.election.store_silent()
    }

    /// Settles what is there if it leads, as far as the ledger takes it, hands over, and ends.
    pub async fn stop(self) {
        drop((self.watching, self.looking));
        self.stopping.send_replace(true);
        self.seat.ended().await;
    }
}

/// How often the id of the ledger is looked at: another one may have taken its place.
const LOOK_AT_LEDGER_EVERY: Duration = Duration::from_secs(10);

/// Keeps announced which ledger this node has, as far as it was reached.
async fn look_at_ledger(ledger: Option<Ledger>, agreement: Arc<Agreement>) {
    let Some(ledger) = ledger else { return agreement.has_ledger(LedgerMark::None) };
    let mut is_ready = ledger.keeps_its_id();
    agreement.has_ledger(LedgerMark::Unknown);
    loop {
        // Where it was out of reach at the start its tables may have to be made first.
        is_ready = is_ready || ledger.ready().await.is_ok();
        // What cannot be looked at now is as it was.
        if is_ready && let Ok(id) = ledger.id().await {
            agreement.has_ledger(LedgerMark::Known(id));
        }
        if ledger.keeps_its_id() {
            return;
        }
        tokio::time::sleep(LOOK_AT_LEDGER_EVERY).await;
    }
}

/// How long handing over may take.
const HAND_OVER: Duration = Duration::from_secs(1);

/// The pause after leading or standing for election broke off; it doubles while that goes on.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The least pause after a task of the leader broke, so that another node leads.
const RESIGNED: Duration = Duration::from_secs(1);

/// Why this node does not lead, or stand for election, though it is not to stop.
#[derive(Clone, PartialEq, Eq)]
enum NotLeading {
    /// A task of the leader panicked.
    Task,
    /// The election's lock was refused.
    Election(String),
}

impl std::fmt::Display for NotLeading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Task => {
                f.write_str("a task of the leader panicked: this node resigns, and stands again")
            }
            Self::Election(why) => {
                write!(f, "this node cannot stand for election and tries again: {why}")
            }
        }
    }
}

/// Leads whenever this node is elected, until it is to stop; what breaks that off is said, and it begins again.
async fn sit(
    election: Arc<Election>,
    work: Arc<LeaderWork>,
    leading: watch::Sender<Option<Leads>>,
    mut stop: watch::Receiver<bool>,
    node: String,
) {
    let (mut pause, mut said) = (PAUSE, None);
    loop {
        let begun = Instant::now();
        let mut terms = 0;
        let ended = stand(&election, &work, &leading, stop.clone(), &node, &mut terms).await;
        work.intake.agreement.stands(false);
        let Err(broken) = ended else { return };
        if matches!(broken, NotLeading::Election(_)) && inject(Mistake::LeaderEndsOnRefusal) {
            return;
        }
        work.metrics.leader_failures.inc();
        if terms > 0 || said.as_ref() != Some(&broken) {
            work.speaker.say(Event::LeaderFailed, &broken.to_string());
        }
        if begun.elapsed() > LONGEST_PAUSE {
            pause = PAUSE;
        }
        let least = if broken == NotLeading::Task { RESIGNED } else { PAUSE };
        said = Some(broken);
        if stopped_within(&mut stop, pause.max(least)).await {
            return;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Leads whenever this node is elected, until it is to stop or something breaks; counts its terms.
async fn stand(
    election: &Election,
    work: &Arc<LeaderWork>,
    leading: &watch::Sender<Option<Leads>>,
    stop: watch::Receiver<bool>,
    node: &str,
    terms: &mut u32,
) -> Result<(), NotLeading> {
    match election {
        Election::Alone => {
            *terms += 1;
            let _leading = Flag::raise(leading, Leads { node: node.to_owned(), term: 0 });
            work.lead(stop).await
        }
        Election::Among { candidate, .. } => {
            let agreement = &work.intake.agreement;
            let mut stop_signal = stop.clone();
            while !*stop.borrow() {
                tokio::select! {
                    () = gives_way(agreement, false) => {}
                    () = stopped(&mut stop_signal) => break,
                }
                let (end, ends) = watch::channel(false);
                let term = |term: firstcome_lock::Term| {
                    *terms += 1;
                    let (work, ends) = (Arc::clone(work), ends.clone());
                    let leads = Leads { node: node.to_owned(), term: term.fence().get() };
                    let leading = Flag::raise(leading, leads);
                    async move {
                        let ended = work.lead(ends).await;
                        drop(leading);
                        ended
                    }
                };
                let mut led = leading.subscribe();
                let stopped_in_line = async {
                    tokio::select! {
                        () = stopped(&mut stop_signal) => {}
                        () = gives_way(agreement, true) => {}
                    }
                    end.send_replace(true);
                    // A leader ends by itself and hands over; one who only waits is dropped.
                    if led.borrow().is_some() {
                        drop(led.wait_for(Option::is_none).await);
                        tokio::time::sleep(HAND_OVER).await;
                    }
                };
                tokio::select! {
                    biased;
                    ended = candidate.run(term) => {
                        ended.unwrap_or_else(|why| Err(NotLeading::Election(why.to_string())))?;
                    }
                    () = announces(agreement, candidate) => {}
                    () = stopped_in_line => {}
                }
            }
            Ok(())
        }
    }
}

/// Waits until this node leaves leading to others, or until it does not any more.
async fn gives_way(agreement: &Agreement, wanted: bool) {
    while agreement.gives_way() != wanted {
        agreement.changed().await;
    }
}

/// Keeps announced, while it is polled, whether this node can be elected as far as the lock's store says.
async fn announces(agreement: &Agreement, candidate: &firstcome_lock::Election) {
    loop {
        agreement.stands(candidate.trouble().is_none());
        tokio::time::sleep(LOOK_AT_STANDING_EVERY).await;
    }
}

/// How often it is looked whether this node can be elected.
const LOOK_AT_STANDING_EVERY: Duration = Duration::from_secs(1);

impl LeaderWork {
    /// Does everything a leader does until told to stop; dropped, it stops where it stands.
    ///
    /// A leader does all of it or nothing: if one task breaks, the others stop where they stand.
    async fn lead(&self, stop: watch::Receiver<bool>) -> Result<(), NotLeading> {
        let mut tasks = JoinSet::new();
        if let Some(ledger) = &self.ledger {
            let settle = settle::Settle {
                intake: Arc::clone(&self.intake),
                ledger: ledger.clone(),
                interval: self.pace.settle_interval,
                delay: self.pace.settle_delay,
                metrics: Arc::clone(&self.metrics),
                standing: Arc::clone(&self.standing),
            };
            tasks.spawn(settle.run(stop.clone()));
        } else {
            let standing = Arc::clone(&self.standing);
            tasks.spawn(without_ledger::run(Arc::clone(&self.intake), standing, stop.clone()));
        }
        let snapshots = snapshots::Snapshots {
            replica: Arc::clone(&self.intake.replica),
            journal: self.journal.clone(),
            bytes: self.pace.snapshot_bytes,
            every: self.pace.snapshot_every,
            metrics: Arc::clone(&self.metrics),
        };
        tasks.spawn(snapshots.run(stop.clone()));
        tasks.spawn(lists::run(Arc::clone(&self.intake), stop.clone()));
        if let Some(keep_for) = self.pace.keep_for {
            let intake = Arc::clone(&self.intake);
            tasks.spawn(housekeeping::run(intake, keep_for, self.ledger.is_some(), stop));
        }
        while let Some(ended) = tasks.join_next().await {
            ended.map_err(|_| NotLeading::Task)?;
        }
        Ok(())
    }
}

/// Up while it lives.
struct Flag(watch::Sender<Option<Leads>>);

impl Flag {
    fn raise(flag: &watch::Sender<Option<Leads>>, leads: Leads) -> Self {
        flag.send_replace(Some(leads));
        Self(flag.clone())
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.send_replace(None);
    }
}
