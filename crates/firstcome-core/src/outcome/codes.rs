//! What can be answered about codes, with its stable strings and numbers.

use crate::codes::CodeVerdict;
use crate::time::Timestamp;
use crate::wire::{Malformed, Reader, Write};

/// A yes about codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeOutcome {
    /// A use of a code is set aside until a deadline.
    Reserved {
        /// The rank of the code's claim.
        rank: u32,
        /// When it is over if journal time goes on without a break; later if it does not.
        expires_at: Timestamp,
    },
    /// It was so before; nothing changed.
    AlreadyReserved {
        /// The rank of the code's claim.
        rank: u32,
        /// When it is over.
        expires_at: Timestamp,
    },
    /// A code was used. Asking again gives the same answer.
    Redeemed {
        /// The rank of the code's claim.
        rank: u32,
        /// When.
        at: Timestamp,
    },
    /// A redemption was undone. Asking again gives the same answer.
    RolledBack {
        /// The rank of the code's claim.
        rank: u32,
        /// When.
        at: Timestamp,
        /// Whether the code had expired meanwhile: then its use did not come back.
        expired: bool,
    },
    /// A reservation is not live any more. Asking again gives the same answer.
    ReservationEnded {
        /// The rank of the code's claim.
        rank: u32,
    },
    /// Codes stand as an operator decided.
    Marked {
        /// What was decided.
        verdict: CodeVerdict,
        /// How many stand otherwise than before.
        changed: u32,
        /// Which of those named there are not, by their index from 0: the first 100.
        unknown: Vec<u32>,
    },
    /// A claim has another code. Asking again gives the same answer.
    Reissued {
        /// The rank of the claim.
        rank: u32,
        /// The issue number of its code.
        issue: u16,
    },
    /// Lines of an import were taken.
    Staged {
        /// The line that is wanted next, from 0.
        next: u32,
    },
    /// All codes of an import are in stock. Asking again gives the same answer.
    Committed {
        /// Lines of its file.
        lines: u32,
        /// Lines that were codes the pool had not.
        added: u32,
        /// The first lines that were not, from 0: at most 100.
        duplicates: Vec<u32>,
    },
    /// An import that was not committed is gone.
    Discarded,
}

impl CodeOutcome {
    /// Every string once.
    pub const ALL: [&'static str; 10] = [
        "reserved",
        "already_reserved",
        "redeemed",
        "rolled_back",
        "reservation_ended",
        "codes_marked",
        "reissued",
        "codes_staged",
        "codes_imported",
        "import_discarded",
    ];

    /// Returns the stable string.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Reserved { .. } => "reserved",
            Self::AlreadyReserved { .. } => "already_reserved",
            Self::Redeemed { .. } => "redeemed",
            Self::RolledBack { .. } => "rolled_back",
            Self::ReservationEnded { .. } => "reservation_ended",
            Self::Marked { .. } => "codes_marked",
            Self::Reissued { .. } => "reissued",
            Self::Staged { .. } => "codes_staged",
            Self::Committed { .. } => "codes_imported",
            Self::Discarded => "import_discarded",
        }
    }

    /// Writes it for the digest and for snapshots.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let list = |out: &mut Vec<u8>, list: &[u32]| {
            if !list.is_empty() {
                out.nested(MORE, |out| list.iter().for_each(|n| out.varint(u64::from(*n))));
            }
        };
        match self {
            Self::Reserved { rank, expires_at } => {
                out.number(69, u64::from(*rank));
                out.time(16, *expires_at);
            }
            Self::AlreadyReserved { rank, expires_at } => {
                out.number(70, u64::from(*rank));
                out.time(16, *expires_at);
            }
            Self::Redeemed { rank, at } => {
                out.number(71, u64::from(*rank));
                out.time(16, *at);
            }
            Self::RolledBack { rank, at, expired } => {
                out.number(72, u64::from(*rank) << 1 | u64::from(*expired));
                out.time(16, *at);
            }
            Self::ReservationEnded { rank } => out.number(73, u64::from(*rank)),
            Self::Marked { verdict, changed, unknown } => {
                out.number(74, u64::from(*changed) << 8 | u64::from(verdict.code()));
                list(out, unknown);
            }
            Self::Reissued { rank, issue } => {
                out.number(75, u64::from(*rank) << 16 | u64::from(*issue));
            }
            Self::Staged { next } => out.number(76, u64::from(*next)),
            Self::Committed { lines, added, duplicates } => {
                out.number(77, u64::from(*lines) << 32 | u64::from(*added));
                list(out, duplicates);
            }
            Self::Discarded => out.number(78, 0),
        }
    }

    /// Reads the yes to an operator's command, as snapshots keep it.
    pub(super) fn decode_kept(fields: Reader<'_>) -> Result<Self, Malformed> {
        let end = fields;
        let mut read = None;
        fields.fields(|field, value| {
            match (field, &mut read) {
                (74, None) => {
                    let both = value.number()?;
                    let verdict = CodeVerdict::of(both & 0xff);
                    let verdict = verdict.ok_or_else(|| value.wrong("an unknown verdict"))?;
                    let changed = (both >> 8) as u32;
                    read = Some(Self::Marked { verdict, changed, unknown: Vec::new() });
                }
                (75, None) => {
                    let both = value.number()?;
                    read = Some(Self::Reissued { rank: (both >> 16) as u32, issue: both as u16 });
                }
                (76, None) => read = Some(Self::Staged { next: value.number32()? }),
                (77, None) => {
                    let both = value.number()?;
                    let (lines, added) = ((both >> 32) as u32, both as u32);
                    read = Some(Self::Committed { lines, added, duplicates: Vec::new() });
                }
                (78, None) => read = Some(Self::Discarded),
                (
                    MORE,
                    Some(
                        Self::Marked { unknown: list, .. }
                        | Self::Committed { duplicates: list, .. },
                    ),
                ) => {
                    let mut rows = value.nested()?;
                    while !rows.is_empty() {
                        let number = u32::try_from(rows.varint()?);
                        list.push(number.map_err(|_| rows.wrong("a number beyond 32 bits"))?);
                    }
                }
                _ => return Err(value.wrong("an outcome that is never kept")),
            }
            Ok(())
        })?;
        read.ok_or_else(|| end.wrong("an outcome without a code"))
    }
}

/// The field of a list that an outcome has.
const MORE: u32 = 90;

/// Says whether a stored outcome is one of this file.
pub(super) fn is_ours(field: u32) -> bool {
    (74..=78).contains(&field)
}

/// Why the rules say no about codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeRefusal {
    /// The pool has no codes.
    NotCoded,
    /// The pool's codes are generated.
    NotImported,
    /// Codes are claimed, not held.
    ClaimRequired,
    /// The claim carries no tag, which the server adds once it knows the pool.
    TagRequired,
    /// There is no such code.
    NoSuchCode,
    /// The code is in stock: nobody was given it.
    NotIssued,
    /// Only its holder may use the code, and nobody was named.
    SubjectRequired,
    /// This reference has redeemed the code.
    AlreadyRedeemed,
    /// This reference's redemption was rolled back.
    AlreadyRolledBack,
    /// The code was revoked, or its claim cancelled, or it was replaced by another.
    CodeRevoked,
    /// Nobody decided yet whether the code counts.
    CodeSuspended,
    /// The code is not valid any more.
    CodeExpired,
    /// Every use of the code is redeemed.
    CodeUsed,
    /// The uses of the code that are not redeemed are reserved under other references.
    CodeReserved,
    /// After this reference's redemption was rolled back, others took the code's uses.
    ReusedSince,
    /// This reference has not redeemed the code.
    NotRedeemed,
    /// This reference has not reserved the code.
    NotReserved,
    /// The code remembers as many references as one may.
    TooManyReferences,
    /// The claim's code is redeemed or reserved.
    CodeInUse,
    /// Codes of the campaign can still be redeemed.
    CodesValid,
    /// Another import of the pool is under way.
    ImportOpen,
    /// There is no such import under way.
    NoSuchImport,
    /// Lines before these are missing.
    ChunkMissing {
        /// The line that is wanted next, from 0.
        next: u32,
    },
    /// The import does not have as many lines as its file.
    ImportIncomplete {
        /// How many lines it has.
        lines: u32,
    },
    /// More codes than a pool can have.
    TooManyCodes,
    /// More imports than a pool can have.
    TooManyImports,
    /// The code has another issue number than the one before the new one's.
    ReissuedSince {
        /// The issue number it has.
        issue: u16,
    },
    /// The claim's code was replaced as often as one can be.
    TooManyReissues,
}

impl CodeRefusal {
    /// Every refusal once; those with content stand with some content.
    pub const ALL: [Self; 28] = [
        Self::NotCoded,
        Self::NotImported,
        Self::ClaimRequired,
        Self::TagRequired,
        Self::NoSuchCode,
        Self::NotIssued,
        Self::SubjectRequired,
        Self::AlreadyRedeemed,
        Self::AlreadyRolledBack,
        Self::CodeRevoked,
        Self::CodeSuspended,
        Self::CodeExpired,
        Self::CodeUsed,
        Self::CodeReserved,
        Self::ReusedSince,
        Self::NotRedeemed,
        Self::NotReserved,
        Self::TooManyReferences,
        Self::CodeInUse,
        Self::CodesValid,
        Self::ImportOpen,
        Self::NoSuchImport,
        Self::ChunkMissing { next: 0 },
        Self::ImportIncomplete { lines: 0 },
        Self::TooManyCodes,
        Self::TooManyImports,
        Self::ReissuedSince { issue: 0 },
        Self::TooManyReissues,
    ];

    /// Returns the stable string, and the stable number the digest uses.
    fn row(self) -> (&'static str, u32) {
        match self {
            Self::NotCoded => ("not_coded", 79),
            Self::NotImported => ("not_imported", 80),
            Self::ClaimRequired => ("claim_required", 81),
            Self::TagRequired => ("tag_required", 82),
            Self::NoSuchCode => ("no_such_code", 83),
            Self::NotIssued => ("not_issued", 84),
            Self::SubjectRequired => ("subject_required", 85),
            Self::AlreadyRedeemed => ("already_redeemed", 86),
            Self::AlreadyRolledBack => ("already_rolled_back", 87),
            Self::CodeRevoked => ("code_revoked", 88),
            Self::CodeSuspended => ("code_suspended", 89),
            Self::CodeExpired => ("code_expired", 91),
            Self::CodeUsed => ("code_used", 92),
            // 93 and on are others'.
            Self::CodeReserved => ("code_reserved", 160),
            Self::ReusedSince => ("reused_since", 161),
            Self::NotRedeemed => ("not_redeemed", 162),
            Self::NotReserved => ("not_reserved", 163),
            Self::TooManyReferences => ("too_many_references", 164),
            Self::CodeInUse => ("code_in_use", 165),
            Self::CodesValid => ("codes_valid", 166),
            Self::ImportOpen => ("import_open", 167),
            Self::NoSuchImport => ("no_such_import", 168),
            Self::ChunkMissing { .. } => ("chunk_missing", 169),
            Self::ImportIncomplete { .. } => ("import_incomplete", 170),
            Self::TooManyCodes => ("too_many_codes", 171),
            Self::TooManyImports => ("too_many_imports", 172),
            Self::ReissuedSince { .. } => ("reissued_since", 173),
            Self::TooManyReissues => ("too_many_reissues", 174),
        }
    }

    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    pub(super) fn code(self) -> u32 {
        self.row().1
    }

    pub(super) fn content(self) -> u64 {
        if let Self::ChunkMissing { next: number } | Self::ImportIncomplete { lines: number } = self
        {
            return u64::from(number);
        }
        if let Self::ReissuedSince { issue } = self { u64::from(issue) } else { 0 }
    }
}
