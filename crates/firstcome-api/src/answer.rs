//! Every answer that is not a yes, on one page: how it looks on the wire, whether to retry, and
//! whether anything may have changed.
//!
//! Refusals come from the rules, failures from outside of them, and request errors from a request
//! that never reached either.

use firstcome_core::Refusal;
use http::StatusCode;

/// Whether a request that was not answered with a yes may have changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing changed.
    None,
    /// It may have happened: ask again with the same identity to learn.
    Unknown,
    /// It was taken down for good, once.
    Done,
}

impl Effect {
    /// Gives the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "no",
            Self::Unknown => "unknown",
            Self::Done => "yes",
        }
    }
}

/// What kind of answer that is not a yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The rules said no.
    Refused(Refusal),
    /// What was paid for too late is to be given back: a result, and nobody's yes.
    RefundDue,
    /// The queue of waiting commands is full.
    Busy,
    /// More results wait for the ledger than this node may keep.
    OutboxFull,
    /// The store has no room.
    StoreFull,
    /// It was not sent to the store, or this node's state is too old to answer from.
    Unavailable,
    /// It was sent to the store and no answer came in time.
    Unknown,
    /// The position that was sent belongs to an epoch that is over.
    StalePosition,
    /// The store has the space: there is nothing to seed.
    NothingLost,
    /// The request is not of the form this route takes.
    InvalidRequest,
    /// The subject is not acceptable.
    InvalidSubject,
    /// The settings are not acceptable.
    InvalidSettings,
    /// The campaign would not fit the memory this node may use.
    TooBigForMemory,
    /// The body is not of a type this route takes.
    UnsupportedMediaType,
    /// None of the types the caller accepts can be given.
    NotAcceptable,
    /// The body is too large.
    TooLarge,
    /// The body did not come in time.
    Timeout,
    /// No key, or one that is not known.
    Unauthorized,
    /// The team's own service says no.
    NotEligible,
    /// What the team's own service says is not known.
    EligibilityUnknown,
    /// The time of the subject token is over.
    TokenExpired,
    /// The key may not do this.
    Forbidden,
    /// There is no such route.
    NoSuchRoute,
    /// The route does not take this method.
    MethodNotAllowed,
    /// As many connections are open as may be.
    TooManyConnections,
    /// A subject, a key or an address asks more often than it may.
    TooManyRequests,
}

/// How a code looks on the wire and what it means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The stable string.
    pub outcome: &'static str,
    /// The HTTP status.
    pub status: StatusCode,
    /// Whether the same request may succeed later without anything else being done.
    pub retry: bool,
    /// Whether anything may have changed.
    pub effect: Effect,
    /// One sentence for people.
    pub title: &'static str,
}

impl Code {
    /// Every code once.
    pub fn all() -> impl Iterator<Item = Self> {
        Refusal::ALL.into_iter().map(Self::Refused).chain([
            Self::RefundDue,
            Self::Busy,
            Self::OutboxFull,
            Self::StoreFull,
            Self::Unavailable,
            Self::Unknown,
            Self::StalePosition,
            Self::NothingLost,
            Self::InvalidRequest,
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
            Self::NoSuchRoute,
            Self::MethodNotAllowed,
            Self::TooManyConnections,
            Self::TooManyRequests,
        ])
    }

    /// Gives the row of the table.
    #[rustfmt::skip]
    pub fn row(self) -> Row {
        use Effect::{None as No, Unknown as May};
        use StatusCode as S;
        let (outcome, status, retry, effect, title) = match self {
            Self::Refused(refusal) => return refusal_row(refusal),
            //                        on the wire               status                      retry  effect title
            Self::RefundDue        => ("refund_due",            S::CONFLICT,                false, Effect::Done, "It was paid for too late and cannot be had any more: give back what was paid"),
            Self::Busy             => ("busy",                  S::TOO_MANY_REQUESTS,       true,  No,  "Too many commands are waiting"),
            Self::OutboxFull       => ("outbox_full",           S::TOO_MANY_REQUESTS,       true,  No,  "Too many results wait for the ledger"),
            Self::StoreFull        => ("store_full",            S::INSUFFICIENT_STORAGE,    true,  No,  "The store has no room"),
            Self::Unavailable      => ("unavailable",           S::SERVICE_UNAVAILABLE,     true,  No,  "This node cannot answer now"),
            Self::Unknown          => ("unknown",               S::SERVICE_UNAVAILABLE,     true,  May, "No answer came in time: it may have happened"),
            Self::StalePosition    => ("stale_position",        S::CONFLICT,                false, No,  "The position belongs to an epoch that is over"),
            Self::NothingLost      => ("nothing_lost",          S::CONFLICT,                false, No,  "The store has this space: there is nothing to seed"),
            Self::InvalidRequest   => ("invalid_request",       S::BAD_REQUEST,             false, No,  "The request is not of the form this route takes"),
            Self::InvalidSubject   => ("invalid_subject",       S::UNPROCESSABLE_ENTITY,    false, No,  "The subject is not acceptable"),
            Self::InvalidSettings  => ("invalid_settings",      S::UNPROCESSABLE_ENTITY,    false, No,  "The settings are not acceptable"),
            Self::TooBigForMemory  => ("too_big_for_memory",    S::UNPROCESSABLE_ENTITY,    false, No,  "The campaign would not fit this node's memory"),
            Self::UnsupportedMediaType => ("unsupported_media_type", S::UNSUPPORTED_MEDIA_TYPE, false, No, "The body is not of a type this route takes"),
            Self::NotAcceptable    => ("not_acceptable",        S::NOT_ACCEPTABLE,          false, No,  "None of the accepted types can be given"),
            Self::TooLarge         => ("too_large",             S::PAYLOAD_TOO_LARGE,       false, No,  "The body is too large"),
            Self::Timeout          => ("timeout",               S::REQUEST_TIMEOUT,         true,  No,  "The body did not come in time"),
            Self::Unauthorized     => ("unauthorized",          S::UNAUTHORIZED,            false, No,  "A known key is needed"),
            Self::NotEligible      => ("not_eligible",          S::FORBIDDEN,               false, No,  "The campaign's own check says no"),
            Self::EligibilityUnknown => ("eligibility_unknown", S::SERVICE_UNAVAILABLE,     true,  No,  "The campaign's own check gave no answer"),
            Self::TokenExpired     => ("token_expired",         S::UNAUTHORIZED,            false, No,  "The subject token is not good any more"),
            Self::Forbidden        => ("forbidden",             S::FORBIDDEN,               false, No,  "The key may not do this"),
            Self::NoSuchRoute      => ("no_such_route",         S::NOT_FOUND,               false, No,  "There is no such route"),
            Self::MethodNotAllowed => ("method_not_allowed",    S::METHOD_NOT_ALLOWED,      false, No,  "The route does not take this method"),
            Self::TooManyConnections => ("too_many_connections", S::SERVICE_UNAVAILABLE,    true,  No,  "As many connections are open as may be"),
            Self::TooManyRequests  => ("too_many_requests",     S::TOO_MANY_REQUESTS,       true,  No,  "More requests came than may come in a while"),
        };
        Row { outcome, status, retry, effect, title }
    }

    /// Gives the code of a stable string.
    pub fn of(outcome: &str) -> Option<Self> {
        Self::all().find(|code| code.row().outcome == outcome)
    }
}

#[rustfmt::skip]
fn refusal_row(refusal: Refusal) -> Row {
    use StatusCode as S;
    let (status, retry, title) = match refusal {
        //                                  status                      retry  title
        Refusal::NotFound(_)            => (S::NOT_FOUND,               false, "There is no such campaign or pool"),
        Refusal::Archived               => (S::GONE,                    false, "The campaign is finished and has left memory"),
        Refusal::PoolRequired           => (S::BAD_REQUEST,             false, "The campaign has several pools: name one"),
        Refusal::AlreadyCancelled       => (S::CONFLICT,                false, "The subject cancelled, and nobody may claim again here"),
        Refusal::NotAdmitted            => (S::FORBIDDEN,               false, "The operator cancelled a claim of this subject"),
        Refusal::Paused                 => (S::CONFLICT,                true,  "The campaign is paused"),
        Refusal::NotOpen { .. }         => (S::CONFLICT,                true,  "The campaign has not opened yet"),
        Refusal::Closed                 => (S::GONE,                    false, "The campaign is over"),
        Refusal::LimitReached           => (S::CONFLICT,                false, "The subject has as many units as one may have"),
        Refusal::SoldOut                => (S::CONFLICT,                false, "No unit is left"),
        Refusal::NoSuchClaim            => (S::NOT_FOUND,               false, "The subject has no such claim"),
        Refusal::IdReused               => (S::UNPROCESSABLE_ENTITY,    false, "The id was used for a command with other content"),
        Refusal::VersionMismatch { .. } => (S::PRECONDITION_FAILED,     false, "The campaign is at another version"),
        Refusal::NotChangeable(_)       => (S::CONFLICT,                false, "This cannot change once the campaign has opened"),
        Refusal::ClosesTooEarly         => (S::UNPROCESSABLE_ENTITY,    false, "The closing time is not after the opening time and now"),
        Refusal::NotClosed              => (S::CONFLICT,                false, "Only a closed campaign can be archived"),
        Refusal::Unsettled              => (S::CONFLICT,                true,  "Some results of the campaign are not settled yet"),
        Refusal::BeyondResults          => (S::CONFLICT,                false, "The number lies beyond the last result"),
        Refusal::HoldRequired           => (S::CONFLICT,                false, "Units of a seated pool are held first"),
        Refusal::HasHold                => (S::CONFLICT,                false, "The subject has a live hold, and one may have one at a time"),
        Refusal::NoSuchUnit             => (S::NOT_FOUND,               false, "There is no such seat, area or group"),
        Refusal::NotForSale             => (S::CONFLICT,                false, "The unit is not for sale"),
        Refusal::TooManyHolds           => (S::TOO_MANY_REQUESTS,       true,  "The subject started as many holds in the last hour as one may"),
        Refusal::TooManyUnits           => (S::UNPROCESSABLE_ENTITY,    false, "One hold cannot have as many units"),
        Refusal::UnitTaken              => (S::CONFLICT,                true,  "Somebody has the unit"),
        Refusal::OrphanLeft             => (S::CONFLICT,                false, "A single free seat would be left"),
        Refusal::NoSuchHold             => (S::NOT_FOUND,               false, "There is no such hold"),
        Refusal::NotYours               => (S::FORBIDDEN,               false, "The hold is another subject's"),
        Refusal::HoldExpired            => (S::GONE,                    false, "The hold's time is over"),
        Refusal::HoldReleased           => (S::GONE,                    false, "The hold was given back"),
        Refusal::AlreadyConfirmed       => (S::CONFLICT,                false, "The units are the subject's for good already"),
        Refusal::NotHeld                => (S::CONFLICT,                false, "The unit is not held"),
        Refusal::NotSeated              => (S::CONFLICT,                false, "The pool has no seats"),
        Refusal::BadSeat                => (S::UNPROCESSABLE_ENTITY,    false, "A seat or an area cannot be added"),
    };
    Row { outcome: refusal.as_str(), status, retry, effect: Effect::None, title }
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
