//! Several nodes in this process on one journal that loses what it had.
//!
//! Time is the runtime's own, paused: waiting for something that only time brings is done at once.

use firstcome_core::command::{BodyWriter, Command, Expect, Order};
use firstcome_core::names::{NodeId, Position};
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::{LEVEL, Outcome, Settings, SpaceId, State};
use firstcome_faults::faulty::Faulty;
use firstcome_journal::memory::Memory;
use firstcome_journal::{Clock, Journal, Name};
use firstcome_node::CommandError;
use firstcome_node::Metrics;
use firstcome_node::codes::CodeKeys;
use firstcome_node::intake::QUEUE_BYTES;
use firstcome_node::{Answer, Condition, Given, Limits, Node, OnEmptied};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// 2027-03-01T00:00:00Z, where every clock here begins.
pub(crate) const BEGIN: i64 = 1_803_859_200_000_000;
/// The id of the key of codes that every node here has.
pub(crate) const CODE_KEY: &str = "k1";

/// One of several nodes, with the faults between it and the journal.
pub(crate) struct Seat {
    pub(crate) node: Node,
    pub(crate) journal: Faulty,
    /// What it said that an operator must see.
    said: Arc<Mutex<Vec<String>>>,
    counts: Registry,
}

pub(crate) fn store() -> Memory {
    Memory::new(SpaceId([7; 16]), clock()).for_several()
}

/// The clock of a store, which begins now.
pub(crate) fn clock() -> Clock {
    let begun = Instant::now();
    Clock::of(move || BEGIN + begun.elapsed().as_micros() as i64)
}

impl Seat {
    pub(crate) async fn at(store: &Memory) -> Self {
        static DRAWN: AtomicU64 = AtomicU64::new(1);
        Self::drawing(store, || DRAWN.fetch_add(1, Ordering::SeqCst)).await
    }

    /// Starts a node that draws its identity, and everything else at random, from here.
    pub(crate) async fn drawing(
        store: &Memory,
        random: impl FnMut() -> u64 + Send + 'static,
    ) -> Self {
        Self::on(Journal::Memory(store.clone()), random).await
    }

    /// Starts a node on any journal.
    pub(crate) async fn on(journal: Journal, random: impl FnMut() -> u64 + Send + 'static) -> Self {
        let journal = Faulty::new(journal);
        let mut counts = Registry::with_prefix("firstcome");
        let metrics = Arc::new(Metrics::new(&mut counts));
        let wait = Duration::from_secs(5);
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let given = Given {
            journal: journal.journal(),
            clock: None,
            address: "".into(),
            random: Box::new(random),
            limits: Limits {
                queue: 1_000,
                queue_bytes: QUEUE_BYTES,
                wait,
                memory: 1 << 30,
                outbox: None,
            },
            metrics,
            says: Arc::new(move |_, text| {
                eprintln!("{text}");
                heard.lock().unwrap().push(text.to_owned());
            }),
            core: None,
            settings: BTreeMap::new(),
            on_emptied: OnEmptied::default(),
            codes: Arc::new(CodeKeys::new(&[(CODE_KEY, [1; 32])]).unwrap()),
        };
        let node = Node::start(given, |_, _| {}).await.unwrap();
        Self { node, journal, said, counts }
    }

    pub(crate) async fn opens(&self, campaign: &str, capacity: u32) {
        self.puts(campaign, places(capacity)).await;
    }

    pub(crate) async fn puts(&self, campaign: &str, settings: Settings) {
        let (expect, order) = (Expect::Anything, Order { id: None, who: "ann" });
        let put = Command::Put { campaign, settings, expect, order };
        self.node.intake.decide(&put).await.unwrap();
    }

    pub(crate) async fn tries(
        &self,
        subject: &str,
        min: Option<Position>,
    ) -> Result<Answer, CommandError> {
        self.node.intake.claim("spring", None, subject, min).await
    }

    /// Claims in `spring`, and gives the rank.
    pub(crate) async fn claims(&self, subject: &str) -> u32 {
        let outcome = self.tries(subject, None).await.unwrap().outcome;
        let (Outcome::Won { rank, .. } | Outcome::AlreadyWon { rank, .. }) = outcome else {
            panic!("{outcome:?}");
        };
        rank
    }

    pub(crate) fn position(&self) -> Position {
        self.node.replica.look(State::token)
    }

    /// Returns what it said since this was asked last.
    pub(crate) fn said(&self) -> Vec<String> {
        std::mem::take(&mut self.said.lock().unwrap())
    }

    pub(crate) fn counted(&self, name: &str) -> u64 {
        let mut text = String::new();
        encode(&mut text, &self.counts).unwrap();
        let line =
            text.lines().find_map(|line| line.strip_prefix(&format!("firstcome_{name}_total ")));
        line.unwrap_or_else(|| panic!("{name} is not counted")).parse().unwrap()
    }

    /// Waits until this node applied a position.
    pub(crate) async fn reaches(&self, position: u64) {
        tokio::time::timeout(Duration::from_secs(60), self.node.replica.reach(position))
            .await
            .unwrap_or_else(|_| panic!("{position} is not reached, but {}", self.position()));
    }
}

/// Returns the settings of a campaign of one pool that is open.
pub(crate) fn places(capacity: u32) -> Settings {
    Settings {
        title: "".into(),
        opens: Opens::At(at(0)),
        closes_at: None,
        limit: None,
        claim_again: false,
        units_return: true,
        public: false,
        holding: HoldSettings::default(),
        pools: vec![PoolSettings::counted("main", capacity)],
    }
}

pub(crate) fn at(micros: i64) -> firstcome_core::Timestamp {
    firstcome_core::Timestamp::from_micros(BEGIN + micros)
}

/// Waits until all nodes say the same of the same position.
pub(crate) async fn agree(seats: &[&Seat]) -> u64 {
    for _ in 0..600 {
        let said: Vec<_> =
            seats.iter().map(|seat| seat.node.replica.look(|s| (s.token(), s.digest()))).collect();
        if said.windows(2).all(|pair| pair[0] == pair[1]) {
            return said[0].1;
        }
        sleep(Duration::from_millis(100)).await;
    }
    let said: Vec<_> = seats.iter().map(|seat| seat.position().to_string()).collect();
    panic!("the nodes do not come to agree: {said:?}");
}

#[tokio::test(start_paused = true)]
async fn any_node_answers_and_sees_what_another_did() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 10).await;
    let won = one.tries("ann", None).await.unwrap();
    let again = two.tries("ann", Some(won.position)).await.unwrap();
    assert!(matches!(again.outcome, Outcome::AlreadyWon { rank: 1, .. }), "{again:?}");
    assert_eq!(again.decided.as_str(), "replica");
    assert_eq!(two.claims("bob").await, 2);
    assert_eq!(one.claims("cid").await, 3);
    agree(&[&one, &two]).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_alone_waits_for_no_timer() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 10).await;
    // Between two ticks of the runtime's timer, which rounds up even what is over.
    tokio::time::advance(Duration::from_micros(300)).await;
    let begun = Instant::now();
    for subject in ["ann", "bob", "cid"] {
        one.claims(subject).await;
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn one_that_starts_while_others_append_faster_than_it_reads_is_there_all_the_same() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 10_000).await;
    let slow = Faulty::new(Journal::Memory(store.clone()));
    slow.slow_reads(Duration::from_millis(50));
    let append = async {
        for subject in 0..10_000 {
            one.claims(&subject.to_string()).await;
            sleep(Duration::from_millis(5)).await;
        }
    };
    let two = tokio::select! {
        biased;
        two = Seat::on(slow.journal(), || 99) => two,
        () = append => panic!("it reads on and on"),
    };
    let (there, here) = (store_head(&store).await.0, two.position().position);
    assert!(here >= 1 && here + 20 >= there, "{here} of {there}");
    agree(&[&one, &two]).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_store_lost_is_put_back_whole() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 10).await;
    for (rank, subject) in ["ann", "bob", "cid", "dan"].into_iter().enumerate() {
        assert_eq!(one.claims(subject).await, rank as u32 + 1);
    }
    two.reaches(5).await;
    let before = agree(&[&one, &two]).await;
    store.lose_tail(2);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(agree(&[&one, &two]).await, before, "nothing is different from before");
    assert_eq!(store_head(&store).await, (5, 0));
    assert!(one.counted("put_back") + two.counted("put_back") >= 3);
    assert_eq!(two.claims("eve").await, 5);
    assert_eq!(one.claims("dan").await, 4, "a claim that was lost keeps its rank");
    assert_eq!(one.counted("forks") + two.counted("forks"), 0);
}

pub(crate) async fn store_head(store: &Memory) -> (u64, u32) {
    let head = Journal::Memory(store.clone()).head().await.unwrap();
    (head.position, head.epoch)
}

#[tokio::test(start_paused = true)]
async fn a_claim_right_after_the_loss_waits_for_those_who_saw_more() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 10).await;
    one.claims("ann").await;
    two.reaches(2).await;
    // The second node hears nothing for a moment: it is behind, and the first one has told so.
    two.journal.hold();
    sleep(Duration::from_secs(1)).await;
    for subject in ["bob", "cid"] {
        one.claims(subject).await;
    }
    sleep(Duration::from_secs(2)).await;
    one.journal.hold();
    store.lose_tail(2);
    two.journal.let_go();
    let claim = two.tries("zoe", None);
    let mend = async {
        sleep(Duration::from_secs(2)).await;
        one.journal.let_go();
    };
    let (answer, ()) = tokio::join!(claim, mend);
    let answer = answer.unwrap();
    assert!(matches!(answer.outcome, Outcome::Won { rank: 4, .. }), "{answer:?}");
    agree(&[&one, &two]).await;
    assert_eq!(one.counted("forks") + two.counted("forks"), 0, "nobody had to fork");
}

#[tokio::test(start_paused = true)]
async fn an_emptied_store_waits_for_the_operators_word() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 10).await;
    one.claims("ann").await;
    two.reaches(2).await;
    store.empty();
    let refused = one.tries("bob", None).await.unwrap_err();
    assert!(matches!(refused, CommandError::Unavailable(_)), "{refused:?}");
    assert!(matches!(one.node.intake.condition(), Condition::Stale(_) | Condition::Lost(..)));
    one.node.reseed();
    sleep(Duration::from_secs(20)).await;
    agree(&[&one, &two]).await;
    assert_eq!(one.claims("bob").await, 2);
    assert_eq!(two.claims("ann").await, 1);
    assert_eq!(two.claims("cid").await, 3);
}

#[tokio::test(start_paused = true)]
async fn a_store_older_than_what_is_kept_is_seeded_anew() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 10).await;
    one.claims("ann").await;
    one.claims("bob").await;
    let at = one.position().position;
    // Another process that was started since keeps only what came after its start.
    let shared = Journal::Memory(store.clone());
    let head = Journal::Memory(store.clone()).head().await.unwrap();
    let state = one.node.replica.look(|state| state.freeze(true));
    seed(&store, &shared, head, state).await;
    let two = Seat::at(&store).await;
    one.node.stop().await.unwrap();
    assert_eq!(two.position().position, at);
    assert_eq!(two.claims("cid").await, 3);
    store.lose_tail(1);
    let refused = two.tries("dan", None).await.unwrap();
    assert!(matches!(refused.outcome, Outcome::Won { rank: 4, .. }), "{refused:?}");
    assert_eq!((two.claims("ann").await, two.claims("cid").await), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn one_that_started_from_a_snapshot_seeds_a_store_that_has_nothing_of_the_space_but_its_name()
{
    let store = store();
    let nothing = store.kept();
    let one = Seat::at(&store).await;
    one.opens("spring", 10).await;
    one.claims("ann").await;
    one.claims("bob").await;
    let shared = Journal::Memory(store.clone());
    let head = Journal::Memory(store.clone()).head().await.unwrap();
    let state = one.node.replica.look(|state| state.freeze(true));
    seed(&store, &shared, head, state).await;
    let two = Seat::at(&store).await;
    one.node.stop().await.unwrap();
    assert_eq!(two.claims("cid").await, 3);
    // A copy that had lagged from the beginning takes over.
    store.restore(&nothing);
    assert_eq!(two.claims("dan").await, 4);
    let three = Seat::at(&store).await;
    agree(&[&two, &three]).await;
    assert_eq!((three.claims("ann").await, three.claims("cid").await), (1, 3));
}

/// Puts a state in the place of the entries before it.
async fn seed(
    store: &Memory,
    shared: &Journal,
    head: firstcome_journal::Head,
    mut frozen: firstcome_core::snapshot::Frozen,
) {
    let journal = Journal::Memory(store.clone());
    while let Some(mut piece) = frozen.next_piece() {
        if let Some(bytes) = piece.bytes.take() {
            journal.put_piece(piece.name, bytes).await.unwrap();
        }
    }
    let manifest = frozen.finish();
    let seed = firstcome_journal::cluster::Seed {
        level: LEVEL,
        position: head.position,
        name: head.name,
        at: head.at,
        epoch: head.epoch,
        pieces: manifest.pieces.clone(),
        manifest: manifest.encode(),
    };
    shared.reseed(Some(head), seed).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_leaves_when_it_is_durable_and_not_before() {
    let store = store();
    store.confirm_later();
    let (one, two) = {
        let seats = tokio::join!(Seat::at(&store), Seat::at(&store));
        let confirming = tokio::spawn({
            let store = store.clone();
            async move {
                loop {
                    sleep(Duration::from_millis(10)).await;
                    store.confirm();
                }
            }
        });
        seats.0.opens("spring", 10).await;
        confirming.abort();
        seats
    };
    let mut claim = std::pin::pin!(one.tries("ann", None));
    let early = tokio::time::timeout(Duration::from_secs(2), &mut claim).await;
    assert!(early.is_err(), "it left before it was durable");
    // It is applied all the same, on every node, and whoever reads it is told.
    two.reaches(2).await;
    assert!(!two.node.intake.endures(two.position()).await);
    store.confirm();
    let answer = claim.await.unwrap();
    assert!(matches!(answer.outcome, Outcome::Won { rank: 1, .. }), "{answer:?}");
    assert!(one.node.intake.endures(one.position()).await);
    assert!(two.node.intake.endures(two.position()).await, "the others learn it");
}

#[tokio::test(start_paused = true)]
async fn what_never_becomes_durable_is_unknown_even_a_refusal() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 1).await;
    drop(one);
    store.confirm_later();
    let one = Seat::at(&store).await;
    let claim = one.tries("ann", None).await.unwrap_err();
    assert!(matches!(claim, CommandError::Unknown), "{claim:?}");
    let sold_out = one.tries("bob", None).await.unwrap_err();
    assert!(
        matches!(sold_out, CommandError::Unknown),
        "it rests on what may be lost: {sold_out:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_confirmation_is_made_up_for_by_another_entry() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 10).await;
    drop(one);
    store.confirm_later();
    let one = Seat::at(&store).await;
    let before = one.position().position;
    let (answer, ()) = tokio::join!(one.tries("ann", None), async {
        sleep(Duration::from_millis(100)).await;
        store.lose_confirmations();
        sleep(Duration::from_millis(100)).await;
        store.confirm();
    });
    assert!(matches!(answer.unwrap().outcome, Outcome::Won { rank: 1, .. }));
    assert!(one.position().position >= before + 2, "an entry of its own confirmed it");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_hears_nothing_goes_stale_then_says_unavailable() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 1).await;
    one.claims("ann").await;
    two.reaches(2).await;
    assert_eq!(two.tries("ann", None).await.unwrap().decided.as_str(), "replica");
    two.journal.hold();
    sleep(Duration::from_millis(1_500)).await;
    assert!(matches!(two.node.intake.condition(), Condition::Stale(_)));
    sleep(Duration::from_secs(6)).await;
    let refused = two.tries("ann", None).await.unwrap_err();
    assert!(matches!(refused, CommandError::Unavailable(_)), "{refused:?}");
    two.journal.let_go();
    sleep(Duration::from_secs(3)).await;
    assert_eq!(two.tries("ann", None).await.unwrap().decided.as_str(), "replica");
}

#[tokio::test(start_paused = true)]
async fn a_node_stops_at_an_entry_of_a_newer_level() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 10).await;
    let stranger = NodeId([9; 16]);
    let mut body = BodyWriter::at_level(LEVEL + 1, stranger, 1, 0);
    assert!(body.push(&Command::claim("spring", None, "new")));
    let head = Journal::Memory(store.clone()).head().await.unwrap();
    let append = firstcome_journal::Append {
        body: body.finish().into(),
        name: Name { node: stranger, number: 1 },
        applied: head.position,
        applied_name: head.name,
    };
    Journal::Memory(store.clone()).append(append).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    for seat in [one, two] {
        let refused = seat.tries("ann", None).await.unwrap_err();
        let CommandError::Unavailable(why) = refused else { panic!("{refused:?}") };
        assert!(why.contains(&format!("level {}", LEVEL + 1)), "{why}");
        let stop = seat.node.stop().await.unwrap_err();
        assert!(stop.to_string().contains("level"), "{stop}");
    }
}
