//! From the first entry along every branch: what the judge's rules make of each entry, and what a state
//! says to those who were answered from it.

use super::model::{Decision, Deed, Model, Seen};
use super::tree::Tree;
use crate::history::{Exchange, Told};
use firstcome_node::Decided;
use std::collections::BTreeMap;

/// What came of every place of the tree.
pub(super) struct Walk<'a> {
    /// What each command came to; none where the entry is a copy.
    pub(super) decisions: Vec<Option<Vec<Decision>>>,
    pub(super) deeds: Vec<Vec<Deed<'a>>>,
    /// The entry of each place, and the places of the final journal.
    pub(super) places: Vec<Option<usize>>,
    pub(super) journal: Vec<usize>,
    /// What the state at a place says to those who were answered from it, by exchange and place.
    pub(super) seen: BTreeMap<(usize, usize), Option<Seen>>,
    /// The state after the final journal's last entry.
    pub(super) last: Model<'a>,
}

impl<'a> Walk<'a> {
    /// Walks the tree once.
    pub(super) fn along(tree: &Tree<'a>, exchanges: &[Exchange]) -> Self {
        let mut asked: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, exchange) in exchanges.iter().enumerate() {
            if let Told::Answer { position, decided: Decided::Replica, .. } = &exchange.told {
                for place in tree.at(position.epoch, position.position) {
                    asked.entry(*place).or_default().push(number);
                }
            }
        }
        let mut walk = Self {
            decisions: vec![None; tree.places.len()],
            deeds: vec![Vec::new(); tree.places.len()],
            places: tree.places.iter().map(|place| place.stored).collect(),
            journal: tree.journal.clone(),
            seen: BTreeMap::new(),
            last: Model::default(),
        };
        let mut next = vec![(0, Model::default())];
        while let Some((place, mut model)) = next.pop() {
            if let Some(index) = tree.places[place].stored {
                let (entry, name) = (&tree.stored[index].entry, tree.stored[index].name);
                let commands = &tree.commands[index];
                let deeds = &mut walk.deeds[place];
                walk.decisions[place] = model.apply(index, entry.at, name, commands, deeds);
            }
            for exchange in asked.get(&place).into_iter().flatten() {
                let seen = model.look(&exchanges[*exchange].asked);
                walk.seen.insert((*exchange, place), seen);
            }
            if tree.journal.last() == Some(&place) {
                walk.last = model.clone();
            }
            // The state goes on along one branch, the others get a copy.
            if let Some((last, others)) = tree.children[place].split_last() {
                next.extend(others.iter().map(|other| (*other, model.clone())));
                next.push((*last, model));
            }
        }
        walk
    }
}
