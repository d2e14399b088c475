//! Campaigns of counted pools: from the opening to the results.

use std::time::Duration;

use firstcome_client::{CancelBy, Client, Match, Refusal, Which};

use crate::server::{KEY, Server, no, places, yes};

#[tokio::test]
async fn a_campaign_from_its_first_claim_to_its_results() {
    let server = Server::start();
    let client = server.client();
    let created = yes(client.create_campaign("spring", &places(2)).await);
    assert_eq!((&*created.outcome, created.version), ("created", 1));

    let ann = yes(client.claim("spring", "ann").await);
    assert_eq!((ann.rank, ann.again()), (1, false));
    let again = yes(client.claim_in("spring", "main", "ann").await);
    assert_eq!((again.rank, again.again(), again.at), (1, true, ann.at));
    assert_eq!(yes(client.claim("spring", "bob").await).rank, 2);
    assert_eq!(no(client.claim("spring", "cat").await), Refusal::SoldOut);

    let claims = yes(client.claims_of("spring", "ann").await).claims;
    assert_eq!((claims.len(), claims[0].rank), (1, 1));
    let by = CancelBy::Operator("paid twice".to_owned());
    let cancelled = yes(client.cancel("spring", "ann", &Which::Rank(1), &by).await);
    assert_eq!((cancelled[0].rank, &*cancelled[0].by), (1, "operator"));
    assert_eq!(no(client.claim("spring", "ann").await), Refusal::AlreadyCancelled);
    let cat = yes(client.claim("spring", "cat").await);
    assert_eq!(cat.rank, 3);

    let mut winners = client.past(&cat.position).winners("spring", None).limit(1);
    let mut ranks = Vec::new();
    while let Some(winner) = winners.next().await.unwrap() {
        ranks.push((winner.rank, winner.subject));
    }
    assert_eq!(ranks, [(2, "bob".to_owned()), (3, "cat".to_owned())]);
    let mut results = client.results("spring").limit(3);
    let mut kinds = Vec::new();
    while let Some(page) = results.next_page().await.unwrap() {
        kinds.extend(page.into_iter().map(|line| line.kind.into_owned()));
    }
    assert_eq!(kinds, ["claim", "claim", "cancel", "claim"]);
    assert_eq!(client.subject("bob").await.unwrap().campaigns[0].claims[0].rank, 2);
}

#[tokio::test]
async fn a_campaign_is_steered_changed_and_deleted() {
    let server = Server::start();
    let client = server.client();
    yes(client.create_campaign("spring", &places(1)).await);
    let there = no(client.create_campaign("spring", &places(1)).await);
    assert_eq!(there, Refusal::VersionMismatch { version: Some(1) });
    let same = yes(client.put_campaign("spring", &places(1), Match::Anything).await);
    assert_eq!(&*same.outcome, "unchanged");

    yes(client.raise_capacity("spring", "main", 5).await);
    yes(client.raise_capacity("spring", "main", 3).await);
    yes(client.change_campaign("spring", |settings| settings.title = "Spring".to_owned()).await);
    let now = yes(client.campaign("spring").await);
    assert_eq!((now.pools[0].capacity, &*now.title), (5, "Spring"));

    yes(client.pause_campaign("spring").await);
    assert_eq!(no(client.claim("spring", "ann").await), Refusal::Paused);
    yes(client.resume_campaign("spring").await);
    yes(client.close_campaign("spring").await);
    assert_eq!(no(client.claim("spring", "ann").await), Refusal::Closed);
    assert_eq!(yes(client.delete_campaign("spring").await).campaign, "spring");
    assert_eq!(no(client.campaign("spring").await), Refusal::NotFound);

    let mut later = places(1);
    later.opens_at = Some("2099-03-01T10:00:00+09:00".to_owned());
    yes(client.create_campaign("later", &later).await);
    let opens_at = Some("2099-03-01T01:00:00.000000Z".to_owned());
    assert_eq!(no(client.claim("later", "ann").await), Refusal::NotOpen { opens_at });
    let known = client.campaigns().await.unwrap().campaigns;
    assert_eq!(known.iter().map(|one| &*one.campaign).collect::<Vec<_>>(), ["later"]);
}

#[tokio::test]
async fn a_subject_is_barred_and_let_in_again() {
    let server = Server::start();
    let client = server.client();
    yes(client.create_campaign("spring", &places(5)).await);
    yes(client.bar("spring", "ann", "sold on").await);
    let Refusal::Barred { reason, since, by } = no(client.claim("spring", "ann").await) else {
        panic!("ann is barred")
    };
    assert_eq!(reason.as_deref(), Some("sold on"));
    assert!(since.is_some() && by.is_some());
    let mut bars = client.bars("spring");
    assert_eq!(bars.next().await.unwrap().unwrap().subject, "ann");
    assert!(bars.next().await.unwrap().is_none());
    assert!(yes(client.unbar("spring", "ann").await).was_barred);
    assert_eq!(yes(client.claim("spring", "ann").await).rank, 1);
}

#[tokio::test]
async fn a_browser_acts_with_a_token_and_follows_with_a_ticket() {
    let server = Server::start();
    let client = server.client();
    yes(client.create_campaign("spring", &places(5)).await);
    let minted = client.mint_token("spring", "ann", Duration::from_secs(60), true).await;
    let minted = yes(minted);
    let ann = Client::builder(&server.url()).key(&minted.token).build().unwrap();
    assert_eq!(yes(ann.claim("spring", "ann").await).rank, 1);
    let error = ann.claim("spring", "bob").await.unwrap_err();
    assert_eq!(error.problem().map(|problem| &*problem.outcome), Some("forbidden"));
    assert!(yes(ann.mint_ticket().await).ticket.len() > 20);
    let cancelled = ann.cancel("spring", "ann", &Which::All, &CancelBy::Subject).await;
    assert_eq!(yes(cancelled).len(), 1);
}

#[tokio::test]
async fn the_server_says_how_it_is() {
    let server = Server::start();
    let client = server.client();
    assert_eq!(client.ready().await.unwrap().status, "ready");
    assert_eq!(client.nodes().await.unwrap().nodes.len(), 1);
    assert!(client.time().await.unwrap().now.ends_with('Z'));
    let stranger = Client::builder(&server.url()).key("not-the-key-of-it").build().unwrap();
    let error = stranger.claim("spring", "ann").await.unwrap_err();
    assert_eq!(error.problem().map(|problem| &*problem.outcome), Some("unauthorized"));
    assert!(!format!("{client:?} {error:?}").contains(KEY));
}
