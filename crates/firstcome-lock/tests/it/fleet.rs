//! Two processes of Java with real Redisson and two of ours with locks of every kind on one Redis Cluster, while masters are killed.
//!
//! A master that is killed had acknowledged what its replica may not have: both ask for a replica at each acquire. Redisson is to
//! send nothing twice here, since that takes or gives a second permit of a semaphore.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use firstcome_lock::{Lease, Lock, Locks, RedisOptions, Released, TryLock};
use firstcome_testbed::RedisCluster;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::task::{JoinSet, block_in_place};

use crate::interop::Peer;
use crate::stage::{SECOND, ms};

/// The URL that has a process of these tests be one of ours.
const STORE: &str = "FIRSTCOME_FLEET_STORE";
/// How long it goes on, in seconds, where it is not 20.
const SECONDS: &str = "FIRSTCOME_NEIGHBOURS_SECONDS";

/// Each kind and its lock: one kind for each name, and no two in one slot.
const KINDS: [(&str, &str); 5] =
    [("plain", "a"), ("fenced", "b"), ("fair", "c"), ("rw", "d"), ("semaphore", "e")];
const PERMITS: u32 = 3;
/// So many of each process wait for each of them.
const CROWD: usize = 2;
/// Who asked so much earlier must have a fair lock earlier: both processes and the server have other things to do.
const EARLIER: Duration = Duration::from_millis(400);

/// A process of ours; nothing in the one that runs the tests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer() {
    let Ok(url) = std::env::var(STORE) else { return };
    let options = RedisOptions::new(url).heartbeat(ms(500)).answer_within(ms(1000));
    let locks = Locks::builder().watchdog(10 * SECOND).ride_out(SECOND).replicas(1, SECOND);
    let locks = locks.connect(options).await.unwrap();
    let held = Arc::new(Mutex::new(HashMap::new()));
    println!("\n0 ready");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let (locks, held) = (locks.clone(), Arc::clone(&held));
        tokio::spawn(async move {
            let words: Vec<&str> = line.split(' ').collect();
            println!("{} {}", words[0], act(&locks, &held, &words[1..]).await);
        });
    }
}

/// Does what Redisson's peer does for the same words, with one more of who acts at the end of those for semaphores.
async fn act(locks: &Locks, held: &Mutex<HashMap<String, Lease>>, words: &[&str]) -> String {
    let lock = || -> Lock {
        match words[1] {
            "fenced" => locks.fenced(words[2]),
            "fair" => locks.fair(words[2]),
            "read" => locks.read(words[2]),
            "write" => locks.write(words[2]),
            "semaphore" => locks.semaphore(words[2], PERMITS),
            _ => locks.mutex(words[2]),
        }
        .unwrap()
    };
    let who = |at: usize| format!("{} {} {}", words[1], words[2], words[at]);
    let taken =
        async |wait: &str, who: String| match lock().lock_within(ms(wait.parse().unwrap())).await {
            Ok(TryLock::Acquired(lease)) => {
                held.lock().unwrap().insert(who, lease);
                "true".to_owned()
            }
            Ok(TryLock::Held { .. }) => "false".to_owned(),
            Err(failure) => format!("problem {failure}"),
        };
    match words[0] {
        "lock" => taken(words[4], who(3)).await,
        "acquire" => taken(words[3], who(4)).await,
        _ => {
            let Some(lease) = held.lock().unwrap().remove(&who(3)) else {
                return "none".to_owned();
            };
            let lost = !lease.is_valid();
            match lease.release().await {
                Ok(Released::Free) if !lost => "done".to_owned(),
                Ok(said) => format!("lost {said:?}"),
                Err(failure) if lost => format!("lost {failure}"),
                Err(failure) => format!("problem {failure}"),
            }
        }
    }
}

/// What has happened to one lock.
#[derive(Default)]
struct Door {
    /// Who is inside: the number of the visit, and whether it is one that others may be beside.
    inside: HashMap<u64, bool>,
    /// Two visits that should not have been at the same time.
    overlaps: Vec<(u64, u64)>,
    /// When those who have had a fair lock had asked for it, in the order in which they had it.
    order: Vec<(Instant, Instant)>,
    most: usize,
}

#[derive(Default)]
struct Seen {
    doors: HashMap<&'static str, Door>,
    visits: u64,
    /// Visits of ours that knew, when they ended, that the lock was lost.
    lost: HashSet<u64>,
    entries: BTreeMap<(&'static str, &'static str), u32>,
    problems: BTreeMap<(&'static str, &'static str), u32>,
    /// Since when and until when the cluster is not as it was.
    troubles: Vec<(Instant, Instant)>,
}

impl Seen {
    fn enter(&mut self, name: &'static str, shared: bool, asked: Instant) -> u64 {
        self.visits += 1;
        let (visit, door) = (self.visits, self.doors.entry(name).or_default());
        let others = door.inside.iter().filter(|(_, other)| !(shared && **other));
        door.overlaps.extend(others.map(|(other, _)| (*other, visit)));
        door.inside.insert(visit, shared);
        door.most = door.most.max(door.inside.len());
        door.order.push((asked, Instant::now()));
        visit
    }

    fn leave(&mut self, name: &'static str, visit: u64) {
        self.doors.entry(name).or_default().inside.remove(&visit);
    }

    /// Returns the visits to a lock that overlap, but for those that knew of it.
    fn overlaps(&self, name: &str) -> usize {
        let Some(door) = self.doors.get(name) else { return 0 };
        let knew = |visit: &u64| self.lost.contains(visit);
        door.overlaps.iter().filter(|(one, two)| !knew(one) && !knew(two)).count()
    }

    /// Returns how many had a fair lock before somebody who had asked much earlier, while nothing was killed.
    fn overtaken(&self, name: &str) -> usize {
        let Some(door) = self.doors.get(name) else { return 0 };
        let quiet = |from: Instant, to: Instant| {
            self.troubles.iter().all(|(begin, end)| to < *begin || from > *end)
        };
        let later = |at: usize| &door.order[at + 1..];
        let pairs = door.order.iter().enumerate().filter(|(at, (asked, _))| {
            later(*at)
                .iter()
                .any(|(earlier, had)| *earlier + EARLIER < *asked && quiet(*earlier, *had))
        });
        pairs.count()
    }
}

/// One who takes a lock of a kind again and again.
struct Visitor {
    peer: Arc<tokio::sync::Mutex<Peer>>,
    tongue: &'static str,
    kind: &'static str,
    name: &'static str,
    thread: usize,
    seen: Arc<Mutex<Seen>>,
}

impl Visitor {
    async fn ask(&self, what: String) -> String {
        let answer = self.peer.lock().await.begin(&what).await;
        tokio::time::timeout(60 * SECOND, answer).await.expect("it answers").expect("it lives")
    }

    async fn visit(&self) {
        let Self { kind, name, thread, .. } = *self;
        let reads = kind == "rw" && fastrand::bool();
        let kind = if kind != "rw" {
            kind
        } else if reads {
            "read"
        } else {
            "write"
        };
        let asked = Instant::now();
        let got = match kind {
            "semaphore" => self.ask(format!("acquire semaphore {name} 3000 {thread}")).await,
            _ => self.ask(format!("lock {kind} {name} {thread} 3000 -1")).await,
        };
        let got_it = got.starts_with("true");
        let visit = got_it.then(|| {
            let mut seen = self.seen.lock().unwrap();
            *seen.entries.entry((self.kind, self.tongue)).or_default() += 1;
            seen.enter(name, reads || kind == "semaphore", asked)
        });
        if got_it {
            tokio::time::sleep(if kind == "fair" { ms(100) } else { ms(fastrand::u64(1..6)) })
                .await;
        }
        let problem = got.starts_with("problem");
        if let Some(visit) = visit {
            self.seen.lock().unwrap().leave(name, visit);
        }
        // What had no answer may have been done: it is given back, if that is known to be one's own.
        let said = match kind {
            "semaphore" if got_it => self.ask(format!("release semaphore {name} {thread}")).await,
            "semaphore" => "done".to_owned(),
            _ if got_it || problem => self.ask(format!("unlock {kind} {name} {thread}")).await,
            _ => "done".to_owned(),
        };
        let problem = problem || got_it && said.starts_with("problem");
        self.note(visit.filter(|_| said.starts_with("lost")), problem);
        if problem {
            tokio::time::sleep(ms(50)).await;
        }
    }

    fn note(&self, lost: Option<u64>, problem: bool) {
        let mut seen = self.seen.lock().unwrap();
        seen.lost.extend(lost);
        if problem {
            *seen.problems.entry((self.kind, self.tongue)).or_default() += 1;
        }
    }
}

/// Kills the master of one lock after the other, and starts it again.
fn kill_masters(cluster: &mut RedisCluster, seen: &Mutex<Seen>, end: Instant) -> u32 {
    let mut kills = 0;
    while Instant::now() + 10 * SECOND < end {
        std::thread::sleep(4 * SECOND);
        let (began, name) = (Instant::now(), KINDS[fastrand::usize(..KINDS.len())].1);
        seen.lock().unwrap().troubles.push((began, end + 60 * SECOND));
        cluster.fail_over(name);
        kills += 1;
        cluster.restart_killed();
        // Until Redisson has heard of it, and what it waits for is over.
        std::thread::sleep(4 * SECOND);
        if let Some(trouble) = seen.lock().unwrap().troubles.last_mut() {
            trouble.1 = Instant::now();
        }
    }
    kills
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a minute: `cargo xtask neighbours` runs it"]
async fn a_fleet_of_both_keeps_what_locks_promise_while_masters_are_killed() {
    let Some(mut cluster) = block_in_place(RedisCluster::start) else { return };
    let mut peers = Vec::new();
    for _ in 0..2 {
        let Some(java) = Peer::in_cluster(&cluster, 10_000, "AUTO", 0).await else { return };
        let mut ours = std::process::Command::new(std::env::current_exe().unwrap());
        ours.args(["--exact", "fleet::a_peer", "--nocapture"]).env(STORE, cluster.url());
        peers.extend([("java", java), ("rust", Peer::of(ours).await)]);
    }
    let set = peers[0].1.ask(&format!("set semaphore e {PERMITS}")).await;
    assert_eq!(set, "true");
    let time = std::env::var(SECONDS).map_or(20, |seconds| seconds.parse().unwrap());
    let (seen, end) = (Arc::new(Mutex::new(Seen::default())), Instant::now() + time * SECOND);
    let mut visitors = JoinSet::new();
    for (tongue, peer) in peers {
        let peer = Arc::new(tokio::sync::Mutex::new(peer));
        for (kind, name) in KINDS.repeat(CROWD) {
            let (peer, seen, thread) = (Arc::clone(&peer), Arc::clone(&seen), visitors.len() + 1);
            let visitor = Visitor { peer, tongue, kind, name, thread, seen };
            visitors.spawn(async move {
                while Instant::now() < end {
                    visitor.visit().await;
                }
            });
        }
    }
    let killing = {
        let seen = Arc::clone(&seen);
        tokio::task::spawn_blocking(move || {
            let kills = kill_masters(&mut cluster, &seen, end);
            (cluster, kills)
        })
    };
    while let Some(done) = visitors.join_next().await {
        done.unwrap();
    }
    let (cluster, kills) = killing.await.unwrap();
    judge(&cluster, &seen.lock().unwrap(), kills);
}

fn judge(cluster: &RedisCluster, seen: &Seen, kills: u32) {
    println!(
        "\n{kills} masters killed\n| kind | java | rust | problems | overlaps | overtaken | most inside |"
    );
    println!("|---|---|---|---|---|---|---|");
    let of =
        |counts: &BTreeMap<_, u32>, kind, tongue| counts.get(&(kind, tongue)).copied().unwrap_or(0);
    for (kind, name) in KINDS {
        let [java, rust] = ["java", "rust"].map(|tongue| of(&seen.entries, kind, tongue));
        let problems = ["java", "rust"].map(|tongue| of(&seen.problems, kind, tongue));
        let most = seen.doors.get(name).map_or(0, |door| door.most);
        let (overlaps, overtaken) = (seen.overlaps(name), seen.overtaken(name));
        println!("| {kind} | {java} | {rust} | {problems:?} | {overlaps} | {overtaken} | {most} |");
        assert!(java > 0 && rust > 0, "{kind}: each has had it");
        assert_eq!(overlaps, 0, "{kind}: nobody is beside somebody who has it alone");
        assert!(kind != "fair" || overtaken == 0, "whoever asks first has it first");
    }
    // Redisson does not know what became of a request without an answer: such a permit is gone, or given back twice.
    let of_java = of(&seen.problems, "semaphore", "java");
    let most = u32::try_from(seen.doors["e"].most).unwrap();
    assert!(most <= PERMITS + of_java, "{most} have a permit at the same time");
    let said = cluster.server(cluster.owner("e")).ask("GET e\r\nZCARD fc:permits:{e}");
    let numbers: Vec<u32> =
        said.lines().filter_map(|line| line.trim_start_matches(':').parse().ok()).collect();
    let [free, ours] = numbers[..] else { panic!("{said}") };
    println!("permits at the end: {free} free, {ours} of ours");
    assert!(free + ours + of_java >= PERMITS && free + ours <= PERMITS + of_java, "{said}");
    assert!(kills > 0, "somebody was killed");
}

/// In contrast: what must not be is seen.
#[test]
fn visits_that_must_not_be_are_noticed() {
    let (now, mut seen) = (Instant::now(), Seen::default());
    let later = now + 2 * EARLIER;
    let [reader, other] = [now; 2].map(|asked| seen.enter("d", true, asked));
    assert_eq!(seen.overlaps("d"), 0, "both read");
    let writer = seen.enter("d", false, later);
    assert_eq!(seen.overlaps("d"), 2);
    seen.lost.insert(reader);
    assert_eq!(seen.overlaps("d"), 1, "one of them knew that it was no reader any more");
    seen.leave("d", writer);
    seen.leave("d", other);
    assert_eq!(seen.overtaken("d"), 0, "whoever asked first had it first");
    seen.enter("d", true, now);
    assert_eq!((seen.overlaps("d"), seen.overtaken("d")), (1, 1), "and then did not");
    seen.troubles.push((now, later + SECOND));
    assert_eq!(seen.overtaken("d"), 0, "a master was killed meanwhile");
}
