//! Seats: held, paid for, given back, cancelled.

use std::time::Duration;

use firstcome_client::{
    CampaignRequest, CancelBy, Client, Held, HoldStep, HoldsRequest, Late, Picks, PoolRequest,
    Refusal, SeatChangeRequest, SeatRow, TakeHold, Taken, Which,
};

use crate::server::{Server, no, yes};

/// Opens a hall with the seats A1 to A6 and 20 places to stand.
async fn hall(server: &Server) -> Client {
    let client = server.client();
    let settings = CampaignRequest {
        opens_at: Some("now".to_owned()),
        holds: HoldsRequest::Many,
        allow_orphans: true,
        pools: vec![PoolRequest::seated("main")],
        ..CampaignRequest::default()
    };
    yes(client.create_campaign("hall", &settings).await);
    let row = |number: u32| SeatRow { row: "A".to_owned(), ..SeatRow::named(format!("A{number}")) };
    let mut seats: Vec<SeatRow> = (1..=6).map(row).collect();
    seats.push(SeatRow::area("floor", 20));
    let imported = yes(client.import_seats("hall", "main", &seats).await);
    assert_eq!((imported.seats, imported.areas, imported.capacity), (6, 1, 26));
    assert_eq!(yes(client.import_seats("hall", "main", &seats).await).seats, 0);
    client
}

async fn take(client: &Client, subject: &str, picks: Picks) -> Held {
    let taken = yes(client.take_hold(&TakeHold::new("hall", subject, picks)).await);
    let Taken::Held(held) = taken else { panic!("{taken:?}") };
    held
}

#[tokio::test]
async fn seats_are_held_and_paid_for() {
    let server = Server::start();
    let client = hall(&server).await;
    let held = take(&client, "ann", Picks::seats(["A1", "A2"])).await;
    assert_eq!((held.units.len(), held.again()), (2, false));
    assert!(take(&client, "ann", Picks::seats(["A1", "A2"])).await.again());
    let taken = TakeHold::new("hall", "bob", Picks::seats(["A2", "A3"]));
    let Refusal::UnitTaken { units } = no(client.take_hold(&taken).await) else {
        panic!("ann has A2")
    };
    assert_eq!(units.iter().filter_map(|unit| unit.unit.as_deref()).collect::<Vec<_>>(), ["A2"]);

    let step = HoldStep::on(&held);
    assert_eq!(yes(client.add_to_hold(&step, &Picks::seats(["A3"])).await).units.len(), 3);
    let floor = Picks::places(None, "floor", 2);
    assert_eq!(yes(client.add_to_hold(&step, &floor).await).units.len(), 4);
    assert_eq!(yes(client.drop_from_hold(&step, &Picks::seats(["A3"])).await).units.len(), 3);
    let extended = yes(client.extend_hold(&step, Some(Duration::from_secs(900))).await);
    assert!(extended.expires_at > held.expires_at);
    assert_eq!(yes(client.hold("hall", &held.hold).await).hold.held, 4);

    let paid = yes(client.confirm_hold(&step, &Picks::default(), Late::Retake).await);
    assert_eq!((paid.left, paid.retaken), (0, Some(false)));
    assert!(paid.units.iter().all(|unit| unit.rank.is_some() || unit.quantity.is_some()));
    let again = TakeHold::new("hall", "ann", Picks::seats(["A1", "A2"])).id(&*held.hold);
    assert!(matches!(yes(client.take_hold(&again).await), Taken::Confirmed(_)));

    let unit = Which::Unit("A1".to_owned());
    let cancelled = yes(client.cancel("hall", "ann", &unit, &CancelBy::Subject).await);
    assert_eq!(cancelled.len(), 1);
    let rest = Which::Hold(held.hold.to_string());
    assert_eq!(yes(client.cancel("hall", "ann", &rest, &CancelBy::Subject).await).len(), 3);
    assert!(yes(client.cancel("hall", "ann", &rest, &CancelBy::Subject).await).is_empty());
}

#[tokio::test]
async fn a_hold_waits_for_a_seat_that_is_given_back() {
    let server = Server::start();
    let client = hall(&server).await;
    let held = take(&client, "ann", Picks::seats(["A1"])).await;
    let waits = TakeHold::new("hall", "bob", Picks::seats(["A1"])).wait(Duration::from_secs(3));
    let bob = client.clone();
    let bob = tokio::spawn(async move { bob.take_hold(&waits).await });
    // Whether bob is in line by now or asks later: the seat is his.
    let step = HoldStep::on(&held);
    assert_eq!(yes(client.release_hold(&step, &Picks::default()).await).left, 0);
    assert!(matches!(yes(bob.await.unwrap()), Taken::Held(_)));
    // Given back once more it is as it was.
    assert_eq!(&*yes(client.release_hold(&step, &Picks::default()).await).outcome, "released");
    assert_eq!(no(client.extend_hold(&step, None).await), Refusal::HoldReleased);
}

#[tokio::test]
async fn seats_are_blocked_moved_changed_and_shown() {
    let server = Server::start();
    let client = hall(&server).await;
    let blocked = client.block_seats("hall", "main", &Picks::seats(["A6"]), "broken").await;
    assert_eq!(yes(blocked).units, 1);
    take(&client, "ann", Picks::best(None, 2)).await;
    assert_eq!(yes(client.move_seat("hall", "main", "A1", "A5", "a pillar").await).to, "A5");
    let change = SeatChangeRequest {
        name: "A3".to_owned(),
        grade: Some("R".to_owned()),
        ..SeatChangeRequest::default()
    };
    assert_eq!(yes(client.change_seats("hall", "main", &[change]).await).seats, 1);
    let map = yes(client.seat_map("hall", "main").await);
    assert_eq!(map.rows[0].seat_names(), ["A1", "A2", "A3", "A4", "A5", "A6"]);
    assert_eq!(map.standing, ".h..hb");
    let unblocked = client.unblock_seats("hall", "main", &Picks::seats(["A6"]), "mended").await;
    assert_eq!(yes(unblocked).units, 1);
    assert_eq!(yes(client.seat_status("hall", "main").await).standing, ".h..h.");
    let bad = SeatRow { capacity: Some(0), ..SeatRow::named("hole") };
    let Refusal::BadSeat { errors } = no(client.import_seats("hall", "main", &[bad]).await) else {
        panic!("an area has places")
    };
    assert_eq!(errors[0].line, 1);
}
