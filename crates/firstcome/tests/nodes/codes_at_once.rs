//! Steps on one code at one instant, on two server processes: redeemed once, rolled back once, and never at its expiry.

use crate::codes::{CAMPAIGN, with_code_key};
use crate::scene::{Scene, Setup};
use firstcome_api::code::{CodeStepRequest, RedeemRequest};
use firstcome_client::Ask;
use firstcome_client::Hidden;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

const ROUNDS: usize = 60;

fn redeem(code: &str, reference: &str) -> Ask {
    let (code, reference) = (Hidden(code.into()), reference.into());
    let body = RedeemRequest { code, reference, pool: None, subject: None, r#for: None };
    Ask::code_step(CAMPAIGN, "redeem", body)
}

fn roll_back(code: &str, reference: &str) -> Ask {
    let (code, reference) = (Hidden(code.into()), reference.into());
    let body = CodeStepRequest { code, reference, pool: None, r#for: None };
    Ask::code_step(CAMPAIGN, "roll-back", body)
}

/// Sends one request to each of two servers at one instant.
async fn at_once(scene: &Scene, one: Ask, other: Ask) -> (Value, Value) {
    let (mut first, mut second) = (scene.nodes[0].talk(), scene.nodes[1].talk());
    let (first, second) = tokio::join!(first.tell(one), second.tell(other));
    (first.unwrap(), second.unwrap())
}

/// Three servers and issued codes; and the folder with their configuration, which is there as long as they are.
async fn set(more: &[(&str, &str)]) -> Option<(tempfile::TempDir, Scene, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let config = with_code_key(folder.path());
    let mut settings = vec![("CONFIG", &*config)];
    settings.extend(more);
    let scene = Scene::set(Setup { settings: &settings, ..Setup::default() }).await?;
    let pool = json!({"name": "main", "kind": "coded", "capacity": ROUNDS, "codes": {"uses": 1}});
    let settings = json!({"opens_at": "now", "pools": [pool]});
    let said = scene.nodes[0].talk().put(CAMPAIGN, settings).await;
    assert_eq!(said["outcome"], "created", "{said}");
    let (mut issued, mut talk) = (Vec::new(), scene.nodes[0].talk());
    let mut position = Value::Null;
    for round in 0..ROUNDS {
        let won = talk.claim(CAMPAIGN, &format!("s{round}")).await;
        issued.push(won["code"].as_str().unwrap().to_owned());
        position = won["position"].clone();
    }
    // The second server knows all of them, too.
    let path = format!("/v1/campaigns/{CAMPAIGN}?min_position={}", position.as_str().unwrap());
    scene.nodes[1].talk().get(&path).await;
    Some((folder, scene, issued))
}

/// Redeems each code for two orders at once, on two servers. Gives how often both were told that it was theirs.
async fn both_redeem(scene: &Scene, codes: &[String]) -> usize {
    let mut both = 0;
    for code in codes {
        let (one, other) = at_once(scene, redeem(code, "o1"), redeem(code, "o2")).await;
        let mut said = [&one["outcome"], &other["outcome"]].map(|said| said.as_str().unwrap());
        said.sort_unstable();
        both += usize::from(said == ["redeemed", "redeemed"]);
        assert!(said[1] == "redeemed", "{said:?}");
    }
    both
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_orders_redeem_at_one_instant_on_two_servers_and_one_of_them_has_it() {
    let Some((_folder, mut scene, codes)) = set(&[]).await else { return };
    assert_eq!(both_redeem(&scene, &codes).await, 0);
    // The one that has it, whichever that is, rolls back on both at once: the same answer, and one result.
    for code in &codes {
        let winner = match at_once(&scene, redeem(code, "o1"), redeem(code, "o2")).await {
            (first, _) if first["outcome"] == "redeemed" => "o1",
            (_, second) => {
                assert_eq!(second["outcome"], "redeemed", "{second}");
                "o2"
            }
        };
        let (one, other) = at_once(&scene, roll_back(code, winner), roll_back(code, winner)).await;
        assert_eq!((&one["outcome"], &one["at"]), (&json!("rolled_back"), &other["at"]), "{other}");
        let (one, other) = at_once(&scene, redeem(code, winner), redeem(code, winner)).await;
        let both = [&one["outcome"], &other["outcome"]];
        assert_eq!(both, ["already_rolled_back"; 2], "{one} {other}");
    }
    let agreed = scene.says_the_same(CAMPAIGN).await;
    for kind in ["redeemed", "rolled_back"] {
        let count = agreed.results.iter().filter(|line| line["kind"] == kind).count();
        assert_eq!(count, ROUNDS, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_count_of_uses_both_have_it() {
    let inject = [("INJECT", "code_used_beyond_uses")];
    let Some((_folder, scene, codes)) = set(&inject).await else { return };
    assert!(both_redeem(&scene, &codes).await > 0, "the story is blind");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_that_expires_while_two_servers_redeem_it_is_redeemed_before_or_not_at_all() {
    let Some((_folder, scene, _)) = set(&[]).await else { return };
    let lasts = Duration::from_secs(2);
    let codes = json!({"uses": 1, "valid_for_ms": 2_000});
    let pool = json!({"name": "main", "kind": "coded", "capacity": ROUNDS, "codes": codes});
    let settings = json!({"opens_at": "now", "pools": [pool]});
    let said = scene.nodes[0].talk().put("short", settings).await;
    assert_eq!(said["outcome"], "created", "{said}");
    let (mut told, mut talk) = (JoinSet::new(), scene.nodes[0].talk());
    for round in 0..ROUNDS {
        let won = talk.claim("short", &format!("s{round}")).await;
        // From 1.5 s before the code expires, by the store's clock, to 0.3 s after that.
        let due = Instant::now() + lasts + Duration::from_millis(30 * round as u64);
        let due = due - Duration::from_millis(1_500);
        let at: jiff::Timestamp = won["at"].as_str().unwrap().parse().unwrap();
        let until = at + jiff::SignedDuration::try_from(lasts).unwrap();
        let (mut first, mut second) = (scene.nodes[0].talk(), scene.nodes[1].talk());
        let code = won["code"].as_str().unwrap();
        let (mut one, mut other) = (redeem(code, "o1"), redeem(code, "o2"));
        for ask in [&mut one, &mut other] {
            ask.path = ask.path.replace(CAMPAIGN, "short");
        }
        told.spawn(async move {
            sleep_until(due).await;
            let (first, second) = tokio::join!(first.tell(one), second.tell(other));
            ([first.unwrap(), second.unwrap()], until)
        });
    }
    let (mut redeemed, mut expired) = (0, 0);
    while let Some(pair) = told.join_next().await {
        let (pair, until) = pair.unwrap();
        let mut said = pair.each_ref().map(|said| said["outcome"].as_str().unwrap());
        said.sort_unstable();
        match said {
            ["code_used" | "code_expired", "redeemed"] => redeemed += 1,
            ["code_expired", "code_expired"] => expired += 1,
            other => panic!("{other:?}: {pair:?}"),
        }
        for said in pair.iter().filter(|said| said["outcome"] == "redeemed") {
            let at: jiff::Timestamp = said["at"].as_str().unwrap().parse().unwrap();
            assert!(at < until, "{said}");
        }
    }
    assert!(redeemed > 0 && expired > 0, "{redeemed} redeemed, {expired} expired");
}
