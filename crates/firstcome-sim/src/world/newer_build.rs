//! A newer build appends an entry that this build cannot read: every node must stop there.

use crate::environment::Environment;
use crate::nodes::Slots;
use firstcome_core::command::{BodyWriter, Command};
use firstcome_core::{NodeId, State, newest_level};
use firstcome_journal::{Append, Journal, Name};
use firstcome_node::CommandError;
use firstcome_node::Condition;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::sleep;

/// How long after the entry every node has stopped, at most.
const STOPPED_WITHIN: Duration = Duration::from_secs(10);

/// Appends an entry of the next level, and says what a node did that should have stopped there.
pub(super) async fn write(environment: &Environment, slots: &Slots) -> Result<(), String> {
    let (_, memory) = environment.store.chain();
    let journal = Journal::Memory(memory);
    let head = journal.head().await.map_err(|why| format!("there is no head: {why}"))?;
    let name = Name { node: NodeId([0xff; 16]), number: 1 };
    let mut body = BodyWriter::at_level(newest_level() + 1, name.node, name.number, 0);
    let _fits = body.push(&Command::claim("c0", None, "newer"));
    let body = body.finish().into();
    let append = Append { body, name, applied: head.position, applied_name: head.name };
    journal.append(append).await.map_err(|why| format!("it cannot be appended: {why}"))?;
    let level = format!("level {}", newest_level() + 1);
    environment.trace.tell(format_args!("a newer build appends an entry of {level}"));
    sleep(STOPPED_WITHIN).await;
    let handles = slots.each(|handle, node, _| {
        let applied = node.replica.look(State::position);
        if applied > head.position {
            return Err(format!("{} applied {applied}, an entry of {level}", handle.name()));
        }
        match node.intake.condition() {
            Condition::Lost(_, why) if why.contains(&level) => Ok(handle.clone()),
            other @ (Condition::Fresh | Condition::Stale(_) | Condition::Lost(..)) => {
                Err(format!("{} did not stop at {level}: it is {other:?}", handle.name()))
            }
        }
    });
    for handle in handles {
        let handle = handle?;
        let answer = handle.intake().claim("c0", None, "late", None).await;
        if !matches!(&answer, Err(CommandError::Unavailable(why)) if why.contains(&level)) {
            return Err(format!("{} stopped at {level} and says {answer:?}", handle.name()));
        }
    }
    at_most_one_of_each(environment, name)
        .map_err(|why| format!("{why} behind an entry of {level}"))?;
    let behind = journal.head().await.map_err(|why| format!("there is no head: {why}"))?.position;
    sleep(STOPPED_WITHIN).await;
    let now = journal.head().await.map_err(|why| format!("there is no head: {why}"))?.position;
    if now != behind {
        return Err(format!("{now} was appended by a node that had stopped at {level}"));
    }
    Ok(())
}

/// Checks that of each node no more than the one batch stands behind an entry that was on its way when the entry came. Another
/// copy of a batch is none: the store may bring a message twice, and late.
fn at_most_one_of_each(environment: &Environment, newer: Name) -> Result<(), String> {
    environment.store.with_entries(|stored| {
        let place = stored.iter().position(|stored| stored.name == newer);
        let (before, behind) = stored.split_at(place.map_or(stored.len(), |place| place + 1));
        let known: BTreeSet<Name> = before.iter().map(|stored| stored.name).collect();
        let mut last = BTreeMap::new();
        for stored in behind {
            if known.contains(&stored.name) {
                continue;
            }
            if last.insert(stored.name.node, stored.name).is_some_and(|other| other != stored.name)
            {
                return Err(format!("{} was appended, the second of its node,", stored.tell()));
            }
        }
        Ok(())
    })
}
