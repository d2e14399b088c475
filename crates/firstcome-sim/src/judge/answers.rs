//! Checks that every answer was true, and as of a position at or after the one in the request.

use super::replay::Replay;
use super::tree::Tree;
use super::{At, Broken, Story, Verdict, memory};
use crate::history::{Asked, Exchange, History, Reply};
use firstcome_core::codes::{ALIKE_BYTES, CodeKey};
use firstcome_core::command::CodeCommand;
use firstcome_core::names::Position;
use firstcome_core::outcome::By;
use firstcome_core::{Command, LEVEL, NodeId, Outcome};
use firstcome_model::Decision;
use firstcome_node::CommandError;
use firstcome_node::Decided;
use std::collections::BTreeSet;

/// What a caller heard from an answer that was true when it was given.
pub(super) struct HeardAnswer {
    pub(super) exchange: usize,
    /// The entry that made true what was said; an index into the stored ones.
    pub(super) origin: usize,
    /// The entry the answer is as of; none before the first.
    pub(super) entry: Option<usize>,
    /// Which command of that entry it is the answer to; none from memory.
    pub(super) command: Option<usize>,
}

/// Checks all answers; gives those that were true.
pub(super) fn check(
    history: &History,
    tree: &Tree<'_>,
    replay: &Replay<'_>,
    verdict: &mut Verdict,
    wrong: &mut Vec<Broken>,
) -> Vec<HeardAnswer> {
    let mut heard = Vec::new();
    let (mut claims, mut holds) = (BTreeSet::new(), BTreeSet::new());
    for (number, exchange) in history.exchanges.iter().enumerate() {
        let (outcome, position, decided) = match &exchange.reply {
            Reply::Answer { outcome, position, decided } => (outcome, *position, *decided),
            Reply::Failure(CommandError::StalePosition) => {
                wrong.extend(stale(history, exchange));
                continue;
            }
            Reply::Failure(CommandError::Malformed(_))
                if matches!(exchange.asked, Asked::Code { .. }) =>
            {
                let what = format!("{}, and had typed a code", Story(exchange));
                wrong.push(Broken::new("codes_are_read", what));
                continue;
            }
            Reply::Failure(_) | Reply::Nothing => continue,
        };
        wrong.extend(below_what_was_brought(exchange, position));
        if let (
            Asked::Claim { campaign, pool, subject },
            Outcome::Won { rank, .. } | Outcome::AlreadyWon { rank, .. },
        ) = (&exchange.asked, outcome)
        {
            claims.insert((campaign, pool, subject, rank));
        }
        if let (
            Asked::On { command: asked_for, .. },
            Outcome::Held(held) | Outcome::AlreadyHeld(held),
        ) = (&exchange.asked, outcome)
        {
            holds.insert((asked_for.command().campaign(), &held.hold));
        }
        let found = match decided {
            Decided::Journal => by_journal(history, tree, replay, exchange, outcome, position)
                .map(|(origin, entry, command)| (origin, Some(entry), Some(command))),
            Decided::Replica => {
                verdict.answers_from_memory += 1;
                memory::check(history, tree, replay, number, outcome, position)
                    .map(|(origin, entry)| (origin, entry, None))
            }
        };
        match found {
            Ok((origin, entry, command)) => {
                heard.push(HeardAnswer { exchange: number, origin, entry, command });
            }
            Err(broken) => wrong.push(broken),
        }
    }
    verdict.claims_acknowledged = claims.len();
    verdict.holds_acknowledged = holds.len();
    heard
}

fn below_what_was_brought(exchange: &Exchange, position: Position) -> Option<Broken> {
    let min = exchange.min?;
    let honoured = (position.epoch, position.position) >= (min.epoch, min.position)
        || position.epoch > min.epoch;
    let what = || format!("{}, and had brought {min}", Story(exchange));
    (!honoured).then(|| Broken::new("position_honoured", what()))
}

fn stale(history: &History, exchange: &Exchange) -> Option<Broken> {
    let Some(min) = exchange.min else {
        let what = format!("{}, and had brought no position", Story(exchange));
        return Some(Broken::new("stale_only_if_over", what));
    };
    let over = history
        .stored
        .iter()
        .any(|stored| stored.entry.epoch > min.epoch && stored.moment <= exchange.heard_at);
    let what = || format!("{}, and had brought {min}; no later epoch was there", Story(exchange));
    (!over).then(|| Broken::new("stale_only_if_over", what()))
}

/// Finds the command that decided, if it can in an entry that the node wrote which was asked; returns the entry that made the
/// answer true, the one it is as of, and which command of that one it is.
fn by_journal(
    history: &History,
    tree: &Tree<'_>,
    replay: &Replay<'_>,
    exchange: &Exchange,
    outcome: &Outcome,
    position: Position,
) -> Result<(usize, usize, usize), Broken> {
    let mut instead = "no server ever had an entry there".to_owned();
    let mut promise = "answered_by_an_entry";
    // Branches of one epoch may each have the command there, sent again. After a fork a node writes under an identity with
    // another second half.
    let begins = |node: NodeId| node.0[..8].to_owned();
    let asked = history.node_runs.get(exchange.node_run).map(|run| begins(run.node));
    let is_others = |vertex: &&usize| {
        let stored = tree.vertices[**vertex].stored.map(|index| &tree.stored[index]);
        stored.map(|stored| begins(stored.name.node)) != asked
    };
    let mut vertices: Vec<&usize> = tree.at(position.epoch, position.position).iter().collect();
    vertices.sort_by_key(is_others);
    for vertex in vertices {
        let Some(index) = tree.vertices[*vertex].stored else { continue };
        let stored = &tree.stored[index];
        let commands = tree.commands[index].iter().enumerate();
        let mut mine =
            commands.filter(|(_, command)| is_asked(&exchange.asked, command)).peekable();
        if mine.peek().is_none() {
            instead = format!("{} has no such command", tree.tell(index));
            continue;
        }
        if stored.moment < exchange.asked_at || stored.moment > exchange.heard_at {
            let at = At(stored.moment);
            instead = format!("{} came to be at {at}, when nobody waited", tree.tell(index));
            continue;
        }
        promise = "decided_by_the_rules";
        let Some(decisions) = &replay.decisions[*vertex] else {
            instead = format!("{} is a copy, which decides nothing", tree.tell(index));
            continue;
        };
        let mut decided_here =
            mine.filter_map(|(command, _)| Some((command, decisions.get(command)?)));
        let mut others = Vec::new();
        let found = decided_here.find(|(_, Decision { outcome: decided, .. })| {
            others.push(format!("{decided:?}"));
            decided == outcome
        });
        if let Some((command, decision)) = found {
            return Ok((decision.origin, index, command));
        }
        instead =
            format!("the rules make {} of it in {}", others.join(", then "), tree.tell(index));
    }
    Err(Broken::new(promise, format!("{}, but {instead}", Story(exchange))))
}

/// Says whether a command is what the caller asked for.
pub(super) fn is_asked(asked: &Asked, command: &Command<'_>) -> bool {
    match (asked, command) {
        (
            Asked::Claim { campaign, pool, subject },
            Command::Claim { campaign: c, pool: p, subject: s, limit: None, .. },
        ) => campaign == c && pool.as_deref() == *p && subject == s,
        (
            Asked::Cancel { campaign, pool, subject, rank, operator },
            Command::Cancel { campaign: c, pool: p, subject: s, rank: r, by, .. },
        ) => {
            let same_word = *operator == (*by == By::Operator);
            campaign == c && pool.as_deref() == *p && subject == s && rank == r && same_word
        }
        (
            Asked::Put { campaign, settings, order },
            Command::Put { campaign: c, settings: s, order: o, .. },
        ) => campaign == c && **settings == *s && order == o,
        (
            Asked::Steer { campaign, steer, order },
            Command::Steer { campaign: c, steer: s, order: o },
        ) => campaign == c && steer == s && order == o,
        (Asked::Raise, Command::Raise { level, .. }) => *level > LEVEL,
        (Asked::On { command: asked_for, .. }, command) => asked_for.command() == untagged(command),
        (Asked::Code { command: asked_for, .. }, command) => {
            is_alike(&asked_for.command(), command)
        }
        (
            Asked::Claim { .. }
            | Asked::Cancel { .. }
            | Asked::Put { .. }
            | Asked::Steer { .. }
            | Asked::Raise,
            _,
        ) => false,
    }
}

/// Says whether a step on a code may be the one asked for: what was typed may be another code that is alike by now, after the
/// store lost the import that had it, if the spelling of one of the two does not count.
fn is_alike(asked: &Command<'_>, command: &Command<'_>) -> bool {
    let (any, other) = (any_spelling(asked), any_spelling(command));
    asked == command || any == other && (any == *asked || other == *command)
}

fn any_spelling<'a>(command: &Command<'a>) -> Command<'a> {
    let mut any = command.clone();
    if let Command::Code(
        CodeCommand::Reserve { step, .. }
        | CodeCommand::Redeem { step, .. }
        | CodeCommand::RollBack { step }
        | CodeCommand::EndReservation { step },
    ) = &mut any
        && let CodeKey::Imported { hash } = &mut step.code
    {
        hash[ALIKE_BYTES..].fill(0);
    }
    any
}

/// Returns a command as it is asked for: a server adds the tag of its code to a claim.
fn untagged<'a>(command: &Command<'a>) -> Command<'a> {
    let mut asked = command.clone();
    if let Command::Claim { tag, .. } = &mut asked {
        *tag = None;
    }
    asked
}
