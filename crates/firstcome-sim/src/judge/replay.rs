//! Replays every branch with the rules of the model: the outcomes of each entry, and the answers of each state from
//! memory.

use super::tree::Tree;
use crate::history::{Asked, Exchange, Reply, StoredEntry};
use firstcome_core::command::{Expect, level_of};
use firstcome_core::{Command, Stamp};
use firstcome_model::{Applied, Decision, Event, Model, Seen};
use firstcome_node::Decided;
use std::collections::BTreeMap;

/// The outcomes at every vertex of the tree.
pub(super) struct Replay<'a> {
    /// What each command came to; none where the entry is a copy.
    pub(super) decisions: Vec<Option<Vec<Decision>>>,
    pub(super) events: Vec<Vec<Event<'a>>>,
    /// The entry of each vertex, and the vertices of the final journal.
    pub(super) vertices: Vec<Option<usize>>,
    pub(super) journal: Vec<usize>,
    /// What the state at a vertex says to those who were answered from it, by exchange and vertex.
    pub(super) seen: BTreeMap<(usize, usize), Option<Seen>>,
    /// The state after the final journal's last entry.
    pub(super) last: Model<'a>,
}

impl<'a> Replay<'a> {
    /// Walks the tree once.
    pub(super) fn along(tree: &Tree<'a>, exchanges: &[Exchange]) -> Self {
        let mut asked: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, exchange) in exchanges.iter().enumerate() {
            if let Reply::Answer { position, decided: Decided::Replica, .. } = &exchange.reply {
                for vertex in tree.at(position.epoch, position.position) {
                    asked.entry(*vertex).or_default().push(number);
                }
            }
        }
        let mut replay = Self {
            decisions: vec![None; tree.vertices.len()],
            events: vec![Vec::new(); tree.vertices.len()],
            vertices: tree.vertices.iter().map(|vertex| vertex.stored).collect(),
            journal: tree.journal.clone(),
            seen: BTreeMap::new(),
            last: Model::default(),
        };
        let mut next = vec![(0, Model::default())];
        while let Some((vertex, mut model)) = next.pop() {
            if let Some(index) = tree.vertices[vertex].stored {
                let StoredEntry { entry, name, batch, .. } = &tree.stored[index];
                let stamp = Stamp {
                    position: entry.position,
                    at: entry.at,
                    epoch: entry.epoch,
                    node: name.node,
                    number: name.number,
                    again_of: (batch != name).then_some(*batch),
                    level: level_of(&entry.body).unwrap_or_default(),
                };
                let Applied { decisions, events } =
                    model.apply(index, stamp, &tree.commands[index]);
                (replay.decisions[vertex], replay.events[vertex]) = (decisions, events);
            }
            for exchange in asked.get(&vertex).into_iter().flatten() {
                let seen = look(&model, &exchanges[*exchange].asked);
                replay.seen.insert((*exchange, vertex), seen);
            }
            if tree.journal.last() == Some(&vertex) {
                replay.last = model.clone();
            }
            // The state goes on along one branch, the others get a copy.
            if let Some((last, others)) = tree.children[vertex].split_last() {
                next.extend(others.iter().map(|other| (*other, model.clone())));
                next.push((*last, model));
            }
        }
        replay
    }
}

/// Returns what a state says to a caller that asks without the journal; none if it has no answer.
fn look(model: &Model<'_>, asked: &Asked) -> Option<Seen> {
    match asked {
        Asked::Claim { campaign, pool, subject } => {
            model.look(&Command::claim(campaign, pool.as_deref(), subject), None)
        }
        Asked::Put { campaign, settings, order } => {
            let (settings, expect, order) = (settings.as_ref().clone(), Expect::Anything, *order);
            model.look(&Command::Put { campaign, settings, expect, order }, None)
        }
        Asked::On { command, .. } => model.look(&command.command(), None),
        Asked::Code { command, number, .. } => model.look(&command.command(), Some(*number)),
        Asked::Cancel { .. } | Asked::Steer { .. } | Asked::Raise => None,
    }
}
