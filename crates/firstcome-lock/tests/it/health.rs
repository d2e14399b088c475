//! Whether a candidate is well, as a probe of its process asks.

use firstcome_lock::{Election, Event, Locks, Memory, MemoryLink};

use crate::stage::SECOND;

/// Two leases, as is advised.
const TOLERANCE: std::time::Duration = std::time::Duration::from_secs(20);

fn candidate(locks: &Locks, node: &str) -> Election {
    Election::new(locks, "job").unwrap().node(node).lease(10 * SECOND)
}

fn stand(election: &Election) -> tokio::task::JoinHandle<()> {
    let election = election.clone();
    tokio::spawn(async move {
        election.run(|_| std::future::pending::<()>()).await.unwrap();
    })
}

#[tokio::test(start_paused = true)]
async fn a_follower_is_well_as_long_as_its_store_answers() {
    let (memory, link) = (Memory::new(), MemoryLink::new());
    let near = Locks::with_memory(&memory);
    let (leader, follower) =
        (candidate(&near, "near"), candidate(&Locks::with_memory(&memory.through(&link)), "far"));
    let beside = candidate(&Locks::with_memory(&memory), "beside");
    assert!(!leader.healthy(TOLERANCE), "it does not stand");
    let leading = stand(&leader);
    tokio::time::sleep(SECOND).await;
    let following = [stand(&follower), stand(&beside)];
    for _ in 0..60 {
        tokio::time::sleep(SECOND).await;
        assert!([&leader, &follower, &beside].iter().all(|one| one.healthy(TOLERANCE)));
        assert!(follower.contact() <= 11 * SECOND, "{:?}", follower.contact());
    }
    assert!(leader.term().is_some() && follower.term().is_none());
    link.stall();
    tokio::time::sleep(31 * SECOND).await;
    assert!(follower.contact() >= 30 * SECOND);
    assert!(!follower.healthy(TOLERANCE) && beside.healthy(TOLERANCE), "its store is silent");
    link.open();
    tokio::time::sleep(SECOND).await;
    assert!(follower.healthy(TOLERANCE));
    for task in following.into_iter().chain([leading]) {
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    }
    assert!(!follower.healthy(TOLERANCE), "it does not stand any more");
}

#[tokio::test(start_paused = true)]
async fn a_leader_is_well_for_as_long_as_its_lease_can_be_relied_on() {
    let (memory, link) = (Memory::new(), MemoryLink::new());
    let election = candidate(&Locks::with_memory(&memory.through(&link)), "far");
    let mut events = election.events();
    let running = stand(&election);
    while !matches!(events.next().await, Some(Event::TermWon { .. })) {}
    link.stall();
    tokio::time::sleep(8 * SECOND).await;
    assert!(election.healthy(SECOND), "whatever is tolerated: it leads");
    assert!(election.silent() >= 5 * SECOND && election.term().is_some());
    tokio::time::sleep(2 * SECOND).await;
    assert!(election.term().is_none() && !election.healthy(SECOND));
    assert!(election.healthy(TOLERANCE), "it stands again, and was answered 10 s ago");
    tokio::time::sleep(11 * SECOND).await;
    assert!(!election.healthy(TOLERANCE));
    link.open();
    while !matches!(events.next().await, Some(Event::TermWon { .. })) {}
    assert!(election.healthy(SECOND) && election.silent().is_zero());
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn who_led_is_not_known_for_ever_where_the_store_says_nothing() {
    let (memory, link) = (Memory::new(), MemoryLink::new());
    let leading = stand(&candidate(&Locks::with_memory(&memory), "near"));
    let far = candidate(&Locks::with_memory(&memory.through(&link)), "far");
    let mut watch = far.watch().await.unwrap();
    let is_near =
        |leader: Option<&firstcome_lock::Leader>| leader.is_some_and(|it| it.node == "near");
    watch.until(is_near).await.unwrap();
    link.stall();
    tokio::time::sleep(29 * SECOND).await;
    assert!(
        is_near(watch.current().as_ref()),
        "it may lead: a store that is followed by another is silent, too"
    );
    // Its lease lasted 10 s at most, then 30 s more; the last question waits for its answer.
    tokio::time::sleep(31 * SECOND).await;
    assert_eq!(watch.current(), None);
    link.open();
    tokio::time::timeout(11 * SECOND, watch.until(is_near)).await.unwrap().unwrap();
    leading.abort();
}
