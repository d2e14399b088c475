//! A journal at the end of a way does what its way says, and never tells of an answer that did not come.

use crate::world::{Hands, Player, SPACE, all, name_of};
use firstcome_journal::memory::Memory;
use firstcome_journal::{Confirm, Journal, JournalError};
use firstcome_virtual::distant::{self, Carried, JournalCall, ServerWork, Way};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

const LONG: Duration = Duration::from_secs(30);

/// What becomes of a call.
#[derive(Clone, Debug)]
enum Fate {
    Arrives,
    ArrivesTwice,
    /// It arrives here, and for a second time at another server.
    ArrivesElsewhereToo(Memory),
    AnswerLost,
    Lost,
}

/// A way on which a test says what becomes of the next calls. Clones are the same way.
#[derive(Clone, Debug)]
pub(crate) struct Road {
    memory: Memory,
    fate: Arc<Mutex<Fate>>,
    open: watch::Sender<bool>,
    incarnation: watch::Sender<u64>,
    /// Given with the next answer in the place of a confirmation at once.
    confirm: Arc<Mutex<Option<oneshot::Receiver<()>>>>,
    carried: Arc<Mutex<Vec<JournalCall>>>,
}

impl Road {
    /// Makes one on which everything arrives.
    pub(crate) fn to(memory: &Memory) -> Self {
        Self {
            memory: memory.clone(),
            fate: Arc::new(Mutex::new(Fate::Arrives)),
            open: watch::Sender::new(true),
            incarnation: watch::Sender::new(0),
            confirm: Arc::default(),
            carried: Arc::default(),
        }
    }

    pub(crate) fn journal(&self) -> Journal {
        distant::over(Arc::new(self.clone()))
    }

    fn fate(&self, fate: Fate) {
        *self.fate.lock().unwrap() = fate;
    }
}

impl Way for Road {
    fn carry(&self, call: JournalCall, work: ServerWork) -> Carried<Result<Confirm, JournalError>> {
        let (road, mut open) = (self.clone(), self.open.subscribe());
        road.carried.lock().unwrap().push(call);
        let lost = || Err(JournalError::Unknown("as planned".into()));
        Box::pin(async move {
            open.wait_for(|open| *open).await.unwrap();
            let fate = road.fate.lock().unwrap().clone();
            if matches!(fate, Fate::Lost) {
                return lost();
            }
            work(road.memory.clone()).await;
            match fate {
                Fate::Arrives => {}
                Fate::ArrivesTwice => {
                    work(road.memory.clone()).await;
                }
                Fate::ArrivesElsewhereToo(memory) => {
                    work(memory).await;
                }
                Fate::AnswerLost | Fate::Lost => return lost(),
            }
            let later = road.confirm.lock().unwrap().take();
            Ok(later.map_or(Confirm::AtOnce, Confirm::Later))
        })
    }

    fn incarnations(&self) -> watch::Receiver<u64> {
        self.incarnation.subscribe()
    }

    fn undelivered(&self) -> usize {
        0
    }

    fn confirms_at_once(&self) -> bool {
        false
    }
}

fn memory() -> Memory {
    Memory::new(SPACE, Hands::new().clock()).for_several()
}

/// A way, the journal at its end as it is reached over it, and as it is.
fn distant() -> (Road, Journal, Journal) {
    let memory = memory();
    let road = Road::to(&memory);
    (road.clone(), road.journal(), Journal::Memory(memory))
}

#[tokio::test(start_paused = true)]
async fn a_call_arrives_though_its_caller_is_dropped() {
    let (road, journal, there) = distant();
    let mut ann = Player::new(b'a');
    road.open.send_replace(false);
    let gone = tokio::time::timeout(Duration::from_secs(1), ann.claims(&journal, "ann")).await;
    assert!(gone.is_err(), "it is on its way");
    assert_eq!(all(&there, 0).await, []);
    road.open.send_replace(true);
    let news = there.follow(0, LONG).await.unwrap();
    assert_eq!(news.read.entries.len(), 1, "it did not arrive");
    assert_eq!(*road.carried.lock().unwrap(), [JournalCall::Append]);
}

#[tokio::test]
async fn an_answer_that_is_lost_is_unknown_and_the_call_happened() {
    let (road, journal, there) = distant();
    let mut ann = Player::new(b'a');
    road.fate(Fate::AnswerLost);
    let append = ann.next("ann");
    let failure = journal.append(append.clone()).await.unwrap_err();
    assert!(matches!(failure, JournalError::Unknown(_)), "{failure}");
    assert_eq!(all(&there, 0).await.len(), 1);
    road.fate(Fate::Arrives);
    let exchange = journal.append(append).await.unwrap();
    assert_eq!(name_of(&exchange.entries[0]), name_of(&exchange.entries[1]), "it is there twice");
}

#[tokio::test]
async fn a_call_that_is_lost_is_unknown_and_did_not_happen() {
    let (road, journal, there) = distant();
    road.fate(Fate::Lost);
    let failure = Player::new(b'a').claims(&journal, "ann").await.unwrap_err();
    assert!(matches!(failure, JournalError::Unknown(_)), "{failure}");
    assert_eq!(all(&there, 0).await, []);
}

#[tokio::test]
async fn a_call_that_comes_twice_is_answered_with_what_came_of_the_first() {
    let (road, journal, there) = distant();
    road.fate(Fate::ArrivesTwice);
    let mut ann = Player::new(b'a');
    let exchange = ann.claims(&journal, "ann").await.unwrap();
    assert_eq!(exchange.entries.len(), 1);
    let entries = all(&there, 0).await;
    assert_eq!(entries.len(), 2);
    assert_eq!((name_of(&entries[0]), name_of(&entries[1])), (ann.applied_name, ann.applied_name));
    // The second time is refused, and nobody hears of it.
    let head = journal.head().await.unwrap();
    assert_eq!(journal.raise_epoch(head).await.unwrap(), 1);
    assert_eq!(there.head().await.unwrap().epoch, 1);
    // Where the first is refused, the second is no answer either.
    let failure = Player { applied: 9, ..ann }.claims(&journal, "ann").await.unwrap_err();
    assert!(matches!(failure, JournalError::Behind { head: 2, applied: 9 }), "{failure}");
}

#[tokio::test]
async fn a_call_may_arrive_at_several_servers_and_the_first_one_answers() {
    let (road, journal, there) = distant();
    let other = memory();
    road.fate(Fate::ArrivesElsewhereToo(other.clone()));
    let mut ann = Player::new(b'a');
    ann.claims(&Journal::Memory(other.clone()), "ann").await.unwrap();
    let exchange = Player::new(b'b').claims(&journal, "bob").await.unwrap();
    assert_eq!(exchange.entries.len(), 1);
    assert_eq!(all(&there, 0).await, exchange.entries);
    assert_eq!(all(&Journal::Memory(other), 0).await.len(), 2);
}

#[tokio::test]
async fn the_way_says_what_is_durable_and_when_something_may_be_lost() {
    let (road, journal, _there) = distant();
    assert!(!journal.confirms_at_once());
    let mut incarnations = journal.incarnations();
    road.incarnation.send_modify(|times| *times += 1);
    assert!(incarnations.has_changed().unwrap());
    assert_eq!(*incarnations.borrow_and_update(), 1);
    let (confirms, confirm) = oneshot::channel();
    *road.confirm.lock().unwrap() = Some(confirm);
    let mut ann = Player::new(b'a');
    let Confirm::Later(mut later) = ann.claims(&journal, "ann").await.unwrap().confirm else {
        panic!("the way said later");
    };
    assert!(later.try_recv().is_err());
    confirms.send(()).unwrap();
    later.await.unwrap();
    let exchange = ann.claims(&journal, "bob").await.unwrap();
    assert!(matches!(exchange.confirm, Confirm::AtOnce));
}
