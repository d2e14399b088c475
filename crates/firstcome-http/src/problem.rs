//! Every answer that is not a yes, as a problem document (RFC 9457).

use super::claims::{full, written};
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, header};
use axum::response::IntoResponse;
use firstcome_api::answer::{Code, Effect};
use firstcome_api::clock_text;
use firstcome_core::names::Position;
use firstcome_core::outcome::{Missing, RefusedFor, UnitName};
use firstcome_core::{Outcome, Refusal};
use firstcome_node::Failure;
use firstcome_node::{Answer, Decided};
use http_body_util::Full;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use std::time::Duration;

/// The media type of a problem document.
pub(super) const MEDIA_TYPE: &str = "application/problem+json";

/// An answer that is not a yes, on its way out.
#[derive(Debug)]
pub(super) struct Problem {
    code: Code,
    detail: String,
    position: Option<Position>,
    decided: Option<Decided>,
    extra: Vec<(&'static str, Value)>,
    retry_after: Option<u64>,
    /// Whether an earlier part of the same request was done.
    partly: bool,
}

impl Problem {
    pub(super) fn new(code: Code, detail: impl Into<String>) -> Self {
        let retry_after = match code {
            Code::Busy
            | Code::OutboxFull
            | Code::StoreFull
            | Code::Unavailable
            | Code::Unknown
            | Code::TooManyConnections
            | Code::TooManyRequests
            | Code::EligibilityUnknown => Some(1),
            Code::Refused(Refusal::TooManyHolds) => Some(60),
            Code::Refused(_)
            | Code::RefundDue
            | Code::StalePosition
            | Code::NothingLost
            | Code::InvalidRequest
            | Code::InvalidSubject
            | Code::InvalidSettings
            | Code::TooBigForMemory
            | Code::UnsupportedMediaType
            | Code::NotAcceptable
            | Code::TooLarge
            | Code::Timeout
            | Code::Unauthorized
            | Code::NotEligible
            | Code::TokenExpired
            | Code::Forbidden
            | Code::NoSuchRoute
            | Code::MethodNotAllowed => None,
        };
        let detail = detail.into();
        let (position, decided, extra) = (None, None, Vec::new());
        Self { code, detail, position, decided, extra, retry_after, partly: false }
    }

    pub(super) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, detail)
    }

    /// Gives a refusal of the rules with what it carries.
    pub(super) fn refused(refusal: Refusal, campaign: &str) -> Self {
        let mut extra = vec![("campaign", json!(campaign))];
        let detail = match refusal {
            Refusal::NotFound(Missing::Campaign) => format!("there is no campaign {campaign:?}"),
            Refusal::NotFound(Missing::Pool) => {
                format!("campaign {campaign:?} has no such pool")
            }
            Refusal::NotOpen { opens_at: None } => {
                format!("campaign {campaign:?} is a draft: no opening time is decided")
            }
            Refusal::NotOpen { opens_at: Some(opens_at) } => {
                let opens_at = clock_text::rfc3339(opens_at);
                extra.push(("opens_at", json!(opens_at)));
                format!("campaign {campaign:?} opens at {opens_at}")
            }
            Refusal::VersionMismatch { version } => {
                extra.push(("version", json!(version)));
                format!("campaign {campaign:?} exists and is at version {version}")
            }
            Refusal::NotChangeable(fixed) => {
                extra.push(("field", json!(fixed.as_str())));
                format!("{} cannot change: campaign {campaign:?} has opened", fixed.as_str())
            }
            Refusal::Archived
            | Refusal::PoolRequired
            | Refusal::AlreadyCancelled
            | Refusal::NotAdmitted
            | Refusal::Paused
            | Refusal::Closed
            | Refusal::LimitReached
            | Refusal::SoldOut
            | Refusal::NoSuchClaim
            | Refusal::IdReused
            | Refusal::ClosesTooEarly
            | Refusal::NotClosed
            | Refusal::Unsettled
            | Refusal::BeyondResults
            | Refusal::HoldRequired
            | Refusal::HasHold
            | Refusal::NoSuchUnit
            | Refusal::NotForSale
            | Refusal::TooManyHolds
            | Refusal::TooManyUnits
            | Refusal::UnitTaken
            | Refusal::OrphanLeft
            | Refusal::NoSuchHold
            | Refusal::NotYours
            | Refusal::HoldExpired
            | Refusal::HoldReleased
            | Refusal::AlreadyConfirmed
            | Refusal::NotHeld
            | Refusal::NotSeated
            | Refusal::BadSeat => {
                let title = Code::Refused(refusal).row().title;
                format!("{title}: campaign {campaign:?}")
            }
        };
        Self { extra, ..Self::new(Code::Refused(refusal), detail) }
    }

    /// Gives a refusal that names a hold or units.
    pub(super) fn refused_for(named: &RefusedFor, campaign: &str) -> Self {
        let RefusedFor { refusal, hold, units, seat } = named;
        let mut problem = Self::refused(*refusal, campaign);
        if let Some(hold) = hold {
            problem = problem.with("hold", json!(hold));
        }
        if !units.is_empty() {
            let unit = |unit: &UnitName| json!({"pool": unit.pool, "unit": unit.unit});
            problem = problem.with("units", units.iter().map(unit).collect());
        }
        if let Some(bad) = seat {
            problem.detail = bad.to_string();
        }
        problem
    }

    pub(super) fn failed(failure: &Failure) -> Self {
        let detail = match failure {
            Failure::Unavailable(why) => format!("{why}; nothing changed"),
            Failure::Unknown => "the command was sent to the journal and no answer came in time: \
                 send it again with the same identity to learn what happened"
                .to_owned(),
            Failure::Busy | Failure::OutboxFull | Failure::StoreFull | Failure::StalePosition => {
                format!("{}; nothing changed", code_of(failure).row().title)
            }
        };
        Self::new(code_of(failure), detail)
    }

    pub(super) fn at(mut self, position: Position, decided: Decided) -> Self {
        self.position = Some(position);
        self.decided = Some(decided);
        self
    }

    pub(super) fn with(mut self, name: &'static str, value: Value) -> Self {
        self.extra.push((name, value));
        self
    }

    /// Says that an earlier part of the request was done.
    pub(super) fn partly(mut self, what: &str) -> Self {
        self.detail = format!("{what}: {}", self.detail.trim_end_matches("; nothing changed"));
        self.partly = true;
        self
    }

    /// Says when to ask again, in whole seconds and no sooner than that.
    pub(super) fn after(mut self, wait: Duration) -> Self {
        let begun = u64::from(wait.subsec_nanos() > 0);
        self.retry_after = Some((wait.as_secs() + begun).max(1));
        self
    }

    /// Gives the sentence for people.
    pub(super) fn detail(&self) -> &str {
        &self.detail
    }

    pub(super) fn outcome(&self) -> &'static str {
        self.code.row().outcome
    }

    /// Gives the document as JSON.
    pub(super) fn document(&self) -> Vec<u8> {
        written(self)
    }

    pub(super) fn response(&self) -> Response<Full<Bytes>> {
        let mut response = full(self.code.row().status, MEDIA_TYPE, self.document());
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == Code::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        } else if self.code == Code::TokenExpired {
            let why = HeaderValue::from_static("Bearer error=\"invalid_token\"");
            headers.insert(header::WWW_AUTHENTICATE, why);
        }
        response
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.code.row();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &format_args!("/problems/{}", row.outcome))?;
        map.serialize_entry("title", row.title)?;
        map.serialize_entry("status", &row.status.as_u16())?;
        map.serialize_entry("detail", &self.detail)?;
        map.serialize_entry("outcome", row.outcome)?;
        map.serialize_entry("retry", &row.retry)?;
        let effect = if self.partly { Effect::Done } else { row.effect };
        map.serialize_entry("changed", effect.as_str())?;
        if let Some(position) = self.position {
            map.serialize_entry("position", &format_args!("{position}"))?;
        }
        if let Some(decided) = self.decided {
            map.serialize_entry("decided", decided.as_str())?;
        }
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        self.response().map(Body::new)
    }
}

/// Gives the code of a failure.
fn code_of(failure: &Failure) -> Code {
    match failure {
        Failure::Busy => Code::Busy,
        Failure::OutboxFull => Code::OutboxFull,
        Failure::StoreFull => Code::StoreFull,
        Failure::Unavailable(_) => Code::Unavailable,
        Failure::Unknown => Code::Unknown,
        Failure::StalePosition => Code::StalePosition,
    }
}

/// Turns an answer into its yes, or into the problem it is.
pub(super) fn yes(answer: Result<Answer, Failure>, campaign: &str) -> Result<Answer, Problem> {
    let answer = answer.map_err(|failure| Problem::failed(&failure))?;
    match &answer.outcome {
        Outcome::Refused(refusal) => {
            Err(Problem::refused(*refusal, campaign).at(answer.position, answer.decided))
        }
        Outcome::RefusedFor(named) => {
            Err(Problem::refused_for(named, campaign).at(answer.position, answer.decided))
        }
        Outcome::Held(_)
        | Outcome::AlreadyHeld(_)
        | Outcome::Extended { .. }
        | Outcome::Released(_)
        | Outcome::Confirmed(_)
        | Outcome::RefundDue(_)
        | Outcome::Imported { .. }
        | Outcome::Blocked { .. }
        | Outcome::Unblocked { .. }
        | Outcome::Moved(_)
        | Outcome::Won { .. }
        | Outcome::AlreadyWon { .. }
        | Outcome::Cancelled { .. }
        | Outcome::Created { .. }
        | Outcome::Changed { .. }
        | Outcome::Unchanged { .. }
        | Outcome::Ticked
        | Outcome::Settled { .. } => Ok(answer),
    }
}
