//! Replicas that lack the newest entries take over again and again while servers stand still or are cut
//! off: histories part and are brought together, and the lists say exactly whose rank changed.

use crate::scene::{Scene, Setup};
use crate::talk::Talk;
use firstcome_testbed::ProxyFault;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// People who claim on any server, and every rank each was told.
struct Crowd {
    told: Arc<Mutex<BTreeMap<String, BTreeSet<u64>>>>,
    over: Arc<AtomicBool>,
    people: JoinSet<()>,
}

impl Crowd {
    fn of(scene: &Scene) -> Self {
        let ports: Vec<_> = scene.nodes.iter().map(|node| node.port()).collect();
        let told: Arc<Mutex<BTreeMap<String, BTreeSet<u64>>>> = Arc::default();
        let over = Arc::new(AtomicBool::new(false));
        let mut people = JoinSet::new();
        for one in 0..12_u64 {
            let (ports, told, over) = (ports.clone(), Arc::clone(&told), Arc::clone(&over));
            let mut random = fastrand::Rng::with_seed(scene.seed * 100 + one);
            people.spawn(async move {
                let mut met = 0;
                while !over.load(Ordering::Relaxed) {
                    let again = met > 0 && random.u32(..10) < 3;
                    met += u32::from(!again);
                    let number = if again { random.u32(..met) } else { met };
                    let who = format!("s{one}-{number}");
                    let mut talk = Talk::to(ports[random.usize(..ports.len())]);
                    if let Ok(said) = talk.try_claim("spring", &who).await
                        && let Some(rank) = said["rank"].as_u64()
                    {
                        told.lock().unwrap().entry(who).or_default().insert(rank);
                    }
                    sleep(Duration::from_millis(random.u64(2..12))).await;
                }
            });
        }
        Self { told, over, people }
    }

    async fn ends(mut self) -> BTreeMap<String, BTreeSet<u64>> {
        self.over.store(true, Ordering::Relaxed);
        while let Some(ended) = self.people.join_next().await {
            ended.unwrap();
        }
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

/// One server and the replica miss the newest entries, and those who know them stand still for a while.
async fn lose_sight(scene: &mut Scene, random: &mut fastrand::Rng) {
    let lags = random.usize(..3);
    scene.nodes[lags].store.set(ProxyFault::Refuse);
    sleep(Duration::from_millis(random.u64(50..400))).await;
    let others: Vec<_> = (0..3).filter(|number| *number != lags).collect();
    for other in &others {
        scene.nodes[*other].pause();
    }
    scene.fail_over();
    scene.nodes[lags].store.set(ProxyFault::None);
    sleep(Duration::from_millis(random.u64(700..2_000))).await;
    for other in others {
        scene.nodes[other].resume();
        sleep(Duration::from_millis(random.u64(0..300))).await;
    }
}

/// Some are cut off, some stand still, and the replica misses the newest entries.
async fn stumble(scene: &mut Scene, random: &mut fastrand::Rng) {
    sleep(Duration::from_millis(random.u64(50..400))).await;
    let (away, still) = (random.usize(..4), random.usize(..4));
    if let Some(node) = scene.nodes.get(away) {
        node.store.set(ProxyFault::Refuse);
        sleep(Duration::from_millis(random.u64(0..200))).await;
    }
    if let Some(node) = scene.nodes.get(still) {
        node.pause();
    }
    scene.fail_over();
    sleep(Duration::from_millis(random.u64(200..1_500))).await;
    if let Some(node) = scene.nodes.get(away) {
        node.store.set(ProxyFault::None);
    }
    sleep(Duration::from_millis(random.u64(0..800))).await;
    if let Some(node) = scene.nodes.get(still) {
        node.resume();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_any_number_of_forks_everybody_has_a_place_and_the_lists_say_whose_changed() {
    let settings = [("DURABILITY", "memory"), ("LEADER_LEASE_MS", "500"), ("LOG_LEVEL", "debug")];
    let setup = Setup { replica: true, settings: &settings, ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    let mut random = fastrand::Rng::with_seed(scene.seed);
    scene.nodes[0].talk().open("spring", 1_000_000).await;
    let crowd = Crowd::of(&scene);
    for _ in 0..3 {
        sleep(Duration::from_millis(300)).await;
        scene.stall_replica().await;
        if random.bool() {
            lose_sight(&mut scene, &mut random).await;
        } else {
            stumble(&mut scene, &mut random).await;
        }
        scene.add_replica().await;
    }
    sleep(Duration::from_millis(500)).await;
    let told = crowd.ends().await;
    let agreed = scene.agrees("spring").await;
    let reports = scene.redis().ask("HVALS fc:{main}:forks");
    let ranks: BTreeMap<_, _> = agreed
        .results
        .iter()
        .map(|line| (line["subject"].as_str().unwrap(), line["rank"].as_u64().unwrap()))
        .collect();
    let talk: String = scene.nodes.iter().map(|node| node.errors()).collect();
    let mut wrong = Vec::new();
    for (who, told) in &told {
        let Some(rank) = ranks.get(&who[..]) else {
            wrong.push(format!("{who} was told {told:?} and has nothing"));
            continue;
        };
        for old in told.iter().filter(|old| *old != rank) {
            // A report that was stored on a primary that is gone is in the log of whoever made it, at the level debug.
            let stored = format!("\"{who}\" changed from rank {old} to ");
            if !reports.contains(&stored) && !talk.contains(&stored.replace('"', "\\\"")) {
                wrong.push(format!("{who} was told {told:?}, has {rank}, and nobody says so"));
            }
        }
    }
    let forks = reports.matches("the journal forked").count();
    println!("{} told, epoch {}, {forks} reports", told.len(), agreed.epoch());
    assert!(!talk.contains("runs the same build"), "a server was taken for a wrong one: {talk}");
    assert!(wrong.is_empty(), "{wrong:#?}\n{reports}\n{talk}");
}
