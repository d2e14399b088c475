//! A hold ends at its instant: held one microsecond before, free at it, whatever happened in between.

use crate::play::play;
use crate::world::{Gave, SECOND, START, World, node};
use firstcome_core::command::{Late, Mark, Pick, Step};
use firstcome_core::hall::Standing;
use firstcome_core::{Command, Outcome, Timestamp};
use proptest::prelude::*;

const SEATS: usize = 8;
const CEILING: i64 = 120 * SECOND;
const LASTS: i64 = 50 * SECOND;
const HOUSE: &str = "
    0s op puts hall: main seated; ttl 50s; max 120s; orphans -> created 1
    0s op adds hall/main: S0 S1 S2 S3 S4 S5 S6 S7           -> imported 8 seats 0 areas
";

/// One hold: who has which seat, how long after the hold before it, and what is done about it.
#[derive(Clone, Debug)]
struct Plan {
    /// Journal time since the hold before, in microseconds.
    later: i64,
    /// After how long it is extended, and by how much.
    extended: Option<(i64, i64)>,
    /// Whether it is paid for in the last microsecond.
    paid: bool,
}

/// What is known of a hold without asking the rules.
#[derive(Clone, Copy, Debug)]
struct Due {
    started: i64,
    /// By service time.
    ends: i64,
    /// By journal time, as if no break had happened since it was held or extended.
    on_the_clock: i64,
    paid: bool,
}

/// Both times, counted without the rules: a step counts at most 15 s.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    service: i64,
    clock: i64,
}

/// When a hold is over.
type Over = fn(&Due, Now) -> bool;

fn by_service_time(due: &Due, now: Now) -> bool {
    now.service >= due.ends
}

struct Story {
    world: World,
    now: Now,
    due: [Option<Due>; SEATS],
    over: Over,
}

impl Story {
    fn entry(&mut self, clock: i64, command: &Command<'_>) -> Result<Outcome, String> {
        self.now.service += (clock - self.now.clock).min(15 * SECOND);
        self.now.clock = clock;
        let at: Timestamp = START.plus_micros(clock);
        let number = self.world.state.position() + 1;
        let gave = self.world.entry(at, node(0), number, std::slice::from_ref(command));
        let Gave::Outcomes(outcomes) = gave else { panic!("it is no copy") };
        self.looks_right()?;
        Ok(outcomes.into_iter().next().unwrap())
    }

    /// Every seat is held exactly as long as its hold lasts.
    fn looks_right(&self) -> Result<(), String> {
        let pool = self.world.state.campaign("hall").unwrap().pool("main").unwrap();
        let hall = pool.hall().unwrap();
        for (seat, due) in (0..).zip(&self.due) {
            let Some(due) = due else { continue };
            let over = (self.over)(due, self.now);
            let right = match hall.standing(seat) {
                Standing::Free => over,
                Standing::Held(_) => !over,
                Standing::Confirmed(_) => due.paid,
                Standing::Blocked => false,
            };
            if !right {
                return Err(format!(
                    "S{seat} is {:?} at {:?}: {due:?}",
                    hall.standing(seat),
                    self.now
                ));
            }
        }
        Ok(())
    }

    /// Lets time pass up to a service time; a break, if there is one, costs the holds fifteen seconds at most.
    fn until(&mut self, service: i64, breaks: &mut Vec<i64>) -> Result<(), String> {
        while self.now.service < service {
            let step = (service - self.now.service).min(15 * SECOND);
            // Fifteen seconds or ten minutes: to service time it is the same.
            let long = if step == 15 * SECOND { breaks.pop() } else { None };
            let clock = self.now.clock + step + long.unwrap_or(0);
            self.entry(clock, &Command::Tick { mark: Mark::default() })?;
        }
        Ok(())
    }

    fn step<'a>(hold: &'a str, subject: &'a str) -> Step<'a> {
        Step { campaign: "hall", hold, subject, id: None }
    }
}

/// Plays the plans, looking at every seat after every entry and at each deadline from both sides.
fn tell(plans: &[Plan], mut breaks: Vec<i64>, over: Over) -> Result<(), String> {
    let mut story = Story { world: play(HOUSE), now: Now::default(), due: [None; SEATS], over };
    let mut extensions = Vec::new();
    for (seat, plan) in plans.iter().enumerate() {
        let begins = story.now.service + plan.later;
        passed(&mut story, begins, &mut breaks, &mut extensions)?;
        let (name, who) = (format!("S{seat}"), format!("p{seat}"));
        let hold = Command::Hold {
            campaign: "hall",
            id: &name,
            subject: &who,
            picks: vec![Pick::units("main", vec![&name])],
            limit: None,
        };
        let outcome = story.entry(story.now.clock, &hold)?;
        assert_eq!(outcome.as_str(), "held", "{outcome:?}");
        let Now { service, clock } = story.now;
        story.due[seat] = Some(Due {
            started: service,
            ends: service + LASTS,
            on_the_clock: clock + LASTS,
            paid: false,
        });
        if let Some((after, by)) = plan.extended {
            extensions.push((service + after, seat, by));
            extensions.sort_unstable();
        }
    }
    // Everything comes to its end, each end looked at from one microsecond before.
    while let Some((ends, seat)) = next(&story) {
        passed(&mut story, ends - 1, &mut breaks, &mut extensions)?;
        if next(&story) != Some((ends, seat)) {
            continue;
        }
        let (name, who) = (format!("S{seat}"), format!("p{seat}"));
        let confirm = Command::Confirm {
            step: Story::step(&name, &who),
            units: Vec::new(),
            late: Late::Refuse,
        };
        // Others may have ended at the same instant, and some while others were still being held.
        let in_time = plans[seat].paid && story.now.service < ends;
        if in_time {
            story.due[seat].as_mut().unwrap().paid = true;
            let outcome = story.entry(story.now.clock, &confirm)?;
            if outcome.as_str() != "confirmed" {
                return Err(format!("{name} was paid for in time: {outcome:?}"));
            }
        }
        story.until(ends, &mut breaks)?;
        if !in_time {
            let outcome = story.entry(story.now.clock, &confirm)?;
            if outcome.as_str() != "hold_expired" {
                return Err(format!("{name} was paid for too late: {outcome:?}"));
            }
        }
        story.due[seat] = None;
    }
    Ok(())
}

fn next(story: &Story) -> Option<(i64, usize)> {
    let due = story.due.iter().enumerate();
    due.filter_map(|(seat, due)| Some((due.as_ref()?.ends, seat))).min()
}

/// Lets time pass, and extends what is to be extended on the way.
fn passed(
    story: &mut Story,
    upto: i64,
    breaks: &mut Vec<i64>,
    extensions: &mut Vec<(i64, usize, i64)>,
) -> Result<(), String> {
    while let Some(&(when, seat, by)) = extensions.first().filter(|(when, ..)| *when <= upto) {
        extensions.remove(0);
        story.until(when, breaks)?;
        let Some(due) = story.due[seat] else { continue };
        if due.ends <= story.now.service {
            continue;
        }
        let Now { service, clock } = story.now;
        let ends = (service + by).min(due.started + CEILING).max(due.ends);
        story.due[seat] = Some(Due { ends, on_the_clock: clock + (ends - service), ..due });
        let (name, who) = (format!("S{seat}"), format!("p{seat}"));
        let extend = Command::Extend { step: Story::step(&name, &who), by_us: Some(by) };
        let outcome = story.entry(clock, &extend)?;
        if outcome.as_str() != "extended" {
            return Err(format!("{name} could not be extended: {outcome:?}"));
        }
    }
    story.until(upto, breaks)
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let later = prop_oneof![1 => Just(0), 1 => 0..5_i64, 4 => 0..4 * SECOND];
    // Now and then to an instant at which another one ends.
    let extended = prop_oneof![
        2 => Just(None),
        3 => (0..LASTS, 1..150 * SECOND).prop_map(Some),
        1 => (0..5_i64, LASTS - 5..LASTS + 5).prop_map(Some),
    ];
    let plan = (later, extended, any::<bool>());
    let plan = plan.prop_map(|(later, extended, paid)| Plan { later, extended, paid });
    prop::collection::vec(plan, 1..=SEATS)
}

fn breaks() -> impl Strategy<Value = Vec<i64>> {
    let long = prop_oneof![3 => Just(0), 1 => 0..600 * SECOND];
    prop::collection::vec(long, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_seat_is_held_up_to_its_instant_and_free_at_it(plans in plans(), breaks in breaks()) {
        if let Err(why) = tell(&plans, breaks, by_service_time) {
            panic!("{why}");
        }
    }
}

/// Whoever reckons an instant otherwise is found out: by one microsecond, or by the clock on the wall.
#[test]
fn an_end_that_is_off_by_a_microsecond_is_seen() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
    let wrong: [(&str, Over); 4] = [
        ("one late", |due, now| now.service > due.ends),
        ("one early", |due, now| now.service + 1 >= due.ends),
        ("by the clock", |due, now| now.clock >= due.on_the_clock),
        ("never", |_, _| false),
    ];
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    let stories: Vec<_> = (0..60)
        .map(|_| {
            let plans = plans().new_tree(&mut runner).unwrap().current();
            (plans, breaks().new_tree(&mut runner).unwrap().current())
        })
        .collect();
    for (plans, breaks) in &stories {
        assert_eq!(tell(plans, breaks.clone(), by_service_time), Ok(()));
    }
    for (what, over) in wrong {
        let seen =
            stories.iter().filter(|(plans, breaks)| tell(plans, breaks.clone(), over).is_err());
        // Where all is paid for, or no break comes, there is less to see.
        let least = if what == "by the clock" { 10 } else { 40 };
        let seen = seen.count();
        assert!(seen >= least, "{what}: seen in {seen} stories of 60");
    }
}
