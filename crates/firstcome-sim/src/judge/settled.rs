//! What was written into the ledger, when it was.

use super::excuses::allows;
use super::model::Deed;
use super::tree::Tree;
use super::walk::Walk;
use super::{At, Broken};
use crate::history::{History, Moment};

/// Checks what the ledger took.
pub(super) fn check(history: &History, tree: &Tree<'_>, walk: &Walk<'_>, wrong: &mut Vec<Broken>) {
    // A restored ledger counts its terms from where it was then: two leaders may have the same one.
    let restored = history.ledger_restored.first().copied().unwrap_or(Moment::MAX);
    if let Some(moment) = history.settled_late.iter().find(|moment| **moment < restored) {
        let what = format!(
            "the ledger took results at {} from a leader after another one had begun there",
            At(*moment)
        );
        wrong.push(Broken::new("settled_in_order", what));
    }
    for loss in &history.losses {
        if allows(history.durability, loss) {
            // From here on the ledger may have what a history had that is over.
            return;
        }
        let (had, has) = (results(loss.from, tree, walk), results(loss.to, tree, walk));
        if has < loss.settled && loss.settled <= had {
            let what = format!(
                "at {} the store lost results {} to {had}, which were not durable, and the ledger had them up to {}",
                At(loss.moment),
                has + 1,
                loss.settled
            );
            wrong.push(Broken::new("settled_when_durable", what));
        }
    }
}

/// Gives the number of the last result of a history that ends with an entry.
fn results(last: Option<usize>, tree: &Tree<'_>, walk: &Walk<'_>) -> u64 {
    let place = last.and_then(|last| tree.places_of(last).next());
    let places = place.into_iter().flat_map(|place| tree.back_from(place));
    let results = places.flat_map(|place| &walk.deeds[place]).filter_map(Deed::result);
    results.map(|(_, claimed)| claimed.number).max().unwrap_or(0)
}
