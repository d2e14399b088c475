//! The worst commands on a large campaign: leaving memory, being settled, holds that are over at once.

use super::hall::{Rules, SHOWN, Worst};
use firstcome_core::Command;
use firstcome_core::command::{Mark, Order, Pick, Steer};
use firstcome_core::limits::BATCH_COMMANDS;
use firstcome_core::settings::PoolSettings;
use std::time::Instant;

/// Results that are settled with one entry.
const SETTLED: u64 = 1_000_000;
/// Holds that are over at one instant.
const DUE: usize = 100_000;

/// Measures each.
pub(crate) fn worst(claims: usize) -> Vec<Worst> {
    let mut found = Vec::new();
    let mut rules = Rules::new();
    rules.put("drop", vec![PoolSettings::counted("main", claims as u32)], true);
    for first in (0..claims).step_by(BATCH_COMMANDS) {
        let upto = claims.min(first + BATCH_COMMANDS);
        let subjects: Vec<String> = (first..upto).map(|n| format!("s-{n:08}")).collect();
        let claims: Vec<Command<'_>> =
            subjects.iter().map(|subject| Command::claim("drop", None, subject)).collect();
        rules.run(&claims);
    }
    let settled = SETTLED.min(claims as u64 / 2);
    let mark = Mark::default();
    let (_, took) = rules.run(&[Command::Settled { through: settled, term: 1, mark }]);
    found.push((format!("settled, {settled} results"), took));
    let began = Instant::now();
    let seen = (rules.0.memory(), rules.0.oldest_waiting().map(|result| result.number));
    found.push((format!("memory and oldest result {:?}, asked", seen.1), began.elapsed()));
    let order = Order::default();
    rules.run(&[Command::Steer { campaign: "drop", steer: Steer::Close, order }]);
    let steer = Steer::Archive { drop_unsettled: true };
    // Freeing it is no part of it: see `Rules::run`.
    let (said, took) = rules.run(&[Command::Steer { campaign: "drop", steer, order }]);
    assert!(!said.is_refusal(), "{said:?}");
    found.push((format!("archive, {claims} claims"), took));
    let (_, took) = rules.run(&[Command::Settled { through: claims as u64, term: 1, mark }]);
    found.push((format!("settled, {} results of no campaign", claims as u64 - settled), took));
    for (what, archived) in [("archive, live holds", true), ("tick, holds over at once", false)] {
        let mut rules = held();
        if archived {
            rules.run(&[Command::Steer { campaign: "house", steer: Steer::Close, order }]);
            let archive = Command::Steer { campaign: "house", steer, order };
            found.push((format!("{what}: {DUE}"), rules.run(&[archive]).1));
            let mut all = Vec::new();
            for _ in 0..DUE / 4_096 + 2 {
                all.push(rules.run_after(1, &[Command::Tick { mark }]).1);
            }
            let longest = all.into_iter().max().unwrap_or_default();
            found.push(("each entry after it, at most".to_owned(), longest));
        } else {
            // Hours of nobody: only the last step is measured.
            while rules
                .0
                .next_expiry()
                .is_some_and(|end| end.micros_since(rules.0.at()) > 15_000_000)
            {
                rules.run_after(14_000_000, &[]);
            }
            let took = rules.run_after(15_000_000, &[Command::Tick { mark }]).1;
            assert_eq!(rules.0.live_holds(), 0);
            found.push((format!("{what}: {DUE}, {SHOWN}"), took));
        }
    }
    found
}

/// As many places held, all from the same moment on.
fn held() -> Rules {
    let mut rules = Rules::new();
    rules.put("house", vec![PoolSettings::counted("main", DUE as u32)], true);
    let ids: Vec<String> = (0..DUE).map(|n| format!("s-{n:08}")).collect();
    for some in ids.chunks(BATCH_COMMANDS) {
        let holds: Vec<Command<'_>> = some
            .iter()
            .map(|id| super::hall::hold(id, id, vec![Pick::quantity("main", 1)]))
            .collect();
        let (said, _) = rules.run(&holds);
        assert!(!said.is_refusal(), "{said:?}");
    }
    rules
}
