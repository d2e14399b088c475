//! Every answer that is not a yes, and its problem document.

use crate::answer::respond;
use crate::answer::{Code, Effect};
use crate::clock_text::{self, Text};
use crate::guard::rate::Rate;
use crate::server::base_path::BasePath;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use axum::response::IntoResponse;
use firstcome_api::problem::{self, Extra, MEDIA_TYPE};
use firstcome_core::names::Position;
use firstcome_core::outcome::{Missing, RefusedFor, UnitName};
use firstcome_core::{CodeRefusal, Refusal, limits};
use firstcome_node::{CommandError, Decided};
use http_body_util::Full;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a handler gives: a response, or a problem, which is counted and written in one place.
pub(crate) type HandlerResult = Result<Response<Body>, Problem>;

/// An answer that is not a yes, on its way out.
#[derive(Debug)]
pub(crate) struct Problem {
    code: Code,
    detail: String,
    position: Option<Position>,
    decided: Option<Decided>,
    extra: Vec<Extra>,
    retry_after: Option<u64>,
    /// Whether an earlier part of the same request was done.
    partly: bool,
    /// Whether it was asked for by a key, a token or an id that is not known: see `App::check_misses`.
    missed: bool,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            position: None,
            decided: None,
            extra: Vec::new(),
            retry_after: code.row().retry_after,
            partly: false,
            missed: code == Code::Unauthorized,
        }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, detail)
    }

    /// Returns a refusal of the rules with what it carries.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a refusal that carries nothing is said by its title"
    )]
    pub(crate) fn refused(refusal: Refusal, campaign: &str) -> Self {
        let (detail, carried) = match refusal {
            Refusal::NotFound(Missing::Campaign) => {
                (format!("there is no campaign {campaign:?}"), None)
            }
            Refusal::NotFound(Missing::Pool) => {
                (format!("campaign {campaign:?} has no such pool"), None)
            }
            Refusal::NotOpen { opens_at: None } => {
                (format!("campaign {campaign:?} is a draft: no opening time is decided"), None)
            }
            Refusal::NotOpen { opens_at: Some(opens_at) } => {
                let opens_at = clock_text::rfc3339(opens_at);
                let detail = format!("campaign {campaign:?} opens at {opens_at}");
                (detail, Some(("opens_at", json!(opens_at))))
            }
            Refusal::VersionMismatch { version } => {
                let detail = format!("campaign {campaign:?} exists and is at version {version}");
                (detail, Some(("version", json!(version))))
            }
            Refusal::NotChangeable(fixed) => {
                let fixed = fixed.as_str();
                let detail = format!("{fixed} cannot change: campaign {campaign:?} has opened");
                (detail, Some(("field", json!(fixed))))
            }
            Refusal::Code(refusal) => {
                let title = Code::Refused(Refusal::Code(refusal)).row().title;
                (format!("{title}: campaign {campaign:?}"), of_codes(refusal))
            }
            plain => {
                let title = Code::Refused(plain).row().title;
                (format!("{title}: campaign {campaign:?}"), None)
            }
        };
        let problem = Self::new(Code::Refused(refusal), detail).with("campaign", json!(campaign));
        match carried {
            Some((name, value)) => problem.with(name, value),
            None => problem,
        }
    }

    /// Returns a refusal that names a hold or units.
    pub(crate) fn refused_for(named: &RefusedFor, campaign: &str) -> Self {
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

    pub(crate) fn failed(failure: &CommandError) -> Self {
        let code = match failure {
            CommandError::Busy => Code::Busy,
            CommandError::OutboxFull => Code::OutboxFull,
            CommandError::StoreFull => Code::StoreFull,
            CommandError::TooLarge(bytes) => {
                let most = limits::COMMAND_BYTES;
                let detail = format!("the command has {bytes} bytes, {most} are the most");
                return Self::new(Code::TooLarge, detail);
            }
            CommandError::Malformed(what) => {
                return Self::new(Code::InvalidRequest, format!("the request has {what}"));
            }
            CommandError::LevelTooLow { level, needed } => {
                let detail = format!(
                    "this needs level {needed}, the space is at level {level}: an admin raises it with \
                     `firstcome nodes raise-level`; nothing changed"
                );
                return Self::new(Code::LevelTooLow, detail)
                    .with("level", json!(level))
                    .with("needed", json!(needed));
            }
            CommandError::SpaceMoved => Code::SpaceMoved,
            CommandError::StalePosition => Code::StalePosition,
            CommandError::Unavailable(why) => {
                return Self::new(Code::Unavailable, format!("{why}; nothing changed"));
            }
            CommandError::Unknown => {
                let detail = "no answer came in time, and the command may be in the journal: \
                     send it again with the same identity to learn what happened";
                return Self::new(Code::Unknown, detail);
            }
        };
        Self::new(code, format!("{}; nothing changed", code.row().title))
    }

    /// Says who asks too often, by which limit, and when to ask again.
    pub(crate) fn too_many(
        who: fmt::Arguments<'_>,
        limit: &'static str,
        rate: Rate,
        wait: Duration,
    ) -> Self {
        let detail = format!("{who} may ask {rate} (rate_{limit}); nothing changed");
        let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
        Self::new(Code::TooManyRequests, detail)
            .after(wait)
            .with("limit", json!(limit))
            .with("retry_after_ms", json!(millis))
    }

    pub(crate) fn at(mut self, position: Position, decided: Decided) -> Self {
        self.position = Some(position);
        self.decided = Some(decided);
        self
    }

    /// Says it in other words than those of its refusal.
    pub(crate) fn saying(mut self, detail: String) -> Self {
        self.detail = detail;
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: Value) -> Self {
        self.extra.push((name.into(), value));
        self
    }

    /// Says that an earlier part of the request was done.
    pub(crate) fn partly(mut self, what: &str) -> Self {
        self.detail = format!("{what}: {}", self.detail.trim_end_matches("; nothing changed"));
        self.partly = true;
        self
    }

    /// Says when to ask again, in whole seconds and no sooner than that.
    pub(crate) fn after(mut self, wait: Duration) -> Self {
        let begun = u64::from(wait.subsec_nanos() > 0);
        self.retry_after = Some((wait.as_secs() + begun).max(1));
        self
    }

    /// Says in the document when to ask again, where there is no header for it.
    pub(crate) fn with_retry_after(self) -> Self {
        match self.retry_after {
            Some(seconds) if !self.extra.iter().any(|(name, _)| name == "retry_after_ms") => {
                self.with("retry_after_ms", json!(seconds.saturating_mul(1_000)))
            }
            Some(_) | None => self,
        }
    }

    /// Returns the problem as a subject token is told it, whose bearer may be guessing ids: somebody else's hold is as one
    /// that is not there, and what is not there counts.
    pub(crate) fn without_owner(mut self, campaign: &str) -> Self {
        if self.code == Code::Refused(Refusal::NotYours) {
            let (position, decided) = (self.position, self.decided);
            self = Self { position, decided, ..Self::refused(Refusal::NoSuchHold, campaign) };
        }
        self.missed |= self.code == Code::Refused(Refusal::NoSuchHold);
        self
    }

    /// Says whether it answers what may be a guess.
    pub(crate) fn is_missed(&self) -> bool {
        self.missed
    }

    /// Returns the sentence for people.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    pub(crate) fn outcome(&self) -> &'static str {
        self.code.row().outcome
    }

    /// Returns the document as JSON, as a server under this path gives it.
    pub(crate) fn document(&self, base: &BasePath) -> Bytes {
        let row = self.code.row();
        let page = Text::<160>::of(&format_args!("{base}/problems/{}", row.outcome));
        let position = self.position.map(|position| Text::<64>::of(&position));
        let problem = problem::Problem {
            page: (&*page).into(),
            title: row.title.into(),
            status: row.status.as_u16(),
            detail: self.detail.as_str().into(),
            outcome: row.outcome.into(),
            retry: row.retry,
            changed: if self.partly { Effect::Done } else { row.effect }.as_str().into(),
            position: position.as_deref().map(Cow::from),
            decided: self.decided.map(|decided| decided.as_str().into()),
            extra: self.extra.as_slice().into(),
        };
        let ((), document) = respond::in_buffer(|out| respond::write(&problem, out));
        document
    }

    /// Returns the response of a server under this path, whose headers are in this empty table.
    pub(crate) fn response(&self, base: &BasePath, table: HeaderMap) -> Response<Full<Bytes>> {
        let (status, document) = (self.code.row().status, self.document(base));
        let mut response = respond::full(status, MEDIA_TYPE, document, table);
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

/// Returns what a refusal about codes carries.
fn of_codes(refusal: CodeRefusal) -> Option<(&'static str, Value)> {
    if let CodeRefusal::ChunkMissing { next } = refusal {
        return Some(("next", json!(next)));
    }
    if let CodeRefusal::ImportIncomplete { lines } = refusal {
        return Some(("lines", json!(lines)));
    }
    if let CodeRefusal::ReissuedSince { issue } = refusal {
        return Some(("issue", json!(issue)));
    }
    None
}

/// A problem that a handler gave and that is not written yet: a handler's answer does not know the server's path.
#[derive(Clone, Debug)]
pub(crate) struct Unwritten(pub(crate) Arc<Problem>);

/// What is to be counted of a problem that a handler gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToCount {
    pub(crate) outcome: &'static str,
    /// As [`Problem::is_missed`].
    pub(crate) missed: bool,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        let counted = ToCount { outcome: self.outcome(), missed: self.missed };
        response.extensions_mut().insert(counted);
        response.extensions_mut().insert(Unwritten(Arc::new(self)));
        response
    }
}
