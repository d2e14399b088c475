//! Many commands in one request: in order, each once whatever breaks, and never an answer that is not known.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use firstcome_client::{
    Answer, Client, CommandLine, Do, Done, Error, PickRequest, PoolRequest, Refusal, Retry, Won,
};
use firstcome_testbed::{Proxy, ProxyFault};

use crate::server::{KEY, Server, places, yes};

fn claims(count: u32) -> impl Iterator<Item = CommandLine> + Send + 'static {
    (1..=count).map(|number| CommandLine::claim("spring", format!("s{number}")))
}

#[tokio::test]
async fn every_kind_of_command_is_answered_in_its_order() {
    let server = Server::start();
    let client = server.client();
    let mut settings = places(3);
    settings.pools.push(PoolRequest::counted("other", 5));
    yes(client.create_campaign("gig", &settings).await);
    let of = |verb| CommandLine::new(verb, "gig", "ann");
    let hold = |id: Option<&str>| {
        let mut hold = of(Do::Hold);
        let quantity =
            PickRequest { pool: Some("other".into()), quantity: Some(2), ..PickRequest::default() };
        (hold.picks, hold.id) = (vec![quantity], id.map(str::to_owned));
        hold
    };
    let mut claim = of(Do::Claim);
    claim.pool = Some("main".into());
    let mut cancel = of(Do::Cancel);
    (cancel.pool, cancel.rank, cancel.by) = (Some("main".into()), Some(1), Some("subject".into()));
    let mut confirm = of(Do::Confirm);
    confirm.hold = Some("h1".into());
    let mut wrong = of(Do::Claim);
    (wrong.rank, wrong.r#ref) = (Some(1), Some("row 6".into()));
    let lines = [
        claim.clone(),
        cancel,
        hold(Some("h1")),
        confirm.clone(),
        confirm,
        wrong,
        hold(None),
        claim,
    ];
    let mut commands = client.commands(lines);
    let mut said = Vec::new();
    while let Some(done) = commands.next().await.unwrap() {
        assert_eq!(done.number, said.len() as u64 + 1);
        said.push(match done.answer {
            Ok(Answer::Yes(Done::Won(won))) => won.outcome.into_owned(),
            Ok(Answer::Yes(Done::Cancelled(cancelled))) => format!("cancelled {}", cancelled.rank),
            Ok(Answer::Yes(Done::Hold(hold))) => hold.outcome,
            Ok(Answer::Yes(other)) => format!("{other:?}"),
            Ok(Answer::No(_, problem)) => problem.outcome,
            Err(Error::Refused(problem)) => {
                assert!(std::str::from_utf8(&done.text).unwrap().contains("\"ref\":\"row 6\""));
                problem.outcome
            }
            Err(error) => error.to_string(),
        });
    }
    let expected = [
        "won",
        "cancelled 1",
        "held",
        "confirmed",
        "confirmed",
        "invalid_request",
        "held",
        "already_cancelled",
    ];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn what_a_cut_left_open_is_sent_again_and_happens_once() {
    let server = Server::start();
    yes(server.client().create_campaign("spring", &places(200_000)).await);
    let proxy = Arc::new(Proxy::start(server.address.port()).await);
    let url = format!("http://127.0.0.1:{}", proxy.port());
    let client = Client::builder(&url).key(KEY).build().unwrap();
    // More than one request has.
    let count = 101_000;
    let mut commands = client.commands(claims(count));
    let mut ranks = BTreeSet::new();
    for number in 1..=u64::from(count) {
        let done = commands.next().await.unwrap().unwrap();
        let Ok(Answer::Yes(Done::Won(won))) = done.answer else {
            panic!("{number}: {:?}", done.answer)
        };
        assert_eq!((done.number, &*won.subject), (number, &*format!("s{number}")));
        assert!(ranks.insert(won.rank), "rank {} twice", won.rank);
        if number == 500 || number == 20_000 {
            proxy.set(ProxyFault::CutAtReply);
            let proxy = Arc::clone(&proxy);
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(200)).await;
                proxy.set(ProxyFault::None);
            });
        }
    }
    assert!(commands.next().await.unwrap().is_none());
    assert_eq!((ranks.len(), ranks.last()), (count as usize, Some(&count)), "without gaps");
}

#[tokio::test]
async fn a_server_that_is_gone_leaves_lines_unknown_and_the_others_unsent() {
    let server = Server::start();
    yes(server.client().create_campaign("spring", &places(200_000)).await);
    let client = Client::builder(&server.url()).key(KEY).retry(Retry::never()).build().unwrap();
    let mut commands = client.commands(claims(u32::MAX));
    for _ in 0..10 {
        assert!(commands.next().await.unwrap().unwrap().answer.unwrap().is_yes());
    }
    drop(server);
    let (mut unknown, mut last) = (0, 10);
    let error = loop {
        match commands.next().await {
            Ok(Some(done)) => {
                assert_eq!(done.number, last + 1);
                last = done.number;
                match done.answer {
                    Ok(_) => assert_eq!(unknown, 0),
                    Err(Error::Unknown(of)) => {
                        assert!(of.asked().path.ends_with("/campaigns/spring/claims"));
                        unknown += 1;
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            Ok(None) => panic!("there are more lines"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Unchanged(_)), "{error}");
    assert!(unknown <= 8_192, "{unknown}");
}

#[tokio::test]
async fn an_unknown_line_is_resolved_by_its_own_route_and_a_key_that_may_not_is_refused() {
    let server = Server::start();
    yes(server.client().create_campaign("spring", &places(5)).await);
    let proxy = Proxy::start(server.address.port()).await;
    proxy.set(ProxyFault::CutAtReply);
    let url = format!("http://127.0.0.1:{}", proxy.port());
    let client = Client::builder(&url).key(KEY).retry(Retry::never()).build().unwrap();
    let mut commands = client.commands(claims(1));
    let done = commands.next().await.unwrap().unwrap();
    let Err(Error::Unknown(unknown)) = done.answer else { panic!("{:?}", done.answer) };
    assert!(commands.next().await.unwrap().is_none());
    let won: Won = yes(unknown.resolve(&server.client()).await);
    assert_eq!((won.rank, &*won.subject), (1, "s1"));

    let stranger = Client::builder(&server.url()).key("a-key-that-nobody-knows").build().unwrap();
    let refused = stranger.commands(claims(3)).next().await.unwrap_err();
    assert_eq!(refused.problem().unwrap().outcome, "unauthorized");
    let mut none = server.client().commands([]);
    assert!(none.next().await.unwrap().is_none());
    let mut missing = server.client().commands([CommandLine::claim("none", "ann")]);
    let done = missing.next().await.unwrap().unwrap();
    assert!(matches!(done.answer, Ok(Answer::No(Refusal::NotFound, _))), "{:?}", done.answer);
}
