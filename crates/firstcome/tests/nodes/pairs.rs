//! What one server has acknowledged is known at another one at once: given at the one, used at the other, many times.
//!
//! Nothing fails here. A server says from its memory that there is no such thing only after it has caught up with the end of
//! the journal, as that was when it was asked. What another server acknowledged before is in the journal, so it never says so.
//!
//! One that has not caught up lacks it for less time than a request takes, mostly: it takes many pairs to see one. Far from
//! the store it takes fewer.

use crate::codes::with_code_key;
use crate::scene::{Scene, Setup};
use crate::talk::Talk;
use firstcome_api::code::RedeemRequest;
use firstcome_client::Hidden;
use firstcome_client::{Ask, CancelAsk, Match, Picks};
use firstcome_testbed::ProxyFault;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How many pairs there are, unless `FIRSTCOME_PAIRS` says another number.
const PAIRS: usize = 600;
/// One pair in so many is told with the second server far from the store: those are slow.
const FAR_PART: usize = 4;
/// How much later everything reaches that one, and leaves it: about as long as a request to the first server takes.
const FAR: Duration = Duration::from_millis(1);
/// How many are under way at one time. Each has a connection to each server.
const AT_ONCE: usize = 8;
/// And far from the store: few enough that most commands have an entry for themselves, between which a read may end.
const AT_ONCE_FAR: usize = 3;
/// At most one pair in so many may end without a decision: no fault is made, but the machine may be busy.
const MOST_UNDECIDED: usize = 20;
/// How many failures are told in full.
const TOLD: usize = 5;
/// What says that there is no such thing, or that a claim was not cancelled.
const NOT_KNOWN: [&str; 5] =
    ["not_found", "no_such_code", "not_issued", "no_such_unit", "already_won"];

/// The campaigns of codes, of seats, and of claims that are made again.
const CODED: &str = "coded";
const SEATED: &str = "seated";
const AGAIN: &str = "again";

/// What is given at one server and used at the other.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A code is issued and redeemed.
    Code,
    /// A campaign is made, and somebody claims in it.
    Campaign,
    /// A seat is added and held.
    Seat,
    /// A claim is cancelled, and its subject claims again.
    Cancel,
}

const KINDS: [Kind; 4] = [Kind::Code, Kind::Campaign, Kind::Seat, Kind::Cancel];

impl Kind {
    /// Returns the thing at one server; gives what that acknowledged and what is asked of the other one then, or what was not
    /// decided.
    async fn give(
        self,
        number: usize,
        one: &mut Talk,
        other: &mut Talk,
    ) -> Result<(Value, Ask), Value> {
        let name = format!("n{number}");
        match self {
            Self::Code => {
                let won = yes(one, Ask::claim(CODED, &name, None), "won").await?;
                let code = Hidden(won["code"].as_str().unwrap().into());
                // A customer of its own: wrong codes are counted, and soon refused as guesses.
                let (reference, customer) = ((&*name).into(), Some((&*name).into()));
                let body =
                    RedeemRequest { code, reference, pool: None, subject: None, r#for: customer };
                let redeem = Ask::code_step(CODED, "redeem", body);
                Ok((won, redeem))
            }
            Self::Campaign => {
                let settings =
                    json!({"opens_at": "now", "pools": [{"name": "main", "capacity": 1}]});
                let put = Ask::put_campaign(&name, settings, Match::Nothing, &name);
                let made = yes(one, put, "created").await?;
                Ok((made, Ask::claim(&name, "ann", None)))
            }
            Self::Seat => {
                let seats = json!([{"name": name, "row": format!("{}", number / 1_000)}]);
                let added = yes(one, Ask::import_seats(SEATED, "main", seats), "imported").await?;
                let picks = Picks::seats([&*name]).requests();
                Ok((added, Ask::hold(SEATED, &name, &name, picks, 0)))
            }
            Self::Cancel => {
                // Where it claims again, the win that must be over is surely known.
                let won = yes(other, Ask::claim(AGAIN, &name, None), "won").await?;
                let cancel = Ask::cancel(&CancelAsk {
                    campaign: AGAIN.to_owned(),
                    subject: name.clone(),
                    pool: None,
                    rank: won["rank"].as_u64().unwrap().try_into().unwrap(),
                    reason: None,
                    by_subject: true,
                });
                let cancelled = yes(one, cancel, "cancelled").await?;
                Ok((cancelled, Ask::claim(AGAIN, &name, None)))
            }
        }
    }

    /// Returns the answer of a server that knows what was given.
    fn used(self) -> &'static str {
        match self {
            Self::Code => "redeemed",
            Self::Seat => "held",
            Self::Campaign | Self::Cancel => "won",
        }
    }

    /// Returns the thing at one server and uses it at the other.
    async fn give_and_use(self, number: usize, one: &mut Talk, other: &mut Talk) -> End {
        let (given, then) = match self.give(number, one, other).await {
            Ok(given) => given,
            Err(said) => return End::Undecided(said),
        };
        let acknowledged = Instant::now();
        let said = other.tell(then).await.unwrap();
        let after = acknowledged.elapsed();
        match said["outcome"].as_str() {
            Some(outcome) if outcome == self.used() => End::Known,
            Some(outcome) if NOT_KNOWN.contains(&outcome) => End::NotKnown(format!(
                "pair {number}, {self:?}: acknowledged at {}; {after:?} later the other server said {outcome} \
                 as of {}, decided by {}",
                text(&given["position"]),
                text(&said["position"]),
                text(&said["decided"]),
            )),
            _ if said["retry"] == true => End::Undecided(said),
            _ => panic!("{self:?} was used: {said}"),
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("nothing")
}

/// Asks for what nothing refuses; gives the answer, or else one that says to try again.
async fn yes(talk: &mut Talk, ask: Ask, wanted: &str) -> Result<Value, Value> {
    let said = talk.tell(ask).await.unwrap();
    if said["outcome"] == wanted {
        return Ok(said);
    }
    assert!(said["retry"] == true, "{wanted} was expected: {said}");
    Err(said)
}

/// How a pair ended.
enum End {
    Known,
    /// The other server said that there is no such thing; with all about it.
    NotKnown(String),
    /// One of the two was not decided, and says to try again.
    Undecided(Value),
}

/// What came of pairs.
#[derive(Default)]
struct Report {
    known: usize,
    not_known: Vec<String>,
    undecided: Vec<Value>,
}

impl Report {
    fn pairs(&self) -> usize {
        self.known + self.not_known.len() + self.undecided.len()
    }

    /// All that was acknowledged was known, and next to everything was decided.
    fn check(&self) {
        let (pairs, not_known, undecided) = (self.pairs(), &self.not_known, &self.undecided);
        let told = not_known.iter().take(TOLD).map(|told| format!("\n{told}"));
        let told: String = told.collect();
        assert!(not_known.is_empty(), "{} of {pairs} were not known:{told}", not_known.len());
        let few = undecided.len() * MOST_UNDECIDED <= pairs;
        assert!(few, "{} of {pairs} were not decided: {}", undecided.len(), undecided[0]);
    }
}

/// Pairs of some kinds.
struct Plan {
    kinds: Vec<Kind>,
    pairs: usize,
    /// Whether the second server is far from the store.
    far: bool,
    /// Whether no more begin once something was not known.
    until_not_known: bool,
}

/// A plan that is being carried out.
struct Load {
    plan: Plan,
    /// The number of the next pair.
    next: AtomicUsize,
}

impl Load {
    /// Sends one pair after the other, until there are no more.
    async fn work(self: Arc<Self>, [mut first, mut second]: [Talk; 2]) -> Report {
        let Plan { kinds, pairs, until_not_known, .. } = &self.plan;
        let mut report = Report::default();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= *pairs {
                return report;
            }
            let (one, other) = match number / kinds.len() % 2 {
                0 => (&mut first, &mut second),
                _ => (&mut second, &mut first),
            };
            match kinds[number % kinds.len()].give_and_use(number, one, other).await {
                End::Known => report.known += 1,
                End::Undecided(said) => report.undecided.push(said),
                End::NotKnown(told) => {
                    report.not_known.push(told);
                    if *until_not_known {
                        self.next.fetch_max(*pairs, Ordering::Relaxed);
                    }
                }
            }
        }
    }
}

/// Makes the campaigns in which things are given, at most so many in each, and waits until both servers know them.
async fn open(scene: &Scene, most: usize) {
    let pool = json!({"name": "main", "kind": "coded", "capacity": most, "codes": {"uses": 1}});
    let coded = json!({"opens_at": "now", "pools": [pool]});
    let seated = json!({"opens_at": "now", "holds": "many", "allow_orphans": true,
        "pools": [{"name": "main", "kind": "seated"}]});
    let again = json!({"opens_at": "now", "claim_again": true,
        "pools": [{"name": "main", "capacity": most}]});
    for (campaign, settings) in [(CODED, coded), (SEATED, seated), (AGAIN, again)] {
        let said = scene.nodes[0].talk().put(campaign, settings).await;
        assert_eq!(said["outcome"], "created", "{said}");
        let position = said["position"].as_str().unwrap();
        scene.nodes[1].talk().get(&format!("/v1/time?min_position={position}")).await;
    }
}

/// Starts two servers on a store and has pairs between them. Gives what came of them.
async fn between_two_servers(setup: Setup<'_>, plan: Plan) -> Option<Report> {
    let folder = tempfile::tempdir().unwrap();
    let config = with_code_key(folder.path());
    let settings = [&[("CONFIG", &*config)], setup.settings].concat();
    // This process is in the way of nobody who is near.
    let setup = Setup { direct: !plan.far, settings: &settings, ..setup };
    let mut scene = Scene::without_nodes(setup).await?;
    for _ in 0..2 {
        scene.add().await;
    }
    if plan.far {
        scene.nodes[1].store.set(ProxyFault::Delay(FAR));
    }
    scene.all_ready().await;
    open(&scene, plan.pairs).await;
    let at_once = if plan.far { AT_ONCE_FAR } else { AT_ONCE };
    let (load, begun) = (Arc::new(Load { plan, next: AtomicUsize::new(0) }), Instant::now());
    let mut tasks = JoinSet::new();
    for _ in 0..at_once {
        let talks = [scene.nodes[0].talk(), scene.nodes[1].talk()];
        tasks.spawn(Arc::clone(&load).work(talks));
    }
    let mut all = Report::default();
    while let Some(report) = tasks.join_next().await {
        let report = report.unwrap();
        all.known += report.known;
        all.not_known.extend(report.not_known);
        all.undecided.extend(report.undecided);
    }
    let (pairs, not_known, undecided) = (all.pairs(), all.not_known.len(), all.undecided.len());
    let a_second = pairs as f64 / begun.elapsed().as_secs_f64();
    let such_as = all.undecided.first().map(|said| format!(", such as {said}")).unwrap_or_default();
    println!(
        "{pairs} pairs, {a_second:.0} a second: {not_known} not known, {undecided} not decided{such_as}"
    );
    Some(all)
}

/// Has pairs of every kind.
async fn known_at_once(setup: Setup<'_>, far: bool) {
    let given = std::env::var("FIRSTCOME_PAIRS").ok();
    let pairs = given.map_or(PAIRS, |pairs| pairs.parse().expect("FIRSTCOME_PAIRS is a number"));
    let pairs = if far { pairs / FAR_PART } else { pairs };
    let plan = Plan { kinds: KINDS.to_vec(), pairs, far, until_not_known: false };
    let Some(report) = between_two_servers(setup, plan).await else { return };
    report.check();
}

/// The stories that each store is told.
macro_rules! stories {
    ($store:ident, $setup:expr) => {
        mod $store {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn what_one_server_acknowledged_is_known_at_the_other_at_once() {
                known_at_once($setup, false).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn what_one_server_acknowledged_is_known_far_from_the_store_at_once() {
                known_at_once($setup, true).await;
            }
        }
    };
}

stories!(redis, Setup::default());
stories!(postgres, Setup::on_postgres());
stories!(mariadb, Setup::on_mariadb());
stories!(nats, Setup::on_nats());

/// The same with a protection switched off: pairs of a kind are not known soon.
async fn without(mistake: &str, kind: Kind, setup: Setup<'_>) {
    let settings = [("INJECT", mistake)];
    let plan = Plan { kinds: vec![kind], pairs: PAIRS, far: true, until_not_known: true };
    let setup = Setup { settings: &settings, ..setup };
    let Some(report) = between_two_servers(setup, plan).await else { return };
    assert!(!report.not_known.is_empty(), "the story is blind to {mistake}, {kind:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_catching_up_a_campaign_just_made_is_not_found_at_the_other_server() {
    without("not_found_from_memory", Kind::Campaign, Setup::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_catching_up_a_claim_just_cancelled_is_won_at_the_other_server() {
    without("repeat_win_after_cancel", Kind::Cancel, Setup::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_look_from_before_the_question_nothing_is_known_at_the_other_server_at_once() {
    for kind in KINDS {
        without("barrier_by_older_look", kind, Setup::default()).await;
    }
}
