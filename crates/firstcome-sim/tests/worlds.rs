//! Tests whole worlds: the same seed is the same world, and the first worlds keep every promise.
//!
//! `cargo xtask sim` runs many more, which `cargo xtask test` runs as well.

use firstcome_sim::history::Asked;
use firstcome_sim::mistakes;
use firstcome_sim::plan::{Fault, Plan, Step, Want, What};
use firstcome_sim::trial::{shorten, trial, until_noticed};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Lives through a world and gives its story.
fn story(seed: u64) -> (u64, Vec<String>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let listener = {
        let lines = Arc::clone(&lines);
        Box::new(move |line: &str| lines.lock().expect("nobody panics").push(line.to_owned()))
    };
    let hash = trial(&Plan::draw(seed), None, Some(listener)).world_run.hash;
    let lines = lines.lock().expect("nobody panics").clone();
    (hash, lines)
}

#[test]
fn the_same_number_is_the_same_world() {
    let mut hashes = BTreeSet::new();
    for seed in 0..6 {
        let (once, first) = story(seed);
        // On another thread nothing is left of the first time.
        let (again, second) = std::thread::spawn(move || story(seed)).join().unwrap();
        let differ = first.iter().zip(&second).find(|(one, other)| one != other);
        assert_eq!(differ, None, "world {seed}");
        assert_eq!((once, first.len()), (again, second.len()), "world {seed}");
        // Nobody listens, and it is the same.
        assert_eq!(trial(&Plan::draw(seed), None, None).world_run.hash, once, "world {seed}");
        hashes.insert(once);
    }
    assert_eq!(hashes.len(), 6, "another number is another world");
}

#[test]
fn the_first_worlds_keep_every_promise() {
    let (mut claims, mut failovers, mut put_back) = (0, 0, 0);
    for seed in 0..20 {
        let trial = trial(&Plan::draw(seed), None, None);
        failovers += trial.world_run.failovers;
        put_back += trial.world_run.put_back;
        match trial.verdict {
            Ok(verdict) => claims += verdict.claims_acknowledged,
            Err(broken) => panic!("world {seed}: {broken:#?}"),
        }
    }
    assert!(claims > 150 && failovers > 10 && put_back > 50, "{claims} {failovers} {put_back}");
}

#[test]
fn a_history_that_fails_is_made_shorter_and_fails_still() {
    let mistake = mistakes::named("min_position_ignored");
    assert!(mistake.is_some());
    let failing = (0..200).map(Plan::draw).find_map(|plan| {
        let broken = trial(&plan, mistake, None).broken()?.promise;
        Some((plan, broken))
    });
    let (plan, promise) = failing.expect("it is noticed");
    let kept = shorten(&plan, mistake, promise, Duration::from_secs(5));
    assert!(kept.len() < plan.steps.len(), "{} of {}", kept.len(), plan.steps.len());
    assert!(trial(&plan.only(&kept), mistake, None).breaks(promise));
}

/// A node of a slot that is not there: nothing that a plan has, so that the simulation itself breaks.
#[test]
fn a_simulation_that_panics_names_its_world() {
    let mut plan = Plan::draw(7);
    let at = Duration::from_millis(1);
    plan.steps.insert(0, Step { at, what: What::Fault(Fault::Crash { slot: 99, down: at }) });
    let mistake = mistakes::named("answer_while_stale");
    let panicked = std::panic::catch_unwind(|| trial(&plan, mistake, None)).expect_err("it panics");
    let said = panicked.downcast_ref::<String>().expect("a message");
    assert!(said.contains("in world 7, to be seen with --seed 7"), "{said}");
    assert!(said.contains("nodes.rs") && said.contains("index"), "{said}");
    // The next world on this thread is as if there had been none before.
    let plan = Plan::draw(0);
    let here = trial(&plan, None, None).world_run.hash;
    let apart = std::thread::spawn(move || trial(&plan, None, None).world_run.hash);
    assert_eq!(here, apart.join().expect("a world without a panic"));
}

#[test]
fn a_mistake_is_forgotten_after_its_world() {
    let mistake = mistakes::named("answer_while_stale");
    let plan = Plan::draw(0);
    let before = trial(&plan, None, None).world_run.hash;
    drop(trial(&plan, mistake, None));
    assert_eq!(trial(&plan, None, None).world_run.hash, before);
}

/// Two operators with the same ids, and cancels that name no pool where there is one and where there are several: both
/// are in the first worlds, and so are those who would notice that the rules mix them up.
#[test]
fn ids_of_two_keys_and_cancels_without_a_pool_are_in_the_first_worlds() {
    let (mut keys, mut cancels) = (BTreeSet::new(), BTreeSet::new());
    for plan in (0..30).map(Plan::draw) {
        for step in &plan.steps {
            let What::Ask(ask) = &step.what else { continue };
            keys.extend(ask.order.id.map(|id| (id, ask.order.who)));
            if let Want::Cancel { campaign, names_pool: false, .. } = &ask.want {
                let campaign = &plan.campaigns[*campaign];
                cancels.insert(campaign.pools.len() + usize::from(campaign.venue.is_some()) > 1);
            }
        }
    }
    assert!(keys.contains(&("1", "desk")) && keys.contains(&("1", "office")), "{keys:?}");
    assert_eq!(cancels.len(), 2, "of one pool and of several");
    for name in ["cancel_in_first_pool", "ids_of_all_keys"] {
        let mistake = mistakes::named(name).expect("a world can make it");
        let noticed = until_noticed(mistake, 60, 2);
        let (seed, _) = noticed.expect("it is noticed within a few worlds");
        let trial = trial(&Plan::draw(seed), Some(mistake), None);
        assert!(trial.breaks("decided_by_the_rules"), "{name}: {:?}", trial.broken());
    }
}

/// The lock refuses in a third of the worlds, with errors that pass and with one that does not, and a node that ends its
/// loop on that is noticed.
#[test]
fn a_lock_that_refuses_ends_no_election() {
    let refusals = (0..60).map(Plan::draw).flat_map(|plan| plan.steps).filter_map(|step| {
        if let What::Fault(Fault::LockRefuses { error, .. }) = step.what {
            Some(error)
        } else {
            None
        }
    });
    let mut codes: Vec<_> = refusals.filter_map(|error| error.split(' ').next()).collect();
    assert!(codes.len() > 15, "{codes:?}");
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes, ["ERR", "MISCONF", "NOPERM"]);
    let mistake = mistakes::named("leader_ends_on_refusal").expect("a world can make it");
    let noticed = until_noticed(mistake, 200, 2);
    assert!(noticed.is_some(), "nobody misses a leader");
}

/// A store that takes each append is in a third of the worlds, and who counts all its entries is noticed there.
#[test]
fn a_log_without_conditions_is_in_the_first_worlds() {
    let logs = || (0..400).map(Plan::draw).filter(|plan| plan.log.is_some());
    let reaches: BTreeSet<_> = logs().filter_map(|plan| plan.log).collect();
    assert_eq!(reaches, BTreeSet::from([1, 2, 4, 16, 1024]));
    let mistake = mistakes::named("predecessor_ignored");
    assert!(mistake.is_some());
    let noticed = logs().find_map(|plan| trial(&plan, mistake, None).broken().map(|_| plan.seed));
    assert!(noticed.is_some(), "nobody misses an ancestor");
}

/// Nodes that know of no space start on an emptied store beside those that run, and who leaves no mark there, or begins a space
/// all the same, is noticed.
#[test]
fn a_start_on_an_emptied_store_is_in_the_first_worlds() {
    let worlds = (0..400).map(Plan::draw).filter(|plan| !plan.remembers).count();
    assert!(worlds > 8, "{worlds}");
    for name in ["no_mark_left", "mark_ignored"] {
        let mistake = mistakes::named(name).expect("a world can make it");
        assert!(until_noticed(mistake, 120, 2).is_some(), "nobody misses the space: {name}");
    }
}

#[test]
fn nobody_raises_a_space_as_of_a_position() {
    let raised = (0..120).map(Plan::draw).filter(|plan| plan.invents_level);
    let mut asked = 0;
    for plan in raised {
        let history = trial(&plan, None, None).world_run.history;
        let raises = history.exchanges.iter().filter(|one| matches!(one.asked, Asked::Raise));
        for raise in raises {
            assert_eq!(raise.min, None, "world {}", plan.seed);
            asked += 1;
        }
    }
    assert!(asked > 5, "{asked}");
}
