//! The node of the house: journal, ledger and leader in a temporary folder of this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use firstcome_core::command::Expect;
use firstcome_core::hall::{Counts, Standing};
use firstcome_core::hold::{Fate, HoldStanding};
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::{Outcome, Settings, SpaceId};
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{Options, ReadOnly, Sqlite};
use firstcome_journal::{Clock, Journal, Reading};

use super::{CAMPAIGN, Recomputed};
use crate::offline::audit::{self, ServerDigest};
use firstcome_node::Metrics;
use firstcome_node::leader::{Election, Leader, Pace};
use firstcome_node::ledger::choice::Ledger as Named;
use firstcome_node::ledger::{Ledger, Look};
use firstcome_node::{
    Ask, Given, HoldAsk, Intake, Limits, Node, Ordered, OwnChunk, OwnPick, OwnWanted, Replica,
    on_stderr,
};
use firstcome_rush::demo::{StageError, make_private};
use firstcome_rush::house::{self, HouseSeat};
use firstcome_rush::picture::RowOfSeats;

/// The pool of the house.
pub(super) const POOL: &str = "main";

/// The house with its node.
pub(super) struct House {
    node: Node,
    leader: Leader,
    ledger: Option<Ledger>,
    store: Sqlite,
    // Last, so that the folder goes when nothing uses it any more.
    folder: Folder,
}

/// A folder that goes with its owner.
struct Folder {
    path: PathBuf,
    keep: bool,
    taken: Option<DataFolder>,
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.taken = None;
        if !self.keep {
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}

/// Where people come in: what they ask, and what they see.
#[derive(Clone)]
pub(super) struct Door {
    intake: Arc<Intake>,
    replica: Arc<Replica>,
}

/// A hold as the node knows it at the end.
#[derive(Debug)]
pub(super) struct KnownHold {
    pub(super) id: String,
    pub(super) units: usize,
    /// What became of its units, each fate once.
    pub(super) fates: Vec<&'static str>,
}

/// What the node knows at the end.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) holds: Vec<KnownHold>,
    pub(super) last_rank: u32,
    /// The unit of every rank.
    pub(super) ranks: Vec<(u32, String, String)>,
    /// The hold of every refund that is due.
    pub(super) refunds: Vec<String>,
}

fn started<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T, StageError> {
    result.map_err(|why| StageError::Silent(why.to_string()))
}

impl House {
    /// Makes the folder and starts a node in it.
    pub(super) async fn build(keep: bool) -> Result<Self, StageError> {
        let name = format!("firstcome-demo-{}-{:08x}", std::process::id(), fastrand::u32(..));
        let path = std::env::temp_dir().join(name);
        make_private(&path).map_err(|source| StageError::Folder { path: path.clone(), source })?;
        let mut folder = Folder { path, keep, taken: None };
        let data = started(DataFolder::take(&folder.path))?;
        let mut space = [0; 16];
        fastrand::fill(&mut space);
        let store = started(Sqlite::open(&data, Options::new(SpaceId(space))))?;
        let journal = Journal::Sqlite(store.clone());
        let head = started(journal.head().await)?;
        let named = Ledger::named(&Named::Sqlite, Some(&data), "main", head.space, head.shard);
        let ledger = started(named.await)?;
        folder.taken = Some(data);
        let metrics = Arc::new(Metrics::default());
        let wait = Duration::from_secs(20);
        let given = Given {
            journal,
            clock: Some(Clock::system()),
            address: "".into(),
            random: Box::new(|| fastrand::u64(..)),
            limits: Limits { queue: 16_384, wait, memory: 1 << 30, outbox: Some(1 << 20) },
            metrics: Arc::clone(&metrics),
            says: on_stderr(),
        };
        let node = started(Node::start(given, |_, _| {}).await)?;
        let pace = Pace {
            settle_interval: Duration::from_millis(100),
            keep_for: None,
            snapshot_bytes: 64 << 20,
            snapshot_every: Duration::from_secs(3_600),
        };
        let leader = Leader::start(&node, ledger.clone(), pace, Election::Alone, &metrics);
        Ok(Self { node, leader, ledger, store, folder })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder.path
    }

    pub(super) fn door(&self) -> Door {
        Door { intake: Arc::clone(&self.node.intake), replica: Arc::clone(&self.node.replica) }
    }

    /// Makes the campaign with its seats, and gives when it opens.
    pub(super) async fn schedule(
        &self,
        seats: &[HouseSeat],
        hold: Duration,
        before: Duration,
    ) -> Result<Instant, StageError> {
        let micros = |length: Duration| i64::try_from(length.as_micros()).unwrap_or(i64::MAX);
        let now = Clock::system().now();
        let opens_at = Instant::now() + before;
        let settings = Settings {
            title: "The house".into(),
            opens: Opens::At(now.plus_micros(micros(before))),
            closes_at: None,
            limit: None,
            claim_again: false,
            units_return: true,
            pools: vec![PoolSettings::seated(POOL)],
            holding: HoldSettings { ttl_us: micros(hold), ..HoldSettings::default() },
        };
        self.operate(Ask::Put {
            campaign: CAMPAIGN.into(),
            settings: Box::new(settings),
            expect: Expect::Absent,
            ordered: Ordered::default(),
        })
        .await?;
        let chunk = started(OwnChunk::new(&house::chunk(seats)).map_err(|why| why.what))?;
        self.operate(Ask::Hold(Box::new(HoldAsk::Seats {
            campaign: CAMPAIGN.into(),
            pool: POOL.into(),
            chunk,
            ordered: Ordered::default(),
        })))
        .await?;
        Ok(opens_at)
    }

    /// Keeps seats back.
    pub(super) async fn block(&self, units: &[String]) -> Result<(), StageError> {
        self.operate(Ask::Hold(Box::new(HoldAsk::Block {
            campaign: CAMPAIGN.into(),
            units: vec![named(units)],
            blocked: true,
            reason: "for the press".into(),
            ordered: Ordered::default(),
        })))
        .await
    }

    async fn operate(&self, ask: Ask) -> Result<(), StageError> {
        let answer = self.node.intake.decide(ask).await;
        let answer = started(answer.map_err(|why| format!("{why:?}")))?;
        match answer.outcome.refusal() {
            Some(refusal) => Err(StageError::Silent(refusal.as_str().to_owned())),
            None => Ok(()),
        }
    }

    /// How the house stands: counts, live holds, and each row.
    pub(super) fn look(&self) -> (Counts, usize, Vec<RowOfSeats>) {
        self.node.replica.look(|state| {
            let campaign = state.campaign(CAMPAIGN).expect("the house has a campaign");
            let hall = campaign.pool(POOL).and_then(|pool| pool.hall()).expect("it has seats");
            let rows = hall.rows().map(|row| RowOfSeats {
                section: row.section.to_owned(),
                row: row.name.to_owned(),
                letters: row.seats.iter().map(|&seat| char::from(hall.letter(seat))).collect(),
            });
            (hall.counts(), campaign.live_holds(), rows.collect())
        })
    }

    /// What the node knows of holds, ranks and refunds.
    pub(super) fn look_into_holds(&self) -> Known {
        self.node.replica.look(|state| {
            let campaign = state.campaign(CAMPAIGN).expect("the house has a campaign");
            let pool = campaign.pool(POOL).expect("it has a pool");
            let holds = campaign.holds().map(|hold| {
                let mut fates: Vec<_> = hold.takes().iter().map(|take| fate(take.fate)).collect();
                fates.sort_unstable();
                fates.dedup();
                KnownHold { id: hold.id().to_owned(), units: hold.takes().len(), fates }
            });
            let hall = pool.hall().expect("it has seats");
            let mut ranks: Vec<_> = (0..hall.seats())
                .filter_map(|seat| match hall.standing(seat) {
                    Standing::Confirmed(rank) => {
                        let subject = pool.claim(rank).map_or("", |claim| claim.subject);
                        Some((rank, hall.seat(seat).name.to_owned(), subject.to_owned()))
                    }
                    Standing::Free | Standing::Held(_) | Standing::Blocked => None,
                })
                .collect();
            ranks.sort_unstable();
            let refunds =
                campaign.holds().filter(|hold| hold.standing() == HoldStanding::RefundDue);
            Known {
                holds: holds.collect(),
                last_rank: pool.last_rank(),
                ranks,
                refunds: refunds.map(|hold| hold.id().to_owned()).collect(),
            }
        })
    }

    /// Waits until the ledger has every result, for as long as a small ledger could need.
    pub(super) async fn settled(&self) {
        for _ in 0..400 {
            if self.node.replica.look(firstcome_core::State::unsettled) == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    }

    /// Recomputes everything from the journal, and compares it with this node and its ledger.
    pub(super) async fn recompute(&self) -> Result<Recomputed, StageError> {
        let path = self.folder.path.clone();
        let replica = Arc::clone(&self.node.replica);
        let work = move || -> anyhow::Result<Recomputed> {
            let journal = Reading::Sqlite(ReadOnly::open(&path)?);
            let head = journal.head()?;
            let ledger = Look::open(&Named::Sqlite, Some(&path), "main", head.space, head.shard)?;
            let mut ask = |at: firstcome_core::Position| {
                let digest = replica.look(|state| state.digest_at(at.position));
                let digest = digest.map(|digest| format!("{digest:016x}"));
                Ok(vec![ServerDigest { server: "the running node".to_owned(), digest }])
            };
            audit::run(&journal, ledger, &mut ask, |_, _| {})
        };
        let report = tokio::task::spawn_blocking(work).await.expect("an audit does not panic");
        report.map_err(|why| StageError::Audit(format!("{why:#}")))
    }

    /// Ends the node; gives the folder if it is kept.
    pub(super) async fn close(self) -> Option<PathBuf> {
        let Self { node, leader, ledger, store, folder } = self;
        leader.stop().await;
        // A node that stopped applying shows in the proofs.
        drop(node.stop().await);
        if let Some(ledger) = ledger {
            ledger.close().await;
        }
        store.close().await;
        folder.keep.then(|| folder.path.clone())
    }
}

fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Held => "held",
        Fate::Confirmed(_) => "confirmed",
        Fate::Expired => "expired",
        Fate::Refunded => "refunded",
        Fate::Released => "released",
    }
}

/// Picks seats by name.
pub(super) fn named(units: &[String]) -> OwnPick {
    let names = units.iter().map(|unit| unit.as_str().into()).collect();
    OwnPick { pool: Some(POOL.into()), wanted: OwnWanted::Units(names), channel: None }
}

impl Door {
    /// Asks until it is decided: a full queue, or an answer nobody knows, is asked again.
    pub(super) async fn ask(&self, ask: HoldAsk) -> Outcome {
        loop {
            match self.intake.decide(Ask::Hold(Box::new(ask.clone()))).await {
                Ok(answer) => return answer.outcome,
                // Nothing a small house is answered with lasts; if it does, the evening ends by itself.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Free seats next to each other, as somebody would choose them on a map.
    pub(super) fn choose(&self, party: usize, random: &mut fastrand::Rng) -> Option<Vec<String>> {
        self.replica.look(|state| {
            let pool = state.campaign(CAMPAIGN).ok()?.pool(POOL)?;
            let hall = pool.hall()?;
            let rows: Vec<_> = hall.rows().collect();
            for _ in 0..30 {
                let row = rows[random.usize(..rows.len())];
                let Some(last) = row.seats.len().checked_sub(party) else { continue };
                let first = random.usize(..=last);
                let seats = &row.seats[first..first + party];
                if seats.iter().all(|&seat| hall.letter(seat) == b'.') {
                    return Some(seats.iter().map(|&s| hall.seat(s).name.to_owned()).collect());
                }
            }
            None
        })
    }
}
