//! What an operation can be refused with, in groups: each group is what one part of a request, or of the rules, can say.

use crate::answer::Code;
use firstcome_core::outcome::{Fixed, Missing};
use firstcome_core::{CodeRefusal, Refusal};

/// A group of answers that are not a yes.
pub(super) type Group = &'static [Code];

const fn no(refusal: Refusal) -> Code {
    Code::Refused(refusal)
}

const fn of_codes(refusal: CodeRefusal) -> Code {
    Code::Refused(Refusal::Code(refusal))
}

/// Of every request that is not to one of the probes.
pub(super) const EVERYBODY: Group = &[Code::TooManyRequests];
/// Of every request, before it is read.
pub(super) const CONNECTION: Group = &[Code::TooManyConnections];
/// Of a request that needs a key.
pub(super) const KEY: Group = &[Code::Unauthorized, Code::Forbidden, Code::TooManyRequests];
/// Of a request that may bring a subject token.
pub(super) const TOKEN: Group = &[Code::TokenExpired];
/// Of a path or a query that is read.
pub(super) const READ: Group = &[Code::InvalidRequest];
/// Of a request with `min_position`.
pub(super) const POSITION: Group = &[Code::StalePosition, Code::Unavailable, Code::InvalidRequest];
/// Of a request with a body.
pub(super) const BODY: Group =
    &[Code::InvalidRequest, Code::UnsupportedMediaType, Code::TooLarge, Code::Timeout];
/// Of a request of many commands, before its lines are read.
pub(super) const LINES: Group = &[Code::InvalidRequest, Code::UnsupportedMediaType, Code::Busy];
/// Of a request that names a subject.
pub(super) const SUBJECT: Group = &[Code::InvalidSubject];
/// Of a command, which the journal decides.
pub(super) const COMMAND: Group = &[
    Code::Busy,
    Code::OutboxFull,
    Code::StoreFull,
    Code::TooLarge,
    Code::Unavailable,
    Code::Unknown,
    Code::LevelTooLow,
    Code::SpaceMoved,
    Code::InvalidRequest,
];
/// Of what the team's own service is asked about.
pub(super) const ELIGIBILITY: Group = &[Code::NotEligible, Code::EligibilityUnknown];
/// Of a request about a campaign.
pub(super) const CAMPAIGN: Group =
    &[no(Refusal::NotFound(Missing::Campaign)), no(Refusal::Archived)];
/// Of an operator's command, which has an id of its own.
pub(super) const ORDER: Group = &[no(Refusal::IdReused)];
/// Of settings.
pub(super) const SETTINGS: Group = &[
    Code::InvalidSettings,
    Code::TooBigForMemory,
    no(Refusal::ClosesTooEarly),
    no(Refusal::NotChangeable(Fixed::Pools)),
    no(Refusal::VersionMismatch { version: 1 }),
];
/// Of a campaign that is over.
pub(super) const CLOSED: Group = &[no(Refusal::Closed)];
/// Of archiving.
pub(super) const ARCHIVE: Group = &[no(Refusal::NotClosed), no(Refusal::Unsettled)];
/// Of seats that are added.
pub(super) const SEATS: Group =
    &[no(Refusal::BadSeat), no(Refusal::NotSeated), Code::TooBigForMemory, Code::TooLarge];
/// Exclusion of subjects, and the times of the campaign.
pub(super) const ADMITTANCE: Group = &[
    no(Refusal::AlreadyCancelled),
    no(Refusal::Barred),
    no(Refusal::Paused),
    no(Refusal::NotOpen { opens_at: None }),
    no(Refusal::Closed),
];
/// Of a claim.
pub(super) const CLAIM: Group = &[
    no(Refusal::PoolRequired),
    no(Refusal::HoldRequired),
    no(Refusal::LimitReached),
    no(Refusal::SoldOut),
];
/// Of a claim that waits.
pub(super) const WAITLIST: Group = &[
    no(Refusal::NoWaitlist),
    no(Refusal::WaitlistFull),
    no(Refusal::TooManyWishes),
    no(Refusal::NotSeated),
    no(Refusal::NoSuchUnit),
];
/// Of a subject that does not wait.
pub(super) const NOT_WAITING: Group = &[Code::NotOnWaitlist];
/// Of an offer, which is taken or left as it is.
pub(super) const OFFER: Group = &[no(Refusal::IsOffer)];
/// Of a subject that has no such claim.
pub(super) const NO_CLAIM: Group = &[no(Refusal::NoSuchClaim)];
/// Of a command for which a pool may be left out.
pub(super) const POOL: Group = &[no(Refusal::PoolRequired)];
/// Of units that are named.
pub(super) const UNITS: Group =
    &[no(Refusal::NotSeated), no(Refusal::NoSuchUnit), no(Refusal::NotForSale)];
/// Of a pool that has no seats.
pub(super) const COUNTED: Group = &[no(Refusal::NotSeated)];
/// Of units that are to be free.
pub(super) const TAKEN: Group = &[no(Refusal::UnitTaken), no(Refusal::SoldOut)];
/// Of units that are to be set aside for a subject.
pub(super) const HOLDING: Group =
    &[no(Refusal::TooManyUnits), no(Refusal::LimitReached), no(Refusal::OrphanLeft)];
/// Of a hold that begins.
pub(super) const NEW_HOLD: Group =
    &[no(Refusal::HasHold), no(Refusal::TooManyHolds), no(Refusal::IdReused)];
/// Of a hold that is named.
pub(super) const HOLD: Group = &[no(Refusal::NoSuchHold), no(Refusal::NotYours)];
/// Of a step on a hold, which has an id of its own.
pub(super) const STEP: Group = &[no(Refusal::IdReused)];
/// Of a hold whose time is over.
pub(super) const EXPIRED: Group = &[no(Refusal::HoldExpired)];
/// Of a hold that was given back.
pub(super) const RELEASED: Group = &[no(Refusal::HoldReleased)];
/// Of a hold that is the subject's for good.
pub(super) const CONFIRMED: Group = &[no(Refusal::AlreadyConfirmed)];
/// Of what was paid for too late.
pub(super) const REFUND: Group = &[Code::RefundDue];
/// Of units that nobody holds.
pub(super) const NOT_HELD: Group = &[no(Refusal::NotHeld)];
/// Of a subject that is kept out.
pub(super) const BARRED: Group = &[no(Refusal::Barred)];
/// Of a subject that is to be barred.
pub(super) const BARS: Group = &[no(Refusal::TooManyBars)];
/// Of a campaign that is to be deleted.
pub(super) const DELETE: Group = &[no(Refusal::HasResults)];
/// Of seats that are to be changed.
pub(super) const CHANGED_SEATS: Group = &[
    no(Refusal::NotSeated),
    no(Refusal::NoSuchUnit),
    no(Refusal::UnitTaken),
    no(Refusal::BadSeat),
];
/// Of an answer that may have several media types.
pub(super) const ACCEPT: Group = &[Code::NotAcceptable];
/// Of a stream of events.
pub(super) const STREAM: Group = &[Code::TooManyStreams];
/// Of a space whose level is to be raised.
pub(super) const RAISE: Group = &[Code::LevelNotRead];
/// Of a store that is to be seeded.
pub(super) const RESEED: Group = &[Code::NothingLost];
/// Of what is read in a store or a ledger.
pub(super) const READ_IN_STORE: Group = &[Code::Unavailable];
/// Of a campaign with coded pools.
pub(super) const NO_CODE_KEY: Group = &[Code::NoCodeKey];
/// Of a claim in a coded pool.
pub(super) const TAG: Group = &[of_codes(CodeRefusal::TagRequired)];
/// Of a hold in a coded pool.
pub(super) const CODES_CLAIMED: Group = &[of_codes(CodeRefusal::ClaimRequired)];
/// Of a cancel in a coded pool.
pub(super) const CODE_IN_USE: Group = &[of_codes(CodeRefusal::CodeInUse)];
/// Of archiving a campaign with coded pools.
pub(super) const CODES_VALID: Group = &[of_codes(CodeRefusal::CodesValid)];
/// Of a code as it was typed.
pub(super) const TYPED: Group = &[Code::TooManyWrongCodes, Code::Malformed];
/// Of a code that is to be found.
pub(super) const CODE: Group = &[
    of_codes(CodeRefusal::NotCoded),
    of_codes(CodeRefusal::NoSuchCode),
    of_codes(CodeRefusal::NotIssued),
];
/// Of whoever uses a code.
pub(super) const CODE_USER: Group =
    &[of_codes(CodeRefusal::SubjectRequired), no(Refusal::NotYours), no(Refusal::IdReused)];
/// Of a reference that has redeemed the code.
pub(super) const REDEEMED: Group = &[of_codes(CodeRefusal::AlreadyRedeemed)];
/// Of a reference whose redemption was rolled back.
pub(super) const ROLLED_BACK: Group = &[of_codes(CodeRefusal::AlreadyRolledBack)];
/// Of a code that does not count.
pub(super) const STANDING: Group =
    &[of_codes(CodeRefusal::CodeRevoked), of_codes(CodeRefusal::CodeSuspended)];
/// Of one use more of a code.
pub(super) const NEW_USE: Group = &[
    of_codes(CodeRefusal::CodeExpired),
    no(Refusal::Barred),
    no(Refusal::LimitReached),
    of_codes(CodeRefusal::CodeUsed),
    of_codes(CodeRefusal::CodeReserved),
    of_codes(CodeRefusal::TooManyReferences),
];
/// Of a code that others used after a rollback.
pub(super) const REUSED: Group = &[of_codes(CodeRefusal::ReusedSince)];
/// Of a redemption that is to be undone.
pub(super) const NOT_REDEEMED: Group = &[of_codes(CodeRefusal::NotRedeemed)];
/// Of a reservation that is to be given back.
pub(super) const NOT_RESERVED: Group = &[of_codes(CodeRefusal::NotReserved)];
/// Of a pool that has no codes.
pub(super) const CODED: Group = &[of_codes(CodeRefusal::NotCoded)];
/// Of a pool whose codes are generated.
pub(super) const IMPORTED: Group = &[of_codes(CodeRefusal::NotImported)];
/// Of an import that is named.
pub(super) const NO_IMPORT: Group = &[of_codes(CodeRefusal::NoSuchImport)];
/// Of lines of an import.
pub(super) const IMPORT_LINES: Group = &[
    Code::BadCode,
    Code::TooBigForMemory,
    of_codes(CodeRefusal::ImportOpen),
    of_codes(CodeRefusal::TooManyImports),
    of_codes(CodeRefusal::ChunkMissing { next: 0 }),
    of_codes(CodeRefusal::TooManyCodes),
];
/// Of the end of an import.
pub(super) const IMPORT_LENGTH: Group = &[of_codes(CodeRefusal::ImportIncomplete { lines: 0 })];
/// Of a code that is to be replaced.
pub(super) const REISSUE: Group = &[
    of_codes(CodeRefusal::CodeRevoked),
    of_codes(CodeRefusal::ReissuedSince { issue: 1 }),
    of_codes(CodeRefusal::TooManyReissues),
    no(Refusal::SoldOut),
];
