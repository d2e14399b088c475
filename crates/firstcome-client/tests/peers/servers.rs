//! Several servers of one space: the next one is asked where one does not answer.

use std::sync::{Arc, Mutex};

use firstcome_client::{Client, Error};

use crate::peer::{Fate, KEY, Peer};

#[tokio::test]
async fn a_server_that_is_gone_is_left_for_the_next_which_is_asked_from_then_on() {
    let gone = format!("http://127.0.0.1:{}", firstcome_testbed::free_port());
    let peer = Peer::start([Fate::won()]).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    let client = Client::builder(&gone).server(&peer.url()).key(KEY).build().unwrap();
    let client = client.watched_by(move |exchange| {
        tell.lock().unwrap().push((exchange.server.to_string(), exchange.status));
    });
    for _ in 0..2 {
        assert!(client.claim("spring", "ann").await.unwrap().is_yes());
    }
    let here = (peer.url(), Some(201));
    assert_eq!(*told.lock().unwrap(), [(gone, None), here.clone(), here]);
    assert_eq!(client.server().to_string(), peer.url());
}

#[tokio::test]
async fn a_server_that_cannot_answer_now_is_left_at_once() {
    let busy = Fate::problem(
        503,
        "unavailable",
        r#","retry":true,"changed":"no","retry_after_ms":3600000"#,
    );
    let (first, second) = (Peer::start([busy]).await, Peer::start([Fate::won()]).await);
    let client = first.builder().server(&second.url()).build().unwrap();
    assert!(client.claim("spring", "ann").await.unwrap().is_yes());
    assert_eq!((first.requests().len(), second.requests().len()), (1, 1));
}

#[tokio::test]
async fn a_limit_of_the_caller_holds_on_every_server() {
    let slow = Fate::problem(
        429,
        "too_many_requests",
        r#","retry":true,"changed":"no","retry_after_ms":20"#,
    );
    let (first, second) =
        (Peer::start([slow, Fate::won()]).await, Peer::start([Fate::won()]).await);
    let client = first.builder().server(&second.url()).build().unwrap();
    assert!(client.claim("spring", "ann").await.unwrap().is_yes());
    assert_eq!((first.requests().len(), second.requests().len()), (2, 0));
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_asked_for_at_the_next_server() {
    let (first, second) = (Peer::start([Fate::Cut]).await, Peer::start([Fate::won()]).await);
    let client = first.builder().server(&second.url()).build().unwrap();
    assert!(client.claim("spring", "ann").await.unwrap().is_yes());
    assert_eq!(first.requests()[0].body, second.requests()[0].body);
}

#[test]
fn what_cannot_be_an_address_or_a_key_is_said_before_anything_is_sent() {
    let refused = |url: &str, key: &str| Client::builder(url).key(key).build().unwrap_err();
    let said = refused("ftp://shop", KEY).to_string();
    assert!(said.contains("only http and https"), "{said}");
    let said = refused("http://shop", "secret").to_string();
    assert_eq!(said, "the key must have at least 16 characters");
    let said = Client::builder("https://shop").add_authorities("nothing").build().unwrap_err();
    assert!(said.to_string().contains("no certificate"), "{said}");
}

#[tokio::test]
async fn readiness_is_asked_once_and_not_ready_is_an_answer() {
    let ready = |status: &str| {
        format!(
            r#"{{"status":"{status}","reasons":[],"position":"0.1","lag":0,"lag_ms":0,"last_result":0,"leaderless_ms":0,"settle_trouble":null,"settled":0}}"#
        )
    };
    let peer = Peer::start([
        Fate::Say(503, ready("not_ready")),
        Fate::Say(200, ready("ready")),
        Fate::problem(404, "no_such_route", ""),
        Fate::Cut,
    ])
    .await;
    let client = peer.client();
    assert_eq!(client.ready().await.unwrap().status, "not_ready");
    assert_eq!(client.ready().await.unwrap().status, "ready");
    assert!(matches!(client.ready().await.unwrap_err(), Error::Refused(_)));
    assert!(matches!(client.ready().await.unwrap_err(), Error::Unchanged(_)));
    assert_eq!(peer.requests().len(), 4);
}
