//! Waitlists: joined, offered, left, read page by page, and by lines of many commands.

use firstcome_client::{
    Answer, CampaignRequest, CancelBy, Client, CommandLine, Do, Done, Joined, PoolRequest, Refusal,
    Which, Wish,
};

use crate::server::{Server, no, yes};

async fn sold_out(server: &Server) -> Client {
    let client = server.client();
    let pools = vec![PoolRequest { waitlist: Some(3), ..PoolRequest::counted("main", 1) }];
    let settings = CampaignRequest {
        opens_at: Some("now".to_owned()),
        offer_ms: Some(3_600_000),
        pools,
        ..CampaignRequest::default()
    };
    yes(client.create_campaign("spring", &settings).await);
    let Joined::Won(won) = yes(client.join("spring", None, "ann", &Wish::units(1)).await) else {
        panic!("one was free")
    };
    assert_eq!(won.rank, 1);
    client
}

async fn joins(client: &Client, subject: &str, wish: &Wish) -> u32 {
    let joined = yes(client.join("spring", None, subject, wish).await);
    let Joined::Waits(place) = joined else { panic!("{joined:?}") };
    place.ahead
}

#[tokio::test]
async fn somebody_joins_is_offered_what_comes_free_and_leaves() {
    let server = Server::start();
    let client = sold_out(&server).await;
    assert_eq!(joins(&client, "bob", &Wish::units(1)).await, 0);
    assert_eq!(joins(&client, "eve", &Wish::units(2)).await, 1);
    assert_eq!(joins(&client, "joe", &Wish::units(1)).await, 2);
    let full = client.join("spring", None, "kim", &Wish::units(1)).await;
    assert_eq!(no(full), Refusal::WaitlistFull);
    let place = yes(client.place("spring", Some("main"), "eve").await);
    assert_eq!((place.ahead, place.quantity, place.is_offered()), (Some(1), 2, false));
    let mut list = client.waitlist("spring", None).limit(2);
    let mut names = Vec::new();
    while let Some(line) = list.next().await.unwrap() {
        names.push(line.subject);
    }
    assert_eq!(names, ["bob", "eve", "joe"]);
    yes(client.cancel("spring", "ann", &Which::Rank(1), &CancelBy::Subject).await);
    let Joined::Offered(offer) = yes(client.join("spring", None, "bob", &Wish::units(1)).await)
    else {
        panic!("what came free is bob's")
    };
    let place = yes(client.place("spring", None, "bob").await);
    assert_eq!((place.hold.as_deref(), offer.offer), (Some(&*offer.hold), true));
    assert!(yes(client.leave("spring", None, "bob").await).was_on);
    assert_eq!(no(client.place("spring", None, "bob").await), Refusal::NotOnWaitlist);
    // eve wants two, so joe has it.
    assert!(yes(client.place("spring", None, "joe").await).is_offered());
    assert_eq!(yes(client.place("spring", None, "eve").await).passed_over, Some(true));
    let shown = yes(client.campaign("spring").await);
    assert_eq!((shown.pools[0].waiting, shown.pools[0].offered), (1, Some(1)));
    // What it is can be sent back: nothing changes.
    let settings = shown.settings();
    assert_eq!((settings.offer_ms, settings.pools[0].waitlist), (Some(3_600_000), Some(3)));
}

#[tokio::test]
async fn lines_join_and_leave() {
    let server = Server::start();
    let client = sold_out(&server).await;
    let lines = vec![
        CommandLine::join("spring", "bob", Wish::units(2)),
        CommandLine::new(Do::Leave, "spring", "bob"),
    ];
    let mut commands = client.commands(lines);
    let mut said = Vec::new();
    while let Some(done) = commands.next().await.unwrap() {
        said.push(match done.answer.unwrap() {
            Answer::Yes(Done::Joined(Joined::Waits(place))) => {
                format!("waits for {}", place.quantity)
            }
            Answer::Yes(Done::Left(left)) => format!("was on: {}", left.was_on),
            Answer::Yes(other) => format!("{other:?}"),
            Answer::No(_, problem) => problem.outcome,
        });
    }
    assert_eq!(said, ["waits for 2", "was on: true"]);
}
