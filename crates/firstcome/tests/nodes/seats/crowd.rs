//! A thousand people on one seat, over three servers.

use super::house::{CAMPAIGN, House};
use crate::scene::{Scene, Setup};
use crate::talk::Talk;
use firstcome_api::hold::PickRequest;
use firstcome_client::Ask;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

const PEOPLE: usize = 1_000;
/// How many of them stand in line when the seat is about to come free; the others ask again and again.
const IN_LINE: usize = 240;
/// How many stand in line where nobody gets it.
const LONG_LINE: usize = 600;
/// How many talk to each server at a time, where they do not stand in line.
const TALKS: usize = 15;
const SEAT: &str = "1-1";
/// The longest anybody may wait.
const WAIT: Duration = Duration::from_secs(3);

/// Somebody who got it: who, from when until when, in microseconds of journal time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Had {
    from: i64,
    until: i64,
    who: String,
}

async fn asks(talk: &mut Talk, round: &str, person: usize, wait: Duration) -> Value {
    let (id, who) = (format!("{round}-{person}"), format!("s{person}"));
    let picks = vec![PickRequest::names(None, vec![SEAT.to_owned()])];
    let wait = wait.as_millis() as u64;
    talk.tell(Ask::hold(CAMPAIGN, &id, &who, picks, wait)).await.unwrap()
}

/// Takes an answer down: who got it, or that it is somebody else's.
fn heard(house: &House, said: &Value) -> Option<Had> {
    if said["outcome"] == "unit_taken" {
        assert_eq!(said["units"], json!([{"pool": "main", "unit": SEAT}]), "{said}");
        return None;
    }
    // Who has it is told so again, whatever the id.
    if said["outcome"] == "already_held" {
        return None;
    }
    assert_eq!(said["outcome"], "held", "{said}");
    let until = super::house::micros(&said["expires_at"]).unwrap();
    let who = said["subject"].as_str().unwrap().to_owned();
    let from = until - house.hold.as_micros() as i64;
    Some(Had { from, until, who })
}

/// Everybody asks, each once, or again and again until this machine's clock says so.
fn everybody(
    scene: &Scene,
    house: &House,
    (round, first): (&'static str, usize),
    until: Option<i64>,
) -> JoinSet<Vec<Had>> {
    let mut running = JoinSet::new();
    let talks = TALKS * scene.nodes.len();
    for number in 0..talks {
        let port = scene.nodes[number % scene.nodes.len()].port();
        let house = house.clone();
        running.spawn(async move {
            let (mut talk, mut had) = (Talk::to(port), Vec::new());
            let mut again = 0;
            loop {
                let last = until.is_none_or(|until| now() > until);
                for person in (first + number..PEOPLE).step_by(talks) {
                    // Who asks again asks under another id: the first was refused.
                    let round = format!("{round}{again}");
                    had.extend(heard(
                        &house,
                        &asks(&mut talk, &round, person, Duration::ZERO).await,
                    ));
                }
                if last {
                    return had;
                }
                again += 1;
            }
        });
    }
    running
}

/// Has some people ask, at each of the servers, who would rather wait than hear that it is taken.
fn stands_in_line(scene: &Scene, house: &House, round: &'static str) -> JoinSet<Option<Had>> {
    let mut line = JoinSet::new();
    for person in 0..IN_LINE {
        let (port, house) = (scene.nodes[person % 3].port(), house.clone());
        line.spawn(async move {
            let asked = Instant::now();
            let said = asks(&mut Talk::to(port), round, person, WAIT).await;
            let waited = asked.elapsed();
            assert!(said["outcome"] != "unit_taken" || waited >= WAIT, "{waited:?}: {said}");
            heard(&house, &said)
        });
    }
    line
}

/// Waits until a second and a half before a moment.
async fn before(over: i64) {
    let left = over - now() - 1_500_000;
    sleep(Duration::from_micros(u64::try_from(left).unwrap_or(0))).await;
}

fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_thousand_on_three_servers_one_has_the_seat_and_each_time_it_is_over_one_other() {
    let Some(mut scene) = Scene::set(Setup::default()).await else { return };
    let house = House::open(&scene, 1, 2, 4_000).await;
    let mut had: Vec<Had> = everybody(&scene, &house, ("a", 0), None).join_all().await.concat();
    assert!(!had.is_empty());
    let over = had.iter().map(|had| had.until).max().unwrap();
    before(over).await;
    // Some stand in line at each of the servers, the others come again and again.
    let line = stands_in_line(&scene, &house, "line");
    let others = everybody(&scene, &house, ("b", IN_LINE), Some(over + 300_000));
    had.extend(others.join_all().await.concat());
    had.extend(line.join_all().await.into_iter().flatten());
    // And once more, where nobody comes but who stands in line.
    let over = had.iter().map(|had| had.until).max().unwrap();
    before(over).await;
    let line = stands_in_line(&scene, &house, "late");
    had.extend(line.join_all().await.into_iter().flatten());
    // One at a time, and the next one never before the time that the one before was shown.
    had.sort();
    println!("they had it in turn: {had:?}");
    assert!(had.len() >= 3, "nobody got it when it was free: {had:?}");
    assert!(had.windows(2).all(|pair| pair[0].until <= pair[1].from), "{had:?}");
    let count = &super::house::counts(&scene).await;
    assert!(count.windows(2).all(|pair| pair[0] == pair[1]), "{count:?}");
    scene.says_the_same(CAMPAIGN).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_stands_in_line_costs_the_store_nothing_and_hears_in_time_that_it_was_for_nothing() {
    let Some(scene) = Scene::set(Setup::default()).await else { return };
    let house = House::open(&scene, 1, 2, 60_000).await;
    let first = asks(&mut scene.nodes[0].talk(), "first", PEOPLE, Duration::ZERO).await;
    let min = first["position"].as_str().unwrap();
    for node in &scene.nodes {
        node.talk().get(&format!("/v1/time?min_position={min}")).await;
    }
    let (before, commands) = (super::house::position(&first), commands(&scene));
    let mut line = JoinSet::new();
    for person in 0..LONG_LINE {
        let (port, house) = (scene.nodes[person % 3].port(), house.clone());
        line.spawn(
            async move { heard(&house, &asks(&mut Talk::to(port), "line", person, WAIT).await) },
        );
    }
    assert!(line.join_all().await.iter().all(Option::is_none), "it was held all the time");
    let said = scene.nodes[0].talk().get("/v1/time").await;
    let (entries, commands) =
        (super::house::position(&said) - before, self::commands(&scene) - commands);
    println!("{LONG_LINE} people in line for {WAIT:?}: {entries} entries, {commands} commands");
    // Ticks, and what servers ask anyhow; a server that was not fresh at the end has the journal say it once for all.
    assert!(entries < 30 && commands < LONG_LINE as u64, "{entries} entries, {commands} commands");
}

/// Returns how many commands the store has carried out.
fn commands(scene: &Scene) -> u64 {
    let said = scene.redis().ask("INFO stats");
    let count = said.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
    count.unwrap().parse().unwrap()
}
