//! Each mistake that can be made on purpose shows: a story that ends well goes wrong with it.
//!
//! Time is the runtime's own, paused, and everything runs on one thread, which is what goes without a protection.

use crate::several::{Seat, at, places, store};
use firstcome_core::command::{Body, BodyWriter, Command};
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_core::settings::Opens;
use firstcome_core::{NodeId, Outcome, Settings, SpaceId, State};
use firstcome_inject::Mistake;
use firstcome_journal::memory::Memory;
use firstcome_journal::{Journal, Name};
use firstcome_node::CommandError;
use firstcome_node::Metrics;
use firstcome_node::leader::{Election, LeaderPace, Leadership, SettleDelay};
use firstcome_node::ledger::memory::{LedgerCall, LedgerWork, Way};
use firstcome_node::ledger::{Batch, Ledger, LedgerError, MemoryLedger as Tables, Row};
use firstcome_node::{Answer, Decided};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

pub(crate) const SPACE: SpaceId = SpaceId([7; 16]);
const SECOND: Duration = Duration::from_secs(1);
/// After this a node that was held hears nothing any more and still takes its state for fresh.
const HELD: Duration = Duration::from_millis(310);

/// Tells a story with everything in place, then without a protection; it says whether it went wrong.
pub(crate) async fn shows(mistake: Mistake, story: impl AsyncFn() -> bool) {
    firstcome_inject::set(None);
    assert!(!story().await, "it goes wrong with everything in place");
    firstcome_inject::set(Some(mistake));
    let wrong = story().await;
    firstcome_inject::set(None);
    assert!(wrong, "it ends well although {}", mistake.sentence());
}

/// Two nodes that both know `spring`; the second one then hears nothing of the first.
async fn one_and_a_held_one(settings: Settings) -> (Seat, Seat) {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.puts("spring", settings).await;
    two.reaches(1).await;
    (one, two)
}

async fn hold(seat: &Seat) {
    seat.journal.hold();
    sleep(HELD).await;
}

fn from_memory(answer: &Result<Answer, CommandError>) -> bool {
    answer.as_ref().is_ok_and(|answer| answer.decided == Decided::Replica)
}

#[tokio::test(start_paused = true)]
async fn a_stale_node_refuses_from_memory() {
    shows(Mistake::AnswerWhileStale, async || {
        let (one, two) = one_and_a_held_one(places(1)).await;
        one.claims("ann").await;
        two.reaches(2).await;
        two.journal.hold();
        sleep(3 * SECOND).await;
        from_memory(&two.tries("bob", None).await)
    })
    .await;
}

/// A store whose copy lags gives a node fewer entries than there are.
#[tokio::test(start_paused = true)]
async fn a_campaign_that_a_lagging_copy_lacks_is_not_found() {
    shows(Mistake::PartialReadIsCaughtUp, async || {
        let store = store();
        let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
        two.journal.lag(1_000);
        one.opens("spring", 1).await;
        sleep(SECOND / 10).await;
        let answer = two.tries("ann", None).await;
        let lost = answer.is_ok_and(|answer| !matches!(answer.outcome, Outcome::Won { .. }));
        two.journal.lag(0);
        let nowhere = two.node.intake.claim("nowhere", None, "ann", None).await;
        assert!(from_memory(&nowhere), "{nowhere:?}");
        lost
    })
    .await;
}

/// Until the next look nothing new is heard, and what was heard before the question says nothing about it.
#[tokio::test(start_paused = true)]
async fn a_campaign_made_since_the_last_look_is_not_found() {
    shows(Mistake::BarrierByOlderLook, async || {
        let store = store();
        let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
        sleep(SECOND).await;
        // Its look is under way until it is let go.
        two.journal.hold();
        one.opens("spring", 1).await;
        let (answer, ()) = tokio::join!(two.tries("ann", None), async {
            sleep(SECOND / 10).await;
            two.journal.let_go();
        });
        answer.is_ok_and(|answer| !matches!(answer.outcome, Outcome::Won { .. }))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_earlier_win_is_repeated_after_its_cancel() {
    shows(Mistake::RepeatWinAfterCancel, async || {
        let (one, two) = one_and_a_held_one(Settings { claim_again: true, ..places(9) }).await;
        let rank = one.claims("ann").await;
        two.reaches(2).await;
        hold(&two).await;
        let [campaign, subject, reason, who] = ["spring", "ann", "", ""];
        let (pool, by) = (Some("main"), By::Subject);
        let cancel = Command::Cancel { campaign, pool, subject, rank, by, reason, who };
        one.node.intake.decide(&cancel).await.unwrap();
        from_memory(&two.tries("ann", None).await)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_campaign_is_said_not_to_exist_that_does() {
    shows(Mistake::NotFoundFromMemory, async || {
        let store = store();
        let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
        hold(&two).await;
        one.opens("spring", 9).await;
        from_memory(&two.tries("ann", None).await)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_position_that_was_brought_is_not_reached() {
    shows(Mistake::MinPositionIgnored, async || {
        let (one, two) = one_and_a_held_one(places(9)).await;
        hold(&two).await;
        let won = one.tries("ann", None).await.unwrap();
        let reached = two.node.intake.reach(Some(won.position)).await;
        reached.is_ok() && two.position().position < won.position.position
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn it_is_said_not_to_be_open_when_it_is() {
    shows(Mistake::NotOpenWithoutElapsed, async || {
        let begun = Instant::now();
        let store = store();
        let two = Seat::at(&store).await;
        sleep(10 * SECOND).await;
        let micros = (begun.elapsed() + Duration::from_millis(400)).as_micros() as i64;
        two.puts("spring", Settings { opens: Opens::At(at(micros)), ..places(9) }).await;
        two.journal.hold();
        sleep(Duration::from_millis(410)).await;
        from_memory(&two.tries("ann", None).await)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_happened_is_said_not_to_have() {
    shows(Mistake::UnavailableForUnknown, async || {
        let (one, two) = one_and_a_held_one(places(9)).await;
        one.journal.lose_answer(1);
        let before = one.journal.appends();
        let hold = async {
            one.journal.asked(before + 1).await;
            one.journal.hold();
        };
        let (heard, ()) = tokio::join!(one.tries("ann", None), hold);
        assert!(matches!(
            two.tries("ann", None).await.unwrap().outcome,
            Outcome::AlreadyWon { .. }
        ));
        matches!(heard, Err(CommandError::Unavailable(_)))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_win_is_answered_as_somebody_elses_when_it_is_sent_again() {
    shows(Mistake::NewNumberOnResend, async || {
        let (one, _two) = one_and_a_held_one(places(9)).await;
        one.journal.lose_answer(1);
        matches!(one.tries("ann", None).await.unwrap().outcome, Outcome::AlreadyWon { .. })
    })
    .await;
}

/// A node on a store that confirms nothing any more.
async fn one_without_confirmations() -> Seat {
    let store = store();
    Seat::at(&store).await.opens("spring", 9).await;
    store.confirm_later();
    Seat::at(&store).await
}

#[tokio::test(start_paused = true)]
async fn an_answer_leaves_that_is_not_durable() {
    shows(Mistake::AnswerBeforeDurable, async || {
        let one = one_without_confirmations().await;
        timeout(60 * SECOND, one.tries("ann", None)).await.unwrap().is_ok()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn somebody_appends_before_what_was_lost_is_put_back() {
    shows(Mistake::AppendRightAfterFailover, async || {
        let store = store();
        let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
        one.opens("spring", 9).await;
        two.reaches(1).await;
        two.journal.hold();
        sleep(2 * SECOND).await;
        one.claims("ann").await;
        // It says on the roll how far it is.
        sleep(2 * SECOND).await;
        one.journal.hold();
        store.lose_tail(1);
        two.journal.let_go();
        let mend = async {
            sleep(SECOND).await;
            one.journal.let_go();
        };
        let (won, ()) = tokio::join!(two.claims("bob"), mend);
        won == 1
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_is_put_back_comes_too_late() {
    shows(Mistake::BackfillWithNewTime, async || {
        let begun = Instant::now();
        let store = store();
        let one = Seat::at(&store).await;
        let closes_at = Some(at((begun.elapsed() + 2 * SECOND).as_micros() as i64));
        one.puts("spring", Settings { closes_at, ..places(9) }).await;
        one.claims("ann").await;
        sleep(5 * SECOND).await;
        store.lose_tail(1);
        sleep(5 * SECOND).await;
        let new = Seat::at(&store).await;
        !matches!(
            new.tries("ann", None).await.unwrap().outcome,
            Outcome::AlreadyWon { rank: 1, .. }
        )
    })
    .await;
}

fn stranger() -> Name {
    Name { node: NodeId([9; 16]), number: 1 }
}

/// A node whose history was replaced behind the first entry, by one in which `eve` won.
async fn after_a_fork(before: impl AsyncFn(&Seat)) -> (Memory, Seat) {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 9).await;
    one.claims("ann").await;
    before(&one).await;
    let mut body = BodyWriter::new(stranger().node, 1, 0);
    assert!(body.push(&Command::claim("spring", None, "eve")));
    store.fork(1, [(stranger(), body.finish())]);
    sleep(3 * SECOND).await;
    (store, one)
}

#[tokio::test(start_paused = true)]
async fn a_node_goes_on_in_a_history_that_is_over() {
    shows(Mistake::HeightForName, async || {
        let (store, one) = after_a_fork(async |_| {}).await;
        one.claims("bob").await;
        let new = Seat::at(&store).await;
        let digest = |seat: &Seat| seat.node.replica.look(State::digest);
        digest(&one) != digest(&new)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_was_lost_in_a_fork_stays_lost() {
    shows(Mistake::OrphansNotReproposed, async || {
        let (_store, one) = after_a_fork(async |_| {}).await;
        !matches!(one.tries("ann", None).await.unwrap().outcome, Outcome::AlreadyWon { .. })
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_of_a_fork() {
    shows(Mistake::ForkWithoutReport, async || {
        let (store, _one) = after_a_fork(async |_| {}).await;
        Journal::Memory(store).reports().await.unwrap().is_empty()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_went_over_writes_under_its_old_identity() {
    shows(Mistake::WriterKeptAfterFork, async || {
        let (store, one) = after_a_fork(async |_| {}).await;
        one.claims("bob").await;
        let entries = Journal::Memory(store).read(0).await.unwrap().entries;
        entries.last().unwrap().name().unwrap().node == one.node.id
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_tick_of_a_history_that_is_over_is_brought() {
    shows(Mistake::MarksCarriedOver, async || {
        let tick = async |one: &Seat| drop(one.node.intake.tick().await.unwrap());
        let (store, one) = after_a_fork(tick).await;
        let entries = Journal::Memory(store).read(0).await.unwrap().entries;
        let bodies = entries.iter().map(|entry| Body::open(&entry.body).unwrap());
        let of_old = bodies.filter(|body| body.head.batch().node == one.node.id);
        let mut commands = of_old.flat_map(|body| body.commands().unwrap());
        commands.any(|command| matches!(command, Command::Tick { .. }))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_settle_mark_of_another_history_is_appended() {
    shows(Mistake::SettleMarkOfOtherBranch, async || {
        let (_store, one) = after_a_fork(async |_| {}).await;
        one.node.intake.settled(1, 1, 0).await.is_ok()
    })
    .await;
}

/// A leader that settles into a ledger.
pub(crate) fn leader(seat: &Seat, ledger: Ledger) -> Leadership {
    let pace = LeaderPace {
        settle_interval: SECOND / 5,
        settle_delay: SettleDelay::default(),
        keep_for: None,
        snapshot_bytes: u64::MAX,
        snapshot_every: Duration::MAX,
    };
    Leadership::start(
        &seat.node,
        Some(ledger),
        pace,
        Election::Alone,
        &Arc::new(Metrics::default()),
    )
}

/// A way on which one kind of call, or its answer, is lost, the first time or always.
#[derive(Debug)]
struct Bad {
    times: std::sync::atomic::AtomicU32,
    done: bool,
}

impl Bad {
    fn way(tables: &Tables, times: u32, done: bool) -> Ledger {
        Ledger::Memory(tables.through(Arc::new(Self { times: times.into(), done })))
    }
}

impl Way for Bad {
    fn carry(
        &self,
        call: LedgerCall,
        work: LedgerWork,
    ) -> Pin<Box<dyn Future<Output = Result<(), LedgerError>> + Send>> {
        use std::sync::atomic::Ordering::Relaxed;
        let lost = call == LedgerCall::Settle
            && self.times.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok();
        let done = self.done || !lost;
        Box::pin(async move {
            match done {
                true => work(),
                false => return Err(LedgerError::Unavailable("as planned".into())),
            }
            if lost { Err(LedgerError::Unknown("as planned".into())) } else { Ok(()) }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_ledger_has_what_the_journal_may_lose() {
    shows(Mistake::SettleBeforeDurable, async || {
        let (one, tables) = (one_without_confirmations().await, Tables::new(SPACE));
        let _leader = leader(&one, Ledger::Memory(tables.clone()));
        let unknown = one.tries("ann", None).await;
        assert!(unknown.is_err());
        tables.kept().results().count() > 0
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_settles_from_where_it_believes_the_ledger_to_be() {
    shows(Mistake::SettleWithoutReread, async || {
        let ((one, _two), tables) = (one_and_a_held_one(places(9)).await, Tables::new(SPACE));
        let leader = leader(&one, Bad::way(&tables, 1, true));
        one.claims("ann").await;
        sleep(10 * SECOND).await;
        one.claims("bob").await;
        sleep(60 * SECOND).await;
        let settled = tables.kept().results().count() == 2;
        assert_eq!(settled, leader.standing().trouble.is_none());
        !settled
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn results_are_dropped_that_the_ledger_does_not_have() {
    shows(Mistake::ResultsDroppedEarly, async || {
        let ((one, _two), tables) = (one_and_a_held_one(places(9)).await, Tables::new(SPACE));
        let _leader = leader(&one, Bad::way(&tables, u32::MAX, false));
        one.claims("ann").await;
        sleep(10 * SECOND).await;
        assert_eq!(tables.kept().results().count(), 0);
        one.node.replica.look(State::unsettled) == 0
    })
    .await;
}

fn rows(numbers: std::ops::RangeInclusive<u64>) -> Vec<Row> {
    let row = |number| Row {
        number,
        in_campaign: number as u32,
        kind: Kind::Claim,
        campaign: "spring".into(),
        campaign_number: 1,
        pool: "main".into(),
        pool_number: 0,
        rank: number as u32,
        subject: format!("subject-{number}").into(),
        at: at(0),
        by: None,
        reason: None,
        who: None,
        unit: None,
        hold: None,
        moved_from: None,
        details: None,
    };
    numbers.map(row).collect()
}

#[tokio::test(start_paused = true)]
async fn the_ledger_has_a_gap() {
    shows(Mistake::SettleWithoutCompare, async || {
        let ledger = Ledger::Memory(Tables::new(SPACE));
        let term = ledger.mint_term().await.unwrap().term;
        ledger.settle(Batch { after: 5, term, rows: rows(6..=9) }).await.is_ok()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_replaced_settles() {
    shows(Mistake::TermNotCompared, async || {
        let ledger = Ledger::Memory(Tables::new(SPACE));
        let term = ledger.mint_term().await.unwrap().term;
        ledger.mint_term().await.unwrap();
        ledger.settle(Batch { after: 0, term, rows: rows(1..=4) }).await.is_ok()
    })
    .await;
}
