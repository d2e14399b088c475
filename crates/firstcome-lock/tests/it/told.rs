//! What is told of locks and terms: each fact once, with its reason.

use std::collections::HashMap;
use std::time::Duration;

use firstcome_lock::{
    Election, Event, Events, Fence, Locks, Loss, Memory, MemoryLink, Released, TryLock,
};

use crate::stage::{SECOND, Stage, ms, take};

on_every_store! {
    one_life_of_a_lease_is_told_once
    a_dropped_lease_is_told_as_given_back
    one_who_waits_is_told_to_wait_once
    a_lock_taken_by_force_is_told_as_lost_once
    an_owner_is_told_each_time
    several_names_are_told_each_or_none
    work_under_a_lock_is_told_as_its_lock
    a_term_is_told_when_it_is_won_and_when_it_is_over
    a_term_taken_by_force_is_told_as_lost
    each_of_many_leases_is_told_once
    a_client_that_is_closed_tells_the_loss_and_ends
}

/// The lock that says that everything before it was told.
const END: &str = "beat";

/// Waits for the next event.
async fn next(events: &mut Events) -> Event {
    let next = tokio::time::timeout(600 * SECOND, events.next()).await;
    next.expect("something is told").expect("the client is not closed")
}

/// Takes a lock of another name and gives it back, and gives everything that was told before that.
async fn told_by_now(locks: &Locks, events: &mut Events) -> Vec<Event> {
    take(&locks.mutex(END).unwrap()).await.release().await.unwrap();
    let mut told = Vec::new();
    loop {
        let event = next(events).await;
        match (event.name(), event.as_str()) {
            (Some(END), "released") => return told,
            (Some(END), _) => {}
            (Some(_) | None, _) => told.push(event),
        }
    }
}

/// Returns the kinds of events, in order.
fn kinds(told: &[Event]) -> Vec<&'static str> {
    told.iter().map(Event::as_str).collect()
}

fn fence_of(event: &Event) -> Option<Fence> {
    match event {
        Event::Acquired { fence, .. }
        | Event::RenewedLate { fence, .. }
        | Event::Lost { fence, .. }
        | Event::Released { fence, .. } => Some(*fence),
        Event::TermWon { term, .. } | Event::TermLost { term, .. } => Some(*term),
        Event::Waiting { .. }
        | Event::StoreSilent { .. }
        | Event::StoreBack { .. }
        | Event::Missed { .. }
        | _ => None,
    }
}

async fn one_life_of_a_lease_is_told_once(stage: Stage) {
    let ann = stage.client().await;
    let mut events = ann.events();
    let lease = take(&ann.mutex("x").unwrap()).await;
    let fence = lease.fence();
    assert_eq!(lease.release().await.unwrap(), Released::Free);
    let told = told_by_now(&ann, &mut events).await;
    assert_eq!(kinds(&told), ["acquired", "released"]);
    assert!(told.iter().all(|event| event.name() == Some("x") && fence_of(event) == Some(fence)));
    assert!(matches!(told[1], Event::Released { released: Some(Released::Free), .. }), "{told:?}");
    // What nobody was given is not told.
    let held = take(&ann.mutex("x").unwrap()).await;
    assert!(ann.mutex("x").unwrap().try_lock().await.unwrap().acquired().is_none());
    held.leak();
    assert_eq!(kinds(&told_by_now(&ann, &mut events).await), ["acquired"]);
}

async fn a_dropped_lease_is_told_as_given_back(stage: Stage) {
    let ann = stage.client().await;
    let mut events = ann.events();
    drop(take(&ann.mutex("x").unwrap()).await);
    let told = [next(&mut events).await, next(&mut events).await];
    assert_eq!(kinds(&told), ["acquired", "released"]);
}

async fn one_who_waits_is_told_to_wait_once(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    for lock in [bob.mutex("x").unwrap(), bob.token("t").unwrap()] {
        let name = lock.name().to_owned();
        let held = match &*name {
            "x" => take(&ann.mutex("x").unwrap()).await,
            _ => take(&ann.token("t").unwrap()).await,
        };
        let mut events = bob.events();
        let waiting = tokio::spawn(async move { lock.lock().await.unwrap() });
        let waits = next(&mut events).await;
        assert_eq!((waits.as_str(), waits.name()), ("waiting", Some(&*name)), "{waits:?}");
        tokio::time::sleep(ms(50)).await;
        held.release().await.unwrap();
        let lease = waiting.await.unwrap();
        let fence = lease.fence();
        lease.release().await.unwrap();
        let told = told_by_now(&bob, &mut events).await;
        assert_eq!(kinds(&told), ["acquired", "released"]);
        let Event::Acquired { waited, fence: told_fence, .. } = &told[0] else { unreachable!() };
        assert!(*waited >= ms(50) && *told_fence == fence, "{told:?}");
    }
}

async fn a_lock_taken_by_force_is_told_as_lost_once(stage: Stage) {
    let ann = stage.client_with(Locks::builder().watchdog(20 * SECOND)).await;
    let bob = stage.client().await;
    let mut events = ann.events();
    let lease = take(&ann.mutex("x").unwrap()).await;
    assert!(bob.force_release("x").await.unwrap());
    // Nobody looks at the lease: the next renewal finds out.
    let told = [next(&mut events).await, next(&mut events).await];
    assert_eq!(kinds(&told), ["acquired", "lost"]);
    let Event::Lost { loss, silent, fence, .. } = &told[1] else { unreachable!() };
    assert_eq!((*loss, *silent, *fence), (Loss::Taken, Duration::ZERO, lease.fence()));
    assert_eq!(lease.lost().await, Loss::Taken);
    lease.release().await.unwrap();
    let told = told_by_now(&ann, &mut events).await;
    assert_eq!(kinds(&told), ["released"], "lost once, and given back");
    let Event::Released { released, .. } = &told[0] else { unreachable!() };
    assert_eq!(*released, Some(Released::AlreadyLost));
}

async fn an_owner_is_told_each_time(stage: Stage) {
    let ann = stage.client().await;
    let mut events = ann.events();
    let lock = ann.mutex("x").unwrap().owner(&ann.owner());
    let (one, two) = (take(&lock).await, take(&lock).await);
    one.release().await.unwrap();
    two.release().await.unwrap();
    let told = told_by_now(&ann, &mut events).await;
    assert_eq!(kinds(&told), ["acquired", "acquired", "released", "released"]);
    let [.., Event::Released { released: one, .. }, Event::Released { released: other, .. }] =
        &told[..]
    else {
        unreachable!()
    };
    let became = [*one, *other].map(Option::unwrap);
    assert_eq!(became, [Released::StillHeld { holds: 1 }, Released::Free]);
}

async fn several_names_are_told_each_or_none(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let mut events = ann.events();
    let both = ann.all(&["x", "y"]).unwrap();
    both.lock().await.unwrap().release().await.unwrap();
    let told = told_by_now(&ann, &mut events).await;
    let of = |name: &str| {
        let told: Vec<_> = told.iter().filter(|event| event.name() == Some(name)).collect();
        told.into_iter().map(Event::as_str).collect::<Vec<_>>()
    };
    assert_eq!((of("x"), of("y")), (vec!["acquired", "released"], vec!["acquired", "released"]));
    // A lock that was taken and given back since another was not to be had was nobody's.
    let held = take(&bob.mutex("y").unwrap()).await;
    assert!(matches!(both.try_lock().await.unwrap(), TryLock::Held { .. }));
    assert_eq!(told_by_now(&ann, &mut events).await, []);
    let waiting = tokio::spawn(async move { both.lock().await.unwrap() });
    let waits = next(&mut events).await;
    assert_eq!((waits.as_str(), waits.name()), ("waiting", Some("y")));
    held.release().await.unwrap();
    waiting.await.unwrap().release().await.unwrap();
    let told = told_by_now(&ann, &mut events).await;
    assert_eq!(told.len(), 4, "{told:?}");
}

async fn work_under_a_lock_is_told_as_its_lock(stage: Stage) {
    let ann = stage.client().await;
    let mut events = ann.events();
    let lock = ann.mutex("x").unwrap();
    let fence = lock.run(async |lease| lease.fence()).await.unwrap().output;
    let told = told_by_now(&ann, &mut events).await;
    assert_eq!(kinds(&told), ["acquired", "released"]);
    assert!(told.iter().all(|event| fence_of(event) == Some(fence)));
}

async fn a_term_is_told_when_it_is_won_and_when_it_is_over(stage: Stage) {
    let ann = stage.client().await;
    let election = Election::new(&ann, "job").unwrap().node("ann");
    let mut events = election.events();
    // What happens to other locks is not told.
    take(&ann.mutex("other").unwrap()).await.release().await.unwrap();
    let term = election.run(|term| async move { term.fence() }).await.unwrap();
    let mut told = Vec::new();
    for _ in 0..4 {
        told.push(next(&mut events).await);
    }
    assert_eq!(kinds(&told), ["acquired", "term_won", "term_lost", "released"]);
    assert!(told.iter().all(|event| event.name() == Some("job") && fence_of(event) == Some(term)));
    let Event::TermLost { node, loss, silent, .. } = &told[2] else { unreachable!() };
    assert_eq!((node.as_str(), *loss, *silent), ("ann", Loss::GivenBack, Duration::ZERO));
}

async fn a_term_taken_by_force_is_told_as_lost(stage: Stage) {
    let (ann, bob) = (stage.client().await, stage.client().await);
    let election = Election::new(&ann, "job").unwrap().lease(20 * SECOND);
    let mut events = election.events();
    let running = tokio::spawn(async move {
        election.run(|_| std::future::pending::<()>()).await.unwrap();
    });
    let mut told = vec![next(&mut events).await, next(&mut events).await];
    assert!(bob.force_release("job").await.unwrap());
    while told.iter().filter(|event| event.as_str() == "term_won").count() < 2 {
        told.push(next(&mut events).await);
    }
    let terms: Vec<_> = told.iter().filter(|event| event.as_str().starts_with("term")).collect();
    let [
        Event::TermWon { term: first, .. },
        Event::TermLost { term, loss, .. },
        Event::TermWon { term: second, .. },
    ] = terms[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!((term, *loss), (first, Loss::Taken));
    assert!(second > first, "it stands again");
    let lost = told.iter().filter(|event| event.as_str() == "lost").count();
    assert_eq!(lost, 1, "its lock is lost, too: {told:?}");
    running.abort();
}

/// Tasks that pass a lock on among themselves, wait for each other, and let go of it in each way there is.
async fn each_of_many_leases_is_told_once(stage: Stage) {
    let ann = stage.client().await;
    let mut events = ann.events();
    let mut tasks = Vec::new();
    for task in 0..6 {
        let lock = ann.mutex("x").unwrap();
        tasks.push(tokio::spawn(async move {
            let mut fences = Vec::new();
            for turn in 0..6 {
                let lease = lock.lock().await.unwrap();
                fences.push(lease.fence());
                match (task + turn) % 2 {
                    0 => drop(lease),
                    _ => drop(lease.release().await.unwrap()),
                }
            }
            fences
        }));
    }
    let mut fences = Vec::new();
    for task in tasks {
        fences.extend(task.await.unwrap());
    }
    let mut times: HashMap<(Fence, &str), usize> = HashMap::new();
    let count = |times: &HashMap<_, usize>, kind| {
        fences.iter().filter(|fence| times.get(&(**fence, kind)) == Some(&1)).count()
    };
    // A drop gives its lock back in the background.
    while count(&times, "released") < fences.len() {
        let event = next(&mut events).await;
        assert!(!matches!(event, Event::Missed { .. } | Event::Lost { .. }), "{event:?}");
        if let Some(fence) = fence_of(&event) {
            *times.entry((fence, event.as_str())).or_default() += 1;
        }
    }
    assert_eq!(count(&times, "acquired"), fences.len());
    assert_eq!(times.len(), 2 * fences.len(), "of nobody else");
}

async fn a_client_that_is_closed_tells_the_loss_and_ends(stage: Stage) {
    let ann = stage.client().await;
    let mut events = ann.events();
    let lease = take(&ann.mutex("x").unwrap()).await;
    ann.close().await;
    let told = [next(&mut events).await, next(&mut events).await];
    assert_eq!(kinds(&told), ["acquired", "lost"]);
    assert!(matches!(told[1], Event::Lost { loss: Loss::Closed, .. }), "{told:?}");
    assert_eq!(events.next().await, None);
    assert_eq!(ann.events().next().await, None, "nor does it tell anything later");
    drop(lease);
    // Nor is there anything to wait for where everybody has let go of the client.
    let bob = stage.client().await;
    let mut events = bob.events();
    drop(bob);
    assert_eq!(tokio::time::timeout(20 * SECOND, events.next()).await, Ok(None));
}

#[tokio::test]
async fn permits_readers_and_writers_are_told_as_locks_are() {
    let stage = Stage::sqlite();
    let ann = stage.client().await;
    let mut events = ann.events();
    let locks = [
        ann.semaphore("s", 2).unwrap(),
        ann.semaphore("s", 2).unwrap(),
        ann.read("book").unwrap(),
        ann.write("page").unwrap(),
    ];
    let mut leases = Vec::new();
    for lock in &locks {
        leases.push(take(lock).await);
    }
    for lease in leases {
        assert_eq!(lease.release().await.unwrap(), Released::Free);
    }
    let told = told_by_now(&ann, &mut events).await;
    let names: Vec<_> = told.iter().filter_map(Event::name).collect();
    assert_eq!(names, ["s", "s", "book", "page", "s", "s", "book", "page"]);
    assert_eq!(kinds(&told)[..4], ["acquired"; 4]);
    assert_eq!(kinds(&told)[4..], ["released"; 4]);
}

/// A client whose store a test can stall; its leases last a minute and are renewed each ten seconds. And one beside it.
fn stalled() -> (Locks, MemoryLink, Locks) {
    let (memory, link) = (Memory::new(), MemoryLink::new());
    let builder = Locks::builder().watchdog(60 * SECOND);
    (builder.memory(&memory.through(&link)).unwrap(), link, Locks::with_memory(&memory))
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stalls_is_told_before_the_loss_and_the_loss_says_for_how_long() {
    let (ann, link, bob) = stalled();
    let mut events = ann.events();
    let begun = tokio::time::Instant::now();
    let _held = take(&ann.mutex("x").unwrap()).await;
    link.stall();
    let told = [next(&mut events).await, next(&mut events).await, next(&mut events).await];
    assert_eq!(kinds(&told), ["acquired", "store_silent", "lost"]);
    assert_eq!(begun.elapsed().as_secs(), 54, "told when trust ends, though nobody looks");
    let Event::Lost { loss, silent, .. } = &told[2] else { unreachable!() };
    // It was asked after 10 s for the first time.
    assert_eq!((*loss, silent.as_secs()), (Loss::RanOut, 44));
    link.open();
    take(&bob.mutex("y").unwrap()).await.release().await.unwrap();
    assert!(ann.inspect("x").await.unwrap().is_some());
    let back = next(&mut events).await;
    assert!(matches!(back, Event::StoreBack { silent, .. } if silent.as_secs() == 44), "{back:?}");
}

#[tokio::test(start_paused = true)]
async fn a_fixed_lease_and_one_that_was_held_too_long_are_told_though_nobody_looks() {
    let (ann, ..) = stalled();
    let fixed = take(&ann.mutex("fixed").unwrap().lease(30 * SECOND)).await;
    // Who begins to listen hears of what is held already.
    let mut events = ann.events();
    let long = take(&ann.mutex("long").unwrap().hold_at_most(40 * SECOND)).await;
    let shortened = take(&ann.mutex("shortened").unwrap().lease(600 * SECOND)).await;
    shortened.extend(20 * SECOND).await.unwrap();
    let begun = tokio::time::Instant::now();
    let mut lost = Vec::new();
    while lost.len() < 3 {
        if let Event::Lost { name, loss, silent, .. } = next(&mut events).await {
            assert_eq!(silent, Duration::ZERO);
            lost.push((name, loss, begun.elapsed().as_secs()));
        }
    }
    let expected = [
        ("shortened", Loss::RanOut, 18),
        ("fixed", Loss::RanOut, 27),
        ("long", Loss::HeldTooLong, 40),
    ];
    assert_eq!(lost, expected.map(|(name, loss, after)| (name.to_owned(), loss, after)));
    drop((fixed, long));
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_comes_late_is_told_and_one_that_is_nearly_on_time_is_not() {
    for (stalled_for, told_late) in [(25_u32, Some(15)), (15, None)] {
        let (ann, link, _) = stalled();
        let mut events = ann.events();
        let lease = take(&ann.mutex("x").unwrap()).await;
        link.stall();
        tokio::time::sleep(SECOND * stalled_for).await;
        link.open();
        tokio::time::sleep(SECOND).await;
        assert!(lease.is_valid());
        let told = told_by_now(&ann, &mut events).await;
        let mut late = None;
        for event in &told {
            if let Event::RenewedLate { late: by, silent, .. } = event {
                late = Some((by.as_secs(), silent.as_secs()));
            }
        }
        // It was asked when it was due, after 10 s.
        assert_eq!(late, told_late.map(|late| (late, late)), "{told:?}");
    }
}

#[tokio::test]
async fn a_slow_reader_is_told_how_much_it_missed_and_holds_nobody_up() {
    let locks = Locks::memory();
    let (mut slow, mut quick) = (locks.events(), locks.events());
    let lock = locks.mutex("x").unwrap();
    let mut seen = 0;
    for _ in 0..400 {
        take(&lock).await.release().await.unwrap();
        for _ in 0..2 {
            assert!(!matches!(next(&mut quick).await, Event::Missed { .. }));
            seen += 1;
        }
    }
    assert_eq!(seen, 800);
    assert_eq!(next(&mut slow).await.to_string(), "544 events were missed");
    for event in 0..256 {
        let kind = ["acquired", "released"][event % 2];
        assert_eq!(next(&mut slow).await.as_str(), kind);
    }
    locks.close().await;
    assert_eq!(slow.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn what_is_told_is_a_sentence() {
    let (ann, link, _) = stalled();
    let election = Election::new(&ann, "job").unwrap().node("ann").lease(60 * SECOND);
    let mut events = election.events();
    let running = tokio::spawn(async move {
        election.run(|_| std::future::pending::<()>()).await.unwrap();
    });
    let term = match [next(&mut events).await, next(&mut events).await] {
        [_, Event::TermWon { term, .. }] => term,
        told => panic!("{told:?}"),
    };
    link.stall();
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(next(&mut events).await.to_string());
    }
    let why = "it ran out without a confirmed renewal; the store had not answered for 44";
    assert_eq!(told[0], "the store does not answer");
    assert!(told[1].starts_with(&format!("the lock job is lost: {why}")), "{told:?}");
    let term_lost = format!("ann leads job no more, term {term}: {why}");
    assert!(told[2].starts_with(&term_lost) && told[2].ends_with('s'), "{told:?}");
    running.abort();
}
