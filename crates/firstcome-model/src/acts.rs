//! The list of what operators did to a campaign, and the comparison with that of a node.

use firstcome_core::acts as core;
use firstcome_core::codes::CodeVerdict;
use firstcome_core::command::{CodeCommand, Steer};
use firstcome_core::outcome::By;
use firstcome_core::{Command, Timestamp};

/// How many acts a node lists: the newest ones.
const GIVEN: usize = 1_000;

/// An operator's command, as a list of acts has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act<'a> {
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
                        CodeVerdict::Revoke => "revoke_codes",
                        CodeVerdict::Suspend => "suspend_codes",
                        CodeVerdict::Restore => "restore_codes",
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

impl<'a> Act<'a> {
    /// Returns the act that a command is, if an operator's word is behind it.
    pub(crate) fn of(at: Timestamp, command: &Command<'a>, outcome: &'static str) -> Option<Self> {
        let (deed, who, reason) = told(command)?;
        Some(Self { at, who, deed, reason, outcome })
    }
}

/// Says whether a list, the newest first, is what a campaign's acts must give.
pub fn is_as_listed(acts: &[Act<'_>], theirs: &[(u32, &core::Act)]) -> bool {
    let skipped = acts.len().saturating_sub(GIVEN);
    let mut ours = (1_u32..).zip(acts).skip(skipped);
    let same = theirs.iter().rev().all(|(number, act)| {
        let texts = (&*act.who, act.deed.as_str(), &*act.reason, &*act.outcome);
        ours.next().is_some_and(|(ours_number, ours)| {
            (*number, act.at) == (ours_number, ours.at)
                && texts == (ours.who, ours.deed, ours.reason, ours.outcome)
        })
    });
    same && ours.next().is_none()
}
