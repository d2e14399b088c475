//! Evenings on which servers are killed, stand still, and are cut off from their store.

use super::house::{CAMPAIGN, House, POOL};
use crate::databases::told_again;
use crate::scene::{Scene, Setup};
use crate::server::KEY;
use firstcome_api::key::Secret;
use firstcome_client::Server;
use firstcome_rush::seats::{self, Plan, Report, Seats, Shares};
use firstcome_testbed::{ProxyFault, RedisSettings};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// How long people may get nowhere before the story fails.
const STUCK: Duration = Duration::from_secs(20);

/// People on their way, until told that the last of them has come.
struct Night {
    over: Arc<AtomicBool>,
    /// Answers so far that are a yes.
    acknowledged: Arc<AtomicU64>,
    people: JoinHandle<Report>,
}

impl Night {
    fn begins(scene: &Scene, House { hall, hold }: House) -> Self {
        let server = |node: &crate::server::Server| {
            Server::parse(&format!("http://127.0.0.1:{}", node.port())).unwrap()
        };
        let plan = Plan {
            servers: scene.nodes.iter().map(server).collect(),
            key: Some(Secret::new(KEY).unwrap()),
            campaign: CAMPAIGN.to_owned(),
            pool: POOL.to_owned(),
            visit: Seats {
                rows: hall.rows.clone(),
                limit: None,
                hold,
                shares: Shares { browse: 0.2, ..Shares::default() },
                all_pay_after: None,
                hall: Some(hall),
            },
            people: 100_000,
            per_second: Some(90.0),
            think: Duration::from_millis(100),
            cut: 0.02,
            prefix: "s".to_owned(),
            connections: 48,
            seed: scene.seed,
            patience: Duration::from_secs(60),
            slack: Duration::ZERO,
            alone: true,
        };
        let (over, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (ends, yes) = (Arc::clone(&over), Arc::<AtomicU64>::clone(&acknowledged));
        let people = tokio::spawn(async move {
            let mut observer = |now: &seats::Progress| {
                let counts = ["held", "extended", "confirmed", "released", "refund_due"];
                let counts = counts.map(|outcome| now.answers.get(outcome).copied().unwrap_or(0));
                yes.store(counts.iter().sum(), SeqCst);
                if ends.load(SeqCst) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            seats::run(plan, &mut observer).await.expect("the load test comes to its end")
        });
        Self { over, acknowledged, people }
    }

    /// Waits until so many more steps were answered with yes.
    async fn goes_on(&self, more: u64) {
        let wanted = self.acknowledged.load(SeqCst) + more;
        let end = Instant::now() + STUCK;
        while self.acknowledged.load(SeqCst) < wanted {
            assert!(!self.people.is_finished(), "people went home before the end");
            assert!(Instant::now() < end, "nothing is decided any more");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Lets nobody else come, waits until everybody has gone and every hold is over, and says what was heard.
    async fn ends(self, name: &str) -> Report {
        self.over.store(true, SeqCst);
        let report = self.people.await.unwrap();
        println!("{name}: {:?}, sent again {:?}", report.answers, report.again);
        report
    }
}

/// Fails with the first of what was broken.
fn acquit(report: &Report) {
    let broken: Vec<_> = report.promises.iter().filter(|promise| !promise.kept()).collect();
    assert!(broken.is_empty(), "promises were broken: {broken:#?}");
    assert_eq!(report.cut_short, None);
}

/// One thing goes wrong, and ends.
async fn misfortune(scene: &mut Scene, random: &mut fastrand::Rng) {
    let any = random.usize(..3);
    let lasts = Duration::from_millis(random.u64(50..900));
    match random.u32(..8) {
        0 | 1 => {
            let chosen = if random.bool() { scene.leader().await } else { any };
            scene.nodes[chosen].kill().await;
            sleep(lasts / 3).await;
            scene.nodes[chosen].start().await;
        }
        2 | 3 => {
            let chosen = if random.bool() { scene.leader().await } else { any };
            scene.nodes[chosen].pause();
            sleep(lasts).await;
            scene.nodes[chosen].resume();
        }
        fault => {
            let link = &scene.nodes[any].store;
            match fault {
                4 => link.cut(),
                5 => link.set(ProxyFault::Refuse),
                6 => link.set(
                    random.choice([ProxyFault::StallReplies, ProxyFault::StallRequests]).unwrap(),
                ),
                _ => link.set(
                    random.choice([ProxyFault::CutAtReply, ProxyFault::CutAtRequest]).unwrap(),
                ),
            }
            sleep(lasts).await;
            link.set(ProxyFault::None);
        }
    }
    sleep(Duration::from_millis(random.u64(0..200))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evening_on_three_servers_is_as_promised() {
    let Some(mut scene) = Scene::set(Setup::default()).await else { return };
    let house = House::open(&scene, 90, 10, 1_000).await;
    let night = Night::begins(&scene, house);
    night.goes_on(400).await;
    let report = night.ends("undisturbed").await;
    acquit(&report);
    scene.says_the_same(CAMPAIGN).await;
    for outcome in ["refund_due", "extended", "released", "unit_taken", "hold_expired"] {
        assert!(report.answers.contains_key(outcome), "the story is about nothing: {outcome}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_kill_pause_or_cut_costs_anybody_a_seat_or_gives_it_twice() {
    let settings = [("LEADER_LEASE_MS", "500"), ("SNAPSHOT_EVERY", "1s")];
    let setup = Setup { settings: &settings, ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    let mut random = fastrand::Rng::with_seed(scene.seed);
    let house = House::open(&scene, 90, 10, 1_500).await;
    let night = Night::begins(&scene, house);
    night.goes_on(50).await;
    for _ in 0..14 {
        misfortune(&mut scene, &mut random).await;
    }
    night.goes_on(50).await;
    let report = night.ends("under faults").await;
    acquit(&report);
    let agreed = scene.says_the_same(CAMPAIGN).await;
    assert_eq!(agreed.epoch(), 0, "the store lost nothing, so nothing forked");
    assert!(report.totals.confirmed > 40, "the story is about nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_promoted_replica_lacks_of_holds_is_put_back_and_every_end_is_as_it_was() {
    told_again(async || a_replica_lacked_holds().await).await;
}

async fn a_replica_lacked_holds() -> bool {
    let settings = [("DURABILITY", "memory")];
    let setup = Setup { replica: true, settings: &settings, ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return true };
    let house = House::open(&scene, 90, 10, 1_500).await;
    let night = Night::begins(&scene, house);
    night.goes_on(40).await;
    scene.stall_replica().await;
    night.goes_on(60).await;
    scene.fail_over();
    night.goes_on(60).await;
    let report = night.ends("after a failover").await;
    let agreed = scene.says_the_same(CAMPAIGN).await;
    if agreed.epoch() > 0 {
        return false;
    }
    acquit(&report);
    let mut back = 0;
    for node in &scene.nodes {
        back += node.talk().count("firstcome_put_back_total").await;
    }
    assert!(back > 0, "the replica lacked nothing: the story is about nothing");
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_with_its_file_is_killed_and_no_hold_is_lost_or_lasts_longer_than_it_says() {
    let words = ["--appendonly", "yes", "--appendfsync", "everysec"];
    let more = words.map(str::to_owned).to_vec();
    let redis = RedisSettings { more, ..RedisSettings::default() };
    let Some(mut scene) = Scene::set(Setup { redis, ..Setup::default() }).await else { return };
    let house = House::open(&scene, 90, 10, 1_500).await;
    let night = Night::begins(&scene, house);
    for _ in 0..3 {
        night.goes_on(60).await;
        scene.primary.restart();
    }
    night.goes_on(60).await;
    let report = night.ends("after restarts of the store").await;
    acquit(&report);
    assert_eq!(scene.says_the_same(CAMPAIGN).await.epoch(), 0);
}

/// Answers of the store are lost, one after the other; returns what people found.
async fn lost_answers(settings: &[(&str, &str)]) -> Option<Report> {
    let mut scene = Scene::set(Setup { settings, ..Setup::default() }).await?;
    let mut random = fastrand::Rng::with_seed(scene.seed);
    let house = House::open(&scene, 90, 10, 1_500).await;
    let night = Night::begins(&scene, house);
    for _ in 0..12 {
        night.goes_on(8).await;
        let link = &scene.nodes[random.usize(..3)].store;
        link.set(ProxyFault::CutAtReply);
        sleep(Duration::from_millis(random.u64(20..120))).await;
        link.set(ProxyFault::None);
    }
    let report = night.ends("with lost answers").await;
    scene.says_the_same(CAMPAIGN).await;
    Some(report)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_the_store_that_is_lost_changes_nothing() {
    let Some(report) = lost_answers(&[]).await else { return };
    acquit(&report);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_old_number_of_what_is_sent_again_it_is_done_twice() {
    let twin = [("INJECT", "new_number_on_resend")];
    let mut evidence = serde_json::Value::Null;
    // Which answers are lost is by chance.
    for _ in 0..4 {
        let Some(report) = lost_answers(&twin).await else { return };
        evidence = report.json()["evidence"].take();
        let twice = |it: &str| {
            it.contains("was held before it was asked for") || it.contains("and then otherwise")
        };
        if evidence.as_array().unwrap().iter().filter_map(|it| it.as_str()).any(twice) {
            return;
        }
    }
    panic!("the story is blind: {evidence:?}");
}
