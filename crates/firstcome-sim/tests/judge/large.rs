//! Judges a large history, with several forks.

use crate::story::{Story, cancel, claim, clock, passes, units_for_sale};
use firstcome_core::outcome::By;
use firstcome_core::{Outcome, Refusal};
use firstcome_sim::history::{Cause, Durability, History, Last, NodeRun};
use std::time::{Duration, Instant};

/// Claims, refusals, a cancel and repeats; the store loses ten entries at times and gets them back whole,
/// after another had been stored instead of them and was lost in turn.
fn large(rounds: u32) -> History {
    let mut story = Story::opened(Durability::Memory, units_for_sale(300));
    let (mut rank, mut taken, mut stray) = (0, 0, 0);
    for round in 0..rounds {
        story.at(10.0 + 0.05 * f64::from(round));
        let subject = format!("subject-{round}");
        if taken < 300 {
            (rank, taken) = (rank + 1, taken + 1);
            story.wins(&subject, rank);
        } else {
            story.decides(claim(&subject), Refusal::SoldOut.into());
            story.remembers(claim(&subject), Refusal::SoldOut.into());
        }
        let first = Outcome::AlreadyWon { rank: 1, at: clock(10.0), pool: 0, code: None };
        story.remembers(claim("subject-0"), first);
        if round == rounds / 2 {
            let at = clock(10.0 + 0.05 * f64::from(round));
            story.decides(cancel("subject-7", 8), Outcome::Cancelled { by: By::Subject, at });
            taken -= 1;
        }
        if round % 100 == 99 {
            let head = story.head.unwrap();
            story.loses(Some(head - 10), Cause::Promotion);
            stray += 1;
            story.stores((9, stray), &[], &[]);
            story.loses(Some(head), Cause::Promotion);
        }
        if round % 20 == 0 {
            story.applies();
        }
    }
    let mut history = story.ends();
    history.node_runs.push(NodeRun { ended: Some(Duration::from_secs(1)), ..NodeRun::default() });
    history.end.nodes.truncate(1);
    history.end.nodes.push(Last { node_run: 2, ..history.end.nodes[0].clone() });
    history
}

#[test]
fn a_large_history_is_judged_as_a_small_one() {
    let history = large(2_500);
    let begun = Instant::now();
    let verdict = passes(&history);
    let (entries, exchanges) = (history.stored.len(), history.exchanges.len());
    eprintln!("{entries} entries, {exchanges} exchanges: {:?}", begun.elapsed());
    assert_eq!((verdict.claims_acknowledged, verdict.forks), (301, 25));
}
