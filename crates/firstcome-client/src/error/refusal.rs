//! The refusals of the rules, by the stable names that the server gives them.

use std::time::Duration;

use serde_json::Value;

use crate::error::problem::Problem;
use firstcome_api::hold::HeldUnit;

/// Why the rules said no. Except with [`Refusal::RefundDue`] nothing changed.
///
/// The reference of the HTTP interface says of each operation which refusals it can have, and in which order they are
/// looked at. Times are RFC 3339 in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// `not_found`: there is no such campaign or pool.
    NotFound,
    /// `archived`: the campaign is finished and has left memory.
    Archived {
        /// Of a campaign that was to be made, a name that nobody has used.
        free_name: Option<String>,
    },
    /// `pool_required`: the campaign has several pools.
    PoolRequired,
    /// `already_cancelled`: the subject cancelled, and nobody may claim again in this campaign.
    AlreadyCancelled,
    /// `barred`: an operator barred this subject from the campaign.
    Barred {
        /// Why; a subject token is not told.
        reason: Option<String>,
        /// Since when.
        since: Option<String>,
        /// The name of the key it was done with.
        by: Option<String>,
    },
    /// `paused`: the campaign is paused.
    Paused,
    /// `not_open`: the campaign has not opened yet.
    NotOpen {
        /// When it opens; none while that is not decided.
        opens_at: Option<String>,
    },
    /// `closed`: the campaign is over.
    Closed,
    /// `limit_reached`: the subject has as many units as one may have, or had 1,000 claims of the pool.
    LimitReached,
    /// `sold_out`: no unit is left.
    SoldOut,
    /// `not_eligible`: the team's own service says no.
    NotEligible {
        /// What it said.
        reason: Option<String>,
    },
    /// `no_such_claim`: the subject has no such claim.
    NoSuchClaim,
    /// `id_reused`: the id was used for a command with other content.
    IdReused,
    /// `version_mismatch`: the campaign is at another version.
    VersionMismatch {
        /// Its version.
        version: Option<u64>,
    },
    /// `not_changeable`: this cannot change once the campaign has opened.
    NotChangeable {
        /// The setting.
        field: Option<String>,
    },
    /// `closes_too_early`: the closing time is not after the opening time and now.
    ClosesTooEarly,
    /// `not_closed`: only a closed campaign can be archived.
    NotClosed,
    /// `unsettled`: some results of the campaign are not in the ledger yet.
    Unsettled,
    /// `no_waitlist`: the pool has no waitlist.
    NoWaitlist,
    /// `waitlist_full`: as many wait for the pool as may.
    WaitlistFull,
    /// `too_many_wishes`: those who wait for several units want as many different things as they may.
    TooManyWishes,
    /// `is_offer`: the hold is an offer, which is taken or left as it is.
    IsOffer,
    /// `not_on_waitlist`: the subject neither waits nor has an offer.
    NotOnWaitlist,
    /// `has_results`: the campaign can be archived, not deleted.
    HasResults,
    /// `level_too_low`: the space is at a lower level than this needs.
    LevelTooLow,
    /// `space_moved`: the space was moved to another store; servers on that one answer.
    SpaceMoved,
    /// `hold_required`: units of a seated pool are held first.
    HoldRequired,
    /// `has_hold`: the subject has a live hold, and one may have one at a time.
    HasHold {
        /// That hold.
        hold: Option<String>,
    },
    /// `no_such_unit`: there is no such seat, area or group.
    NoSuchUnit {
        /// Those that are not there.
        units: Vec<HeldUnit>,
    },
    /// `not_for_sale`: a unit is not for sale.
    NotForSale {
        /// Those that are not.
        units: Vec<HeldUnit>,
    },
    /// `too_many_holds`: the subject started as many holds in the last hour as one may.
    TooManyHolds {
        /// After how long to ask again.
        retry_after: Option<Duration>,
    },
    /// `too_many_units`: one hold cannot have as many units.
    TooManyUnits,
    /// `unit_taken`: somebody has a unit.
    UnitTaken {
        /// Every one that is taken.
        units: Vec<HeldUnit>,
    },
    /// `orphan_left`: a single free seat would be left.
    OrphanLeft {
        /// That seat.
        units: Vec<HeldUnit>,
    },
    /// `no_such_hold`: there is no such hold, or it ended more than 24 h ago.
    NoSuchHold,
    /// `not_yours`: the hold is another subject's.
    NotYours,
    /// `hold_expired`: the hold's time is over.
    HoldExpired,
    /// `hold_released`: the hold was given back.
    HoldReleased,
    /// `refund_due`: it was paid for too late and cannot be had any more. Give back what was paid. This is a result, taken
    /// down once.
    RefundDue {
        /// When that was decided.
        at: Option<String>,
        /// The units that were paid for.
        units: Vec<HeldUnit>,
    },
    /// `already_confirmed`: the units are the subject's for good already.
    AlreadyConfirmed,
    /// `not_held`: the hold does not have a unit.
    NotHeld {
        /// Those that it does not have.
        units: Vec<HeldUnit>,
    },
    /// `not_seated`: the pool has no seats.
    NotSeated,
    /// `bad_seat`: a seat or an area cannot be as wanted.
    BadSeat {
        /// What is wrong, by line.
        errors: Vec<SeatError>,
    },
    /// `too_many_bars`: as many subjects are barred from the campaign as may be.
    TooManyBars,
    /// `not_coded`: the pool has no codes.
    NotCoded,
    /// `not_imported`: the pool's codes are generated.
    NotImported,
    /// `claim_required`: codes are claimed, not held.
    ClaimRequired,
    /// `no_code_key`: the server has no key to make the codes of the pool with.
    NoCodeKey,
    /// `malformed`: what was typed cannot be a code: a typing error.
    Malformed,
    /// `no_such_code`: there is no such code.
    NoSuchCode,
    /// `not_issued`: the code is in stock: nobody was given it.
    NotIssued,
    /// `subject_required`: only its holder may use the code, and nobody was named.
    SubjectRequired,
    /// `already_redeemed`: this reference has redeemed the code.
    AlreadyRedeemed,
    /// `already_rolled_back`: this reference's redemption was rolled back.
    AlreadyRolledBack,
    /// `code_revoked`: the code does not count any more.
    CodeRevoked,
    /// `code_suspended`: the code does not count until somebody decides.
    CodeSuspended,
    /// `code_expired`: the code is not valid any more.
    CodeExpired,
    /// `code_used`: every use of the code is redeemed.
    CodeUsed,
    /// `code_reserved`: what is left of the code is reserved under other references.
    CodeReserved,
    /// `reused_since`: after this reference's redemption was rolled back, others used the code.
    ReusedSince,
    /// `not_redeemed`: this reference has not redeemed the code.
    NotRedeemed,
    /// `not_reserved`: this reference has not reserved the code.
    NotReserved,
    /// `too_many_references`: the code remembers as many references as one may.
    TooManyReferences,
    /// `code_in_use`: the claim's code is redeemed or reserved.
    CodeInUse,
    /// `codes_valid`: codes of the campaign can still be redeemed.
    CodesValid,
    /// `import_open`: another import of the pool is under way.
    ImportOpen,
    /// `no_such_import`: there is no such import under way.
    NoSuchImport,
    /// `too_many_codes`: the pool cannot have as many codes.
    TooManyCodes,
    /// `too_many_imports`: the pool cannot have as many imports.
    TooManyImports,
    /// `too_many_reissues`: the claim's code was replaced as often as one can be.
    TooManyReissues,
    /// `too_many_wrong_codes`: as many codes were tried that do not exist as may be in a while.
    TooManyWrongCodes {
        /// After how long to ask again.
        retry_after: Option<Duration>,
    },
    /// `chunk_missing`: lines of the import before these are missing.
    ChunkMissing {
        /// How many lines it has.
        next: Option<u32>,
    },
    /// `import_incomplete`: the import does not have as many lines as its file.
    ImportIncomplete {
        /// How many lines it has.
        lines: Option<u32>,
    },
    /// `bad_code`: lines that cannot be codes.
    BadCode {
        /// What is wrong, by line.
        errors: Vec<CodeError>,
    },
    /// `reissued_since`: the code has another issue number than the one before the new one's.
    ReissuedSince {
        /// The issue number it has.
        issue: Option<u16>,
    },
    /// An outcome that this version of the client does not know.
    Other(String),
}

/// What is wrong with a seat or an area.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeatError {
    /// Its number in the request, from 1.
    pub line: u64,
    /// Of seats that came with a campaign, the pool they were for.
    pub pool: Option<String>,
    /// A sentence.
    pub why: String,
}

/// What is wrong with a line of an import of codes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodeError {
    /// Its number in the file, from 1.
    pub line: u64,
    /// A sentence.
    pub why: String,
}

/// Outcomes that are no refusals of the rules: the request was not of the form or had not the right that is needed, or
/// something outside of the rules failed.
const NOT_OF_THE_RULES: [&str; 31] = [
    "busy",
    "outbox_full",
    "store_full",
    "unavailable",
    "unknown",
    "stale_position",
    "nothing_lost",
    "no_ledger",
    "no_such_webhook",
    "too_many_webhooks",
    "level_not_read",
    "beyond_results",
    "tag_required",
    "invalid_request",
    "invalid_subject",
    "invalid_settings",
    "too_big_for_memory",
    "unsupported_media_type",
    "not_acceptable",
    "too_large",
    "timeout",
    "unauthorized",
    "eligibility_unknown",
    "token_expired",
    "forbidden",
    "origin_not_allowed",
    "no_such_route",
    "method_not_allowed",
    "too_many_connections",
    "too_many_requests",
    "too_many_streams",
];

impl Refusal {
    /// Reads a refusal of the rules; none where the problem is another one: of the request's form or right, or a failure.
    pub fn of(problem: &Problem) -> Option<Self> {
        let raw = &problem.raw;
        let text = |name: &str| raw[name].as_str().map(str::to_owned);
        Some(match problem.outcome.as_str() {
            "not_found" => Self::NotFound,
            "archived" => Self::Archived { free_name: text("free_name") },
            "pool_required" => Self::PoolRequired,
            "already_cancelled" => Self::AlreadyCancelled,
            "barred" => Self::Barred {
                reason: text("reason"),
                since: text("barred_at"),
                by: text("barred_by"),
            },
            "paused" => Self::Paused,
            "not_open" => Self::NotOpen { opens_at: text("opens_at") },
            "closed" => Self::Closed,
            "limit_reached" => Self::LimitReached,
            "sold_out" => Self::SoldOut,
            "not_eligible" => Self::NotEligible { reason: text("reason") },
            "no_such_claim" => Self::NoSuchClaim,
            "id_reused" => Self::IdReused,
            "version_mismatch" => Self::VersionMismatch { version: raw["version"].as_u64() },
            "not_changeable" => Self::NotChangeable { field: text("field") },
            "closes_too_early" => Self::ClosesTooEarly,
            "not_closed" => Self::NotClosed,
            "unsettled" => Self::Unsettled,
            "no_waitlist" => Self::NoWaitlist,
            "waitlist_full" => Self::WaitlistFull,
            "too_many_wishes" => Self::TooManyWishes,
            "is_offer" => Self::IsOffer,
            "not_on_waitlist" => Self::NotOnWaitlist,
            "has_results" => Self::HasResults,
            "level_too_low" => Self::LevelTooLow,
            "space_moved" => Self::SpaceMoved,
            "hold_required" => Self::HoldRequired,
            "has_hold" => Self::HasHold { hold: text("hold") },
            "no_such_unit" => Self::NoSuchUnit { units: units(raw) },
            "not_for_sale" => Self::NotForSale { units: units(raw) },
            "too_many_holds" => Self::TooManyHolds { retry_after: problem.retry_after },
            "too_many_units" => Self::TooManyUnits,
            "unit_taken" => Self::UnitTaken { units: units(raw) },
            "orphan_left" => Self::OrphanLeft { units: units(raw) },
            "no_such_hold" => Self::NoSuchHold,
            "not_yours" => Self::NotYours,
            "hold_expired" => Self::HoldExpired,
            "hold_released" => Self::HoldReleased,
            "refund_due" => Self::RefundDue { at: text("at"), units: units(raw) },
            "already_confirmed" => Self::AlreadyConfirmed,
            "not_held" => Self::NotHeld { units: units(raw) },
            "not_seated" => Self::NotSeated,
            "bad_seat" => Self::BadSeat { errors: errors(raw) },
            "too_many_bars" => Self::TooManyBars,
            "not_coded" => Self::NotCoded,
            "not_imported" => Self::NotImported,
            "claim_required" => Self::ClaimRequired,
            "no_code_key" => Self::NoCodeKey,
            "malformed" => Self::Malformed,
            "no_such_code" => Self::NoSuchCode,
            "not_issued" => Self::NotIssued,
            "subject_required" => Self::SubjectRequired,
            "already_redeemed" => Self::AlreadyRedeemed,
            "already_rolled_back" => Self::AlreadyRolledBack,
            "code_revoked" => Self::CodeRevoked,
            "code_suspended" => Self::CodeSuspended,
            "code_expired" => Self::CodeExpired,
            "code_used" => Self::CodeUsed,
            "code_reserved" => Self::CodeReserved,
            "reused_since" => Self::ReusedSince,
            "not_redeemed" => Self::NotRedeemed,
            "not_reserved" => Self::NotReserved,
            "too_many_references" => Self::TooManyReferences,
            "code_in_use" => Self::CodeInUse,
            "codes_valid" => Self::CodesValid,
            "import_open" => Self::ImportOpen,
            "no_such_import" => Self::NoSuchImport,
            "too_many_codes" => Self::TooManyCodes,
            "too_many_imports" => Self::TooManyImports,
            "too_many_reissues" => Self::TooManyReissues,
            "too_many_wrong_codes" => Self::TooManyWrongCodes { retry_after: problem.retry_after },
            "chunk_missing" => Self::ChunkMissing { next: number(raw, "next") },
            "import_incomplete" => Self::ImportIncomplete { lines: number(raw, "lines") },
            "bad_code" => Self::BadCode { errors: bad_codes(raw) },
            "reissued_since" => Self::ReissuedSince { issue: number(raw, "issue") },
            other if NOT_OF_THE_RULES.contains(&other) || problem.is_passing() => return None,
            other => Self::Other(other.to_owned()),
        })
    }
}

/// The units that a refusal names; what cannot be read is left out.
fn units(raw: &Value) -> Vec<HeldUnit> {
    let units = raw["units"].as_array().into_iter().flatten();
    units.filter_map(|unit| serde_json::from_value(unit.clone()).ok()).collect()
}

fn errors(raw: &Value) -> Vec<SeatError> {
    let errors = raw["errors"].as_array().into_iter().flatten();
    let read = |error: &Value| {
        Some(SeatError {
            line: error["line"].as_u64()?,
            pool: error["pool"].as_str().map(str::to_owned),
            why: error["why"].as_str()?.to_owned(),
        })
    };
    errors.filter_map(read).collect()
}

fn bad_codes(raw: &Value) -> Vec<CodeError> {
    let errors = raw["errors"].as_array().into_iter().flatten();
    let read = |error: &Value| {
        Some(CodeError { line: error["line"].as_u64()?, why: error["why"].as_str()?.to_owned() })
    };
    errors.filter_map(read).collect()
}

fn number<N: TryFrom<u64>>(raw: &Value, name: &str) -> Option<N> {
    raw[name].as_u64()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(status: u16, document: &Value) -> Option<Refusal> {
        Refusal::of(&Problem::read(status, document.to_string().as_bytes()).unwrap())
    }

    #[test]
    fn a_refusal_brings_what_its_document_says() {
        let opens_at = json!({"outcome": "not_open", "opens_at": "2027-03-01T01:00:00Z"});
        let when = Some("2027-03-01T01:00:00Z".to_owned());
        assert_eq!(read(409, &opens_at), Some(Refusal::NotOpen { opens_at: when }));

        let taken = json!({"outcome": "unit_taken", "units": [{"pool": "main", "unit": "A2"}]});
        let Some(Refusal::UnitTaken { units }) = read(409, &taken) else { panic!("it is taken") };
        assert_eq!(units[0].unit.as_deref(), Some("A2"));

        let seats =
            json!({"outcome": "bad_seat", "errors": [{"line": 2, "why": "has no name"}, {}]});
        let Some(Refusal::BadSeat { errors }) = read(422, &seats) else { panic!("it is bad") };
        assert_eq!((errors.len(), errors[0].line, &*errors[0].why), (1, 2, "has no name"));
    }

    #[test]
    fn what_is_new_is_a_refusal_and_what_fails_is_none() {
        let other = Some(Refusal::Other("moon_is_full".to_owned()));
        assert_eq!(read(409, &json!({"outcome": "moon_is_full"})), other);
        assert_eq!(read(503, &json!({"outcome": "moon_is_full"})), None);
        assert_eq!(read(503, &json!({"outcome": "unavailable"})), None);
        assert_eq!(read(401, &json!({"outcome": "unauthorized"})), None);
        // The rules decide it, though its status is that of a rate.
        let holds = read(429, &json!({"outcome": "too_many_holds", "retry_after_ms": 60000}));
        let minute = Some(Duration::from_secs(60));
        assert_eq!(holds, Some(Refusal::TooManyHolds { retry_after: minute }));
    }
}
