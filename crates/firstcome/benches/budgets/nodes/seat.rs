//! A node of this process on connections of its own.

use anyhow::{Result, ensure};
use firstcome_core::command::{Expect, Order};
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::{Command, Outcome, Settings, SpaceId};
use firstcome_journal::Journal;
use firstcome_journal::redis::{Durability, Options, Redis};
use firstcome_node::Metrics;
use firstcome_node::{Given, Limits, Node, OnEmptied};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What everybody claims.
pub(crate) const CAMPAIGN: &str = "bench";

pub(crate) struct Seat {
    pub(crate) node: Node,
    pub(crate) redis: Redis,
}

/// Opens the journal of the one space there is.
pub(crate) async fn journal(url: &str) -> Result<Redis> {
    let options = Options::new(SpaceId([7; 16]), Durability::Memory);
    Ok(Redis::open(firstcome_store::RedisOptions::new(url), options).await?)
}

impl Seat {
    pub(crate) async fn start(url: &str) -> Result<Self> {
        let redis = journal(url).await?;
        let limits = Limits {
            queue: 1 << 20,
            queue_bytes: firstcome_node::intake::QUEUE_BYTES,
            wait: Duration::from_secs(30),
            memory: u64::MAX,
            outbox: None,
        };
        let given = Given {
            journal: Journal::Redis(redis.clone()),
            clock: None,
            address: "".into(),
            random: Box::new(|| fastrand::u64(..)),
            limits,
            metrics: Arc::new(Metrics::default()),
            says: firstcome_node::in_log(),
            core: None,
            settings: BTreeMap::new(),
            on_emptied: OnEmptied::default(),
            codes: std::sync::Arc::default(),
        };
        let node = Node::start(given, |_, _| {}).await?;
        Ok(Self { node, redis })
    }

    pub(crate) async fn open(&self, capacity: u32) -> Result<()> {
        let settings = Settings {
            title: "".into(),
            opens: Opens::Now,
            closes_at: None,
            limit: None,
            claim_again: false,
            units_return: true,
            public: false,
            holding: HoldSettings::default(),
            pools: vec![PoolSettings::counted("main", capacity)],
        };
        let (expect, order) = (Expect::Anything, Order::default());
        let put = Command::Put { campaign: CAMPAIGN, settings, expect, order };
        self.node.intake.decide(&put).await.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
        Ok(())
    }

    /// Claims for one subject; gives the outcome and the position it is as of.
    pub(crate) async fn claim(&self, number: u64) -> Result<(Outcome, u64)> {
        let subject = format!("s-{number:08}");
        let answer = self.node.intake.claim(CAMPAIGN, Some("main"), &subject, None).await;
        let answer = answer.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
        Ok((answer.outcome, answer.position.position))
    }

    pub(crate) async fn stop(self) -> Result<()> {
        self.node.stop().await?;
        self.redis.close().await;
        Ok(())
    }
}

/// Starts so many nodes, one after the other; the first opens the campaign for all.
pub(crate) async fn seats(url: &str, count: usize, capacity: u32) -> Result<Vec<Arc<Seat>>> {
    let mut seats = Vec::new();
    for _ in 0..count {
        seats.push(Arc::new(Seat::start(url).await?));
    }
    seats[0].open(capacity).await?;
    let opened = seats[0].node.replica.look(firstcome_core::State::position);
    for seat in &seats {
        seat.node.replica.reach(opened).await;
    }
    Ok(seats)
}

pub(crate) async fn stop(seats: Vec<Arc<Seat>>) -> Result<()> {
    for seat in seats {
        let seat = Arc::into_inner(seat);
        ensure!(seat.is_some(), "a flood still holds its node");
        if let Some(seat) = seat {
            seat.stop().await?;
        }
    }
    Ok(())
}
