//! After the store went on elsewhere nobody appends something new at once: others may put back first what they saw.

use super::tree::Tree;
use super::{At, Broken};
use crate::history::{History, Life};
use firstcome_journal::Name;
use std::time::Duration;

/// How long a server waits before it appends something new.
const WAIT: Duration = Duration::from_millis(500);

/// Checks every turn of the store.
pub(super) fn check(history: &History, tree: &Tree<'_>, wrong: &mut Vec<Broken>) {
    for (turned, server) in &history.turns {
        let over = *turned + WAIT;
        let soon = history.headed.iter().filter(|headed| {
            headed.server == *server && headed.moment > *turned && headed.moment < over
        });
        for headed in soon {
            let Some(last) = headed.last else { continue };
            let stored = &history.stored[last];
            // It was appended there and then, as nothing that stood elsewhere before, by one who was there when the
            // store turned.
            let known = |one: &crate::history::Stored| one.name == stored.name;
            let is_new =
                stored.moment == headed.moment && !history.stored[..last].iter().any(known);
            if is_new && history.lives.iter().any(|life| wrote(life, stored.name, *turned)) {
                let what = format!(
                    "the store turned at {}, and {} was appended without a wait for those who may have seen more",
                    At(*turned),
                    tree.tell(last)
                );
                wrong.push(Broken::new("waits_for_others", what));
            }
        }
    }
}

/// Says whether a batch is of a node that lived at a moment.
fn wrote(life: &Life, name: Name, moment: Duration) -> bool {
    life.began < moment && life.node.0[..8] == name.node.0[..8]
}
