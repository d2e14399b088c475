//! Every answer that is not a success, in one table: outcome, status, whether and when to retry, and
//! whether anything may have changed.
//!
//! Refusals come from the rules, failures from outside of them, and request errors from a request
//! that never reached either.

mod codes;
pub(crate) mod problem;
pub(crate) mod respond;

use axum::http::StatusCode;
use firstcome_core::{CodeOutcome, CodeRefusal, Outcome, Refusal};

/// Whether a request without success may have changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing changed.
    None,
    /// It may have happened: send the same request again to learn the result.
    Unknown,
    /// A result was stored, once.
    Done,
}

impl Effect {
    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "no",
            Self::Unknown => "unknown",
            Self::Done => "yes",
        }
    }
}

/// The kind of an answer that is not a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The rules refused it.
    Refused(Refusal),
    /// A late payment must be given back: a result, but no success.
    RefundDue,
    /// The queue of waiting commands is full.
    Busy,
    /// More results wait for the ledger than this node may keep.
    OutboxFull,
    /// The store has no space.
    StoreFull,
    /// It was not sent to the store, or this node's state is too old to answer from.
    Unavailable,
    /// It was sent to the store and no answer came in time.
    Unknown,
    /// The space was moved to another store.
    SpaceMoved,
    /// The position that was sent belongs to an epoch that is over.
    StalePosition,
    /// The store has the space: there is nothing to seed.
    NothingLost,
    /// The space is at a lower level than the command.
    LevelTooLow,
    /// A server of the space, or the ledger, cannot read the level to which the space would be raised.
    LevelNotRead,
    /// The request does not have the form of this route.
    InvalidRequest,
    /// The subject neither waits for units of the pool nor has an offer.
    NotOnWaitlist,
    /// The subject is not acceptable.
    InvalidSubject,
    /// The settings are not acceptable.
    InvalidSettings,
    /// The campaign does not fit into the memory that this node may use.
    TooBigForMemory,
    /// The route does not accept this type of body.
    UnsupportedMediaType,
    /// The route has none of the types that the caller accepts.
    NotAcceptable,
    /// The body is too large.
    TooLarge,
    /// The body did not come in time.
    Timeout,
    /// No key, or an unknown one.
    Unauthorized,
    /// The team's own service refused it.
    NotEligible,
    /// The team's own service gave no answer.
    EligibilityUnknown,
    /// The subject token has expired.
    TokenExpired,
    /// The key may not do this.
    Forbidden,
    /// The origin of the page is not allowed.
    OriginNotAllowed,
    /// There is no such route.
    NoSuchRoute,
    /// The route does not take this method.
    MethodNotAllowed,
    /// The maximum of connections is open.
    TooManyConnections,
    /// A subject, a key or an address sends more requests than allowed.
    TooManyRequests,
    /// A subject, a key or this server has the maximum of event streams open.
    TooManyStreams,
    /// What was typed cannot be a code.
    Malformed,
    /// Lines of an import cannot be codes.
    BadCode,
    /// More codes were tried that do not exist than may be in a while.
    TooManyWrongCodes,
    /// The server has no key to make the codes of a pool with.
    NoCodeKey,
    /// The server writes no ledger.
    NoLedger,
    /// There is no such webhook.
    NoSuchWebhook,
    /// The space has the maximum of webhooks.
    TooManyWebhooks,
}

/// Returns every outcome of an answer, once: successes first.
pub fn outcomes() -> impl Iterator<Item = &'static str> {
    // Ticks and settle marks are the nodes' own; what is to be refunded is no yes on the wire.
    let not_of_requests = ["ticked", "settled", "refund_due"];
    let yeses = Outcome::YES.into_iter().filter(move |yes| !not_of_requests.contains(yes));
    let yeses = yeses.chain(CodeOutcome::ALL);
    yeses.chain(["minted"]).chain(Code::all().map(|code| code.row().outcome))
}

/// The form of a code in an answer, and its meaning for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The stable string.
    pub outcome: &'static str,
    /// The HTTP status.
    pub status: StatusCode,
    /// Whether the same request may succeed later although nobody does anything else.
    pub retry: bool,
    /// The seconds after which to try again, if known.
    pub retry_after: Option<u64>,
    /// Whether anything may have changed.
    pub effect: Effect,
    /// One sentence for people.
    pub title: &'static str,
}

/// The retry column of the tables: whether to try again, and after how many seconds.
type Retry = (bool, Option<u64>);
const NO: Retry = (false, None);
const LATER: Retry = (true, None);
const IN_1_S: Retry = (true, Some(1));
const IN_1_MIN: Retry = (true, Some(60));

impl Code {
    /// Every code once.
    pub fn all() -> impl Iterator<Item = Self> {
        let of_codes = CodeRefusal::ALL.into_iter().map(Refusal::Code);
        Refusal::ALL.into_iter().chain(of_codes).map(Self::Refused).chain([
            Self::RefundDue,
            Self::Busy,
            Self::OutboxFull,
            Self::StoreFull,
            Self::Unavailable,
            Self::Unknown,
            Self::SpaceMoved,
            Self::StalePosition,
            Self::NothingLost,
            Self::LevelTooLow,
            Self::LevelNotRead,
            Self::InvalidRequest,
            Self::NotOnWaitlist,
            Self::InvalidSubject,
            Self::InvalidSettings,
            Self::TooBigForMemory,
            Self::UnsupportedMediaType,
            Self::NotAcceptable,
            Self::TooLarge,
            Self::Timeout,
            Self::Unauthorized,
            Self::NotEligible,
            Self::EligibilityUnknown,
            Self::TokenExpired,
            Self::Forbidden,
            Self::OriginNotAllowed,
            Self::NoSuchRoute,
            Self::MethodNotAllowed,
            Self::TooManyConnections,
            Self::TooManyRequests,
            Self::TooManyStreams,
            Self::Malformed,
            Self::BadCode,
            Self::TooManyWrongCodes,
            Self::NoCodeKey,
            Self::NoLedger,
            Self::NoSuchWebhook,
            Self::TooManyWebhooks,
        ])
    }

    /// Returns the row of the table.
    #[rustfmt::skip]
    pub fn row(self) -> Row {
        use Effect::{None as Nothing, Unknown as May};
        use StatusCode as S;
        let (outcome, status, (retry, retry_after), effect, title) = match self {
            Self::Refused(refusal) => return refusal_row(refusal),
            //                             on the wire               status                     retry   effect        title
            Self::RefundDue            => ("refund_due",             S::CONFLICT,               NO,     Effect::Done, "It was paid for too late and cannot be had any more: give back what was paid"),
            Self::Busy                 => ("busy",                   S::TOO_MANY_REQUESTS,      IN_1_S, Nothing,      "Too many commands are waiting"),
            Self::OutboxFull           => ("outbox_full",            S::TOO_MANY_REQUESTS,      IN_1_S, Nothing,      "Too many results wait for the ledger"),
            Self::StoreFull            => ("store_full",             S::INSUFFICIENT_STORAGE,   IN_1_S, Nothing,      "The store has no room"),
            Self::Unavailable          => ("unavailable",            S::SERVICE_UNAVAILABLE,    IN_1_S, Nothing,      "This node cannot answer now"),
            Self::Unknown              => ("unknown",                S::SERVICE_UNAVAILABLE,    IN_1_S, May,          "No answer came in time: it may have happened"),
            Self::SpaceMoved           => ("space_moved",            S::GONE,                   NO,     Nothing,      "The space was moved to another store: servers on that one answer"),
            Self::StalePosition        => ("stale_position",         S::CONFLICT,               NO,     Nothing,      "The position belongs to an epoch that is over"),
            Self::NothingLost          => ("nothing_lost",           S::CONFLICT,               NO,     Nothing,      "The store has this space: there is nothing to seed"),
            Self::LevelTooLow          => ("level_too_low",          S::CONFLICT,               NO,     Nothing,      "The space is at a lower level than this needs"),
            Self::LevelNotRead         => ("level_not_read",         S::CONFLICT,               NO,     Nothing,      "A server or the ledger cannot read the level to raise to"),
            Self::InvalidRequest       => ("invalid_request",        S::BAD_REQUEST,            NO,     Nothing,      "The request is not of the form this route takes"),
            Self::NotOnWaitlist        => ("not_on_waitlist",        S::NOT_FOUND,              NO,     Nothing,      "The subject is not on the waitlist"),
            Self::InvalidSubject       => ("invalid_subject",        S::UNPROCESSABLE_ENTITY,   NO,     Nothing,      "The subject is not acceptable"),
            Self::InvalidSettings      => ("invalid_settings",       S::UNPROCESSABLE_ENTITY,   NO,     Nothing,      "The settings are not acceptable"),
            Self::TooBigForMemory      => ("too_big_for_memory",     S::UNPROCESSABLE_ENTITY,   NO,     Nothing,      "The campaign would not fit this node's memory"),
            Self::UnsupportedMediaType => ("unsupported_media_type", S::UNSUPPORTED_MEDIA_TYPE, NO,     Nothing,      "The body is not of a type this route takes"),
            Self::NotAcceptable        => ("not_acceptable",         S::NOT_ACCEPTABLE,         NO,     Nothing,      "None of the accepted types can be given"),
            Self::TooLarge             => ("too_large",              S::PAYLOAD_TOO_LARGE,      NO,     Nothing,      "The body is too large"),
            Self::Timeout              => ("timeout",                S::REQUEST_TIMEOUT,        LATER,  Nothing,      "The body did not come in time"),
            Self::Unauthorized         => ("unauthorized",           S::UNAUTHORIZED,           NO,     Nothing,      "A known key is needed"),
            Self::NotEligible          => ("not_eligible",           S::FORBIDDEN,              NO,     Nothing,      "The campaign's own check says no"),
            Self::EligibilityUnknown   => ("eligibility_unknown",    S::SERVICE_UNAVAILABLE,    IN_1_S, Nothing,      "The campaign's own check gave no answer"),
            Self::TokenExpired         => ("token_expired",          S::UNAUTHORIZED,           NO,     Nothing,      "The subject token is not good any more"),
            Self::Forbidden            => ("forbidden",              S::FORBIDDEN,              NO,     Nothing,      "The key may not do this"),
            Self::OriginNotAllowed     => ("origin_not_allowed",     S::FORBIDDEN,              NO,     Nothing,      "Pages of this origin may not call"),
            Self::NoSuchRoute          => ("no_such_route",          S::NOT_FOUND,              NO,     Nothing,      "There is no such route"),
            Self::MethodNotAllowed     => ("method_not_allowed",     S::METHOD_NOT_ALLOWED,     NO,     Nothing,      "The route does not take this method"),
            Self::TooManyConnections   => ("too_many_connections",   S::SERVICE_UNAVAILABLE,    IN_1_S, Nothing,      "As many connections are open as may be"),
            Self::TooManyRequests      => ("too_many_requests",      S::TOO_MANY_REQUESTS,      IN_1_S, Nothing,      "More requests came than may come in a while"),
            Self::Malformed            => ("malformed",              S::UNPROCESSABLE_ENTITY,   NO,     Nothing,      "What was typed cannot be a code"),
            Self::BadCode              => ("bad_code",               S::UNPROCESSABLE_ENTITY,   NO,     Nothing,      "Lines of the import cannot be codes"),
            Self::TooManyWrongCodes    => ("too_many_wrong_codes",   S::TOO_MANY_REQUESTS,      IN_1_MIN, Nothing,    "More codes were tried that do not exist than may be in a while"),
            Self::NoCodeKey            => ("no_code_key",            S::CONFLICT,               NO,     Nothing,      "The server has no key to make the codes with"),
            Self::NoLedger             => ("no_ledger",              S::CONFLICT,               NO,     Nothing,      "The server writes no ledger"),
            Self::NoSuchWebhook        => ("no_such_webhook",        S::NOT_FOUND,              NO,     Nothing,      "There is no such webhook"),
            Self::TooManyWebhooks      => ("too_many_webhooks",      S::CONFLICT,               NO,     Nothing,      "The space has as many webhooks as one may"),
            Self::TooManyStreams       => ("too_many_streams",       S::TOO_MANY_REQUESTS,      IN_1_S, Nothing,      "As many streams of events are open as may be"),
        };
        Row { outcome, status, retry, retry_after, effect, title }
    }

    /// Returns the code of a stable string.
    pub fn of(outcome: &str) -> Option<Self> {
        Self::all().find(|code| code.row().outcome == outcome)
    }
}

#[rustfmt::skip]
fn refusal_row(refusal: Refusal) -> Row {
    use StatusCode as S;
    let (status, (retry, retry_after), title) = match refusal {
        Refusal::Code(refusal)          => return codes::row(refusal),
        //                                  status                   retry     title
        Refusal::NotFound(_)            => (S::NOT_FOUND,            NO,       "There is no such campaign or pool"),
        Refusal::Archived               => (S::GONE,                 NO,       "The campaign is finished and has left memory"),
        Refusal::PoolRequired           => (S::BAD_REQUEST,          NO,       "The campaign has several pools: name one"),
        Refusal::AlreadyCancelled       => (S::CONFLICT,             NO,       "The subject's claim was cancelled, and nobody may claim again here"),
        Refusal::Barred                 => (S::FORBIDDEN,            NO,       "An operator barred this subject from the campaign"),
        Refusal::Paused                 => (S::CONFLICT,             LATER,    "The campaign is paused"),
        Refusal::NotOpen { .. }         => (S::CONFLICT,             LATER,    "The campaign has not opened yet"),
        Refusal::Closed                 => (S::GONE,                 NO,       "The campaign is over"),
        Refusal::LimitReached           => (S::CONFLICT,             NO,       "The subject has as many units as one may have, or had 1,000 claims of the pool"),
        Refusal::SoldOut                => (S::CONFLICT,             NO,       "No unit is left"),
        Refusal::NoSuchClaim            => (S::NOT_FOUND,            NO,       "The subject has no such claim"),
        Refusal::IdReused               => (S::UNPROCESSABLE_ENTITY, NO,       "The id was used for a command with other content"),
        Refusal::VersionMismatch { .. } => (S::PRECONDITION_FAILED,  NO,       "The campaign is at another version"),
        Refusal::NotChangeable(_)       => (S::CONFLICT,             NO,       "This cannot change any more"),
        Refusal::ClosesTooEarly         => (S::UNPROCESSABLE_ENTITY, NO,       "The closing time is not after the opening time and now"),
        Refusal::NotClosed              => (S::CONFLICT,             NO,       "Only a closed campaign can be archived"),
        Refusal::Unsettled              => (S::CONFLICT,             LATER,    "Some results of the campaign are not settled yet"),
        Refusal::BeyondResults          => (S::CONFLICT,             NO,       "The number lies beyond the last result"),
        Refusal::HoldRequired           => (S::CONFLICT,             NO,       "Units of a seated pool are held first"),
        Refusal::HasHold                => (S::CONFLICT,             NO,       "The subject has a live hold, and one may have one at a time"),
        Refusal::NoSuchUnit             => (S::NOT_FOUND,            NO,       "There is no such seat, area or group"),
        Refusal::NotForSale             => (S::CONFLICT,             NO,       "The unit is not for sale"),
        Refusal::TooManyHolds           => (S::TOO_MANY_REQUESTS,    IN_1_MIN, "The subject started as many holds in the last hour as one may"),
        Refusal::TooManyUnits           => (S::UNPROCESSABLE_ENTITY, NO,       "One hold cannot have as many units"),
        Refusal::UnitTaken              => (S::CONFLICT,             LATER,    "Somebody has the unit"),
        Refusal::OrphanLeft             => (S::CONFLICT,             NO,       "A single free seat would be left"),
        Refusal::NoSuchHold             => (S::NOT_FOUND,            NO,       "There is no such hold"),
        Refusal::NotYours               => (S::FORBIDDEN,            NO,       "The hold or the code is another subject's"),
        Refusal::HoldExpired            => (S::GONE,                 NO,       "The hold's time is over"),
        Refusal::HoldReleased           => (S::GONE,                 NO,       "The hold was given back"),
        Refusal::AlreadyConfirmed       => (S::CONFLICT,             NO,       "The units are the subject's for good already"),
        Refusal::NotHeld                => (S::CONFLICT,             NO,       "The unit is not held"),
        Refusal::NotSeated              => (S::CONFLICT,             NO,       "The pool has no seats"),
        Refusal::BadSeat                => (S::UNPROCESSABLE_ENTITY, NO,       "A seat or an area cannot be as wanted"),
        Refusal::TooManyBars            => (S::CONFLICT,             NO,       "As many subjects are barred from the campaign as may be"),
        Refusal::HasResults             => (S::CONFLICT,             NO,       "The campaign has results: it can be archived, not deleted"),
        Refusal::NoWaitlist             => (S::CONFLICT,             NO,       "The pool has no waitlist"),
        Refusal::WaitlistFull           => (S::CONFLICT,             NO,       "As many wait for the pool as may"),
        Refusal::TooManyWishes          => (S::CONFLICT,             NO,       "Those who wait for several units want as many different things as they may"),
        Refusal::IsOffer                => (S::CONFLICT,             NO,       "The hold is an offer, which is taken or left as it is"),
    };
    Row { outcome: refusal.as_str(), status, retry, retry_after, effect: Effect::None, title }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_has_a_string_of_its_own_and_is_found_by_it() {
        let strings: BTreeSet<_> = Code::all().map(|code| code.row().outcome).collect();
        assert_eq!(strings.len(), Code::all().count());
        for code in Code::all() {
            assert_eq!(Code::of(code.row().outcome), Some(code));
            assert!(code.row().status.as_u16() >= 400);
        }
    }
}
