//! Checks the end of a world: the ledger has every result, and the nodes agree.

use super::replay::Replay;
use super::{Broken, Verdict};
use crate::history::{History, Row};
use firstcome_core::results::Kind;
use firstcome_model::{Claimed, Event, is_as_listed};
use std::collections::{BTreeMap, BTreeSet};

/// Checks the end.
pub(super) fn check(
    history: &History,
    replay: &Replay<'_>,
    verdict: &mut Verdict,
    wrong: &mut Vec<Broken>,
) {
    if let Some(rows) = &history.end.ledger {
        ledger(history, rows, replay, verdict, wrong);
    }
    if let Some(trouble) = &history.end.settle_trouble {
        // A ledger of another past is left alone, and says so.
        let overtaken = verdict.results_overtaken > 0 && is_of_another_past(trouble);
        if !overtaken {
            let what = format!("settling does not go on: {trouble}");
            wrong.push(Broken::new("quiet_at_the_end", what));
        }
    }
    nodes(history, wrong);
    acts(history, replay, wrong);
}

fn is_of_another_past(trouble: &str) -> bool {
    trouble.contains("ledger_other") || trouble.contains("ledger_ahead")
}

fn ledger(
    history: &History,
    rows: &[Row],
    replay: &Replay<'_>,
    verdict: &mut Verdict,
    wrong: &mut Vec<Broken>,
) {
    let mut broken = |what: String| wrong.push(Broken::new("ledger_whole", what));
    let left_alone = history.end.settle_trouble.as_deref().is_some_and(is_of_another_past);
    let dropped: BTreeSet<u64> = replay.last.dropped().iter().copied().collect();
    let ours = results(replay.journal.iter().flat_map(|vertex| &replay.events[*vertex]));
    let mut last = 0;
    for row in rows {
        let number = row.number;
        if number <= last {
            broken(format!("result {number} stands behind {last}"));
        } else if let Some(missing) = (last + 1..number).find(|missing| !dropped.contains(missing))
        {
            broken(format!("result {missing} is missing, {number} stands there"));
        }
        last = number.max(last);
        let ours = ours.get(&number).and_then(|ours| ours.first());
        if ours.is_some_and(|ours| *ours == row_of(row)) {
            verdict.results_settled += 1;
        } else if left_alone && was_once(replay, row) {
            verdict.results_overtaken += 1;
        } else {
            let ours = ours.map_or("no such result".into(), |ours| format!("{ours:?}"));
            broken(format!("it has {row:?}, the journal has {ours}"));
        }
    }
    let through = history.end.through;
    let is_dropped = |number: u64| dropped.contains(&number);
    if let Some(gap) = (last + 1..=through).find(|number| !is_dropped(*number)) {
        broken(format!("it says it has results up to {through}, but lacks {gap}"));
    }
    if through < last {
        broken(format!("it says it has results up to {through}, but has {last}"));
    }
    let all = replay.last.last_result();
    let left: Vec<u64> = (last + 1..=all).filter(|number| !is_dropped(*number)).collect();
    let Some(first) = left.first().filter(|_| verdict.results_overtaken == 0) else { return };
    if was_taken_out(history, replay, &left) {
        verdict.results_taken_out += left.len();
        return;
    }
    broken(format!("result {first} of {all} never came there, it has them up to {through}"));
}

/// Says whether the operator put another ledger in the place of one that may have had these results,
/// the last there are: with the next result it would show.
fn was_taken_out(history: &History, replay: &Replay<'_>, left: &[u64]) -> bool {
    let newest = replay.journal.iter().filter(|vertex| {
        let mut results = replay.events[**vertex].iter().filter_map(Event::result);
        results.any(|(_, claimed)| left.contains(&claimed.number))
    });
    let newest =
        newest.filter_map(|vertex| Some(history.stored[replay.vertices[*vertex]?].moment)).max();
    history.ledger_restored.iter().any(|restored| newest.is_some_and(|newest| newest < *restored))
}

/// What a result says: its kind, its campaign and its number there; pool, rank and subject; then unit, hold and the unit
/// before.
pub(super) type ResultSaid<'a> =
    (Kind, (&'a str, u32), (&'a str, u32, &'a str), [Option<&'a str>; 3]);

pub(super) fn row_of(row: &Row) -> ResultSaid<'_> {
    let Row { kind, campaign, in_campaign, pool, rank, subject, unit, hold, moved_from, .. } = row;
    let more = [unit.as_deref(), hold.as_deref(), moved_from.as_deref()];
    (*kind, (campaign, *in_campaign), (pool, *rank, subject), more)
}

pub(super) fn results<'w>(
    events: impl Iterator<Item = &'w Event<'w>>,
) -> BTreeMap<u64, Vec<ResultSaid<'w>>> {
    let mut results: BTreeMap<u64, Vec<ResultSaid<'w>>> = BTreeMap::new();
    for (kind, claimed) in events.filter_map(Event::result) {
        let Claimed { number, in_campaign, campaign, pool, rank, subject, .. } = claimed;
        let more = [claimed.unit, claimed.hold, claimed.from];
        let said = (kind, (*campaign, *in_campaign), (&**pool, *rank, *subject), more);
        results.entry(*number).or_default().push(said);
    }
    results
}

/// Says whether a result was that of its number in a history that is over.
fn was_once(replay: &Replay<'_>, row: &Row) -> bool {
    let all = results(replay.events.iter().flatten());
    all.get(&row.number).is_some_and(|known| known.contains(&row_of(row)))
}

fn nodes(history: &History, wrong: &mut Vec<Broken>) {
    let mut broken = |what: String| wrong.push(Broken::new("quiet_at_the_end", what));
    if history.end.nodes.is_empty() {
        broken("no node lives".into());
    } else if history.end.leaderless {
        broken("no node leads, and none will: nothing is settled, kept or trimmed".into());
    }
    let head = history.end.journal.last().copied();
    let mut first: Option<(usize, u64)> = None;
    for node in &history.end.nodes {
        let node_run = node.node_run;
        if let Some(trouble) = &node.trouble {
            broken(format!("life {node_run} is in trouble: {trouble}"));
        }
        if node.applied != head {
            let position = |index: usize| {
                let entry = &history.stored[index].entry;
                format!("{}.{}", entry.epoch, entry.position)
            };
            let at = |index: Option<usize>| index.map_or("nothing".into(), position);
            let (applied, head) = (at(node.applied), at(head));
            broken(format!("life {node_run} has applied {applied}, the journal ends with {head}"));
            continue;
        }
        match first {
            None => first = Some((node_run, node.digest)),
            Some((other, digest)) if digest != node.digest => {
                broken(format!(
                    "life {node_run} has digest {:016x}, life {other} has {digest:016x}",
                    node.digest
                ));
            }
            Some(_) => {}
        }
    }
}

/// Compares the list of each node that stands at the end of the journal.
fn acts(history: &History, replay: &Replay<'_>, wrong: &mut Vec<Broken>) {
    let head = history.end.journal.last().copied();
    for node in history.end.nodes.iter().filter(|node| node.applied == head) {
        let Some(all) = &node.acts else { continue };
        for (name, campaign) in replay.last.campaigns() {
            let of_it = all.iter().filter(|row| row.campaign == name);
            let theirs: Vec<_> = of_it.map(|row| (row.number, &row.act)).collect();
            if !is_as_listed(campaign.acts(), &theirs) {
                let (node_run, ours) = (node.node_run, campaign.acts());
                let what =
                    format!("life {node_run} lists of {name} {theirs:?}, the journal has {ours:?}");
                wrong.push(Broken::new("acts_listed", what));
            }
        }
    }
}
