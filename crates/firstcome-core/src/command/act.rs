//! What an operator's command is, as the list of acts tells it.

use super::{CodeCommand, Command, Pick, Steer, Wanted};
use crate::acts::Deed;
use crate::codes::CodeVerdict;
use crate::outcome::By;

/// What a command asks for, for the list of acts of its campaign.
pub(crate) struct AskedAct<'a> {
    pub(crate) deed: Deed,
    pub(crate) who: &'a str,
    pub(crate) reason: &'a str,
}

impl<'a> Command<'a> {
    /// Returns the act that the command is, if an operator's word is behind it. Chunks of an import are none: the commit is.
    pub(crate) fn act(&self) -> Option<AskedAct<'a>> {
        let told = |deed, who, reason| Some(AskedAct { deed, who, reason });
        match self {
            Self::Cancel { by: By::Operator, reason, who, .. } => told(Deed::Cancel, who, reason),
            Self::Put { order, .. } => told(Deed::Put, order.who, ""),
            Self::Steer { steer, order, .. } => {
                let deed = match steer {
                    Steer::Pause => Deed::Pause,
                    Steer::Resume => Deed::Resume,
                    Steer::Close => Deed::Close,
                    Steer::Archive { .. } => Deed::Archive,
                    Steer::Delete => Deed::Delete,
                };
                told(deed, order.who, "")
            }
            Self::Seats { order, .. } => told(Deed::AddSeats, order.who, ""),
            Self::ChangeSeats { order, .. } => told(Deed::ChangeSeats, order.who, ""),
            Self::Block { blocked, reason, order, .. } => {
                told(if *blocked { Deed::Block } else { Deed::Unblock }, order.who, reason)
            }
            Self::Move { reason, order, .. } => told(Deed::Move, order.who, reason),
            Self::Bar { reason, order, .. } => told(Deed::Bar, order.who, reason),
            Self::Unbar { order, .. } => told(Deed::Unbar, order.who, ""),
            Self::Code(code) => code.act(),
            Self::Cancel { by: By::Subject, .. }
            | Self::Claim { .. }
            | Self::Hold { .. }
            | Self::Change { .. }
            | Self::Extend { .. }
            | Self::Release { .. }
            | Self::Confirm { .. }
            | Self::Join { .. }
            | Self::Leave { .. }
            | Self::Raise { .. }
            | Self::Tick { .. }
            | Self::Settled { .. } => None,
        }
    }

    /// Adds what the act is about to a text, in names and numbers that need no translation.
    ///
    /// Of a put that is nothing: what changed is known only once it is applied.
    pub(crate) fn tell_act(&self, out: &mut String) {
        match self {
            Self::Cancel { pool, subject, rank, .. } => tell_rank(out, *pool, *rank, subject),
            Self::Seats { pool, chunk, .. } => {
                out.push_str(&format!("{pool} +{}", chunk.seats.len() + chunk.areas.len()));
            }
            Self::ChangeSeats { pool, seats, .. } => {
                tell_names(out, Some(pool), seats.iter().map(|seat| seat.name));
            }
            Self::Block { units, .. } => units.iter().for_each(|pick| tell_pick(out, pick)),
            Self::Move { pool, from, to, .. } => {
                out.push_str(&format!("{pool}/{from} → {pool}/{to}"));
            }
            Self::Bar { subject, .. } | Self::Unbar { subject, .. } => out.push_str(subject),
            Self::Code(code) => code.tell_act(out),
            Self::Put { .. }
            | Self::Steer { .. }
            | Self::Claim { .. }
            | Self::Hold { .. }
            | Self::Change { .. }
            | Self::Extend { .. }
            | Self::Release { .. }
            | Self::Confirm { .. }
            | Self::Join { .. }
            | Self::Leave { .. }
            | Self::Raise { .. }
            | Self::Tick { .. }
            | Self::Settled { .. } => {}
        }
    }
}

impl<'a> CodeCommand<'a> {
    fn act(&self) -> Option<AskedAct<'a>> {
        let (deed, reason) = match self {
            Self::Mark { verdict: CodeVerdict::Revoke, reason, .. } => (Deed::RevokeCodes, *reason),
            Self::Mark { verdict: CodeVerdict::Suspend, reason, .. } => {
                (Deed::SuspendCodes, *reason)
            }
            Self::Mark { verdict: CodeVerdict::Restore, reason, .. } => {
                (Deed::RestoreCodes, *reason)
            }
            Self::RevokeImport { reason, .. } => (Deed::RevokeImport, *reason),
            Self::Reissue { reason, .. } => (Deed::ReplaceCode, *reason),
            Self::Commit { .. } => (Deed::CommitImport, ""),
            Self::Discard { .. } => (Deed::DiscardImport, ""),
            Self::Stage { .. }
            | Self::Reserve { .. }
            | Self::Redeem { .. }
            | Self::RollBack { .. }
            | Self::EndReservation { .. } => return None,
        };
        Some(AskedAct { deed, who: self.order()?.who, reason })
    }

    /// Codes themselves are secret: of several it says how many.
    fn tell_act(&self, out: &mut String) {
        match self {
            Self::Mark { pool, codes, .. } => out.push_str(&format!("{pool} ×{}", codes.len())),
            Self::Reissue { pool, subject, rank, .. } => {
                tell_rank(out, Some(pool), *rank, subject);
            }
            Self::RevokeImport { pool, import, .. } | Self::Discard { pool, import, .. } => {
                out.push_str(&format!("{pool} {import}"));
            }
            Self::Commit { pool, import, lines, .. } => {
                out.push_str(&format!("{pool} {import} ×{lines}"));
            }
            Self::Stage { .. }
            | Self::Reserve { .. }
            | Self::Redeem { .. }
            | Self::RollBack { .. }
            | Self::EndReservation { .. } => {}
        }
    }
}

fn tell_rank(out: &mut String, pool: Option<&str>, rank: u32, subject: &str) {
    if let Some(pool) = pool {
        out.push_str(pool);
        out.push('/');
    }
    out.push_str(&format!("{rank} {subject}"));
}

fn tell_pick(out: &mut String, pick: &Pick<'_>) {
    match &pick.wanted {
        Wanted::Units(names) => tell_names(out, pick.pool, names.iter().copied()),
        Wanted::Quantity { count, area } => {
            let target = area.or(pick.pool).unwrap_or_default();
            tell_names(out, pick.pool.filter(|_| area.is_some()), [target].into_iter());
            out.push_str(&format!(" ×{count}"));
        }
        Wanted::Best(best) => {
            let name = format!("★{}", best.count);
            tell_names(out, pick.pool, [name.as_str()].into_iter());
        }
    }
}

/// Names in a text at most; of the others it says how many there are.
const NAMED: usize = 12;

fn tell_names<'n>(
    out: &mut String,
    pool: Option<&str>,
    names: impl ExactSizeIterator<Item = &'n str>,
) {
    let all = names.len();
    for name in names.take(NAMED) {
        if !out.is_empty() {
            out.push(' ');
        }
        if let Some(pool) = pool {
            out.push_str(pool);
            out.push('/');
        }
        out.push_str(name);
    }
    if all > NAMED {
        out.push_str(&format!(" +{}", all - NAMED));
    }
}
