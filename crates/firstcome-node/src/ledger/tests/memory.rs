//! What only the ledger in memory does: bad ways to it, and backups.

use super::*;
use crate::ledger::memory::{LedgerCall, LedgerWork, Way};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// What becomes of calls on the way.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Delivered,
    AnswerLost,
    Refused,
    /// It arrives after this, and its caller hears before that it is unknown.
    Late(Duration),
    /// It takes this long.
    Slow(Duration),
    /// The way takes it and forgets it.
    Forgotten,
}

#[derive(Debug)]
struct Road(Mutex<(Fate, Vec<LedgerCall>)>);

impl Road {
    fn to(memory: &MemoryLedger) -> (Arc<Self>, Ledger) {
        let road = Arc::new(Self(Mutex::new((Fate::Delivered, Vec::new()))));
        let ledger = Ledger::Memory(memory.through(Arc::clone(&road) as Arc<dyn Way>));
        (road, ledger)
    }

    fn set(&self, fate: Fate) {
        self.0.lock().unwrap().0 = fate;
    }
}

impl Way for Road {
    fn carry(
        &self,
        call: LedgerCall,
        work: LedgerWork,
    ) -> Pin<Box<dyn Future<Output = Result<(), LedgerError>> + Send>> {
        let fate = {
            let mut road = self.0.lock().unwrap();
            road.1.push(call);
            road.0
        };
        Box::pin(async move {
            let unknown = || Err(LedgerError::Unknown("as planned".into()));
            match fate {
                Fate::Delivered => work(),
                Fate::AnswerLost => {
                    work();
                    return unknown();
                }
                Fate::Refused => return Err(LedgerError::Unavailable("as planned".into())),
                Fate::Late(after) => {
                    tokio::spawn(async move {
                        sleep(after).await;
                        work();
                    });
                    return unknown();
                }
                Fate::Slow(time) => {
                    sleep(time).await;
                    work();
                }
                Fate::Forgotten => {}
            }
            Ok(())
        })
    }
}

fn ten(term: u64, after: u64) -> Batch {
    Batch { after, term, rows: claims(after + 1..=after + 10) }
}

#[tokio::test(start_paused = true)]
async fn a_call_over_a_way_is_done_lost_or_late_as_the_way_has_it() {
    let memory = MemoryLedger::new(SPACE);
    let (road, far) = Road::to(&memory);
    let near = Ledger::Memory(memory);
    let term = far.mint_term().await.unwrap().term;

    road.set(Fate::Refused);
    assert!(matches!(far.settle(ten(term, 0)).await, Err(LedgerError::Unavailable(_))));
    assert_eq!(near.standing().await.unwrap().through, 0);

    road.set(Fate::AnswerLost);
    assert!(matches!(far.settle(ten(term, 0)).await, Err(LedgerError::Unknown(_))));
    assert_eq!(near.standing().await.unwrap().through, 10);

    road.set(Fate::Late(SECOND));
    assert!(matches!(far.settle(ten(term, 10)).await, Err(LedgerError::Unknown(_))));
    assert_eq!(near.standing().await.unwrap().through, 10);
    sleep(2 * SECOND).await;
    assert_eq!(near.standing().await.unwrap().through, 20);

    road.set(Fate::Forgotten);
    assert!(matches!(far.settle(ten(term, 20)).await, Err(LedgerError::Unknown(_))));

    road.set(Fate::Delivered);
    let moved = far.settle(ten(term, 10)).await.unwrap_err();
    assert_eq!(moved, LedgerError::Moved { after: 10, through: 20 });
    assert_eq!(far.results(0, 100, Some("spring")).await.unwrap(), claims(1..=20));
    let asked = road.0.lock().unwrap().1.clone();
    assert_eq!((asked.len(), asked[0], asked[6]), (7, LedgerCall::MintTerm, LedgerCall::Results));
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_when_its_caller_walks_away() {
    let memory = MemoryLedger::new(SPACE);
    let (road, far) = Road::to(&memory);
    let term = far.mint_term().await.unwrap().term;
    road.set(Fate::Slow(SECOND));
    let given_up = timeout(SECOND / 2, far.settle(ten(term, 0))).await;
    assert!(given_up.is_err());
    assert_eq!(memory.kept().results().count(), 0);
    sleep(SECOND).await;
    assert_eq!(memory.kept().results().count(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_backup_that_is_restored_is_as_old_as_it_is() {
    let memory = MemoryLedger::new(SPACE);
    let ledger = Ledger::Memory(memory.clone());
    let term = ledger.mint_term().await.unwrap().term;
    ledger.settle(ten(term, 0)).await.unwrap();
    let yesterday = memory.kept();
    let later = ledger.mint_term().await.unwrap().term;
    ledger.settle(ten(later, 10)).await.unwrap();
    memory.restore(&yesterday);
    assert_eq!(ledger.standing().await.unwrap(), Standing { through: 10, term });
    let failure = ledger.settle(ten(later, 20)).await.unwrap_err();
    assert_eq!(failure, LedgerError::OldTerm { ours: later, theirs: term });
    assert_eq!(ledger.claim_counts("spring", "main").await.unwrap(), (10, 0));
    assert_eq!(yesterday.results().count(), 10);
}

#[tokio::test]
async fn a_ledger_of_another_space_is_refused() {
    let memory = MemoryLedger::new(SPACE);
    let wanted = SpaceId([1; 16]);
    let other = LedgerError::OtherSpace { found: SPACE, wanted };
    assert_eq!(memory.open(wanted).unwrap_err(), other);
}

#[tokio::test]
async fn a_ledger_that_was_closed_is_there_when_it_is_opened_again() {
    let memory = MemoryLedger::new(SPACE);
    let ledger = Ledger::Memory(memory.clone());
    let term = ledger.mint_term().await.unwrap().term;
    ledger.settle(ten(term, 0)).await.unwrap();
    ledger.close().await;
    let failure = ledger.clone().standing().await.unwrap_err();
    assert!(matches!(failure, LedgerError::Unavailable(_)), "{failure}");
    let again = Ledger::Memory(memory.open(SPACE).unwrap());
    assert_eq!(again.standing().await.unwrap().through, 10);
}
