//! The line of a fair lock at the server, step by step against a model: people come, ask again, give up, die, and time passes.

use std::sync::LazyLock;

use firstcome_store::{Command, Redis, RedisOptions, Script};
use firstcome_testbed::RedisServer;

/// For how long somebody is waited for who does not ask again, and how often those who live ask, in ms.
const WAITED_FOR: i64 = 15_000;
const LOOK: i64 = 5000;

/// The longest lease, and the longest time that passes in one step, in ms.
const LEASE: i64 = 60_000;
const STEP: i64 = 4000;

/// What the server's clock and the steps may differ by, in ms.
const SLACK: i64 = 50;

const KEYS: [&str; 4] =
    ["x", "fc:fence:{x}", "redisson_lock_queue:{x}", "redisson_lock_timeout:{x}"];

const ACQUIRE: &str = concat!(
    include_str!("../../src/redis/line.lua"),
    include_str!("../../src/redis/mint.lua"),
    include_str!("../../src/redis/late.lua"),
    include_str!("../../src/redis/fair_acquire.lua")
);

static RELEASE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        "local function publish(channel, message) redis.call('PUBLISH', channel, message) end\n",
        include_str!("../../src/redis/line.lua"),
        include_str!("../../src/redis/latch.lua"),
        include_str!("../../src/redis/fair_release.lua")
    ))
});

/// Has time pass for the lock and for those who stand in line.
static PASS: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local left = redis.call('PTTL', KEYS[1])
        if left >= 0 then redis.call('PEXPIRE', KEYS[1], math.max(left - ARGV[1], 0)) end
        local all = redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')
        for i = 1, #all, 2 do redis.call('ZADD', KEYS[2], all[i + 1] - ARGV[1], all[i]) end
        return 1",
    )
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Away,
    Waiting,
    Holding,
    /// It died while it waited, and is still in line.
    Dead,
    Gone,
}

#[derive(Debug)]
struct Person {
    state: State,
    /// How many came before it.
    came: u64,
    /// When it asked last.
    asked: i64,
    /// Since when only the dead are in its way.
    kept_by_the_dead: Option<i64>,
}

impl Person {
    fn new() -> Self {
        Self { state: State::Away, came: u64::MAX, asked: 0, kept_by_the_dead: None }
    }
}

/// The lock and all people, as they should be.
struct Model<'a> {
    redis: &'a Redis,
    acquire: &'static Script,
    random: fastrand::Rng,
    people: Vec<Person>,
    came: u64,
    /// Until when somebody has the lock, and who.
    held: Option<(i64, usize)>,
    fence: i64,
    /// How much time has passed beside that of the server's clock, and the time at the last answer.
    passed: i64,
    now: i64,
}

/// Says what must not be.
type Step = Result<(), String>;

fn owner(person: usize) -> String {
    format!("11111111-2222-4333-8444-555555555555:{}", 1_000_000_000 + person)
}

impl Model<'_> {
    fn is_free(&self, slack: i64) -> bool {
        self.held.is_none_or(|(until, _)| self.now + slack >= until)
    }

    fn before(&self, came: u64, state: State) -> Option<usize> {
        self.people.iter().position(|other| other.state == state && other.came < came)
    }

    async fn ask(&mut self, person: usize, waits: bool) -> Step {
        let lease = self.random.i64(500..LEASE);
        let command = Command::script(self.acquire, &KEYS)
            .arg(owner(person))
            .arg(lease)
            .arg("9000000000000000")
            .arg(86_400_000)
            .arg(WAITED_FOR)
            .arg(u8::from(waits));
        let numbers = self.redis.send(&command).await.unwrap().numbers().unwrap();
        let [kind, number, now] = numbers[..] else { return Err(format!("{numbers:?}")) };
        self.now = now / 1000 + self.passed;
        if kind == 1 { self.granted(person, lease, number) } else { self.refused(person, waits) }
    }

    fn granted(&mut self, person: usize, lease: i64, fence: i64) -> Step {
        if !self.is_free(SLACK) {
            return Err(format!("{person} has it beside {:?}", self.held));
        }
        if fence <= self.fence {
            return Err(format!("fence {fence} follows {}", self.fence));
        }
        let came = self.people[person].came;
        if let Some(other) = self.before(came, State::Waiting) {
            return Err(format!("{person} has it before {other}, who came earlier and waits"));
        }
        while let Some(dead) = self.before(came, State::Dead) {
            if self.people[dead].asked + WAITED_FOR > self.now + SLACK {
                return Err(format!("{dead} may be alive, and was not waited for"));
            }
            self.people[dead].state = State::Gone;
        }
        self.end_of_hold();
        self.fence = fence;
        self.held = Some((self.now + lease, person));
        self.people[person] = Person { state: State::Holding, ..Person::new() };
        Ok(())
    }

    fn refused(&mut self, person: usize, waits: bool) -> Step {
        let came = self.people[person].came;
        let lives = self.before(came, State::Waiting).is_some();
        let all = self.people.iter();
        let dead = all.filter(|other| other.state == State::Dead && other.came < came).count();
        if lives || !self.is_free(-SLACK) {
            self.people[person].kept_by_the_dead = None;
        } else {
            let since = *self.people[person].kept_by_the_dead.get_or_insert(self.now);
            let longest = i64::try_from(dead).unwrap() * (WAITED_FOR + LOOK + STEP);
            if self.now - since >= longest {
                return Err(format!("{person} is kept from what nobody has, for {longest} ms"));
            }
        }
        if waits {
            if self.people[person].state == State::Away {
                let came = self.came;
                self.people[person] = Person { state: State::Waiting, came, ..Person::new() };
                self.came += 1;
            }
            self.people[person].asked = self.now;
        }
        Ok(())
    }

    /// Whoever has had it has it no more.
    fn end_of_hold(&mut self) {
        if let Some((_, person)) = self.held.take()
            && self.people[person].state == State::Holding
        {
            self.people[person] = Person::new();
        }
    }

    /// Gives back what somebody has, or their place in line.
    async fn give_back(&mut self, person: usize) -> Step {
        let channel = "redisson_lock__channel:{x}";
        let keys = [KEYS[0], channel, "redisson_unlock_latch:{x}", KEYS[2], KEYS[3]];
        let command = Command::script(&RELEASE, &keys).arg(owner(person)).arg(0).arg(WAITED_FOR);
        let numbers = self.redis.send(&command).await.unwrap().numbers().unwrap();
        self.now = numbers[1] / 1000 + self.passed;
        let held = self.people[person].state == State::Holding;
        let is_clear = self.is_free(-SLACK) || !self.is_free(SLACK);
        if is_clear && (numbers[0] == 1) != (held && !self.is_free(0)) {
            return Err(format!("{person} hears {} of its hold", numbers[0]));
        }
        if held {
            self.end_of_hold();
        }
        self.people[person] = Person::new();
        Ok(())
    }

    /// Somebody stops as they are; another one may come in their place.
    fn die(&mut self, person: usize) {
        let state = &mut self.people[person].state;
        *state = if *state == State::Waiting { State::Dead } else { State::Gone };
        self.people.push(Person::new());
    }

    /// Has time pass; those who wait ask again when it is time for it.
    async fn pass(&mut self, time: i64) -> Step {
        let command = Command::script(&PASS, &[KEYS[0], KEYS[3]]).arg(time);
        self.redis.send(&command).await.unwrap();
        (self.passed, self.now) = (self.passed + time, self.now + time);
        let mut waiting = self.everybody(State::Waiting);
        self.random.shuffle(&mut waiting);
        for person in waiting {
            if self.people[person].asked + LOOK <= self.now {
                self.ask(person, true).await?;
            }
        }
        self.all_stand_in_line().await
    }

    fn everybody(&self, state: State) -> Vec<usize> {
        (0..self.people.len()).filter(|person| self.people[*person].state == state).collect()
    }

    /// Nobody who waits is dropped from the line, and they stand in the order in which they came.
    async fn all_stand_in_line(&mut self) -> Step {
        let line = self.redis.send(&Command::new("LRANGE").arg(KEYS[2]).arg(0).arg(-1)).await;
        let line: Vec<String> =
            line.unwrap().list().unwrap().iter().map(|who| who.text().unwrap()).collect();
        let mut waiting = self.everybody(State::Waiting);
        waiting.sort_by_key(|person| self.people[*person].came);
        let waiting: Vec<String> = waiting.into_iter().map(owner).collect();
        let stand: Vec<_> = line.into_iter().filter(|who| waiting.contains(who)).collect();
        if stand == waiting {
            Ok(())
        } else {
            Err(format!("{stand:?} stand in line, not {waiting:?}"))
        }
    }

    async fn step(&mut self) -> Step {
        let person = self.random.usize(..self.people.len());
        match (self.people[person].state, self.random.u32(..10)) {
            (State::Dead | State::Gone, _) => Ok(()),
            (State::Away, 0) => self.ask(person, false).await,
            (State::Away | State::Waiting, 1..=5) => self.ask(person, true).await,
            (State::Holding, 1..=5) | (State::Waiting, 6) => self.give_back(person).await,
            (State::Waiting | State::Holding, 7) => {
                self.die(person);
                Ok(())
            }
            _ => {
                let time = self.random.i64(1..STEP);
                self.pass(time).await
            }
        }
    }

    /// Everybody who waits has it at last: after a lease, and after the dead have been waited for.
    async fn all_are_served(&mut self) -> Step {
        let dead = i64::try_from(self.everybody(State::Dead).len()).unwrap();
        let end = self.now + LEASE + (dead + 1) * (WAITED_FOR + LOOK + STEP);
        while !self.everybody(State::Waiting).is_empty() {
            if self.now > end {
                return Err(format!("{:?} wait for ever", self.everybody(State::Waiting)));
            }
            for person in self.everybody(State::Holding) {
                self.give_back(person).await?;
                for person in self.everybody(State::Waiting) {
                    self.ask(person, true).await?;
                }
            }
            self.pass(1000).await?;
        }
        Ok(())
    }
}

/// Lives through so many random sequences of steps, until something is that must not be.
async fn sequences(redis: &Redis, acquire: &'static Script, seeds: u64) -> Result<(), String> {
    for seed in 0..seeds {
        redis.send(&Command::new("DEL").arg(&KEYS[..])).await.unwrap();
        let people = (0..5).map(|_| Person::new()).collect();
        let random = fastrand::Rng::with_seed(seed);
        let mut model = Model {
            redis,
            acquire,
            random,
            people,
            came: 0,
            held: None,
            fence: 0,
            passed: 0,
            now: 0,
        };
        for _ in 0..80 {
            model.step().await.map_err(|why| format!("seed {seed}: {why}"))?;
        }
        model.all_are_served().await.map_err(|why| format!("seed {seed}, at the end: {why}"))?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_comes_first_and_lives_has_it_first() {
    static RIGHT: LazyLock<Script> = LazyLock::new(|| Script::new(ACQUIRE));
    let Some(server) = RedisServer::start() else { return };
    let redis = Redis::connect(RedisOptions::new(server.url())).await.unwrap();
    assert_eq!(sequences(&redis, &RIGHT, 60).await, Ok(()));
}

/// In contrast: with any of its rules left out, the model notices it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_that_is_left_out_is_noticed() {
    static WRONG: LazyLock<[Script; 4]> = LazyLock::new(|| {
        [
            // It does not matter who is next.
            ("(not head or head == ARGV[1])", "true"),
            // Those who ask again are not known to live.
            ("elseif mine < ms + wait then", "elseif false then"),
            // The dead are waited for as long as all before them.
            ("deadline > ms + wait and", "false and"),
            // Nobody is waited for.
            ("tonumber(deadline) > ms", "tonumber(deadline) > ms + 14000"),
        ]
        .map(|(rule, other)| {
            assert!(ACQUIRE.contains(rule), "{rule}");
            Script::new(ACQUIRE.replace(rule, other))
        })
    });
    let Some(server) = RedisServer::start() else { return };
    let redis = Redis::connect(RedisOptions::new(server.url())).await.unwrap();
    for (at, wrong) in WRONG.iter().enumerate() {
        let noticed = sequences(&redis, wrong, 200).await;
        assert!(noticed.is_err(), "without rule {at}");
    }
}
