//! Long lists, page by page.

use firstcome_client::Error;

use crate::peer::{Fate, Peer};

fn page(ranks: &[u32], next: Option<u64>) -> Fate {
    let line = |rank: &u32| {
        format!(
            r#"{{"campaign":"spring","pool":"main","rank":{rank},"subject":"s{rank}","at":"2027-03-01T01:00:00.000000Z"}}"#
        )
    };
    let lines: Vec<String> = ranks.iter().map(line).collect();
    let next = next.map_or("null".to_owned(), |next| next.to_string());
    let lines = lines.join(",");
    Fate::Say(
        200,
        format!(
            r#"{{"winners":[{lines}],"next":{next},"last_rank":9,"position":"0.9","durable":true}}"#
        ),
    )
}

#[tokio::test]
async fn pages_follow_each_other_though_one_is_empty_and_one_is_lost() {
    let peer = Peer::start([
        page(&[1, 2], Some(2)),
        page(&[], Some(5)),
        Fate::Cut,
        page(&[6], None),
        page(&[], None),
        page(&[9], None),
    ])
    .await;
    let mut winners = peer.client().winners("spring", Some("main")).limit(2);
    let mut ranks = Vec::new();
    while let Some(winner) = winners.next().await.unwrap() {
        ranks.push(winner.rank);
    }
    assert_eq!(ranks, [1, 2, 6]);
    // After the end it looks for lines that are new.
    assert!(winners.next_page().await.unwrap().is_none());
    assert_eq!(winners.next_page().await.unwrap().unwrap()[0].rank, 9);
    let asked: Vec<String> = peer.requests().into_iter().map(|request| request.line).collect();
    let after =
        |after: u64| format!("GET /v1/campaigns/spring/winners?after={after}&limit=2&pool=main");
    assert_eq!(asked, [0, 2, 5, 5, 6, 6].map(after));
}

#[tokio::test]
async fn a_list_that_is_not_there_is_refused() {
    let peer = Peer::start([Fate::problem(404, "not_found", "")]).await;
    let error = peer.client().results("spring").after(7).next().await.unwrap_err();
    assert!(matches!(error, Error::Refused(problem) if problem.outcome == "not_found"));
    assert!(peer.requests()[0].line.contains("/results?after=7&limit=1000"));
}

/// The first page spoke for all of them.
#[tokio::test]
async fn pages_together_are_as_durable_and_as_new_as_the_worst_of_them() {
    let page = |rest: &str, next: &str, at: u32, stale: bool, durable: bool| {
        let state = format!(r#""position":"0.{at}","stale":{stale},"durable":{durable}"#);
        Fate::Say(200, format!(r#"{{{rest},"next":{next},{state}}}"#))
    };
    let three = |rest: &str, next: &str| {
        [
            page(rest, next, 7, false, true),
            page(rest, next, 8, true, false),
            page(rest, "null", 9, false, true),
        ]
    };
    let peer = Peer::start(three(r#""campaign":"spring","subject":"ann","claims":[]"#, "3")).await;
    let all = peer.client().claims_of("spring", "ann").await.unwrap().yes().unwrap();
    assert_eq!((&*all.position, all.stale, all.durable), ("0.9", true, false));
    let peer = Peer::start(three(r#""subject":"ann","campaigns":[]"#, "3")).await;
    let all = peer.client().subject("ann").await.unwrap();
    assert_eq!((&*all.position, all.stale, all.durable), ("0.9", true, false));
    let peer = Peer::start(three(r#""campaigns":[],"archived":[]"#, r#""c""#)).await;
    let all = peer.client().campaigns().await.unwrap();
    assert_eq!((&*all.position, all.durable), ("0.9", false));
}
