//! A request keeps its identity over its retries, and the next one has another.

use std::collections::BTreeSet;
use std::time::Duration;

use firstcome_client::{
    Answer, CampaignRequest, Error, HoldStep, Picks, PoolRequest, Refusal, Retry, TakeHold, Won,
};

use crate::peer::{EXTENDED, Fate, HELD, Peer};

#[tokio::test]
async fn a_hold_has_one_id_for_each_call() {
    let held = Fate::Say(201, HELD.to_owned());
    let peer = Peer::start([Fate::Cut, held.clone(), Fate::Cut, held]).await;
    let client = peer.client();
    let take = TakeHold::new("hall", "ann", Picks::seats(["A1"])).wait(Duration::from_millis(250));
    for _ in 0..2 {
        assert!(client.take_hold(&take).await.unwrap().is_yes());
    }
    let ids: Vec<_> = peer.requests().iter().map(|request| request.json()["id"].clone()).collect();
    assert_eq!((&ids[0], &ids[2]), (&ids[1], &ids[3]));
    assert_ne!(ids[0], ids[2]);
    assert_eq!(peer.requests()[0].json()["wait_ms"], 250);

    assert!(client.take_hold(&take.id("order-4711")).await.unwrap().is_yes());
    assert_eq!(peer.requests()[4].json()["id"], "order-4711");
}

#[tokio::test]
async fn a_step_that_counts_has_an_id_for_each_call() {
    let extended = Fate::Say(200, EXTENDED.to_owned());
    let peer = Peer::start([Fate::Cut, extended.clone(), extended]).await;
    let client = peer.client();
    let step = HoldStep::new("hall", "h1", "ann");
    for _ in 0..2 {
        assert!(client.extend_hold(&step, None).await.unwrap().is_yes());
    }
    let requests = peer.requests();
    let ids: Vec<_> = requests.iter().map(|request| request.header("idempotency-key")).collect();
    assert_eq!((ids.len(), ids[0]), (3, ids[1]));
    assert!(ids[0].is_some() && ids[1] != ids[2], "{ids:?}");

    // What is named is the same whenever it is asked for.
    peer.turns(Fate::Say(201, HELD.to_owned()));
    assert!(client.add_to_hold(&step, &Picks::seats(["A2"])).await.unwrap().is_yes());
    assert_eq!(peer.requests()[3].header("idempotency-key"), None);
}

#[tokio::test]
async fn an_operators_command_has_an_id_for_each_call() {
    let done = r#"{"outcome":"created","campaign":"spring","version":1,"clamped":[],"position":"0.1","decided":"journal"}"#;
    let done = Fate::Say(201, done.to_owned());
    let peer = Peer::start([Fate::Cut, done]).await;
    let client = peer.client();
    let pools = vec![PoolRequest::counted("main", 500)];
    let settings = CampaignRequest { pools, ..CampaignRequest::default() };
    assert!(client.create_campaign("spring", &settings).await.unwrap().is_yes());
    assert!(client.pause_campaign("spring").await.unwrap().is_yes());
    assert!(client.close_campaign("spring").await.unwrap().is_yes());
    let requests = peer.requests();
    let ids: Vec<_> = requests.iter().filter_map(|r| r.header("idempotency-key")).collect();
    assert_eq!((ids.len(), ids[0]), (4, ids[1]));
    assert_eq!(BTreeSet::from_iter(ids).len(), 3);
    assert_eq!(requests[1].header("if-none-match"), Some("*"));
    assert_eq!(requests[1].json()["pools"][0]["capacity"], 500);
}

#[tokio::test]
async fn a_position_is_brought_to_every_server() {
    let peer = Peer::start([Fate::Cut, Fate::won()]).await;
    let client = peer.builder().retry(Retry::never()).build().unwrap();
    let Err(Error::Unknown(unknown)) = client.past("0.41").claim("spring", "ann").await else {
        panic!("its answer was cut off")
    };
    // It is brought once, though the request is made again with a client that brings one.
    let won = unknown.resolve::<Won>(&client.past("0.42")).await.unwrap().yes().unwrap();
    peer.turns(Fate::problem(404, "no_such_claim", ""));
    let answer = client.past(&won.position).claims_of("spring", "ann").await.unwrap();
    assert!(matches!(answer, Answer::No(Refusal::NoSuchClaim, _)));
    let asked: Vec<String> = peer.requests().into_iter().map(|request| request.line).collect();
    let claim = "POST /v1/campaigns/spring/claims?min_position=0.41";
    let claims = "GET /v1/campaigns/spring/claims/ann?after=0&limit=10000&min_position=0.7";
    assert_eq!(asked, [claim, claim, claims]);
}

#[tokio::test]
async fn a_dropped_call_closes_its_connection() {
    let peer = Peer::start([Fate::Hang]).await;
    let client = peer.builder().retry(Retry::never()).build().unwrap();
    let call = tokio::spawn(async move { client.claim("spring", "ann").await.map(drop) });
    peer.came(1).await;
    peer.open(1).await;
    call.abort();
    peer.open(0).await;
}
