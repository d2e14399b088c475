//! Nodes whose store fails over again while they still read, or bring along, what the last failover changed.
//!
//! Time is the runtime's own, paused: waiting for something that only time brings is done at once.

use crate::listed::{joins, opens_with_waitlist};
use crate::mistakes::shows;
use crate::several::{Seat, agree, store};
use crate::stuck::leads;
use firstcome_core::command::{BodyWriter, Command};
use firstcome_core::names::NodeId;
use firstcome_core::snapshot::Manifest;
use firstcome_core::{Outcome, SpaceId};
use firstcome_inject::Mistake;
use firstcome_journal::memory::{Kept, Memory};
use firstcome_journal::{Confirm, Journal, JournalError, Name};
use firstcome_node::CommandError::StalePosition;
use firstcome_node::ledger::MemoryLedger as Tables;
use firstcome_virtual::distant::{self, Carried, JournalCall, ServerWork, Way};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

/// The way of a node to its store, which fails over between two calls of the node.
#[derive(Clone, Debug)]
struct Link {
    state: Arc<Mutex<LinkState>>,
    incarnation: watch::Sender<u64>,
}

#[derive(Debug)]
struct LinkState {
    server: Memory,
    /// The calls that are waited for, one after the other, with the server that each finds if it is another one.
    next: VecDeque<(JournalCall, Option<Memory>)>,
    /// The server to which it is connected once the next append is stored, whose answer is lost.
    lost: Option<Memory>,
}

impl Link {
    /// Starts a node that is connected to a server.
    async fn of(server: &Memory, node: u64) -> (Self, Seat) {
        let state = LinkState { server: server.clone(), next: VecDeque::new(), lost: None };
        let link = Self { state: Arc::new(Mutex::new(state)), incarnation: watch::Sender::new(0) };
        let journal = distant::over(Arc::new(link.clone()));
        let mut drawn = node << 32;
        let random = move || {
            drawn += 1;
            drawn
        };
        (link, Seat::on(journal, random).await)
    }

    /// Connects it to another server now, and again when the last of these calls comes.
    fn fails_over<const N: usize>(&self, server: &Memory, next: [JournalCall; N], then: &Memory) {
        let mut state = self.state.lock().unwrap();
        state.server = server.clone();
        state.next = next.into_iter().map(|call| (call, None)).collect();
        state.next.back_mut().unwrap().1 = Some(then.clone());
        drop(state);
        self.incarnation.send_modify(|times| *times += 1);
    }

    /// Connects it to another server.
    fn goes_on(&self, server: &Memory) {
        self.state.lock().unwrap().server = server.clone();
        self.incarnation.send_modify(|times| *times += 1);
    }

    /// Has the next append stored at a server of which it hears nothing else: the answer is lost, and it is connected to
    /// another one.
    fn loses_an_answer(&self, server: &Memory, then: &Memory) {
        let mut state = self.state.lock().unwrap();
        (state.server, state.lost) = (server.clone(), Some(then.clone()));
    }

    /// Returns the server that a call finds.
    fn reached(&self, call: JournalCall) -> Memory {
        let mut state = self.state.lock().unwrap();
        if let Some((_, other)) = state.next.pop_front_if(|(next, _)| *next == call)
            && let Some(other) = other
        {
            state.server = other;
            self.incarnation.send_modify(|times| *times += 1);
        }
        state.server.clone()
    }
}

impl Way for Link {
    fn carry(&self, call: JournalCall, work: ServerWork) -> Carried<Result<Confirm, JournalError>> {
        let (server, link) = (self.reached(call), self.clone());
        Box::pin(async move {
            work(server).await;
            let lost = link.state.lock().unwrap().lost.take_if(|_| call == JournalCall::Append);
            let Some(then) = lost else { return Ok(Confirm::AtOnce) };
            link.goes_on(&then);
            Err(JournalError::Unknown("the answer was lost".to_owned()))
        })
    }

    fn incarnations(&self) -> watch::Receiver<u64> {
        self.incarnation.subscribe()
    }

    fn undelivered(&self) -> usize {
        usize::from(self.state.lock().unwrap().lost.is_some())
    }

    fn confirms_at_once(&self) -> bool {
        true
    }
}

/// Makes a server that goes on from what another one had, with claims of a stranger.
fn forked(begin: &Kept, keep: u64, stranger: u8, claims: u64) -> Memory {
    forked_with(begin, keep, (1..=claims).map(|number| (stranger, number)))
}

/// The same with claims under these names.
fn forked_with(begin: &Kept, keep: u64, names: impl IntoIterator<Item = (u8, u64)>) -> Memory {
    let server = store();
    server.restore(begin);
    let others = names.into_iter().map(|(stranger, number)| {
        let node = NodeId([stranger; 16]);
        let mut body = BodyWriter::new(node, number, 0);
        assert!(body.push(&Command::claim("spring", None, &format!("z{stranger}-{number}"))));
        (Name { node, number }, body.finish())
    });
    server.fork(keep, others);
    server
}

/// Says whether each subject has what it was told.
async fn have(seat: &Seat, subjects: &[&str]) -> bool {
    let mut all = true;
    for subject in subjects {
        let outcome = seat.tries(subject, None).await.unwrap().outcome;
        all &= matches!(outcome, Outcome::AlreadyWon { .. });
    }
    all
}

#[tokio::test(start_paused = true)]
async fn a_node_that_reads_one_branch_goes_on_when_the_store_goes_on_with_another() {
    shows(Mistake::MixedBranchesStop, async || {
        let first = store();
        let (link, one) = Link::of(&first, 1).await;
        one.opens("spring", 1_000).await;
        let begin = first.kept();
        one.claims("ann").await;
        // Each has more than one read brings: the node reads the beginning of one, and the end of the other.
        let (second, third) = (forked(&begin, 1, 9, 100), forked(&begin, 1, 8, 100));
        link.fails_over(&second, [JournalCall::Look, JournalCall::Read, JournalCall::Read], &third);
        sleep(20 * SECOND).await;
        one.node.has_stopped() || !have(&one, &["ann"]).await || one.claims("bob").await != 102
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_head_of_one_branch_and_an_entry_of_another_are_not_taken_for_one() {
    let first = store();
    let (link, one) = Link::of(&first, 1).await;
    one.opens("spring", 9).await;
    let begin = first.kept();
    for subject in ["ann", "bob", "cid"] {
        one.claims(subject).await;
    }
    // Both end at 3, and only the last one has there what this node has.
    let (second, third) = (forked(&begin, 1, 9, 2), store());
    third.restore(&first.kept());
    third.lose_tail(3);
    link.fails_over(&second, [JournalCall::Read], &third);
    sleep(20 * SECOND).await;
    assert!(!one.node.has_stopped(), "{:?}", one.node.intake.condition());
    assert!(have(&one, &["ann", "bob", "cid"]).await);
    assert_eq!(one.counted("forks"), 0);
}

#[tokio::test(start_paused = true)]
async fn what_one_branch_has_of_this_one_does_not_tell_what_another_has() {
    let first = store();
    let (link, one) = Link::of(&first, 1).await;
    one.opens("spring", 9).await;
    for subject in ["ann", "bob", "cid"] {
        one.claims(subject).await;
    }
    let all = first.kept();
    // Of the first one only cid is lost; the node looks where it forked, and gets the state of the other.
    let (second, third) = (forked(&all, 3, 9, 1), forked(&all, 1, 8, 1));
    link.fails_over(&second, [JournalCall::Look], &third);
    sleep(20 * SECOND).await;
    assert!(have(&one, &["ann", "bob", "cid"]).await);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_comes_to_two_branches_has_another_name_on_each() {
    shows(Mistake::NameKeptOnResend, async || {
        let first = store();
        let ((one_link, one), (two_link, two)) =
            (Link::of(&first, 1).await, Link::of(&first, 2).await);
        one.opens("spring", 1_000).await;
        two.reaches(1).await;
        let begin = first.kept();
        let (second, third) = (forked(&begin, 1, 8, 1), forked(&begin, 1, 7, 1));
        one_link.goes_on(&second);
        one.reaches(2).await;
        sleep(20 * SECOND).await;
        // Its entry is at 3 on the second server, which fails; it comes again to the third one, at 3 as well.
        two_link.loses_an_answer(&second, &third);
        assert_eq!(two.claims("ann").await, 2);
        one.reaches(3).await;
        one_link.goes_on(&third);
        // Digests are compared later.
        one.claims("z7-1").await != 1
    })
    .await;
}

/// Has a node write a snapshot of all it has.
async fn writes_a_snapshot(seat: &Seat, server: &Memory) {
    let leads = leads(seat, &Tables::new(SpaceId([7; 16])));
    sleep(5 * SECOND).await;
    leads.stop().await;
    let newest = Journal::Memory(server.clone()).newest_snapshot().await.unwrap().unwrap();
    let newest = Manifest::decode(&newest).unwrap().stamp.position;
    assert!(newest >= 3, "{newest}");
}

#[tokio::test(start_paused = true)]
async fn who_began_with_a_snapshot_brings_what_was_before_it_too() {
    shows(Mistake::SnapshotForEntries, async || {
        let store = store();
        let one = Seat::at(&store).await;
        one.opens("spring", 100).await;
        let begin = store.kept();
        for subject in ["ann", "bob"] {
            one.claims(subject).await;
        }
        writes_a_snapshot(&one, &store).await;
        one.claims("cid").await;
        let two = Seat::at(&store).await;
        // The one who was there from the beginning comes later.
        one.journal.hold();
        sleep(2 * SECOND).await;
        store.restore(&forked(&begin, 1, 9, 20).kept());
        sleep(20 * SECOND).await;
        one.journal.let_go();
        sleep(20 * SECOND).await;
        agree(&[&one, &two]).await;
        !have(&two, &["ann", "bob", "cid"]).await
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_went_over_and_back_brings_what_was_before_the_snapshot_too() {
    shows(Mistake::SnapshotForEntries, async || {
        let first = store();
        let ((one_link, one), (two_link, two)) =
            (Link::of(&first, 1).await, Link::of(&first, 2).await);
        one.opens("spring", 100).await;
        two.reaches(1).await;
        let second = store();
        second.restore(&first.kept());
        one_link.goes_on(&second);
        for subject in ["ann", "bob"] {
            one.claims(subject).await;
        }
        writes_a_snapshot(&one, &second).await;
        one.claims("cid").await;
        for rank in 1..=20 {
            assert_eq!(two.claims(&format!("dan{rank}")).await, rank);
        }
        one.journal.hold();
        sleep(2 * SECOND).await;
        // It goes over, and before it has brought anything the first server is back.
        two_link.fails_over(&second, [JournalCall::RaiseEpoch], &first);
        sleep(20 * SECOND).await;
        one_link.goes_on(&first);
        one.journal.let_go();
        sleep(20 * SECOND).await;
        agree(&[&one, &two]).await;
        !have(&two, &["ann", "bob", "cid", "dan1", "dan20"]).await
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_brought_behind_more_than_one_read_is_not_called_lost() {
    let first = store();
    let (link, one) = Link::of(&first, 1).await;
    one.opens("spring", 1_000).await;
    let begin = first.kept();
    one.claims("ann").await;
    let second = forked(&begin, 1, 9, 1);
    // While it goes over others append more than it reads with one append.
    let longer = forked(&second.kept(), 2, 8, 100);
    link.fails_over(&second, [JournalCall::RaiseEpoch], &longer);
    sleep(20 * SECOND).await;
    assert!(have(&one, &["ann"]).await);
    let said = one.said().join("");
    assert!(said.contains("spring/main \"ann\" changed from rank 1 to 102\n"), "{said}");
}

/// Has a server go on behind a state, so that nothing before it can be read there.
async fn seeds(seat: &Seat, server: &Memory) {
    server.empty();
    seat.node.reseed();
    sleep(10 * SECOND).await;
    let head = Journal::Memory(server.clone()).head().await.unwrap();
    assert_eq!(head.first, head.position + 1);
}

#[tokio::test(start_paused = true)]
async fn who_had_a_rank_in_either_of_two_branches_of_which_nothing_can_be_read_is_on_the_list() {
    let first = store();
    let (link, one) = Link::of(&first, 1).await;
    one.opens("spring", 100).await;
    let begin = first.kept();
    let (second, third) = (forked(&begin, 1, 9, 5), forked(&begin, 1, 8, 20));
    for (server, more) in [(&second, "zed"), (&third, "yan")] {
        let seat = Seat::at(server).await;
        seat.claims(more).await;
        seeds(&seat, server).await;
    }
    one.claims("ann").await;
    one.claims("bob").await;
    link.fails_over(&second, [JournalCall::Append], &third);
    sleep(20 * SECOND).await;
    let said = one.said().join("");
    for line in ["\"zed\" lost rank 6", "\"ann\" changed from rank 1 to 22"] {
        assert!(said.contains(&format!("spring/main {line}\n")), "{line} is missing from: {said}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waited_in_a_branch_of_which_nothing_can_be_read_is_on_the_list() {
    let first = store();
    let one = Seat::at(&first).await;
    opens_with_waitlist(&one).await;
    one.claims("ann").await;
    joins(&one, "bob", 1).await;
    let second = forked(&first.kept(), one.position().position, 9, 5);
    joins(&one, "cid", 1).await;
    joins(&one, "dan", 2).await;
    seeds(&one, &first).await;
    // Who starts now has those who wait as state only: it could bring none of them.
    let (link, two) = Link::of(&first, 2).await;
    link.goes_on(&second);
    sleep(20 * SECOND).await;
    let said = two.said().join("");
    for (subject, quantity) in [("cid", 1), ("dan", 2)] {
        let what = format!("is not on the waitlist any more, it waited for {quantity}");
        assert!(said.contains(&format!("spring/main {subject:?} {what}\n")), "{said}");
    }
    assert!(!said.contains("bob"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn who_was_away_while_another_branch_was_seeded_anew_knows_that_its_own_is_over() {
    let first = store();
    let ((one_link, one), (two_link, two)) = (Link::of(&first, 1).await, Link::of(&first, 2).await);
    one.opens("spring", 100).await;
    let begin = first.kept();
    one.claims("ann").await;
    two.reaches(2).await;
    two.journal.hold();
    sleep(2 * SECOND).await;
    // All that the second node has is brought to the other branch; then nothing shows any more where they parted.
    let second = forked(&begin, 1, 9, 5);
    one_link.goes_on(&second);
    sleep(20 * SECOND).await;
    assert!(have(&one, &["ann"]).await);
    seeds(&one, &second).await;
    two_link.goes_on(&second);
    two.journal.let_go();
    sleep(20 * SECOND).await;
    agree(&[&one, &two]).await;
    assert_eq!(two.counted("forks"), 1);
    assert!(two.said().join("").contains("spring/main \"ann\" changed from rank 1 to 6\n"));
}

#[tokio::test(start_paused = true)]
async fn the_list_of_a_fork_is_there_after_the_next_failover_too() {
    let first = store();
    let (link, one) = Link::of(&first, 1).await;
    one.opens("spring", 9).await;
    let begin = first.kept();
    one.claims("ann").await;
    let second = forked(&begin, 1, 9, 1);
    let older = second.kept();
    let reports = async || Journal::Memory(second.clone()).reports().await.unwrap();
    link.goes_on(&second);
    sleep(20 * SECOND).await;
    let before = reports().await;
    assert!(before[0].2.contains("spring/main \"ann\" changed from rank 1 to 2\n"), "{before:?}");
    second.restore(&older);
    link.goes_on(&second);
    sleep(20 * SECOND).await;
    assert_eq!(reports().await, before);
}

#[tokio::test(start_paused = true)]
async fn positions_of_each_branch_that_is_over_are_stale() {
    let first = store();
    let (link, one) = Link::of(&first, 1).await;
    one.opens("spring", 9).await;
    let begin = first.kept();
    one.claims("ann").await;
    // The second branch is of a later epoch than the first one, and than the third one.
    let (second, third) = (forked(&begin, 1, 9, 1), forked(&begin, 1, 8, 9));
    let journal = Journal::Memory(second.clone());
    journal.raise_epoch(journal.head().await.unwrap()).await.unwrap();
    let two = Seat::at(&second).await;
    let bobs = two.tries("bob", None).await.unwrap().position;
    assert_eq!((bobs.epoch, bobs.position), (1, 3));
    link.fails_over(&second, [JournalCall::Append], &third);
    sleep(20 * SECOND).await;
    let heard = one.tries("ann", Some(bobs)).await;
    assert!(matches!(heard, Err(StalePosition)), "{heard:?} at {}", one.position());
}
