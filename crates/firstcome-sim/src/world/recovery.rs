//! The recovery at the end of a world: faults are over, and every node must become fresh again.

use crate::environment::Environment;
use crate::history::{ActRow, End, Last, Row};
use crate::ledger::SimLedger;
use crate::nodes::Slots;
use firstcome_core::State;
use firstcome_core::acts::Act;
use firstcome_core::campaign::Campaign;
use firstcome_journal::Journal;
use firstcome_node::Condition;
use firstcome_node::leader::Leadership;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long after the last fault everything is whole again, at most.
pub const RECOVERY_WITHIN: Duration = Duration::from_secs(90);
/// How long a trouble must stand that needs the operator before they do something.
const OPERATOR_WAITS: Duration = Duration::from_secs(15);

/// Waits until every node has what the store has, says the same of it, is well, and all is settled.
///
/// Returns as well why the operator had to mend the ledger in a world in which neither it nor the store had lost anything.
pub(super) async fn wait_for_recovery(
    environment: &Environment,
    slots: &Slots,
) -> (bool, Option<String>) {
    let begun = Instant::now();
    let mut needless = None;
    let mut troubled: Option<Instant> = None;
    while begun.elapsed() < RECOVERY_WITHIN {
        sleep(Duration::from_millis(500)).await;
        reseed(slots);
        let nobody = slots.each(|_, _, _| ()).is_empty();
        if nobody && begun.elapsed() >= OPERATOR_WAITS && environment.store.is_gone().await {
            environment.trace.tell(format_args!("the operator begins anew: nobody has anything"));
            environment.store.restart_empty();
        }
        if needs_the_operator(slots) {
            let since = *troubled.get_or_insert_with(Instant::now);
            if since.elapsed() >= OPERATOR_WAITS
                && let Some(ledger) = &environment.ledger
            {
                let nothing_lost = environment.record.with(|history| {
                    history.losses.is_empty() && history.ledger_restored.is_empty()
                });
                if nothing_lost {
                    let at = environment.trace.now().as_secs_f64();
                    needless =
                        Some(format!("at {at:.3} s settling waited for the operator's word"));
                }
                let (chain, _) = environment.store.chain();
                let entries = environment.store.with_entries(|stored| {
                    chain.iter().map(|number| stored[*number].entry.clone()).collect()
                });
                ledger.rebuild(entries).await;
                troubled = None;
            }
        } else {
            troubled = None;
        }
        if has_recovered(environment, slots) {
            return (true, needless);
        }
    }
    slots.each(|handle, node, leader| {
        let (position, last, settled) = node
            .replica
            .look(|state: &State| (state.position(), state.last_result(), state.settled()));
        environment.trace.tell(format_args!(
            "{} is at {position}, {:?}, has {settled} of {last} results settled, leads: {}, {:?}",
            handle.name(),
            node.intake.condition(),
            leader.leads(),
            leader.standing()
        ));
    });
    (false, needless)
}

fn has_recovered(environment: &Environment, slots: &Slots) -> bool {
    let (chain, _) = environment.store.chain();
    // What the ledger itself has, too: its leader may not have looked since a history was replaced.
    let through = environment.ledger.as_ref().map(SimLedger::through);
    let said = slots.each(|_, node, leader| {
        let well = node.intake.condition() == Condition::Fresh
            && leader.standing().trouble.is_none()
            && node.intake.codes_to_suspend() == 0;
        let (position, digest, last, settled) = node.replica.look(|state: &State| {
            (state.position(), state.digest(), state.last_result(), state.settled())
        });
        (well, (position, digest), through.is_none_or(|through| through == last && last == settled))
    });
    // Who has just been elected has not looked at the ledger yet.
    let begun = |leader: &Leadership| environment.ledger.is_none() || leader.standing().term > 0;
    let led = slots.each(|_, _, leader| leader.leads() && begun(leader)).contains(&true);
    let all = led
        && said.len() == environment.plan.nodes
        && said.iter().all(|(well, _, done)| *well && *done);
    let same = said.windows(2).all(|pair| pair[0].1 == pair[1].1);
    let head = environment
        .store
        .with_entries(|stored| chain.last().map_or(0, |last| stored[*last].entry.position));
    all && same && said.iter().all(|(_, (position, _), _)| *position == head)
}

/// Says whether settling waits for the operator's word.
fn needs_the_operator(slots: &Slots) -> bool {
    let troubles = slots.each(|_, _, leader| leader.standing().trouble.filter(|_| leader.leads()));
    troubles.into_iter().flatten().any(|why| why.starts_with("ledger_"))
}

/// Has the node that knows most seed a store that has nothing any more: the operator's word.
fn reseed(slots: &Slots) {
    let known = slots.each(|handle, node, _| {
        (node.is_without_store(), node.replica.look(State::position), handle.node_run())
    });
    if known.is_empty() || !known.iter().all(|(without, ..)| *without) {
        return;
    }
    let most = known.iter().map(|(_, position, node_run)| (*position, *node_run)).max();
    slots.each(|handle, node, _| {
        if most.is_some_and(|(_, node_run)| node_run == handle.node_run()) {
            node.reseed();
        }
    });
}

/// Returns the acts of operators on every campaign.
fn acts(state: &State) -> Vec<ActRow> {
    let of = |campaign: &Campaign| {
        let name = campaign.name().to_owned();
        let row = |(number, act): (u32, &Act)| ActRow {
            campaign: name.clone(),
            number,
            act: act.clone(),
        };
        campaign.acts().map(row).collect::<Vec<_>>()
    };
    state.campaigns().flat_map(of).collect()
}

/// Looks at everything once more.
pub(super) async fn end(environment: &Environment, slots: &Slots) -> End {
    let (chain, memory) = environment.store.chain();
    let nodes = slots.each(|handle, node, _| {
        let trouble = match node.intake.condition() {
            Condition::Fresh => None,
            Condition::Stale(why) | Condition::Lost(_, why) => Some(why),
        };
        let (stamp, digest, acts) =
            node.replica.look(|state: &State| (state.stamp(), state.digest(), acts(state)));
        let acts = Some(acts);
        let applied = environment.store.number_of(stamp);
        Last { node_run: handle.node_run(), applied, digest, trouble, acts }
    });
    let troubles = slots.each(|_, _, leader| leader.standing().trouble.filter(|_| leader.leads()));
    let rows = environment.ledger.as_ref().map(|ledger| ledger.rows());
    let rows: Option<Vec<Row>> = rows.map(|rows| rows.into_iter().map(Row::from).collect());
    let reports = Journal::Memory(memory).reports().await.unwrap_or_default();
    let lines = reports.iter().flat_map(|(_, _, text)| text.lines().skip(1).map(str::to_owned));
    End {
        journal: chain.to_vec(),
        nodes,
        through: rows.as_ref().and_then(|rows| rows.last()).map_or(0, |last| last.number),
        ledger: rows,
        settle_trouble: troubles.into_iter().flatten().next(),
        leaderless: !slots.each(|_, _, leader| leader.leads()).contains(&true),
        reports: lines.collect(),
    }
}
