//! The processes of a run, and what is done to them.

use std::fmt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fastrand::Rng;
use firstcome_testbed::{Folder, RedisServer, redisson};
use rustix::process::{Pid, Signal, kill_process};

use crate::monitor::Monitor;
use crate::verdict::{Diaries, Verdict};
use crate::visitor::{DIGITS, WORDS};

/// The lock that is watched.
const NAME: &str = "x";

/// What a process is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tongue {
    Java,
    Rust,
}

impl fmt::Display for Tongue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Java => "java",
            Self::Rust => "rust",
        })
    }
}

/// How a run goes.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What all kills and pauses are drawn from.
    pub(crate) seed: u64,
    /// Processes of each tongue.
    pub(crate) crowd: usize,
    /// The lease of all of them, renewed each tenth of it, in milliseconds.
    pub(crate) lease_ms: u64,
    /// The kind of lock of those in Java: plain or spin.
    pub(crate) java_takes: &'static str,
    /// The name of the lock that those in Rust take.
    pub(crate) rust_takes: &'static str,
}

impl Default for Plan {
    fn default() -> Self {
        Self { seed: 0, crowd: 3, lease_ms: 3000, java_takes: "plain", rust_takes: NAME }
    }
}

/// One process, from its start to its end.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) tongue: Tongue,
    /// The name of its diary.
    pub(crate) id: String,
    pub(crate) killed: bool,
    pub(crate) paused: u32,
}

/// A process that runs.
struct Visitor {
    child: Child,
    life: Life,
}

/// All processes of a run, with the store and the files they share; they die with their test.
pub(crate) struct Crew {
    plan: Plan,
    redis: RedisServer,
    folder: Folder,
    monitor: Option<Monitor>,
    dice: Rng,
    at_work: Vec<Visitor>,
    ended: Vec<Life>,
    started: usize,
}

impl Crew {
    /// Starts everybody; `None` where something is missing.
    pub(crate) fn start(plan: Plan) -> Option<Self> {
        let redis = RedisServer::start()?;
        let folder = Folder::new("neighbours");
        std::fs::write(folder.path().join("number"), format!("{:0DIGITS$}", 0)).unwrap();
        std::fs::write(folder.path().join("door"), "").unwrap();
        let monitor = Some(Monitor::start(&redis, NAME));
        let dice = Rng::with_seed(plan.seed);
        let (at_work, ended) = (Vec::new(), Vec::new());
        let mut crew = Self { plan, redis, folder, monitor, dice, at_work, ended, started: 0 };
        for _ in 0..crew.plan.crowd {
            for tongue in [Tongue::Java, Tongue::Rust] {
                let visitor = crew.visitor(tongue, 0)?;
                crew.at_work.push(visitor);
            }
        }
        Some(crew)
    }

    fn visitor(&mut self, tongue: Tongue, first_visit_ms: u64) -> Option<Visitor> {
        self.started += 1;
        let id = format!("{tongue}-{}", self.started);
        let takes = if tongue == Tongue::Rust { self.plan.rust_takes } else { NAME };
        let words = [
            self.redis.url(),
            self.plan.lease_ms.to_string(),
            self.plan.java_takes.to_owned(),
            takes.to_owned(),
            self.folder.path().to_str().unwrap().to_owned(),
            id.clone(),
            first_visit_ms.to_string(),
        ];
        let mut command = match tongue {
            Tongue::Java => {
                let mut java = redisson("Visitor")?;
                java.args(words);
                java
            }
            Tongue::Rust => {
                let mut this = Command::new(std::env::current_exe().unwrap());
                this.args(["--exact", "visitor::a_visitor", "--nocapture"]);
                this.env(WORDS, words.join(" ")).stdout(Stdio::null());
                this
            }
        };
        let child = command.stdin(Stdio::piped()).spawn().unwrap();
        Some(Visitor { child, life: Life { tongue, id, killed: false, paused: 0 } })
    }

    /// Returns what the diaries of all say by now.
    pub(crate) fn diaries(&self) -> Diaries {
        let lives = self.ended.iter().chain(self.at_work.iter().map(|visitor| &visitor.life));
        Diaries::read(self.folder.path(), lives)
    }

    /// Kills and pauses for a while, each as often for both tongues, in an order and at times that are drawn.
    pub(crate) fn trouble(&mut self, time: Duration) {
        let began = Instant::now();
        let mut bag = Vec::new();
        while began.elapsed() < time {
            std::thread::sleep(Duration::from_millis(self.dice.u64(100..700)));
            if bag.is_empty() {
                bag = [Tongue::Java, Tongue::Rust].map(|t| [(t, true), (t, false)]).concat();
                self.dice.shuffle(&mut bag);
            }
            let Some((tongue, kill)) = bag.pop() else { continue };
            let nth = self.dice.usize(..self.plan.crowd);
            let of_tongue = |visitor: &(usize, &Visitor)| visitor.1.life.tongue == tongue;
            let at = self.at_work.iter().enumerate().filter(of_tongue).nth(nth).unwrap().0;
            if kill {
                self.replace(at);
            } else {
                self.pause(at);
            }
        }
    }

    /// Kills one as it stands and starts another at once.
    ///
    /// One in ten of the new ones stays longer than a lease at its first visit, as long before it writes as after, and
    /// needs its renewals.
    fn replace(&mut self, at: usize) {
        let mut old = self.at_work.swap_remove(at);
        assert!(old.child.try_wait().unwrap().is_none(), "{} ended by itself", old.life.id);
        old.child.kill().unwrap();
        old.child.wait().unwrap();
        old.life.killed = true;
        let first = if self.dice.u8(..10) == 0 { self.plan.lease_ms * 2 / 3 } else { 0 };
        let new = self.visitor(old.life.tongue, first).unwrap();
        self.ended.push(old.life);
        self.at_work.push(new);
    }

    /// Stops one as it stands for at most a third of a lease: less than what is left of any lease that is renewed.
    fn pause(&mut self, at: usize) {
        let longest = self.plan.lease_ms / 3;
        let visitor = &mut self.at_work[at];
        let pid = Pid::from_child(&visitor.child);
        kill_process(pid, Signal::STOP).unwrap();
        std::thread::sleep(Duration::from_millis(self.dice.u64(10..longest)));
        kill_process(pid, Signal::CONT).unwrap();
        visitor.life.paused += 1;
    }

    /// Tells everybody to end, waits for it, and judges.
    pub(crate) fn end(mut self) -> Verdict {
        for visitor in &mut self.at_work {
            drop(visitor.child.stdin.take());
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        for mut visitor in std::mem::take(&mut self.at_work) {
            let status = loop {
                if let Some(status) = visitor.child.try_wait().unwrap() {
                    break status;
                }
                assert!(Instant::now() < deadline, "{} does not end", visitor.life.id);
                std::thread::sleep(Duration::from_millis(5));
            };
            assert!(status.success(), "{} failed", visitor.life.id);
            self.ended.push(visitor.life);
        }
        let steps = self.monitor.take().unwrap().end(&self.redis);
        let number = std::fs::read_to_string(self.folder.path().join("number")).unwrap();
        let diaries = self.diaries();
        Verdict::of(&diaries, &steps, number.parse().unwrap(), self.plan.lease_ms)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for visitor in &mut self.at_work {
            // Both fail only where it has ended already.
            drop(visitor.child.kill());
            drop(visitor.child.wait());
        }
    }
}
