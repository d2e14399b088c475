//! Checks that no node appends a new entry right after a failover, so that others can put back what they saw.

use super::tree::Tree;
use super::{At, Broken};
use crate::history::{History, NodeRun};
use firstcome_journal::Name;
use std::time::Duration;

/// How long a node waits before it appends something new.
const WAIT: Duration = Duration::from_millis(500);

/// Checks every failover of the store.
pub(super) fn check(history: &History, tree: &Tree<'_>, wrong: &mut Vec<Broken>) {
    for (failed_over_at, server) in &history.failovers {
        let over = *failed_over_at + WAIT;
        let soon = history.head_changes.iter().filter(|change| {
            change.server == *server && change.moment > *failed_over_at && change.moment < over
        });
        // Whoever has not heard of it yet does not wait, and a log without conditions takes what they append.
        let soon = soon.filter(|change| !history.carried_over.contains(&change.moment));
        for change in soon {
            let Some(last) = change.last else { continue };
            let stored = &history.stored[last];
            // It was appended there and then, as nothing that stood elsewhere before, by one who was there when the
            // store turned.
            let known = |one: &crate::history::StoredEntry| one.batch == stored.batch;
            let is_new =
                stored.moment == change.moment && !history.stored[..last].iter().any(known);
            if is_new
                && history
                    .node_runs
                    .iter()
                    .any(|node_run| wrote(node_run, stored.name, *failed_over_at))
            {
                let what = format!(
                    "the store turned at {}, and {} was appended without a wait for those who may have seen more",
                    At(*failed_over_at),
                    tree.tell(last)
                );
                wrong.push(Broken::new("waits_for_others", what));
            }
        }
    }
}

/// Says whether a batch is of a node that ran at a moment.
fn wrote(node_run: &NodeRun, name: Name, moment: Duration) -> bool {
    node_run.began < moment && node_run.node.0[..8] == name.node.0[..8]
}
