//! Checks that results were settled in order, and only when they were durable.

use super::excuses::allows;
use super::replay::Replay;
use super::tree::Tree;
use super::{At, Broken, ended};
use crate::history::{History, Moment, Row};
use firstcome_core::Command;
use firstcome_model::Event;

/// Checks what the ledger took.
pub(super) fn check(
    history: &History,
    tree: &Tree<'_>,
    replay: &Replay<'_>,
    wrong: &mut Vec<Broken>,
) {
    // A restored ledger counts its terms from where it was then: two leaders may have the same one.
    let restored = history.ledger_restored.first().copied().unwrap_or(Moment::MAX);
    if let Some(moment) = history.settled_late.iter().find(|moment| **moment < restored) {
        let what = format!(
            "the ledger took results at {} from a leader after another one had begun there",
            At(*moment)
        );
        wrong.push(Broken::new("settled_in_order", what));
    }
    marks(history, tree, replay, wrong);
    for loss in &history.losses {
        if allows(history.durability, loss) {
            // From here on the ledger may have what a history had that is over.
            return;
        }
        let (had, has) = (results(loss.from, tree, replay), results(loss.to, tree, replay));
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

/// Returns the number of the last result of a history that ends with an entry.
fn results(last: Option<usize>, tree: &Tree<'_>, replay: &Replay<'_>) -> u64 {
    let vertex = last.and_then(|last| tree.vertices_of(last).next());
    let vertices = vertex.into_iter().flat_map(|vertex| tree.back_from(vertex));
    let results = vertices.flat_map(|vertex| &replay.events[vertex]).filter_map(Event::result);
    results.map(|(_, claimed)| claimed.number).max().unwrap_or(0)
}

/// Checks that each mark of the final journal says what was in the ledger by then: the servers drop those results.
fn marks(history: &History, tree: &Tree<'_>, replay: &Replay<'_>, wrong: &mut Vec<Broken>) {
    let of_journal = replay.journal.iter().flat_map(|vertex| &replay.events[*vertex]);
    let (ours, mut settled) = (ended::results(of_journal), 0);
    let entries = tree.journal.iter().filter_map(|vertex| tree.vertices[*vertex].stored);
    for (entry, command) in
        entries.flat_map(|entry| tree.commands[entry].iter().map(move |command| (entry, command)))
    {
        let Command::Settled { through, .. } = command else { continue };
        let Some(ours) = ours.get(through).filter(|_| *through > settled) else { continue };
        settled = *through;
        let had = |(moment, row): &(Moment, Row)| {
            *moment <= tree.stored[entry].moment
                && row.number == *through
                && ours.first() == Some(&ended::row_of(row))
        };
        if !history.ledger_had.iter().any(had) {
            let what = format!(
                "{} says that the ledger has results up to {through}, which it never had of this journal",
                tree.tell(entry)
            );
            wrong.push(Broken::new("settled_is_there", what));
        }
    }
}
