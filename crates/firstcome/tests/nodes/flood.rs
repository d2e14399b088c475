//! A flood of claims over all servers, which holds every answer against all it heard before.

use crate::scene::Scene;
use crate::server::KEY;
use crate::talk::condition;
use firstcome_api::key::Secret;
use firstcome_client::Server;
use firstcome_rush::claims::{self, Pace, Plan, Report, Speed, Tally};
use firstcome_rush::error::LoadError;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// Claims on their way.
pub(crate) struct Flood {
    ports: Vec<u16>,
    pace: Arc<Pace>,
    pub(crate) tally: Arc<Tally>,
    rush: JoinHandle<Result<Report, LoadError>>,
}

impl Flood {
    /// Begins to send so many claims a second for the campaign, until told to end.
    pub(crate) fn of(scene: &Scene, campaign: &str, per_second: f64) -> Self {
        let ports: Vec<_> = scene.nodes.iter().map(|node| node.port()).collect();
        let server = |port| Server::parse(&format!("http://127.0.0.1:{port}")).unwrap();
        let pace = Arc::new(Pace::new(Speed::PerSecond(per_second)));
        let tally = Arc::new(Tally::default());
        let plan = Plan {
            servers: ports.iter().copied().map(server).collect(),
            key: Some(Secret::new(KEY).unwrap()),
            campaign: campaign.to_owned(),
            pool: None,
            requests: 1_000_000,
            subjects: 1_000_000,
            prefix: "s".to_owned(),
            connections: 48,
            pace: Arc::clone(&pace),
            repeat: 0.3,
            cut: 0.02,
            seed: scene.seed,
            duration: None,
            patience: Duration::from_secs(60),
            tally: Arc::clone(&tally),
        };
        let rush = tokio::spawn(async move { claims::run(plan, &mut ()).await });
        Self { ports, pace, tally, rush }
    }

    /// Waits until so many more claims were acknowledged, that is, until the servers get somewhere.
    pub(crate) async fn goes_on(&self, more: u64) {
        let wanted = self.tally.acknowledged() + more;
        let end = Instant::now() + Duration::from_secs(60);
        while self.tally.acknowledged() < wanted {
            assert!(!self.rush.is_finished(), "the flood ended by itself");
            if Instant::now() >= end {
                let mut said = String::new();
                for port in &self.ports {
                    said = said + "\n" + &condition(*port).await;
                }
                panic!("nothing is acknowledged any more: {:?}{said}", self.tally);
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Ends it when every claim under way is decided; every promise must have been kept.
    pub(crate) async fn ends(self) -> Report {
        let report = self.ends_anyhow().await;
        assert!(report.kept(), "promises were broken: {:#?}", report.violations.kept());
        report
    }

    /// Ends it when every claim under way is decided, whatever came of its promises.
    pub(crate) async fn ends_anyhow(self) -> Report {
        self.pace.finish();
        let report = self.rush.await.unwrap();
        report.unwrap_or_else(|why| panic!("the flood could not be carried to its end: {why}"))
    }
}
