//! What is sent again, and what is not.

use std::time::{Duration, Instant};

use firstcome_client::{Answer, Ask, Error, Refusal, Retry, Won};
use serde_json::Value;

use crate::peer::{Fate, Peer, WON};

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_with_the_same_content() {
    for broken in [Fate::Cut, Fate::CutInTheAnswer, Fate::Garbage, Fate::Say(200, "<p>".into())] {
        let peer = Peer::start([broken.clone(), broken, Fate::won()]).await;
        let Answer::Yes(won) = peer.client().claim("spring", "ann").await.unwrap() else {
            panic!("won is a yes")
        };
        assert_eq!((won.rank, won.again()), (17, false));
        let requests = peer.requests();
        assert_eq!(requests.len(), 3);
        assert!(requests.iter().all(|request| request.body == requests[0].body));
        assert_eq!(requests[0].line, "POST /v1/campaigns/spring/claims");
        assert_eq!(requests[0].header("authorization"), Some("Bearer the-key-of-the-tests"));
    }
}

#[tokio::test]
async fn a_server_that_cannot_answer_now_is_asked_again_after_the_pause_it_asks_for() {
    let busy = Fate::problem(429, "busy", r#","retry":true,"changed":"no","retry_after_ms":150"#);
    let peer = Peer::start([busy, Fate::won()]).await;
    let began = Instant::now();
    let answer = peer.client().claim("spring", "ann").await.unwrap();
    assert!(answer.is_yes());
    assert!(began.elapsed() >= Duration::from_millis(150), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_pause_beyond_the_deadline_is_not_waited_for() {
    let late = r#","retry":true,"changed":"no","retry_after_ms":3600000"#;
    let peer = Peer::start([Fate::problem(429, "too_many_requests", late)]).await;
    let began = Instant::now();
    let error = peer.client().claim("spring", "ann").await.unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let Error::Unchanged(unchanged) = error else { panic!("nothing changed: {error}") };
    let wait = unchanged.problem().and_then(|problem| problem.retry_after);
    assert_eq!((unchanged.attempts(), wait), (1, Some(Duration::from_secs(3_600))));
}

#[tokio::test]
async fn an_unknown_end_is_asked_for_again_too() {
    let unknown = Fate::problem(503, "unknown", r#","retry":true,"changed":"unknown""#);
    let gateway = Fate::Say(502, "<html>".to_owned());
    let peer = Peer::start([unknown, gateway, Fate::won()]).await;
    assert!(peer.client().claim("spring", "ann").await.unwrap().is_yes());
    assert_eq!(peer.requests().len(), 3);
}

#[tokio::test]
async fn a_refusal_is_an_answer_and_says_whether_an_attempt_was_lost_before() {
    let sold_out = Fate::problem(409, "sold_out", r#","retry":false,"changed":"no""#);
    let peer = Peer::start([sold_out.clone()]).await;
    let Answer::No(Refusal::SoldOut, problem) = peer.client().claim("spring", "ann").await.unwrap()
    else {
        panic!("sold out is a no")
    };
    assert!(!problem.after_lost_attempt);
    assert_eq!(
        (problem.to_string(), peer.requests().len()),
        ("sold_out: as the test says".into(), 1)
    );

    let peer = Peer::start([Fate::Cut, sold_out]).await;
    let Answer::No(Refusal::SoldOut, problem) = peer.client().claim("spring", "ann").await.unwrap()
    else {
        panic!("sold out is a no")
    };
    assert!(problem.after_lost_attempt);
}

#[tokio::test]
async fn a_request_that_is_turned_down_is_not_sent_again() {
    let peer = Peer::start([Fate::problem(401, "unauthorized", "")]).await;
    let error = peer.client().claim("spring", "ann").await.unwrap_err();
    assert!(matches!(&error, Error::Refused(problem) if problem.outcome == "unauthorized"));
    assert!(!error.may_have_happened());
    assert_eq!(peer.requests().len(), 1);

    // Another server may have taken it before this one turned it down.
    let peer = Peer::start([Fate::Cut, Fate::problem(401, "unauthorized", "")]).await;
    let error = peer.client().claim("spring", "ann").await.unwrap_err();
    let Error::Unknown(unknown) = error else { panic!("it may have happened: {error}") };
    assert_eq!((unknown.attempts(), peer.requests().len()), (2, 2));
    assert_eq!(unknown.problem().map(|problem| problem.outcome.as_str()), Some("unauthorized"));
}

#[tokio::test]
async fn what_another_program_answers_is_not_asked_for_again() {
    let peer = Peer::start([Fate::Say(404, "<h1>Not here</h1>".to_owned())]).await;
    let error = peer.client().claim("spring", "ann").await.unwrap_err();
    assert!(matches!(error, Error::Unchanged(_)), "{error}");
    assert_eq!(peer.requests().len(), 1);
}

#[tokio::test]
async fn what_has_no_identity_is_sent_again_only_where_it_was_certainly_not_taken() {
    let ask = || Ask::change("POST", "/v1/somewhere");
    let peer = Peer::start([Fate::Cut, Fate::won()]).await;
    let client = peer.client();
    let error = client.decide::<Value>(ask()).await.unwrap_err();
    let Error::Unknown(unknown) = error else { panic!("it may have happened: {error}") };
    assert_eq!(unknown.asked().path, "/v1/somewhere");
    let error = unknown.resolve::<Value>(&client).await.unwrap_err();
    assert!(error.may_have_happened(), "nobody knows how to ask: {error}");
    assert_eq!(peer.requests().len(), 1);

    let busy = Fate::problem(429, "busy", r#","retry":true,"changed":"no","retry_after_ms":1"#);
    let peer = Peer::start([busy, Fate::won()]).await;
    assert!(peer.client().decide::<Won>(ask()).await.unwrap().is_yes());
    assert_eq!(peer.requests().len(), 2);
}

#[tokio::test]
async fn an_unknown_end_is_resolved_by_the_same_request() {
    let peer = Peer::start([Fate::Cut, Fate::won()]).await;
    let client = peer.builder().retry(Retry::never()).build().unwrap();
    let error = client.claim("spring", "ann").await.unwrap_err();
    assert!(error.to_string().contains("it may have happened"), "{error}");
    let Error::Unknown(unknown) = error else { panic!("it may have happened: {error}") };
    let Answer::Yes(won) = unknown.resolve::<Won>(&client).await.unwrap() else {
        panic!("it was won")
    };
    assert_eq!(won.rank, 17);
    let requests = peer.requests();
    assert_eq!(requests[0].body, requests[1].body);

    // Still not known, whatever this call itself came to.
    peer.turns(Fate::problem(503, "unavailable", r#","retry":true,"changed":"no""#));
    let error = unknown.resolve::<Won>(&client).await.unwrap_err();
    assert!(error.may_have_happened(), "{error}");
}

#[tokio::test]
async fn a_kept_connection_is_used_again_and_one_that_was_closed_is_made_anew() {
    let peer = Peer::start([Fate::won()]).await;
    let client = peer.client();
    for _ in 0..5 {
        assert!(client.claim("spring", "ann").await.unwrap().is_yes());
    }
    assert_eq!((peer.requests().len(), peer.made()), (5, 1));

    peer.turns(Fate::SayAndClose(201, WON.to_owned()));
    for _ in 0..5 {
        assert!(client.claim("spring", "ann").await.unwrap().is_yes());
    }
    assert!(peer.made() >= 5, "{}", peer.made());
}
