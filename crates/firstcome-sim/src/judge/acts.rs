//! The judge's own list of what operators did to each campaign, and the comparison with that of the nodes.

use super::Broken;
use super::campaign::Campaign;
use super::model::Model;
use super::replay::Replay;
use crate::history::History;
use firstcome_core::acts as core;
use firstcome_core::codes::Verdict;
use firstcome_core::command::{CodeCommand, Steer};
use firstcome_core::outcome::By;
use firstcome_core::{Command, Timestamp};

/// From this level of the space on acts are listed, and so many of each campaign are given.
const LISTED_FROM: u32 = 6;
const GIVEN: usize = 1_000;

/// An operator's command, as a list of acts has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Act<'a> {
    at: Timestamp,
    who: &'a str,
    deed: &'static str,
    reason: &'a str,
    outcome: &'static str,
}

/// Says what a command is called on the list, who gave it and why; nothing if no operator's word is behind it.
fn told<'a>(command: &Command<'a>) -> Option<(&'static str, &'a str, &'a str)> {
    Some(match command {
        Command::Cancel { by: By::Operator, reason, who, .. } => ("cancel", who, reason),
        Command::Put { order, .. } => ("put", order.who, ""),
        Command::Steer { steer, order, .. } => {
            let deed = match steer {
                Steer::Pause => "pause",
                Steer::Resume => "resume",
                Steer::Close => "close",
                Steer::Archive { .. } => "archive",
                Steer::Delete => "delete",
            };
            (deed, order.who, "")
        }
        Command::Seats { order, .. } => ("add_seats", order.who, ""),
        Command::ChangeSeats { order, .. } => ("change_seats", order.who, ""),
        Command::Block { blocked: true, reason, order, .. } => ("block", order.who, reason),
        Command::Block { blocked: false, reason, order, .. } => ("unblock", order.who, reason),
        Command::Move { reason, order, .. } => ("move", order.who, reason),
        Command::Bar { reason, order, .. } => ("bar", order.who, reason),
        Command::Unbar { order, .. } => ("unbar", order.who, ""),
        Command::Code(code) => {
            let who = code.order()?.who;
            let (deed, reason) = match code {
                CodeCommand::Mark { verdict, reason, .. } => {
                    let deed = match verdict {
                        Verdict::Revoke => "revoke_codes",
                        Verdict::Suspend => "suspend_codes",
                        Verdict::Restore => "restore_codes",
                    };
                    (deed, *reason)
                }
                CodeCommand::RevokeImport { reason, .. } => ("revoke_import", *reason),
                CodeCommand::Reissue { reason, .. } => ("replace_code", *reason),
                CodeCommand::Commit { .. } => ("commit_import", ""),
                CodeCommand::Discard { .. } => ("discard_import", ""),
                CodeCommand::Stage { .. }
                | CodeCommand::Reserve { .. }
                | CodeCommand::Redeem { .. }
                | CodeCommand::RollBack { .. }
                | CodeCommand::EndReservation { .. } => return None,
            };
            (deed, who, reason)
        }
        Command::Cancel { by: By::Subject, .. }
        | Command::Claim { .. }
        | Command::Hold { .. }
        | Command::Change { .. }
        | Command::Extend { .. }
        | Command::Release { .. }
        | Command::Confirm { .. }
        | Command::Join { .. }
        | Command::Leave { .. }
        | Command::Raise { .. }
        | Command::Tick { .. }
        | Command::Settled { .. } => return None,
    })
}

impl<'a> Model<'a> {
    /// Lists a command that was decided: not one that was known under its id.
    pub(super) fn list_act(&mut self, at: Timestamp, command: &Command<'a>, outcome: &'static str) {
        if self.level() < LISTED_FROM {
            return;
        }
        let (Some((deed, who, reason)), Some(name)) = (told(command), command.campaign()) else {
            return;
        };
        if let Some(campaign) = self.campaigns.get_mut(name).filter(|found| !found.archived) {
            campaign.acts.push(Act { at, who, deed, reason, outcome });
        }
    }
}

/// Says whether a list, the newest first, is what a campaign's acts must give.
pub(super) fn is_as_listed(campaign: &Campaign<'_>, theirs: &[(u32, &core::Act)]) -> bool {
    let skipped = campaign.acts.len().saturating_sub(GIVEN);
    let mut ours = (1_u32..).zip(&campaign.acts).skip(skipped).filter(|_| !campaign.archived);
    let same = theirs.iter().rev().all(|(number, act)| {
        let texts = (&*act.who, act.deed.as_str(), &*act.reason, &*act.outcome);
        ours.next().is_some_and(|(ours_number, ours)| {
            (*number, act.at) == (ours_number, ours.at)
                && texts == (ours.who, ours.deed, ours.reason, ours.outcome)
        })
    });
    same && ours.next().is_none()
}

/// Compares the list of each node that stands at the end of the journal.
pub(super) fn check(history: &History, replay: &Replay<'_>, wrong: &mut Vec<Broken>) {
    let head = history.end.journal.last().copied();
    for node in history.end.nodes.iter().filter(|node| node.applied == head) {
        let Some(all) = &node.acts else { continue };
        for (name, campaign) in &replay.last.campaigns {
            let of_it = all.iter().filter(|row| row.campaign == *name);
            let theirs: Vec<_> = of_it.map(|row| (row.number, &row.act)).collect();
            if !is_as_listed(campaign, &theirs) {
                let (node_run, ours) = (node.node_run, &campaign.acts);
                let what =
                    format!("life {node_run} lists of {name} {theirs:?}, the journal has {ours:?}");
                wrong.push(Broken::new("acts_listed", what));
            }
        }
    }
}
