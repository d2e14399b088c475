//! Functions under `#[locked]`, with locks in memory and a clock that is moved by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use firstcome_lock::{Fence, LockedError, Locks, Loss, Memory, locked};
use tokio::sync::Notify;
use tokio::time::Instant;

struct Order {
    id: u64,
    parts: (String, u8),
}

/// Tells how many are inside at most, and lets a test wait until somebody is.
#[derive(Default)]
struct Room {
    inside: AtomicU32,
    most: AtomicU32,
    entered: Notify,
    ended: AtomicU32,
}

impl Room {
    async fn stay(&self, time: Duration) {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        self.entered.notify_one();
        tokio::time::sleep(time).await;
        self.inside.fetch_sub(1, Ordering::SeqCst);
        self.ended.fetch_add(1, Ordering::SeqCst);
    }
}

#[locked(key = "seat:{event}:{seat}")]
async fn take_seat(
    locks: &Locks,
    event: &str,
    seat: u32,
    room: &Room,
) -> Result<Fence, LockedError> {
    room.stay(Duration::from_millis(700)).await;
    Ok(lease.fence())
}

#[tokio::test(start_paused = true)]
async fn two_calls_with_one_key_take_turns_and_other_keys_do_not_wait() {
    let (locks, room) = (Locks::memory(), Room::default());
    let (first, second) =
        tokio::join!(take_seat(&locks, "gala", 7, &room), take_seat(&locks, "gala", 7, &room));
    assert!(first.unwrap() < second.unwrap());
    assert_eq!(room.most.load(Ordering::SeqCst), 1);

    let (first, second) =
        tokio::join!(take_seat(&locks, "gala", 7, &room), take_seat(&locks, "gala", 8, &room));
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(room.most.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn who_waits_three_seconds_in_vain_is_told_who_was_in_the_way() {
    let (locks, room) = (Locks::memory(), Room::default());
    let held = locks.mutex("seat:gala:7").unwrap().lock().await.unwrap();
    let began = Instant::now();
    let barred = take_seat(&locks, "gala", 7, &room).await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    assert!(barred.to_string().contains("seat:gala:7"), "{barred}");
    assert!(barred.hint().is_some());
    let LockedError::Held { waited, remaining, .. } = barred else { panic!("{barred:?}") };
    assert!(waited == Duration::from_secs(3) && remaining.at_most().is_some());
    held.release().await.unwrap();
    assert!(take_seat(&locks, "gala", 7, &room).await.is_ok());
}

#[locked(key = "a {{brace}} {order.id}/{order.parts.0}/{order.parts.1}", wait = "0s")]
async fn name_of_lock(
    locks: Locks,
    Order { id, .. }: &Order,
    order: &Order,
) -> Result<String, LockedError> {
    assert_eq!(*id, order.id);
    Ok(lease.name().to_owned())
}

#[tokio::test]
async fn a_key_is_made_of_arguments_and_their_fields() {
    let order = Order { id: 17, parts: ("bolt".to_owned(), 3) };
    let name = name_of_lock(Locks::memory(), &order, &order).await.unwrap();
    assert_eq!(name, "a {brace} 17/bolt/3");
}

#[locked(key = "short", lease = "2s")]
async fn work_that_is_stopped(locks: &Locks, room: &Room) -> Result<(), LockedError> {
    room.stay(Duration::from_secs(60)).await;
    Ok(())
}

#[locked(key = "short", lease = "2s", on_loss = "finish")]
async fn work_that_finishes(locks: &Locks, room: &Room) -> Result<bool, LockedError> {
    room.stay(Duration::from_secs(60)).await;
    Ok(lease.is_valid())
}

#[tokio::test(start_paused = true)]
async fn with_stop_the_body_ends_before_anybody_else_can_begin() {
    let (locks, room, began) = (Locks::memory(), Room::default(), Instant::now());
    let barred = work_that_is_stopped(&locks, &room).await.unwrap_err();
    assert!(matches!(barred, LockedError::Lost { loss: Loss::RanOut, .. }), "{barred:?}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(room.ended.load(Ordering::SeqCst), 0);
    assert!(locks.mutex("short").unwrap().try_lock().await.unwrap().acquired().is_some());
}

#[tokio::test(start_paused = true)]
async fn with_finish_the_body_runs_to_its_end_and_can_see_the_loss() {
    let (locks, room, began) = (Locks::memory(), Room::default(), Instant::now());
    assert!(!work_that_finishes(&locks, &room).await.unwrap());
    assert_eq!(began.elapsed(), Duration::from_secs(60));
    assert_eq!(room.ended.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_closed_stops_the_body_with_that_reason() {
    let (locks, room) = (Locks::memory(), Arc::new(Room::default()));
    let (theirs, inside) = (locks.clone(), Arc::clone(&room));
    let work = tokio::spawn(async move { work_that_is_stopped(&theirs, &inside).await });
    room.entered.notified().await;
    locks.close().await;
    let barred = work.await.unwrap().unwrap_err();
    assert!(matches!(barred, LockedError::Lost { loss: Loss::Closed, .. }), "{barred:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_gives_the_lock_back() {
    let (locks, room) = (Locks::memory(), Room::default());
    tokio::select! {
        _ = work_that_is_stopped(&locks, &room) => panic!("it was to be dropped"),
        () = room.entered.notified() => {}
    }
    assert!(
        locks
            .mutex("short")
            .unwrap()
            .lock_within(Duration::from_secs(1))
            .await
            .unwrap()
            .acquired()
            .is_some()
    );
}

/// An error of somebody's own, as the function's error type.
#[derive(Debug, PartialEq)]
enum Trouble {
    Busy,
    Other(String),
}

impl From<LockedError> for Trouble {
    fn from(barred: LockedError) -> Self {
        match barred {
            LockedError::Held { .. } => Self::Busy,
            other @ (LockedError::Lost { .. } | LockedError::Error(_) | _) => {
                Self::Other(other.to_string())
            }
        }
    }
}

impl From<std::num::ParseIntError> for Trouble {
    fn from(error: std::num::ParseIntError) -> Self {
        Self::Other(error.to_string())
    }
}

struct Desk {
    locks: Arc<Locks>,
    name: String,
    sold: u32,
}

type DeskResult<T> = Result<T, Trouble>;

impl Desk {
    #[locked(key = "desk:{self.name}", lease = "50ms", wait = "10ms")]
    async fn sell(&mut self, count: &str) -> DeskResult<u32> {
        let count: u32 = count.parse()?;
        if count == 0 {
            return Ok(self.sold);
        }
        self.sold += count;
        Ok(self.sold)
    }

    #[locked(key = "desk", locks = desks.first().expect("a desk").locks, on_loss = finish)]
    async fn all<T>(desks: &[Self], text: T) -> Result<String, Trouble>
    where
        T: std::fmt::Display,
    {
        Ok(format!("{text} {}", desks.len()))
    }
}

#[tokio::test]
async fn methods_have_their_fields_their_question_marks_and_their_own_error() {
    let memory = Memory::new();
    let locks = Locks::with_memory(&memory);
    let mut desk = Desk { locks: Arc::new(locks.clone()), name: "north".to_owned(), sold: 0 };
    assert_eq!(desk.sell("2").await, Ok(2));
    assert_eq!(desk.sell("0").await, Ok(2));
    assert!(matches!(desk.sell("x").await, Err(Trouble::Other(_))));

    let other = Locks::with_memory(&memory);
    let held = other.mutex("desk:north").unwrap().lock().await.unwrap();
    assert_eq!(desk.sell("1").await, Err(Trouble::Busy));
    held.release().await.unwrap();
    assert_eq!(desk.sell("1").await, Ok(3));
    assert_eq!(Desk::all(&[desk], "desks:").await.unwrap(), "desks: 1");

    let mut nameless = Desk { locks: Arc::new(locks), name: "}{".repeat(5000), sold: 0 };
    assert!(matches!(nameless.sell("1").await, Err(Trouble::Other(why)) if why.contains("name")));
}

/// Methods of a trait, and functions that others spawn, are functions like any other.
trait Till {
    fn close(&self, day: u32) -> impl Future<Output = Result<u32, LockedError>> + Send;
}

impl Till for Desk {
    #[locked(key = "till:{self.name}:{day}")]
    async fn close(&self, day: u32) -> Result<u32, LockedError> {
        tokio::task::yield_now().await;
        Ok(day)
    }
}

#[tokio::test]
async fn methods_of_traits_can_be_locked_and_sent_to_other_threads() {
    let desk = Desk { locks: Arc::new(Locks::memory()), name: "south".to_owned(), sold: 0 };
    let closing = tokio::spawn(async move { desk.close(3).await });
    assert_eq!(closing.await.unwrap().unwrap(), 3);
}

#[locked(key = "long", renewed = "2s")]
async fn work_that_is_renewed(locks: &Locks, room: &Room) -> Result<bool, LockedError> {
    room.stay(Duration::from_secs(60)).await;
    Ok(lease.is_valid())
}

#[locked(key = "long", renewed, hold_at_most = "10s")]
async fn work_with_an_end(locks: &Locks, room: &Room) -> Result<(), LockedError> {
    room.stay(Duration::from_secs(60)).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_renewed_lease_lasts_as_long_as_the_body_and_no_longer() {
    let (locks, room, began) = (Locks::memory(), Room::default(), Instant::now());
    assert!(work_that_is_renewed(&locks, &room).await.unwrap());
    assert_eq!(began.elapsed(), Duration::from_secs(60));
    assert!(locks.inspect("long").await.unwrap().is_none(), "it was given back");
}

#[tokio::test(start_paused = true)]
async fn a_renewed_lease_ends_where_the_attribute_says_so() {
    let (locks, room, began) = (Locks::memory(), Room::default(), Instant::now());
    let stopped = work_with_an_end(&locks, &room).await.unwrap_err();
    assert!(matches!(stopped, LockedError::Lost { loss: Loss::HeldTooLong, .. }), "{stopped:?}");
    assert_eq!(began.elapsed(), Duration::from_secs(10));
    assert_eq!(room.ended.load(Ordering::SeqCst), 0);
    assert!(locks.inspect("long").await.unwrap().is_none(), "it was given back");
}
