//! Coupon codes on three servers, some of which die or stand still: people claim, wait, reserve, redeem and roll back.
//!
//! The load test of `rush --codes` writes down every answer and holds all of them against the promises.

use crate::scene::{Scene, Setup};
use crate::server::KEY;
use firstcome_api::key::Secret;
use firstcome_client::Server;
use firstcome_rush::codes::{self, CodesPlan, Plan, Report, Shares};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The campaign, and how many codes there are.
pub(crate) const CAMPAIGN: &str = "vouchers";
const CODES: u32 = 150;

/// Writes a configuration with the key that all servers make codes with; gives its path.
pub(crate) fn with_code_key(folder: &Path) -> String {
    let file = folder.join("codes.toml");
    let secret = "4b".repeat(32);
    std::fs::write(&file, format!("[[code_keys]]\nid = \"k1\"\nsecret = \"{secret}\"\n")).unwrap();
    file.to_str().unwrap().to_owned()
}

/// People on their way, until told that the last of them has come.
struct Crowd {
    over: Arc<AtomicBool>,
    people: JoinHandle<Report>,
}

impl Crowd {
    fn of(scene: &Scene) -> Self {
        let server = |node: &crate::server::Server| {
            Server::parse(&format!("http://127.0.0.1:{}", node.port())).unwrap()
        };
        let plan = Plan {
            servers: scene.nodes.iter().map(server).collect(),
            key: Some(Secret::new(KEY).unwrap()),
            campaign: CAMPAIGN.to_owned(),
            pool: "main".to_owned(),
            people: 100_000,
            per_second: Some(90.0),
            // Long enough that many cancel when all codes are gone and others wait.
            think: Duration::from_millis(1_000),
            prefix: "s".to_owned(),
            connections: 48,
            seed: scene.seed,
            patience: Duration::from_secs(60),
            // While no server was there, service time went on by 15 s at most.
            slack: Duration::from_secs(20),
            alone: true,
            visit: CodesPlan {
                uses: 2,
                reservation: Duration::from_secs(6),
                tries: 2,
                waits: Duration::from_secs(5),
                shares: Shares { cancel: 0.3, wait: 0.4, let_go: 0.1, ..Shares::default() },
            },
            cut: 0.02,
        };
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let people = tokio::spawn(async move {
            let mut observer = |_: &codes::Progress| match ends.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            codes::run(plan, &mut observer).await.expect("the load test comes to its end")
        });
        Self { over, people }
    }

    /// Lets nobody else come, and waits until everybody has gone.
    async fn goes_home(self) -> Report {
        self.over.store(true, Ordering::Relaxed);
        self.people.await.unwrap()
    }
}

/// Everybody comes; servers die and stand still meanwhile. Gives what the people found.
async fn sale(scene: &mut Scene, fire: bool) -> Report {
    let pool = json!({
        "name": "main", "kind": "coded", "capacity": CODES, "waitlist": 60, "codes": {"uses": 2},
    });
    let settings = json!({"opens_at": "now", "offer_ms": 1_500, "pools": [pool]});
    let said = scene.nodes[0].talk().put(CAMPAIGN, settings).await;
    assert_eq!(said["outcome"], "created", "{said}");
    let mut random = fastrand::Rng::with_seed(scene.seed);
    let crowd = Crowd::of(scene);
    for act in 0..8 {
        sleep(Duration::from_millis(random.u64(200..900))).await;
        if !fire {
            continue;
        }
        let chosen = if act % 3 == 0 { scene.leader().await } else { random.usize(..3) };
        let pause = Duration::from_millis(random.u64(50..900));
        if act % 2 == 0 {
            scene.nodes[chosen].kill().await;
            sleep(pause / 3).await;
            scene.nodes[chosen].start().await;
        } else {
            scene.nodes[chosen].pause();
            sleep(pause).await;
            scene.nodes[chosen].resume();
        }
    }
    crowd.goes_home().await
}

/// Returns the broken promises with what shows them.
fn broken(report: &Report) -> Vec<String> {
    let broken = report.promises.iter().filter(|promise| !promise.kept());
    broken.map(|promise| format!("{}: {:?}", promise.name, promise.evidence)).collect()
}

async fn story(more: &[(&str, &str)], fire: bool) -> Option<(Scene, Report)> {
    let folder = tempfile::tempdir().unwrap();
    let config = with_code_key(folder.path());
    let mut settings =
        vec![("LEADER_LEASE_MS", "500"), ("SNAPSHOT_EVERY", "1s"), ("CONFIG", &*config)];
    settings.extend(more);
    let mut scene = Scene::set(Setup { settings: &settings, ..Setup::default() }).await?;
    let report = sale(&mut scene, fire).await;
    if fire {
        scene.all_ready().await;
        // A server that knows nothing but the store says the same.
        let agreed = scene.says_the_same(CAMPAIGN).await;
        assert_eq!(agreed.epoch(), 0, "nothing was lost, so nothing forked");
        // Offers that nobody took end later, and then some are off the list.
        let later = agreed.results.iter().skip(report.results as usize);
        let kinds: Vec<_> = later.map(|line| line["kind"].as_str().unwrap()).collect();
        assert!(kinds.iter().all(|kind| *kind == "unserved"), "{kinds:?}");
    }
    Some((scene, report))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codes_keep_their_promises_on_three_servers_that_die_and_stand_still() {
    let Some((_scene, report)) = story(&[], true).await else { return };
    assert_eq!(broken(&report), [""; 0]);
    let totals = &report.totals;
    let all = [totals.cancelled, totals.reserved, totals.redeemed, totals.rolled_back];
    assert!(all.iter().all(|count| *count > 5), "{totals:?}");
    assert!(totals.issued > u64::from(CODES) && totals.offered > 5, "{totals:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_that_is_used_too_often_is_noticed_by_the_same_people() {
    let inject = [("INJECT", "code_used_beyond_uses")];
    let Some((_scene, report)) = story(&inject, false).await else { return };
    let broken = broken(&report);
    assert!(broken.iter().any(|broken| broken.starts_with("uses")), "{:?}", report.promises);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_that_goes_to_who_asks_next_is_noticed_by_the_same_people() {
    let inject = [("INJECT", "freed_units_skip_list")];
    let Some((_scene, report)) = story(&inject, false).await else { return };
    let broken = broken(&report);
    assert!(broken.iter().any(|broken| broken.starts_with("turns")), "{:?}", report.promises);
}
