//! What the last server leaves that has a space whose store was emptied, when it stops.

use crate::offline::export;
use firstcome_core::State;
use firstcome_journal::folder::DataFolder;
use firstcome_journal::{Journal, JournalError};
use firstcome_node::{Node, Replica, Stop, log};
use std::sync::Arc;

/// A server that said nothing for longer may have died: in microseconds, three heartbeats.
const SILENT: i64 = 3_000_000;

/// Stops a node. What its store has no more, and no other server has, is left in a file.
///
/// # Errors
///
/// Why it had stopped applying before, if it had.
pub(super) async fn stop(node: Node, folder: Option<&DataFolder>) -> Result<(), Stop> {
    let (journal, replica) = (node.journal.clone(), Arc::clone(&node.replica));
    let without_store = node.is_without_store();
    node.stop().await?;
    if without_store {
        leave_space(&journal, &replica, folder).await;
    }
    Ok(())
}

/// Leaves the space in a file of the data folder, if the store has nothing of it and no other server has it; says so. This
/// server has left the others already: of two that stop at the same time, one sees that it is the last.
async fn leave_space(journal: &Journal, replica: &Replica, folder: Option<&DataFolder>) {
    let space = replica.look(State::space);
    if !matches!(journal.head().await, Err(JournalError::Gone(_))) {
        return;
    }
    if let Ok(Some(emptied)) = journal.emptied().await {
        let lives = |seen| emptied.now.micros_since(seen) < SILENT;
        if emptied.mark.space == space && emptied.others.iter().any(|(_, seen)| lives(*seen)) {
            return;
        }
    }
    let position = replica.look(State::token);
    let lost = format!(
        "the store was emptied, and this was the last server that has space {space}, up to {position}"
    );
    let Some(folder) = folder else {
        log!(
            LastWithSpace,
            %position,
            "{lost}: that is lost with this process; a server with a data folder (--data) leaves it in a file there"
        );
        return;
    };
    let file = folder.path().join(format!("{space}-{position}.fcspace"));
    let written = replica.look(|state| export::write_state(state, &file));
    let file = file.display();
    match written {
        Ok(()) => log!(
            LastWithSpace,
            %position,
            %file,
            "{lost}: it is in {file}; `firstcome journal import {file} --store URL` brings it back"
        ),
        Err(why) => {
            log!(LastWithSpace, %position, "{lost}, and cannot leave it in a file: {why:#}")
        }
    }
}
