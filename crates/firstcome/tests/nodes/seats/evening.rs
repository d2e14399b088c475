//! Many guests at once, until they are told that it is over, and what they heard.

use super::guests::Guest;
use super::heard::{Book, Evening, Glance, Heard, Line, Verb, position};
use super::house::{self, CAMPAIGN, FLOOR, House};
use super::nights::tell;
use crate::scene::Scene;
use firstcome_client::Ask;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// How many guests there are at a time.
const GUESTS: u64 = 48;
/// How long the guests may get nowhere before the story fails.
const STUCK: Duration = Duration::from_secs(20);

/// What guests share.
pub(crate) struct Crowd {
    pub(crate) house: House,
    pub(crate) ports: Vec<u16>,
    ended: AtomicBool,
    came: AtomicU64,
    acknowledged: AtomicU64,
    sold: AtomicUsize,
    book: Mutex<Book>,
}

impl Crowd {
    /// Takes a yes down.
    pub(super) fn acknowledge(&self, verb: Verb, heard: &Heard) {
        self.acknowledged.fetch_add(1, SeqCst);
        if matches!(verb, Verb::Confirm | Verb::Retake) && heard.outcome == "confirmed" {
            let seats = heard.units.keys().filter(|unit| *unit != FLOOR).count();
            self.sold.fetch_add(seats, SeqCst);
        }
    }

    /// Returns how many seats are sold for good.
    pub(super) fn sold(&self) -> usize {
        self.sold.load(SeqCst)
    }
}

/// Guests on their way.
pub(crate) struct Night {
    crowd: Arc<Crowd>,
    running: JoinSet<()>,
    seed: u64,
}

impl Night {
    /// Lets guests in until told otherwise.
    pub(crate) fn begins(scene: &Scene, house: House) -> Self {
        let crowd = Arc::new(Crowd {
            house,
            ports: scene.nodes.iter().map(|node| node.port()).collect(),
            ended: false.into(),
            came: 0.into(),
            acknowledged: 0.into(),
            sold: 0.into(),
            book: Mutex::default(),
        });
        let mut running = JoinSet::new();
        for number in 0..GUESTS {
            let guest = Guest::new(&crowd, scene.seed.wrapping_mul(1_000).wrapping_add(number));
            running.spawn(comes_and_goes(Arc::clone(&crowd), guest));
        }
        running.spawn(watches(Arc::clone(&crowd), Guest::new(&crowd, scene.seed)));
        Self { crowd, running, seed: scene.seed }
    }

    /// Waits until so many more steps were answered with yes.
    pub(crate) async fn goes_on(&mut self, more: u64) {
        let wanted = self.crowd.acknowledged.load(SeqCst) + more;
        let end = Instant::now() + STUCK;
        while self.crowd.acknowledged.load(SeqCst) < wanted {
            self.nobody_failed();
            assert!(Instant::now() < end, "nothing is decided any more");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the book shows what a story needs.
    pub(crate) async fn goes_on_until(&mut self, seen: impl Fn(&Book) -> bool) {
        let end = Instant::now() + STUCK;
        while !seen(&self.crowd.book.lock().unwrap()) {
            self.nobody_failed();
            if Instant::now() >= end {
                tell("it does not come to that", &self.crowd.book.lock().unwrap());
                panic!("it does not come to that");
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn nobody_failed(&mut self) {
        if let Some(ended) = self.running.try_join_next() {
            ended.expect("no guest fails");
            panic!("a guest went home before the end");
        }
    }

    /// Lets nobody in any more, waits until every hold is over, and gives all that was heard.
    pub(crate) async fn ends(mut self, scene: &Scene) -> (House, Book) {
        self.crowd.ended.store(true, SeqCst);
        while let Some(ended) = self.running.join_next().await {
            ended.expect("no guest fails");
        }
        let mut book = std::mem::take(&mut *self.crowd.book.lock().unwrap());
        let last = book.all().map(|heard| heard.position).max().unwrap_or_default();
        let min = until_nothing_is_held(&self.crowd, (self.seed, last)).await;
        book.evenings = self.look_back(std::mem::take(&mut book.evenings), &min).await;
        book.last_counts = house::counts(scene).await;
        let results = scene.nodes[0].talk().results(CAMPAIGN).await;
        book.results = results.iter().map(Line::of).collect();
        (self.crowd.house.clone(), book)
    }

    async fn look_back(&self, mut evenings: Vec<Evening>, min: &str) -> Vec<Evening> {
        let mut running = JoinSet::new();
        while !evenings.is_empty() {
            let some = evenings.split_off(evenings.len().saturating_sub(100));
            let mut guest = Guest::new(&self.crowd, self.seed);
            let min = min.to_owned();
            running.spawn(async move {
                let mut some = some;
                for evening in &mut some {
                    guest.looks_back(evening, &min).await;
                }
                some
            });
        }
        running.join_all().await.into_iter().flatten().collect()
    }
}

async fn comes_and_goes(crowd: Arc<Crowd>, mut guest: Guest) {
    while !crowd.ended.load(SeqCst) {
        let number = crowd.came.fetch_add(1, SeqCst);
        let evening = guest.evening(number).await;
        crowd.book.lock().unwrap().evenings.push(evening);
    }
}

/// Looks at the map and the counts, wherever, as often as is good for everybody.
async fn watches(crowd: Arc<Crowd>, mut guest: Guest) {
    while !crowd.ended.load(SeqCst) {
        let (said, _) = guest.decides(&house::glance()).await;
        let floor = &said["area_standing"][0];
        let of = |place: usize| floor[place].as_u64().unwrap_or_else(|| panic!("{said}")) as u32;
        let glance = Glance {
            position: position(&said),
            letters: said["standing"].as_str().unwrap().to_owned(),
            floor: [of(0), of(1), of(2), of(3)],
        };
        let (said, _) = guest.decides(&Ask::campaign(CAMPAIGN)).await;
        {
            let mut book = crowd.book.lock().unwrap();
            book.glances.push(glance);
            book.counts.push(house::count(&said));
        }
        sleep(Duration::from_millis(25)).await;
    }
}

/// Waits until no hold is live, at or past a position; gives one at which none was.
async fn until_nothing_is_held(crowd: &Arc<Crowd>, (seed, last): (u64, u64)) -> String {
    let mut guest = Guest::new(crowd, seed);
    let mut ask = Ask::campaign(CAMPAIGN);
    ask.path.push_str(&format!("?min_position=0.{last}"));
    let end = Instant::now() + STUCK;
    loop {
        let (said, _) = guest.decides(&ask).await;
        if said["live_holds"] == 0 {
            return said["position"].as_str().unwrap().to_owned();
        }
        assert!(Instant::now() < end, "something is held for ever: {said}");
        sleep(Duration::from_millis(20)).await;
    }
}
