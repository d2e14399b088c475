//! Commands on codes: what can be asked, and how it is stored.

mod read;

pub(super) use read::{limit_or_tag, read};

use super::Order;
use crate::codes::{CodeKey, CodeVerdict};
use crate::wire::Write;

pub(super) const RESERVE: u32 = 27;
pub(super) const REDEEM: u32 = 28;
pub(super) const ROLL_BACK: u32 = 29;
pub(super) const END_RESERVATION: u32 = 30;
pub(super) const MARK_CODES: u32 = 31;
pub(super) const MARK_IMPORT: u32 = 32;
pub(super) const REISSUE: u32 = 33;
pub(super) const STAGE: u32 = 34;
pub(super) const COMMIT: u32 = 35;
pub(super) const DISCARD: u32 = 36;

/// A step on a code: which code, and under which reference. The two make the step the same when it comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeStep<'a> {
    pub campaign: &'a str,
    /// The pool; may be left out where there is one.
    pub pool: Option<&'a str>,
    pub code: CodeKey,
    /// The reference: 1 to [`REFERENCE_BYTES`](crate::limits::REFERENCE_BYTES) bytes.
    pub reference: &'a str,
}

/// A line of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagedCode<'a> {
    /// The keyed hash of the code's text.
    pub hash: [u8; 16],
    /// The text, sealed: 17 to 80 bytes.
    pub sealed: &'a [u8],
}

/// Something asked about codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeCommand<'a> {
    /// Sets a use of a code aside until a deadline.
    Reserve {
        step: CodeStep<'a>,
        /// Who wants to use it, if that is said.
        subject: Option<&'a str>,
        /// For how long, in microseconds: [`RESERVATION_LEAST_US`](crate::limits::RESERVATION_LEAST_US) to
        /// [`RESERVATION_MOST_US`](crate::limits::RESERVATION_MOST_US).
        ttl_us: i64,
    },
    /// Uses a code, reserved before or not.
    Redeem {
        step: CodeStep<'a>,
        /// Who uses it, if that is said.
        subject: Option<&'a str>,
    },
    /// Undoes a redemption.
    RollBack { step: CodeStep<'a> },
    /// Returns a reservation back.
    EndReservation { step: CodeStep<'a> },
    /// Revokes, suspends or restores codes.
    Mark {
        campaign: &'a str,
        pool: &'a str,
        /// Which codes: 1 to [`CODES_TOGETHER`](crate::limits::CODES_TOGETHER).
        codes: Vec<CodeKey>,
        /// What is decided.
        verdict: CodeVerdict,
        /// Why: 0 to 256 bytes.
        reason: &'a str,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Revokes all codes of an import, issued or not.
    RevokeImport {
        campaign: &'a str,
        pool: &'a str,
        /// The import's id.
        import: &'a str,
        /// Why: 0 to 256 bytes.
        reason: &'a str,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Replaces the code of a claim by another one; the old one is revoked.
    Reissue {
        campaign: &'a str,
        pool: &'a str,
        /// Whose code it is.
        subject: &'a str,
        /// The rank of its claim.
        rank: u32,
        /// The issue number the new code is to have: one more than the present one.
        issue: u16,
        /// The tag of the new code; none in a pool of imported codes.
        tag: Option<u64>,
        /// Why: 0 to 256 bytes.
        reason: &'a str,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Brings lines of an import. Lines that were brought before are left alone.
    Stage {
        campaign: &'a str,
        pool: &'a str,
        /// The import's id: 1 to 64 bytes.
        import: &'a str,
        /// Which line of the file the first of these is, from 0.
        first: u32,
        /// The lines: 1 to [`CODES_TOGETHER`](crate::limits::CODES_TOGETHER).
        codes: Vec<StagedCode<'a>>,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Puts all codes of an import into stock.
    Commit {
        campaign: &'a str,
        pool: &'a str,
        /// The import's id.
        import: &'a str,
        /// How many lines its file has.
        lines: u32,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Returns an import up that was not committed.
    Discard {
        campaign: &'a str,
        pool: &'a str,
        /// The import's id.
        import: &'a str,
        /// Who gave it.
        order: Order<'a>,
    },
}

impl<'a> CodeCommand<'a> {
    /// Returns the step of a command about one code and one reference.
    pub fn step(&self) -> Option<&CodeStep<'a>> {
        match self {
            Self::Reserve { step, .. }
            | Self::Redeem { step, .. }
            | Self::RollBack { step }
            | Self::EndReservation { step } => Some(step),
            Self::Mark { .. }
            | Self::RevokeImport { .. }
            | Self::Reissue { .. }
            | Self::Stage { .. }
            | Self::Commit { .. }
            | Self::Discard { .. } => None,
        }
    }

    /// Returns the campaign it is about, and the pool if one is named.
    pub fn target(&self) -> (&'a str, Option<&'a str>) {
        match self {
            Self::Reserve { step, .. }
            | Self::Redeem { step, .. }
            | Self::RollBack { step }
            | Self::EndReservation { step } => (step.campaign, step.pool),
            Self::Mark { campaign, pool, .. }
            | Self::RevokeImport { campaign, pool, .. }
            | Self::Reissue { campaign, pool, .. }
            | Self::Stage { campaign, pool, .. }
            | Self::Commit { campaign, pool, .. }
            | Self::Discard { campaign, pool, .. } => (campaign, Some(pool)),
        }
    }

    /// Returns who gave it, of an operator's command.
    pub fn order(&self) -> Option<Order<'a>> {
        match self {
            Self::Reserve { .. }
            | Self::Redeem { .. }
            | Self::RollBack { .. }
            | Self::EndReservation { .. } => None,
            Self::Mark { order, .. }
            | Self::RevokeImport { order, .. }
            | Self::Reissue { order, .. }
            | Self::Stage { order, .. }
            | Self::Commit { order, .. }
            | Self::Discard { order, .. } => Some(*order),
        }
    }

    /// Says whether a yes may make a result.
    pub(super) fn makes_results(&self) -> bool {
        match self {
            Self::Redeem { .. }
            | Self::RollBack { .. }
            | Self::Mark { .. }
            | Self::RevokeImport { .. }
            | Self::Reissue { .. } => true,
            Self::Reserve { .. }
            | Self::EndReservation { .. }
            | Self::Stage { .. }
            | Self::Commit { .. }
            | Self::Discard { .. } => false,
        }
    }

    /// Returns the number of its field.
    pub(super) fn field(&self) -> u32 {
        match self {
            Self::Reserve { .. } => RESERVE,
            Self::Redeem { .. } => REDEEM,
            Self::RollBack { .. } => ROLL_BACK,
            Self::EndReservation { .. } => END_RESERVATION,
            Self::Mark { .. } => MARK_CODES,
            Self::RevokeImport { .. } => MARK_IMPORT,
            Self::Reissue { .. } => REISSUE,
            Self::Stage { .. } => STAGE,
            Self::Commit { .. } => COMMIT,
            Self::Discard { .. } => DISCARD,
        }
    }

    /// Writes what it asks, without its target and without who gave it.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let reasoned = |out: &mut Vec<u8>, reason: &str| {
            if !reason.is_empty() {
                out.text(9, reason);
            }
        };
        match self {
            Self::Reserve { step, subject, ttl_us } => {
                step_fields(out, step, *subject);
                out.signed(5, *ttl_us);
            }
            Self::Redeem { step, subject } => step_fields(out, step, *subject),
            Self::RollBack { step } | Self::EndReservation { step } => step_fields(out, step, None),
            Self::Mark { codes, verdict, reason, .. } => {
                codes.iter().for_each(|code| code_fields(out, *code));
                out.number(3, u64::from(verdict.code()));
                reasoned(out, reason);
            }
            Self::RevokeImport { import, reason, .. } => {
                out.text(2, import);
                reasoned(out, reason);
            }
            Self::Reissue { subject, rank, issue, tag, reason, .. } => {
                out.text(2, subject);
                out.number(3, u64::from(*rank));
                out.number(4, u64::from(*issue));
                if let Some(tag) = tag {
                    out.number(5, *tag);
                }
                reasoned(out, reason);
            }
            Self::Stage { import, first, codes, .. } => {
                out.text(2, import);
                out.number(3, u64::from(*first));
                out.nested(4, |out| {
                    for StagedCode { hash, sealed } in codes {
                        out.extend_from_slice(hash);
                        out.varint(sealed.len() as u64);
                        out.extend_from_slice(sealed);
                    }
                });
            }
            Self::Commit { import, lines, .. } => {
                out.text(2, import);
                out.number(3, u64::from(*lines));
            }
            Self::Discard { import, .. } => out.text(2, import),
        }
    }
}

fn step_fields(out: &mut Vec<u8>, step: &CodeStep<'_>, subject: Option<&str>) {
    code_fields(out, step.code);
    out.text(3, step.reference);
    if let Some(subject) = subject {
        out.text(4, subject);
    }
}

fn code_fields(out: &mut Vec<u8>, code: CodeKey) {
    out.nested(2, |out| match code {
        CodeKey::Generated { unit, tag } => {
            out.number(1, u64::from(unit));
            out.number(2, tag);
        }
        CodeKey::Imported { hash } => out.bytes(3, &hash),
        CodeKey::Rank(rank) => out.number(4, u64::from(rank)),
    });
}
