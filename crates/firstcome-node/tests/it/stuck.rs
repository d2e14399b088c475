//! Nodes before an entry that breaks a rule: they can be read, and go on once it is skipped.
//!
//! Time is the runtime's own, paused; the mistake is made on this thread, and so by every node.

use crate::mistakes::shows;
use crate::several::{Seat, agree, places, store};
use firstcome_core::command::{BodyWriter, Pick};
use firstcome_core::names::NodeId;
use firstcome_core::settings::HoldSettings;
use firstcome_core::snapshot::Manifest;
use firstcome_core::state::Skip;
use firstcome_core::{Command, Outcome, Settings, SpaceId, State};
use firstcome_faults::faulty::{Fault, JournalCall};
use firstcome_inject::{Mistake, set};
use firstcome_journal::memory::Memory;
use firstcome_journal::{Journal, Name};
use firstcome_node::leader::{Election, LeaderPace, Leadership, SettleDelay};
use firstcome_node::ledger::{Ledger, MemoryLedger as Tables};
use firstcome_node::{CommandError, Condition, Metrics, Stuck};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// The mistake of this thread, which no other test must find.
struct Broken;

impl Broken {
    fn rule(mistake: Mistake) -> Self {
        set(Some(mistake));
        Self
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        set(None);
    }
}

async fn claims(seat: &Seat, campaign: &str, subject: &str) -> Result<Outcome, CommandError> {
    let answer = seat.node.intake.claim(campaign, None, subject, None).await;
    answer.map(|answer| answer.outcome)
}

/// Has a node lead, and write a snapshot every second.
pub(crate) fn leads(seat: &Seat, tables: &Tables) -> Leadership {
    let pace = LeaderPace {
        settle_interval: SECOND / 5,
        settle_delay: SettleDelay::default(),
        keep_for: None,
        snapshot_bytes: u64::MAX,
        snapshot_every: SECOND,
    };
    let ledger = Some(Ledger::Memory(tables.clone()));
    Leadership::start(&seat.node, ledger, pace, Election::Alone, &Arc::new(Metrics::default()))
}

async fn stuck(seat: &Seat) -> Stuck {
    let stands = async {
        loop {
            match seat.node.replica.stuck() {
                Some(stuck) if stuck.is_whole => return stuck,
                _ => sleep(SECOND / 10).await,
            }
        }
    };
    timeout(60 * SECOND, stands).await.expect("it is stuck")
}

/// Has an entry skipped.
async fn skips(store: &Memory, position: u64) {
    let journal = Journal::Memory(store.clone());
    let entry = journal.read(position - 1).await.unwrap().entries.remove(0);
    let Name { node, number } = entry.name().unwrap();
    let (reason, who) = ("a rule breaks".into(), "ann".into());
    journal.skip(Skip { position, node, number, at: entry.at, reason, who }).await.unwrap();
}

/// Opens two campaigns, and has ann win in the one that stays well.
async fn two_campaigns(seat: &Seat) {
    seat.opens("spring", 10).await;
    seat.opens("poison", 10).await;
    assert_eq!(seat.claims("ann").await, 1);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_cannot_apply_an_entry_are_read_and_go_on_once_it_is_skipped() {
    let _broken = Broken::rule(Mistake::ClaimBreaksRule);
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    two_campaigns(&one).await;
    assert_eq!(claims(&one, "poison", "eve").await, Err(CommandError::Unknown));
    for seat in [&one, &two] {
        let Stuck { broke, .. } = stuck(seat).await;
        assert_eq!((broke.position, broke.campaign.as_deref()), (4, Some("poison")));
        assert_eq!(seat.position().position, 3);
        let (Condition::Lost(_, why), Err(CommandError::Unavailable(said))) =
            (seat.node.intake.condition(), claims(seat, "spring", "bob").await)
        else {
            panic!("it takes commands");
        };
        assert_eq!(why, said);
        for word in ["entry 4", "campaign poison", "firstcome journal skip 4 --reason"] {
            assert!(said.contains(word), "{said}");
        }
        assert_eq!(seat.said(), [said], "it is said once");
        seat.node.replica.look(|state| assert_eq!(state.last_result(), 1));
    }
    // A third one that starts now is no better off, and no worse.
    let three = Seat::at(&store).await;
    assert_eq!(stuck(&three).await.broke.position, 4);
    sleep(5 * SECOND).await;

    skips(&store, 4).await;
    sleep(3 * SECOND).await;
    assert_eq!(one.claims("ann").await, 1);
    assert_eq!(two.claims("bob").await, 2);
    assert_eq!(three.claims("cid").await, 3);
    let four = Seat::at(&store).await;
    agree(&[&one, &two, &three, &four]).await;
    let skipped = four.node.replica.look(|state| state.skipped()[0].position);
    assert_eq!(skipped, 4);
    assert_eq!(one.counted("forks") + two.counted("forks") + three.counted("forks"), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_broken_entry_is_read_settled_or_put_into_a_snapshot() {
    let _broken = Broken::rule(Mistake::ClaimBreaksRule);
    let store = store();
    let one = Seat::at(&store).await;
    two_campaigns(&one).await;
    let tables = Tables::new(SpaceId([7; 16]));
    let leads = leads(&one, &tables);
    // Both in one batch: bob's claim is applied before eve's breaks.
    let (bob, eve) = tokio::join!(claims(&one, "spring", "bob"), claims(&one, "poison", "eve"));
    assert_eq!((bob, eve), (Err(CommandError::Unknown), Err(CommandError::Unknown)));
    let position = stuck(&one).await.broke.position;
    sleep(30 * SECOND).await;
    assert_eq!(tables.kept().results().count(), 1, "ann's");
    let newest = Journal::Memory(store.clone()).newest_snapshot().await.unwrap();
    if let Some(newest) = newest {
        let newest = Manifest::decode(&newest).unwrap();
        assert!(newest.stamp.position < position, "{newest:?}");
    }
    skips(&store, position).await;
    sleep(3 * SECOND).await;
    assert_eq!(one.claims("bob").await, 2, "he was told that nobody knows, and asks again");
    leads.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_skipped_batch_that_is_stored_twice_runs_neither_time() {
    shows(Mistake::SkipForgetsNumber, async || {
        let (store, mistake) = (store(), firstcome_inject::inject(Mistake::SkipForgetsNumber));
        set(Some(Mistake::ClaimBreaksRule));
        let one = Seat::at(&store).await;
        two_campaigns(&one).await;
        // The answer is lost, so it is sent again: both copies are in the journal.
        one.journal.lose_answer(1);
        assert_eq!(claims(&one, "poison", "eve").await, Err(CommandError::Unknown));
        stuck(&one).await;
        assert_eq!(Journal::Memory(store.clone()).head().await.unwrap().position, 5);
        set(mistake.then_some(Mistake::SkipForgetsNumber));
        skips(&store, 4).await;
        one.reaches(5).await;
        one.node.replica.look(|state| state.last_result() != 1)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_breaks_while_time_passes_is_told_of_the_campaign_it_broke_in() {
    let _broken = Broken::rule(Mistake::ExpiryBreaksRule);
    let store = store();
    let one = Seat::at(&store).await;
    two_campaigns(&one).await;
    let holding = HoldSettings { ttl_us: 60_000_000, ..HoldSettings::default() };
    one.puts("poison", Settings { holding, ..places(10) }).await;
    let (campaign, id, subject) = ("poison", "h1", "eve");
    let picks = vec![Pick::quantity("main", 1)];
    let hold = Command::Hold { campaign, id, subject, picks, limit: None };
    let held = one.node.intake.hold(&hold, None).await.unwrap().outcome;
    assert!(matches!(held, Outcome::Held { .. }), "{held:?}");
    // A tick finds it due: it names no campaign, and the hold's is blamed all the same.
    let broke = {
        sleep(90 * SECOND).await;
        stuck(&one).await.broke
    };
    assert_eq!((broke.campaign.as_deref(), broke.in_time), (Some("poison"), true));
    let said = one.said().join("\n");
    assert!(said.contains("while time passed in campaign poison"), "{said}");
    assert!(!said.contains("journal skip"), "skipping does not help: {said}");
    let rank = |state: &State| state.campaign("spring").unwrap().pools()[0].last_rank();
    assert_eq!(one.node.replica.look(rank), 1, "the others can be read");
}

#[tokio::test(start_paused = true)]
async fn a_stuck_node_goes_on_from_the_snapshot_of_one_that_was_mended() {
    let store = store();
    let one = {
        let _broken = Broken::rule(Mistake::ClaimBreaksRule);
        let one = Seat::at(&store).await;
        two_campaigns(&one).await;
        assert_eq!(claims(&one, "poison", "eve").await, Err(CommandError::Unknown));
        stuck(&one).await;
        one
    };
    // The rule is mended: a node of the new build applies it, and writes a snapshot.
    let two = Seat::at(&store).await;
    two.reaches(4).await;
    let leads = leads(&two, &Tables::new(SpaceId([7; 16])));
    two.claims("bob").await;
    timeout(900 * SECOND, one.node.replica.reach(5)).await.expect("it goes on");
    agree(&[&one, &two]).await;
    assert_eq!(one.claims("cid").await, 3);
    leads.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_stuck_on_another_branch_brings_what_it_had() {
    let store = store();
    let one = {
        let _broken = Broken::rule(Mistake::ClaimBreaksRule);
        let one = Seat::at(&store).await;
        two_campaigns(&one).await;
        // A copy that had both campaigns took eve's claim: she breaks a rule there.
        let eve = Name { node: NodeId([9; 16]), number: 1 };
        let mut body = BodyWriter::new(eve.node, eve.number, 0);
        assert!(body.push(&Command::claim("poison", None, "eve")));
        store.fork(2, [(eve, body.finish())]);
        assert_eq!(stuck(&one).await.broke.position, 3);
        one
    };
    let two = Seat::at(&store).await;
    two.reaches(3).await;
    let leads = leads(&two, &Tables::new(SpaceId([7; 16])));
    timeout(900 * SECOND, one.node.replica.reach(4)).await.expect("it goes on");
    agree(&[&one, &two]).await;
    let ann = claims(&two, "spring", "ann").await;
    assert!(matches!(ann, Ok(Outcome::AlreadyWon { rank: 1, .. })), "{ann:?}");
    leads.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_broken_entry_is_left_when_a_snapshot_has_the_skip_already() {
    let store = store();
    let broken = Broken::rule(Mistake::ClaimBreaksRule);
    let one = Seat::at(&store).await;
    two_campaigns(&one).await;
    // It is stuck, and cannot read what stands before the entry.
    for n in 1..=10_000 {
        one.journal.fault(JournalCall::Head, n, Fault::Refuse);
    }
    // Both in one batch: bob's claim is applied before eve's breaks.
    let (bob, eve) = tokio::join!(claims(&one, "spring", "bob"), claims(&one, "poison", "eve"));
    assert_eq!((bob, eve), (Err(CommandError::Unknown), Err(CommandError::Unknown)));
    skips(&store, 4).await;
    drop(broken);
    let two = Seat::at(&store).await;
    let leads = leads(&two, &Tables::new(SpaceId([7; 16])));
    assert_eq!(two.claims("cid").await, 2);
    sleep(5 * SECOND).await;
    assert!(one.node.replica.stuck().is_some_and(|stuck| !stuck.is_whole));
    one.journal.mend();
    one.reaches(two.position().position).await;
    assert_eq!(claims(&one, "spring", "bob").await.map(|won| won.as_str()), Ok("won"));
    sleep(SECOND).await;
    let digest = |seat: &Seat| seat.node.replica.look(|state| (state.position(), state.digest()));
    assert_eq!(digest(&one), digest(&two));
    leads.stop().await;
}
