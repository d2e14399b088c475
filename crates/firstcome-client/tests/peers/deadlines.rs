//! A call ends at its deadline, whatever the server does, and says whether it may have happened.

use std::time::{Duration, Instant};

use firstcome_client::{Client, Error, Retry};

use crate::peer::{Fate, KEY, Peer};

/// The deadline of the calls here.
const DEADLINE: Duration = Duration::from_millis(300);
/// A machine that is busy may let it end a little later.
const SLACK: Duration = Duration::from_secs(3);

async fn claim(client: &Client) -> (Error, Duration) {
    let began = Instant::now();
    let error = client.claim("spring", "ann").await.unwrap_err();
    (error, began.elapsed())
}

#[tokio::test]
async fn the_deadline_is_a_bound_whatever_the_server_does() {
    for fate in [Fate::Hang, Fate::Drip, Fate::Garbage, Fate::Cut, Fate::CutInTheAnswer] {
        let peer = Peer::start([fate.clone()]).await;
        let client = peer.builder().deadline(DEADLINE).build().unwrap();
        let (error, took) = claim(&client).await;
        assert!(took < DEADLINE + SLACK, "{fate:?}: {took:?}");
        let Error::Unknown(unknown) = error else { panic!("{fate:?}: {error}") };
        assert!(unknown.attempts() >= 1 && unknown.asked().path.ends_with("/claims"));

        // The same end of a call that only reads changed nothing.
        let error = client.campaign("spring").await.unwrap_err();
        assert!(matches!(error, Error::Unchanged(_)), "{fate:?}: {error}");
    }
}

#[tokio::test]
async fn an_attempt_that_gets_no_answer_leaves_time_for_the_next() {
    let peer = Peer::start([Fate::Hang, Fate::Drip, Fate::won()]).await;
    let client = peer.builder().attempt(Duration::from_millis(500)).build().unwrap();
    assert!(client.claim("spring", "ann").await.unwrap().is_yes());
    // On a busy machine the good one, too, may need another attempt.
    assert!(peer.requests().len() >= 3);
}

#[tokio::test]
async fn what_never_left_changed_nothing() {
    let gone = firstcome_testbed::free_port();
    let url = format!("http://127.0.0.1:{gone}");
    let client = Client::builder(&url).key(KEY).deadline(SLACK).build().unwrap();
    let (error, took) = claim(&client).await;
    assert!(took < SLACK * 2, "{took:?}");
    let Error::Unchanged(unchanged) = &error else { panic!("nothing was sent: {error}") };
    assert!(unchanged.attempts() > 1, "it was tried again: {error}");
    assert!(unchanged.reason().contains("cannot connect") && unchanged.server() == url, "{error}");
}

#[tokio::test]
async fn a_lost_attempt_counts_though_the_last_one_never_left() {
    let peer = Peer::start([Fate::Cut]).await;
    let client = peer.builder().retry(Retry::default().attempts(2)).build().unwrap();
    let busy = Fate::problem(503, "unavailable", r#","retry":true,"changed":"no""#);
    let (cut, called) = (peer.came(1), claim(&client));
    let ((), (error, _)) = tokio::join!(
        async {
            cut.await;
            peer.turns(busy);
        },
        called
    );
    let Error::Unknown(unknown) = error else { panic!("it may have happened: {error}") };
    assert_eq!(unknown.problem().map(|problem| problem.outcome.as_str()), Some("unavailable"));
}

#[tokio::test]
async fn further_calls_wait_for_one_of_the_connections() {
    let peer = Peer::start([Fate::Hang]).await;
    let client = peer.builder().connections(2).deadline(SLACK).build().unwrap();
    let calls: Vec<_> = (0..6)
        .map(|number| {
            // The first two have the connections for longer than the others wait.
            let deadline = if number < 2 { SLACK } else { DEADLINE };
            let client = client.with_deadline(deadline);
            tokio::spawn(async move { client.claim("spring", &format!("ann-{number}")).await })
        })
        .collect();
    let (mut unknown, mut unchanged) = (0, 0);
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        if let Error::Unchanged(why) = &error {
            assert!(why.reason().contains("connections were in use"), "{why}");
            unchanged += 1;
        } else {
            assert!(error.may_have_happened(), "{error}");
            unknown += 1;
        }
    }
    assert_eq!((peer.most_open(), unknown, unchanged), (2, 2, 4));
}
