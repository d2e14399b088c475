//! Read/write locks and semaphores at the server, step by step against a model: people take, renew, give back and die, Redisson takes
//! and gives permits, and time passes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use firstcome_store::{Command, Redis, RedisOptions, Script};
use firstcome_testbed::RedisServer;

const PERMITS: i64 = 3;
const LEASE: i64 = 20_000;
/// What the server's clock and the steps may differ by, in ms.
const SLACK: i64 = 50;

const LOCK: &str = "x";
const SEMAPHORE: &str = "s";
const HOLDERS: &str = "fc:permits:{s}";

/// The scripts, as they are or with a rule left out.
struct Scripts {
    acquire: [Script; 2],
    release: [Script; 2],
    renew: Script,
}

const PUBLISH: &str =
    "local function publish(channel, message) redis.call('PUBLISH', channel, message) end\n";

/// The text of each script.
const TEXTS: [&str; 5] = [
    concat!(
        include_str!("../../src/redis/mint.lua"),
        include_str!("../../src/redis/late.lua"),
        include_str!("../../src/redis/rw_acquire.lua")
    ),
    concat!(
        include_str!("../../src/redis/mint.lua"),
        include_str!("../../src/redis/late.lua"),
        include_str!("../../src/redis/permit_acquire.lua")
    ),
    concat!(
        include_str!("../../src/redis/latch.lua"),
        include_str!("../../src/redis/rw_release.lua")
    ),
    concat!(
        include_str!("../../src/redis/latch.lua"),
        include_str!("../../src/redis/permit_release.lua")
    ),
    include_str!("../../src/redis/permit_renew.lua"),
];

impl Scripts {
    fn without((rule, other): (&str, &str)) -> Self {
        assert!(TEXTS.iter().any(|text| text.contains(rule)), "{rule}");
        let script = |text: &str| Script::new(format!("{PUBLISH}{}", text.replace(rule, other)));
        let [rw, permit, rw_release, permit_release, renew] = TEXTS.map(script);
        Self { acquire: [rw, permit], release: [rw_release, permit_release], renew }
    }
}

static PASS: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "for i = 2, #KEYS do
            local left = redis.call('PTTL', KEYS[i])
            if left >= 0 then redis.call('PEXPIRE', KEYS[i], math.max(left - ARGV[1], 0)) end
        end
        local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
        for i = 1, #all, 2 do
            redis.call('ZADD', KEYS[1], string.format('%.0f', all[i + 1] - ARGV[1] * 1000), all[i])
        end
        return 1",
    )
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Read,
    Write,
    Permit,
}

/// What somebody has.
#[derive(Debug, Clone, Copy)]
struct Hold {
    sort: Sort,
    until: i64,
    lives: bool,
}

impl Hold {
    fn names(self, person: usize) -> [String; 2] {
        let owner = owner(person);
        match self.sort {
            Sort::Read => [owner, beside(person)],
            Sort::Write => [format!("{owner}:write"), LOCK.to_owned()],
            Sort::Permit => [owner, HOLDERS.to_owned()],
        }
    }

    fn word(self) -> &'static str {
        match self.sort {
            Sort::Read => "read",
            Sort::Write => "write",
            Sort::Permit => "permit",
        }
    }
}

fn owner(person: usize) -> String {
    format!("11111111-2222-4333-8444-555555555555:{}", 1_000_000_000 + person)
}

/// The key with which a reader's hold ends.
fn beside(person: usize) -> String {
    format!("{{{LOCK}}}:{}:rwlock_timeout:1", owner(person))
}

struct Model<'a> {
    redis: &'a Redis,
    scripts: &'static Scripts,
    random: fastrand::Rng,
    holds: BTreeMap<usize, Hold>,
    people: usize,
    /// Permits that Redisson has.
    theirs: i64,
    fences: [i64; 2],
    passed: i64,
    now: i64,
}

/// Says what must not be.
type Step = Result<(), String>;

impl Model<'_> {
    /// Returns how many of these sorts are held, if the clock is so much ahead.
    fn held(&self, sorts: &[Sort], ahead: i64) -> usize {
        let held = |hold: &&Hold| sorts.contains(&hold.sort) && hold.until > self.now + ahead;
        self.holds.values().filter(held).count()
    }

    async fn numbers(&mut self, command: Command) -> Vec<i64> {
        self.redis.send(&command).await.unwrap().numbers().unwrap()
    }

    async fn acquire(&mut self, sort: Sort) -> Step {
        let is_permit = sort == Sort::Permit;
        let (person, lease) = (self.people, self.random.i64(500..LEASE));
        self.people += 1;
        let hold = Hold { sort, until: 0, lives: true };
        let [field, beside] = hold.names(person);
        let name = if is_permit { SEMAPHORE } else { LOCK };
        let (fence, channel) = (format!("fc:fence:{{{name}}}"), format!("channel:{{{name}}}"));
        let keys = [name, &fence, &beside, &channel];
        let keys = if is_permit { &keys[..] } else { &keys[..3] };
        let command = Command::script(&self.scripts.acquire[usize::from(is_permit)], keys)
            .arg(&field)
            .arg(lease)
            .arg("9000000000000000")
            .arg(86_400_000);
        let command = match sort {
            Sort::Permit => command.arg(PERMITS),
            Sort::Read => command.arg("read").arg(1000),
            Sort::Write => command.arg("write").arg(0),
        };
        let numbers = self.numbers(command).await;
        let [kind, fence, now] = numbers[..] else { return Err(format!("{numbers:?}")) };
        self.now = now / 1000 + self.passed;
        // Of those whose lease ends just now nobody knows.
        let ours = |ahead| match sort {
            Sort::Read => self.held(&[Sort::Write], ahead) > 0,
            Sort::Write => self.held(&[Sort::Read, Sort::Write], ahead) > 0,
            Sort::Permit => self.held(&[Sort::Permit], ahead) as i64 + self.theirs >= PERMITS,
        };
        let (held_for_sure, may_be_held) = (ours(SLACK), ours(-SLACK));
        match kind == 1 {
            true if held_for_sure => {
                return Err(format!("{person} has it beside {:?}", self.holds));
            }
            false if !may_be_held => return Err(format!("{sort:?} is refused, and is free")),
            false => return Ok(()),
            true => {}
        }
        let last = &mut self.fences[usize::from(is_permit)];
        if std::mem::replace(last, fence) >= fence {
            return Err(format!("fence {fence} is not higher than the one before"));
        }
        self.holds.insert(person, Hold { until: self.now + lease, ..hold });
        Ok(())
    }

    /// Returns somebody who lives and has, or had, something.
    fn somebody(&mut self) -> Option<(usize, Hold)> {
        let living = self.holds.iter().filter(|(_, hold)| hold.lives);
        let living: Vec<_> = living.map(|(person, hold)| (*person, *hold)).collect();
        self.random.choice(living)
    }

    /// Compares what somebody hears of their hold with what they have.
    fn agrees(&self, hold: Hold, held: i64) -> Step {
        let is_clear = (hold.until - self.now).abs() > SLACK;
        if is_clear && (held == 1) != (hold.until > self.now) {
            return Err(format!("{hold:?} hears {held} at {}", self.now));
        }
        Ok(())
    }

    async fn release(&mut self) -> Step {
        let Some((person, hold)) = self.somebody() else { return Ok(()) };
        let is_permit = hold.sort == Sort::Permit;
        let name = if is_permit { SEMAPHORE } else { LOCK };
        let [field, beside] = hold.names(person);
        let (channel, latch) = (format!("channel:{{{name}}}"), format!("latch:{{{name}}}"));
        let keys = [name, &channel, &latch, &beside];
        let command = Command::script(&self.scripts.release[usize::from(is_permit)], &keys)
            .arg(&field)
            .arg(0)
            .arg(hold.word())
            .arg(format!("{{{name}}}"));
        let numbers = self.numbers(command).await;
        self.now = numbers[1] / 1000 + self.passed;
        self.holds.remove(&person);
        self.agrees(hold, numbers[0])
    }

    async fn renew(&mut self) -> Step {
        let Some((person, hold)) = self.somebody() else { return Ok(()) };
        // The answer does not say what time it is.
        let time = self.numbers(Command::new("TIME")).await;
        self.now = time[0] * 1000 + time[1] / 1000 + self.passed;
        let name = if hold.sort == Sort::Permit { SEMAPHORE } else { LOCK };
        let ([field, beside], lease) = (hold.names(person), self.random.i64(500..LEASE));
        let command = Command::script(&self.scripts.renew, &[name, &beside])
            .arg(lease)
            .arg(hold.word())
            .arg(&field);
        let held = self.numbers(command).await[0];
        self.agrees(hold, held)?;
        match held {
            1 => self.holds.get_mut(&person).expect("it is known").until = self.now + lease,
            _ => drop(self.holds.remove(&person)),
        }
        Ok(())
    }

    /// Redisson takes a permit, or gives one back, as its scripts do.
    async fn redisson(&mut self) -> Step {
        let free = self.redis.send(&Command::new("GET").arg(SEMAPHORE)).await.unwrap();
        let free: i64 = free.text().unwrap_or_default().parse().unwrap_or(0);
        let by = if free > 0 && self.random.bool() { -1 } else { i64::from(self.theirs > 0) };
        if by != 0 {
            self.redis.send(&Command::new("INCRBY").arg(SEMAPHORE).arg(by)).await.unwrap();
            self.theirs -= by;
        }
        Ok(())
    }

    async fn pass(&mut self, time: i64) -> Step {
        let readers = self.holds.keys().map(|person| beside(*person));
        let keys: Vec<String> =
            [HOLDERS.to_owned(), LOCK.to_owned()].into_iter().chain(readers).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        self.redis.send(&Command::script(&PASS, &keys).arg(time)).await.unwrap();
        (self.passed, self.now) = (self.passed + time, self.now + time);
        Ok(())
    }

    /// No permit is made, and none is lost.
    async fn permits_are_conserved(&mut self) -> Step {
        let free = self.redis.send(&Command::new("GET").arg(SEMAPHORE)).await.unwrap();
        let Ok(free) = free.text() else { return Ok(()) };
        let ours = self.redis.send(&Command::new("ZCARD").arg(HOLDERS)).await.unwrap();
        let (free, ours): (i64, i64) = (free.parse().unwrap(), ours.number().unwrap());
        if free + ours + self.theirs == PERMITS {
            return Ok(());
        }
        Err(format!("{free} permits are free, {ours} are ours, {} are theirs", self.theirs))
    }

    async fn step(&mut self) -> Step {
        match self.random.u32(..16) {
            0..=3 => self.acquire(Sort::Read).await?,
            4 => self.acquire(Sort::Write).await?,
            5..=7 => self.acquire(Sort::Permit).await?,
            8 | 9 => self.release().await?,
            10 | 11 => self.renew().await?,
            12 => {
                if let Some((person, _)) = self.somebody() {
                    self.holds.get_mut(&person).expect("it is known").lives = false;
                }
            }
            13 => self.redisson().await?,
            _ => {
                let time = self.random.i64(1..8000);
                self.pass(time).await?;
            }
        }
        self.permits_are_conserved().await
    }
}

/// Lives through so many random sequences of steps, until something is that must not be.
async fn sequences(redis: &Redis, scripts: &'static Scripts, seeds: u64) -> Result<(), String> {
    for seed in 0..seeds {
        redis.send(&Command::new("FLUSHDB")).await.unwrap();
        let random = fastrand::Rng::with_seed(seed);
        let (holds, people, theirs, fences, passed, now) = (BTreeMap::new(), 0, 0, [0; 2], 0, 0);
        let mut model =
            Model { redis, scripts, random, holds, people, theirs, fences, passed, now };
        for _ in 0..120 {
            model.step().await.map_err(|why| format!("seed {seed}: {why}"))?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_writers_and_permits_exclude_each_other_while_people_die() {
    static RIGHT: LazyLock<Scripts> = LazyLock::new(|| Scripts::without(("call", "call")));
    let Some(server) = RedisServer::start() else { return };
    let redis = Redis::connect(RedisOptions::new(server.url())).await.unwrap();
    assert_eq!(sequences(&redis, &RIGHT, 40).await, Ok(()));
}

/// In contrast: with any of these rules left out, the model notices it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_of_permits_that_is_left_out_is_noticed() {
    static WRONG: LazyLock<[Scripts; 6]> = LazyLock::new(|| {
        [
            // Who reads is let in beside a writer.
            ("call('HGET', KEYS[1], 'mode') == 'read'", "true"),
            // The first reader who leaves frees it for writers.
            ("mode == 'read' and longest > 0", "false"),
            // A reader who stays longer than the others does not hold it for longer.
            ("call('PTTL', lock) < lease", "false"),
            // One permit more is given.
            ("if free < 1 then", "if free < 0 then"),
            // The permits of the dead do not come back.
            ("call('INCRBY', KEYS[1], #ended - 1)", "call('INCRBY', KEYS[1], -1)"),
            // Whoever gives one back that has been taken from them makes one.
            ("call('ZSCORE', KEYS[4], ARGV[1])", "call('ZSCORE', KEYS[4], ARGV[1]) or '0'"),
        ]
        .map(Scripts::without)
    });
    let Some(server) = RedisServer::start() else { return };
    let redis = Redis::connect(RedisOptions::new(server.url())).await.unwrap();
    for (at, wrong) in WRONG.iter().enumerate() {
        assert!(sequences(&redis, wrong, 100).await.is_err(), "without rule {at}");
    }
}
