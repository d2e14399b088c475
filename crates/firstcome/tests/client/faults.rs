//! A real server behind a proxy that cuts: nothing happens twice, and the end of a call is what it says.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use firstcome_client::{
    Answer, Client, Error, HoldStep, Late, Picks, PoolRequest, Retry, TakeHold, Taken, Won,
};
use firstcome_testbed::{Proxy, ProxyFault};

use crate::server::{KEY, Server, places, yes};

/// A client through a proxy, whose fault ends with the request that it broke.
fn through(proxy: &Arc<Proxy>) -> Client {
    let url = format!("http://127.0.0.1:{}", proxy.port());
    let client = Client::builder(&url).key(KEY).build().unwrap();
    let proxy = Arc::clone(proxy);
    client.watched_by(move |exchange| {
        if exchange.status.is_none() {
            proxy.set(ProxyFault::None);
        }
    })
}

#[tokio::test]
async fn a_claim_that_is_sent_again_is_one_claim() {
    let server = Server::start();
    yes(server.client().create_campaign("spring", &places(100)).await);
    let proxy = Arc::new(Proxy::start(server.address.port()).await);
    let client = through(&proxy);
    for number in 0..40 {
        // Now the request is lost, now its answer.
        let answer_is_lost = number % 2 == 1;
        proxy.set(if answer_is_lost { ProxyFault::CutAtReply } else { ProxyFault::CutAtRequest });
        let won = yes(client.claim("spring", &format!("subject-{number}")).await);
        assert_eq!((won.rank, won.again()), (number + 1, answer_is_lost));
    }
    let mut winners = server.client().winners("spring", None);
    let mut subjects = BTreeSet::new();
    while let Some(winner) = winners.next().await.unwrap() {
        assert!(subjects.insert(winner.subject), "twice at rank {}", winner.rank);
    }
    assert_eq!(subjects.len(), 40);
    assert_eq!(yes(server.client().campaign("spring").await).pools[0].taken, 40);
}

#[tokio::test]
async fn seats_are_held_and_paid_for_through_cuts() {
    let server = Server::start();
    let direct = server.client();
    let mut hall = places(50);
    hall.pools.push(PoolRequest::counted("other", 50));
    yes(direct.create_campaign("hall", &hall).await);
    let proxy = Arc::new(Proxy::start(server.address.port()).await);
    let client = through(&proxy);
    let cut = || proxy.set(ProxyFault::CutAtReply);

    cut();
    let take = TakeHold::new("hall", "ann", Picks::quantity(Some("main"), 3));
    let Taken::Held(held) = yes(client.take_hold(&take).await) else { panic!("it is held") };
    let step = HoldStep::on(&held);
    cut();
    let more = Picks::quantity(Some("other"), 2);
    yes(client.add_to_hold(&step, &more).await);
    assert_eq!(yes(direct.hold("hall", &held.hold).await).hold.held, 5, "a step that counts twice");
    cut();
    yes(client.extend_hold(&step, Some(Duration::from_secs(600))).await);
    cut();
    yes(client.confirm_hold(&step, &Picks::default(), Late::Refuse).await);
    let now = yes(direct.campaign("hall").await);
    assert_eq!((now.pools[0].taken, now.pools[1].taken), (3, 2));
}

#[tokio::test]
async fn a_claim_whose_end_is_unknown_is_resolved_through_another_way() {
    let server = Server::start();
    yes(server.client().create_campaign("spring", &places(5)).await);
    let proxy = Proxy::start(server.address.port()).await;
    proxy.set(ProxyFault::CutAtReply);
    let url = format!("http://127.0.0.1:{}", proxy.port());
    let client = Client::builder(&url).key(KEY).retry(Retry::never()).build().unwrap();
    let Err(Error::Unknown(unknown)) = client.claim("spring", "ann").await else {
        panic!("its answer was cut off")
    };
    let found = unknown.resolve::<Won>(&server.client()).await.unwrap();
    let Answer::Yes(won) = found else { panic!("ann was first") };
    assert_eq!((won.rank, won.subject.as_ref()), (1, "ann"));
    assert_eq!(yes(server.client().campaign("spring").await).pools[0].taken, 1);
}
