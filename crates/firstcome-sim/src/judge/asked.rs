//! Checks that every command in an entry was asked for, and that no caller heard that it changed nothing.
//!
//! The same thing may be asked several times, at once or one after the other, by people whose commands
//! cannot be distinguished. So they are counted: each batch that carries a command needs an exchange of its
//! own, begun before the batch was first stored, that may have been sent.

use super::answers::is_asked;
use super::tree::Tree;
use super::{At, Broken, Question};
use crate::history::{Asked, Exchange, History, Moment, Reply};
use firstcome_core::Command;
use firstcome_core::command::{CodeCommand, Order, Steer};
use firstcome_core::outcome::By;
use firstcome_journal::Name;
use firstcome_node::CommandError;
use firstcome_node::Decided;
use std::collections::BTreeMap;

/// Distinguishes commands, roughly: the rest is compared.
type CommandKey<'a> = (u8, &'a str, &'a str, u32);

fn key_of_command<'a>(command: &Command<'a>) -> Option<CommandKey<'a>> {
    match command {
        Command::Claim { campaign, subject, .. } => Some((0, campaign, subject, 0)),
        Command::Cancel { campaign, subject, rank, .. } => Some((1, campaign, subject, *rank)),
        Command::Put { campaign, .. } => Some((2, campaign, "", 0)),
        // A leader archives by itself what has been over for as long as it is kept.
        Command::Steer { steer: Steer::Archive { .. }, .. } => None,
        Command::Steer { campaign, .. } => Some((3, campaign, "", 0)),
        Command::Hold { campaign, id, .. } => Some((4, campaign, id, 0)),
        Command::Change { step, .. }
        | Command::Extend { step, .. }
        | Command::Release { step, .. }
        | Command::Confirm { step, .. } => Some((5, step.campaign, step.hold, 0)),
        Command::Seats { campaign, .. }
        | Command::Block { campaign, .. }
        | Command::Move { campaign, .. }
        | Command::ChangeSeats { campaign, .. }
        | Command::Bar { campaign, .. }
        | Command::Unbar { campaign, .. } => Some((6, campaign, "", 0)),
        Command::Join { campaign, subject, .. } => Some((8, campaign, subject, 0)),
        Command::Leave { campaign, subject, .. } => Some((9, campaign, subject, 0)),
        // A node that changed over to another branch suspends by itself what two people may know.
        Command::Code(CodeCommand::Mark { order: Order { id: None, who: "fork" }, .. }) => None,
        Command::Code(code) => Some((10, code.target().0, "", 0)),
        Command::Raise { .. } => Some((7, "", "", 0)),
        Command::Tick { .. } | Command::Settled { .. } => None,
    }
}

fn key_of_asked(asked: &Asked) -> CommandKey<'_> {
    match asked {
        Asked::Claim { campaign, subject, .. } => (0, campaign, subject, 0),
        Asked::Cancel { campaign, subject, rank, .. } => (1, campaign, subject, *rank),
        Asked::Put { campaign, .. } => (2, campaign, "", 0),
        Asked::Steer { campaign, .. } => (3, campaign, "", 0),
        Asked::Raise => (7, "", "", 0),
        Asked::On { command, .. } | Asked::Code { command, .. } => {
            key_of_command(&command.command())
                .expect("people ask for nothing that nodes append by themselves")
        }
    }
}

/// One command in one batch.
struct Carried<'t, 'a> {
    command: &'t Command<'a>,
    /// When the batch was first stored.
    moment: Moment,
    /// An entry that has it.
    index: usize,
}

/// Checks every command of every entry.
pub(super) fn check(history: &History, tree: &Tree<'_>, wrong: &mut Vec<Broken>) {
    let mut asked: BTreeMap<CommandKey<'_>, Vec<&Exchange>> = BTreeMap::new();
    for exchange in &history.exchanges {
        asked.entry(key_of_asked(&exchange.asked)).or_default().push(exchange);
    }
    for (key, mut carried) in carried(tree) {
        carried.sort_by_key(|carried| carried.moment);
        let known = asked.get(&key).map_or(&[][..], |known| known);
        while let Some(first) = carried.first().map(|carried| carried.command) {
            let (same, others) = carried.into_iter().partition(|c| is_same(first, c.command));
            carried = others;
            compare(known, same, tree, wrong);
        }
    }
}

/// Returns every command of every batch once, with the moment at which its batch was first stored.
fn carried<'t, 'a>(tree: &'t Tree<'a>) -> BTreeMap<CommandKey<'a>, Vec<Carried<'t, 'a>>> {
    let mut batches: BTreeMap<Name, (Moment, usize)> = BTreeMap::new();
    for (index, stored) in tree.stored.iter().enumerate() {
        let (moment, most) = batches.entry(stored.batch).or_insert((stored.moment, index));
        *moment = stored.moment.min(*moment);
        // A batch brought to another history may have left out what only held in its own.
        if tree.commands[index].len() > tree.commands[*most].len() {
            *most = index;
        }
    }
    let mut all: BTreeMap<CommandKey<'a>, Vec<Carried<'t, 'a>>> = BTreeMap::new();
    for (moment, index) in batches.into_values() {
        for command in &tree.commands[index] {
            if let Some(key) = key_of_command(command) {
                all.entry(key).or_default().push(Carried { command, moment, index });
            }
        }
    }
    all
}

/// Compares how often the same was asked with how often it was carried.
fn compare(
    known: &[&Exchange],
    carried: Vec<Carried<'_, '_>>,
    tree: &Tree<'_>,
    wrong: &mut Vec<Broken>,
) {
    let Some(command) = carried.first().map(|carried| carried.command) else { return };
    let mine = || known.iter().filter(|exchange| is_asked(&exchange.asked, command));
    let mut sent: Vec<_> =
        mine().filter(|e| may_be_sent(&e.reply)).map(|exchange| exchange.asked_at).collect();
    sent.sort_unstable();
    let mut sent = sent.into_iter().peekable();
    // Who waits in line may ask the journal several times, before an answer from memory as well. Who heard a failure that
    // changed nothing asked it not once.
    let in_line = |exchange: &&&Exchange| {
        let waited = matches!(&exchange.asked, Asked::On { wait, .. } if !wait.is_zero());
        waited && (may_be_sent(&exchange.reply) || matches!(exchange.reply, Reply::Answer { .. }))
    };
    for Carried { moment, index, .. } in carried {
        if mine().filter(in_line).any(|exchange| exchange.asked_at <= moment) {
            continue;
        }
        if sent.next_if(|asked_at| *asked_at <= moment).is_some() {
            continue;
        }
        let before = mine().rfind(|exchange| exchange.asked_at <= moment);
        let Some(exchange) = before else {
            let what = format!("{} has {command:?}, which nobody had asked for", tree.tell(index));
            wrong.push(Broken::new("asked_for", what));
            continue;
        };
        let reply = mine().filter(|exchange| !may_be_sent(&exchange.reply)).map(|exchange| {
            format!("at {} and was told {:?}", At(exchange.asked_at), exchange.reply)
        });
        let reply = reply.collect::<Vec<_>>().join(", ");
        let question = Question(&exchange.asked);
        let what = format!("{question} {reply}; but it is in {} all the same", tree.tell(index));
        wrong.push(Broken::new("no_changed_nothing", what));
    }
}

/// Says whether, by the answer, the command may have been sent to the journal.
fn may_be_sent(reply: &Reply) -> bool {
    match reply {
        Reply::Nothing => true,
        Reply::Answer { decided, .. } => *decided == Decided::Journal,
        Reply::Failure(failure) => match failure {
            CommandError::Unknown => true,
            CommandError::Busy
            | CommandError::OutboxFull
            | CommandError::StoreFull
            | CommandError::TooLarge(_)
            | CommandError::Malformed(_)
            | CommandError::LevelTooLow { .. }
            | CommandError::Unavailable(_)
            | CommandError::SpaceMoved
            | CommandError::StalePosition => false,
        },
    }
}

/// Says whether two commands of the same key were asked for by the same words.
fn is_same(one: &Command<'_>, other: &Command<'_>) -> bool {
    match (one, other) {
        // A claim of a code may come twice from one request: without its tag, and with it.
        (Command::Claim { pool, tag, .. }, Command::Claim { pool: other, tag: others, .. }) => {
            (pool, tag.is_some()) == (other, others.is_some())
        }
        (Command::Cancel { pool, by, .. }, Command::Cancel { pool: p, by: b, .. }) => {
            pool == p && (*by == By::Operator) == (*b == By::Operator)
        }
        (Command::Put { settings, order, .. }, Command::Put { settings: other, order: by, .. }) => {
            settings == other && order == by
        }
        (Command::Steer { steer, order, .. }, Command::Steer { steer: other, order: by, .. }) => {
            steer == other && order == by
        }
        (
            Command::Hold { .. }
            | Command::Change { .. }
            | Command::Extend { .. }
            | Command::Release { .. }
            | Command::Confirm { .. }
            | Command::Seats { .. }
            | Command::Block { .. }
            | Command::Move { .. }
            | Command::ChangeSeats { .. }
            | Command::Bar { .. }
            | Command::Unbar { .. }
            | Command::Join { .. }
            | Command::Leave { .. }
            | Command::Code(_)
            | Command::Raise { .. },
            other,
        ) => one == other,
        (
            Command::Claim { .. }
            | Command::Cancel { .. }
            | Command::Put { .. }
            | Command::Steer { .. }
            | Command::Tick { .. }
            | Command::Settled { .. },
            _,
        ) => false,
    }
}
