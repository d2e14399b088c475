//! What the last server leaves that has a space whose store was emptied, when it stops.

use crate::offline::export;
use firstcome_core::{NodeId, Position, SpaceId, Timestamp};
use firstcome_journal::cluster::NodeStatus;
use firstcome_journal::folder::DataFolder;
use firstcome_journal::{Emptied, Journal, JournalError};
use firstcome_node::{Node, Replica, Stop, log};
use std::sync::Arc;

/// A server that said nothing for longer may have died: in microseconds, three heartbeats.
const SILENT: i64 = 3_000_000;

/// Stops a node. What its store has no more, and no other server has as far, is left in a file.
///
/// # Errors
///
/// Why it had stopped applying before, if it had.
pub(super) async fn stop(node: Node, folder: Option<&DataFolder>) -> Result<(), Stop> {
    let (journal, replica, me) = (node.journal.clone(), Arc::clone(&node.replica), node.id);
    let lacks_store = node.lacks_store();
    node.stop().await?;
    if lacks_store {
        leave_space(&journal, &replica, me, folder).await;
    }
    Ok(())
}

/// Leaves the space in a file of the data folder, unless the store has it again or another server has it as far; says so. This
/// server has left the others already: of two that stop at the same time, one sees that it is the last.
async fn leave_space(
    journal: &Journal,
    replica: &Replica,
    me: NodeId,
    folder: Option<&DataFolder>,
) {
    let (space, position) = replica.look(|state| (state.space(), state.token()));
    let furthest = match journal.head().await {
        Ok(head) if head.space == space => return,
        Err(JournalError::Gone(_)) => {
            let emptied = journal.emptied().await.ok().flatten();
            emptied.and_then(|emptied| furthest(emptied, space, me))
        }
        // Who else has it is said nowhere: another space is there, or the store does not answer.
        Ok(_) | Err(_) => None,
    };
    if furthest.as_ref().is_some_and(|it| it.reach() >= (position.epoch, position.position)) {
        return;
    }
    let lost = lost(space, position, furthest.as_ref());
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

/// Returns the server that has a space furthest, of those that said lately beside its mark that they have it.
fn furthest(emptied: Emptied, space: SpaceId, me: NodeId) -> Option<NodeStatus> {
    let Emptied { mark, now, others } = emptied;
    // What this server said itself may still be there.
    let lives = |(node, seen): &(NodeStatus, Timestamp)| {
        mark.space == space && node.node != me && now.micros_since(*seen) < SILENT
    };
    others.into_iter().filter(lives).map(|(node, _)| node).max_by_key(NodeStatus::reach)
}

/// Says what is lost with a server, given the furthest of the others, which has less.
fn lost(space: SpaceId, position: Position, furthest: Option<&NodeStatus>) -> String {
    match furthest {
        None => format!(
            "the store was emptied, and this was the last server known to have space {space}, up to {position}"
        ),
        Some(NodeStatus { address, epoch, position: reached, .. }) => format!(
            "the store was emptied, and no other server has space {space} up to {position}: the one at {address} has it up to \
             {epoch}.{reached}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstcome_journal::cluster::mark::Mark;

    const SPACE: SpaceId = SpaceId([7; 16]);
    const ME: NodeId = NodeId([5; 16]);

    fn node(id: u8, epoch: u32, position: u64) -> NodeStatus {
        NodeStatus {
            node: NodeId([id; 16]),
            position,
            durable: position,
            epoch,
            digest: 0,
            level: 1,
            memory: 0,
            since: Timestamp::from_micros(0),
            address: "there".into(),
            words: "".into(),
        }
    }

    /// What nodes said so many seconds ago.
    fn said(space: SpaceId, others: &[(i64, NodeStatus)]) -> Emptied {
        let now = Timestamp::from_micros(9_000_000);
        let seen = |ago: i64| Timestamp::from_micros(9_000_000 - ago * 1_000_000);
        let others = others.iter().map(|(ago, node)| (node.clone(), seen(*ago))).collect();
        Emptied { mark: Mark { space, position: 1, since: now, who: "".into() }, now, others }
    }

    #[test]
    fn the_furthest_of_the_others_that_live_counts() {
        let others = [
            (0, node(5, 2, 99)),
            (3, node(6, 1, 50)),
            (2, node(7, 1, 9)),
            (1, node(8, 1, 10)),
            (0, node(9, 0, 40)),
        ];
        let found = furthest(said(SPACE, &others), SPACE, ME);
        assert_eq!(found, Some(node(8, 1, 10)));
        assert_eq!(furthest(said(SPACE, &others[..2]), SPACE, ME), None, "itself, and a dead one");
        assert_eq!(furthest(said(SpaceId([9; 16]), &others), SPACE, ME), None);
    }

    #[test]
    fn a_server_that_has_less_is_named() {
        let position = Position { epoch: 1, position: 12 };
        let said = lost(SPACE, position, Some(&node(8, 1, 10)));
        assert!(said.contains("up to 1.12") && said.contains("there has it up to 1.10"), "{said}");
        assert!(lost(SPACE, position, None).contains("the last server"));
    }
}
