//! What an operation can be refused with, in groups: each group is what one part of a request, or of the rules, can say.

use crate::answer::Code;
use firstcome_core::outcome::{Fixed, Missing};
use firstcome_core::{CodeRefusal, Refusal};

/// A group of answers that are not a yes.
pub(super) type AnswerGroup = &'static [Code];

const fn no(refusal: Refusal) -> Code {
    Code::Refused(refusal)
}

const fn of_codes(refusal: CodeRefusal) -> Code {
    Code::Refused(Refusal::Code(refusal))
}

/// Of every request that is not to one of the probes.
pub(super) const EVERYBODY: AnswerGroup = &[Code::TooManyRequests];
/// Of every request, before it is read.
pub(super) const CONNECTION: AnswerGroup = &[Code::TooManyConnections];
/// Of a request that needs a key.
pub(super) const KEY: AnswerGroup = &[Code::Unauthorized, Code::Forbidden, Code::TooManyRequests];
/// Of a request that may bring a subject token.
pub(super) const TOKEN: AnswerGroup = &[Code::TokenExpired];
/// Of a path or a query that is read.
pub(super) const READ: AnswerGroup = &[Code::InvalidRequest];
/// Of a request with `min_position`.
pub(super) const POSITION: AnswerGroup =
    &[Code::StalePosition, Code::Unavailable, Code::InvalidRequest];
/// Of a request with a body.
pub(super) const BODY: AnswerGroup =
    &[Code::InvalidRequest, Code::UnsupportedMediaType, Code::TooLarge, Code::Timeout];
/// Of a request of many commands, before its lines are read.
pub(super) const LINES: AnswerGroup =
    &[Code::InvalidRequest, Code::UnsupportedMediaType, Code::Busy];
/// Of a request that names a subject.
pub(super) const SUBJECT: AnswerGroup = &[Code::InvalidSubject];
/// Of a command, which the journal decides.
pub(super) const COMMAND: AnswerGroup = &[
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
pub(super) const ELIGIBILITY: AnswerGroup = &[Code::NotEligible, Code::EligibilityUnknown];
/// Of a request about a campaign.
pub(super) const CAMPAIGN: AnswerGroup =
    &[no(Refusal::NotFound(Missing::Campaign)), no(Refusal::Archived)];
/// Of an operator's command, which has an id of its own.
pub(super) const ORDER: AnswerGroup = &[no(Refusal::IdReused)];
/// Of settings.
pub(super) const SETTINGS: AnswerGroup = &[
    Code::InvalidSettings,
    Code::TooBigForMemory,
    no(Refusal::ClosesTooEarly),
    no(Refusal::NotChangeable(Fixed::Pools)),
    no(Refusal::VersionMismatch { version: 1 }),
];
/// Of a campaign that is over.
pub(super) const CLOSED: AnswerGroup = &[no(Refusal::Closed)];
/// Of archiving.
pub(super) const ARCHIVE: AnswerGroup = &[no(Refusal::NotClosed), no(Refusal::Unsettled)];
/// Of seats that are added.
pub(super) const SEATS: AnswerGroup =
    &[no(Refusal::BadSeat), no(Refusal::NotSeated), Code::TooBigForMemory, Code::TooLarge];
/// Exclusion of subjects, and the times of the campaign.
pub(super) const ADMITTANCE: AnswerGroup = &[
    no(Refusal::AlreadyCancelled),
    no(Refusal::Barred),
    no(Refusal::Paused),
    no(Refusal::NotOpen { opens_at: None }),
    no(Refusal::Closed),
];
/// Of a claim.
pub(super) const CLAIM: AnswerGroup = &[
    no(Refusal::PoolRequired),
    no(Refusal::HoldRequired),
    no(Refusal::LimitReached),
    no(Refusal::SoldOut),
];
/// Of a claim that waits.
pub(super) const WAITLIST: AnswerGroup = &[
    no(Refusal::NoWaitlist),
    no(Refusal::WaitlistFull),
    no(Refusal::TooManyWishes),
    no(Refusal::NotSeated),
    no(Refusal::NoSuchUnit),
];
/// Of a subject that does not wait.
pub(super) const NOT_WAITING: AnswerGroup = &[Code::NotOnWaitlist];
/// Of an offer, which is taken or left as it is.
pub(super) const OFFER: AnswerGroup = &[no(Refusal::IsOffer)];
/// Of a subject that has no such claim.
pub(super) const NO_CLAIM: AnswerGroup = &[no(Refusal::NoSuchClaim)];
/// Of a command for which a pool may be left out.
pub(super) const POOL: AnswerGroup = &[no(Refusal::PoolRequired)];
/// Of units that are named.
pub(super) const UNITS: AnswerGroup =
    &[no(Refusal::NotSeated), no(Refusal::NoSuchUnit), no(Refusal::NotForSale)];
/// Of a pool that has no seats.
pub(super) const COUNTED: AnswerGroup = &[no(Refusal::NotSeated)];
/// Of units that are to be free.
pub(super) const TAKEN: AnswerGroup = &[no(Refusal::UnitTaken), no(Refusal::SoldOut)];
/// Of units that are to be set aside for a subject.
pub(super) const HOLDING: AnswerGroup =
    &[no(Refusal::TooManyUnits), no(Refusal::LimitReached), no(Refusal::OrphanLeft)];
/// Of a hold that begins.
pub(super) const NEW_HOLD: AnswerGroup =
    &[no(Refusal::HasHold), no(Refusal::TooManyHolds), no(Refusal::IdReused)];
/// Of a hold that is named.
pub(super) const HOLD: AnswerGroup = &[no(Refusal::NoSuchHold), no(Refusal::NotYours)];
/// Of a step on a hold, which has an id of its own.
pub(super) const STEP: AnswerGroup = &[no(Refusal::IdReused)];
/// Of a hold whose time is over.
pub(super) const EXPIRED: AnswerGroup = &[no(Refusal::HoldExpired)];
/// Of a hold that was given back.
pub(super) const RELEASED: AnswerGroup = &[no(Refusal::HoldReleased)];
/// Of a hold that is the subject's for good.
pub(super) const CONFIRMED: AnswerGroup = &[no(Refusal::AlreadyConfirmed)];
/// Of what was paid for too late.
pub(super) const REFUND: AnswerGroup = &[Code::RefundDue];
/// Of units that nobody holds.
pub(super) const NOT_HELD: AnswerGroup = &[no(Refusal::NotHeld)];
/// Of a subject that is kept out.
pub(super) const BARRED: AnswerGroup = &[no(Refusal::Barred)];
/// Of a subject that is to be barred.
pub(super) const BARS: AnswerGroup = &[no(Refusal::TooManyBars)];
/// Of a campaign that is to be deleted.
pub(super) const DELETE: AnswerGroup = &[no(Refusal::HasResults)];
/// Of seats that are to be changed.
pub(super) const CHANGED_SEATS: AnswerGroup = &[
    no(Refusal::NotSeated),
    no(Refusal::NoSuchUnit),
    no(Refusal::UnitTaken),
    no(Refusal::BadSeat),
];
/// Of an answer that may have several media types.
pub(super) const ACCEPT: AnswerGroup = &[Code::NotAcceptable];
/// Of a stream of events.
pub(super) const STREAM: AnswerGroup = &[Code::TooManyStreams];
/// Of a space whose level is to be raised.
pub(super) const RAISE: AnswerGroup = &[Code::LevelNotRead];
/// Of a store that is to be seeded.
pub(super) const RESEED: AnswerGroup = &[Code::NothingLost];
/// Of what is read in a store or a ledger.
pub(super) const READ_IN_STORE: AnswerGroup = &[Code::Unavailable];
/// Of webhooks.
pub(super) const WEBHOOKS: AnswerGroup = &[Code::NoLedger, Code::Unavailable];
/// Of a webhook that is named.
pub(super) const WEBHOOK: AnswerGroup = &[Code::NoLedger, Code::Unavailable, Code::NoSuchWebhook];
/// Of a webhook that is added.
pub(super) const NEW_WEBHOOK: AnswerGroup = &[Code::TooManyWebhooks];
/// Of a campaign with coded pools.
pub(super) const NO_CODE_KEY: AnswerGroup = &[Code::NoCodeKey];
/// Of a claim in a coded pool.
pub(super) const TAG: AnswerGroup = &[of_codes(CodeRefusal::TagRequired)];
/// Of a hold in a coded pool.
pub(super) const CODES_CLAIMED: AnswerGroup = &[of_codes(CodeRefusal::ClaimRequired)];
/// Of a cancel in a coded pool.
pub(super) const CODE_IN_USE: AnswerGroup = &[of_codes(CodeRefusal::CodeInUse)];
/// Of archiving a campaign with coded pools.
pub(super) const CODES_VALID: AnswerGroup = &[of_codes(CodeRefusal::CodesValid)];
/// Of a code as it was typed.
pub(super) const TYPED: AnswerGroup = &[Code::TooManyWrongCodes, Code::Malformed];
/// Of a code that is to be found.
pub(super) const CODE: AnswerGroup = &[
    of_codes(CodeRefusal::NotCoded),
    of_codes(CodeRefusal::NoSuchCode),
    of_codes(CodeRefusal::NotIssued),
];
/// Of whoever uses a code.
pub(super) const CODE_USER: AnswerGroup =
    &[of_codes(CodeRefusal::SubjectRequired), no(Refusal::NotYours), no(Refusal::IdReused)];
/// Of a reference that has redeemed the code.
pub(super) const REDEEMED: AnswerGroup = &[of_codes(CodeRefusal::AlreadyRedeemed)];
/// Of a reference whose redemption was rolled back.
pub(super) const ROLLED_BACK: AnswerGroup = &[of_codes(CodeRefusal::AlreadyRolledBack)];
/// Of a code that does not count.
pub(super) const STANDING: AnswerGroup =
    &[of_codes(CodeRefusal::CodeRevoked), of_codes(CodeRefusal::CodeSuspended)];
/// Of one use more of a code.
pub(super) const NEW_USE: AnswerGroup = &[
    of_codes(CodeRefusal::CodeExpired),
    no(Refusal::Barred),
    no(Refusal::LimitReached),
    of_codes(CodeRefusal::CodeUsed),
    of_codes(CodeRefusal::CodeReserved),
    of_codes(CodeRefusal::TooManyReferences),
];
/// Of a code that others used after a rollback.
pub(super) const REUSED: AnswerGroup = &[of_codes(CodeRefusal::ReusedSince)];
/// Of a redemption that is to be undone.
pub(super) const NOT_REDEEMED: AnswerGroup = &[of_codes(CodeRefusal::NotRedeemed)];
/// Of a reservation that is to be given back.
pub(super) const NOT_RESERVED: AnswerGroup = &[of_codes(CodeRefusal::NotReserved)];
/// Of a pool that has no codes.
pub(super) const CODED: AnswerGroup = &[of_codes(CodeRefusal::NotCoded)];
/// Of a pool whose codes are generated.
pub(super) const IMPORTED: AnswerGroup = &[of_codes(CodeRefusal::NotImported)];
/// Of an import that is named.
pub(super) const NO_IMPORT: AnswerGroup = &[of_codes(CodeRefusal::NoSuchImport)];
/// Of lines of an import.
pub(super) const IMPORT_LINES: AnswerGroup = &[
    Code::BadCode,
    Code::TooBigForMemory,
    of_codes(CodeRefusal::ImportOpen),
    of_codes(CodeRefusal::TooManyImports),
    of_codes(CodeRefusal::ChunkMissing { next: 0 }),
    of_codes(CodeRefusal::TooManyCodes),
];
/// Of the end of an import.
pub(super) const IMPORT_LENGTH: AnswerGroup =
    &[of_codes(CodeRefusal::ImportIncomplete { lines: 0 })];
/// Of a code that is to be replaced.
pub(super) const REISSUE: AnswerGroup = &[
    of_codes(CodeRefusal::CodeRevoked),
    of_codes(CodeRefusal::ReissuedSince { issue: 1 }),
    of_codes(CodeRefusal::TooManyReissues),
    no(Refusal::SoldOut),
];
