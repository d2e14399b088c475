//! Evenings on which servers are killed, stand still, and are cut off from their store.

use super::evening::Night;
use super::heard::Book;
use super::house::{CAMPAIGN, House};
use super::judge::{Breach, Promise, acquit, judge};
use crate::databases::told_again;
use crate::scene::{Scene, Setup};
use firstcome_testbed::{Fault, Settings};
use std::time::Duration;
use tokio::time::sleep;

/// Returns how often each outcome was heard, for people.
pub(super) fn tell(name: &str, book: &Book) {
    let mut outcomes: Vec<&str> = book.all().map(|heard| &*heard.outcome).collect();
    outcomes.sort_unstable();
    let mut said = String::new();
    for run in outcomes.chunk_by(|one, other| one == other) {
        said += &format!("{} {}, ", run.len(), run[0]);
    }
    let retaken = book.all().filter(|heard| heard.retaken).count();
    let doubts = book.all().filter(|heard| heard.doubt).count();
    let repeats = book.all().filter(|heard| heard.again).count();
    println!(
        "{name}: {said}{retaken} retaken, {doubts} in doubt before, {repeats} asked once more"
    );
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
                5 => link.set(Fault::Refuse),
                6 => link.set(random.choice([Fault::StallReplies, Fault::StallRequests]).unwrap()),
                _ => link.set(random.choice([Fault::CutAtReply, Fault::CutAtRequest]).unwrap()),
            }
            sleep(lasts).await;
            link.set(Fault::None);
        }
    }
    sleep(Duration::from_millis(random.u64(0..200))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_kill_pause_or_cut_costs_anybody_a_seat_or_gives_it_twice() {
    let settings = [("LEADER_LEASE_MS", "500"), ("SNAPSHOT_EVERY", "1s")];
    let setup = Setup { settings: &settings, ..Setup::default() };
    let Some(mut scene) = Scene::set(setup).await else { return };
    let mut random = fastrand::Rng::with_seed(scene.seed);
    let house = House::open(&scene, 90, 10, 1_500).await;
    let mut night = Night::begins(&scene, house);
    night.goes_on(50).await;
    for _ in 0..14 {
        misfortune(&mut scene, &mut random).await;
    }
    night.goes_on(50).await;
    let (house, book) = night.ends(&scene).await;
    tell("under faults", &book);
    acquit(&house, &book);
    let agreed = scene.says_the_same(CAMPAIGN).await;
    assert_eq!(agreed.epoch(), 0, "the store lost nothing, so nothing forked");
    assert!(book.heard("confirmed") > 40, "the story is about nothing");
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
    let mut night = Night::begins(&scene, house);
    night.goes_on(40).await;
    scene.stall_replica().await;
    night.goes_on(60).await;
    scene.fail_over();
    night.goes_on(60).await;
    let (house, book) = night.ends(&scene).await;
    let agreed = scene.says_the_same(CAMPAIGN).await;
    if agreed.epoch() > 0 {
        return false;
    }
    tell("after a failover", &book);
    acquit(&house, &book);
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
    let redis = Settings { more, ..Settings::default() };
    let Some(mut scene) = Scene::set(Setup { redis, ..Setup::default() }).await else { return };
    let house = House::open(&scene, 90, 10, 1_500).await;
    let mut night = Night::begins(&scene, house);
    for _ in 0..3 {
        night.goes_on(60).await;
        scene.primary.restart();
    }
    night.goes_on(60).await;
    let (house, book) = night.ends(&scene).await;
    tell("after restarts of the store", &book);
    acquit(&house, &book);
    assert_eq!(scene.says_the_same(CAMPAIGN).await.epoch(), 0);
}

/// Answers of the store are lost, one after the other; gives what was broken by that.
async fn lost_answers(settings: &[(&str, &str)]) -> Option<Vec<Breach>> {
    let mut scene = Scene::set(Setup { settings, ..Setup::default() }).await?;
    let mut random = fastrand::Rng::with_seed(scene.seed);
    let house = House::open(&scene, 90, 10, 1_500).await;
    let mut night = Night::begins(&scene, house);
    for _ in 0..12 {
        night.goes_on(8).await;
        let link = &scene.nodes[random.usize(..3)].store;
        link.set(Fault::CutAtReply);
        sleep(Duration::from_millis(random.u64(20..120))).await;
        link.set(Fault::None);
    }
    let (house, book) = night.ends(&scene).await;
    tell("with lost answers", &book);
    scene.says_the_same(CAMPAIGN).await;
    Some(judge(&house, &book))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_the_store_that_is_lost_changes_nothing() {
    let Some(found) = lost_answers(&[]).await else { return };
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_old_number_of_what_is_sent_again_it_is_done_twice() {
    let twin = [("INJECT", "new_number_on_resend")];
    let Some(found) = lost_answers(&twin).await else { return };
    let twice = found.iter().any(|breach| breach.promise == Promise::Repeated);
    assert!(twice, "the story is blind: {found:?}");
}
