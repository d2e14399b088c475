//! Subject tokens: minted for a back end, and checked where a browser may act for itself.

use super::auth::Key;
use super::claims::json;
use super::problem::Problem;
use super::request;
use crate::app::App;
use crate::guard::token::{Fault, MOST_SECONDS, Scope, SubjectToken};
use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::{HeaderMap, Response, StatusCode};
use firstcome_api::answer::Code;
use firstcome_api::clock_text;
use firstcome_api::key::Role;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;
use utoipa::ToSchema;

/// Who a token is to act for, and where.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenRequest<'a> {
    /// Whom its bearer acts for: 1 to 255 bytes of UTF-8 without control characters.
    #[serde(borrow)]
    subject: Cow<'a, str>,
    /// The campaign's name, or the beginning of names with `*` behind it.
    #[serde(borrow)]
    campaign: Cow<'a, str>,
    /// How long it is good for, 1 to 2,678,400 (31 days); 900 if left out.
    #[serde(default = "quarter_of_an_hour")]
    expires_in_s: u32,
    /// Whether its bearer may cancel, too; no if left out.
    #[serde(default)]
    cancel: bool,
}

fn quarter_of_an_hour() -> u32 {
    900
}

/// A token.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Minted<'a> {
    /// `minted`.
    outcome: &'static str,
    /// What the browser sends as `Authorization: Bearer TOKEN`.
    token: String,
    subject: &'a str,
    campaign: &'a str,
    cancel: bool,
    /// From when on it is not good any more.
    expires_at: String,
}

/// Mints a subject token, with which a browser may act for one subject.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", request_body = TokenRequest,
    responses((status = 201, description = "minted", body = Minted),
        (status = 403, description = "forbidden: also where there is no key to sign with")))]
pub(super) async fn mint(
    Extract(app): Extract<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let answered = async {
        let key = app.keys.know(&headers, Role::Backend)?;
        let bytes = request::body(&app, &headers, body).await?;
        let ask: TokenRequest<'_> = request::json(&bytes)?;
        request::subject(&ask.subject)?;
        let campaign: Scope = ask.campaign.parse().map_err(Problem::invalid)?;
        key.covers(campaign.beginning())?;
        if !(1..=MOST_SECONDS).contains(&ask.expires_in_s) {
            let detail = format!("expires_in_s is {}: 1 to {MOST_SECONDS}", ask.expires_in_s);
            return Err(Problem::invalid(detail));
        }
        let now = app.node.intake.now();
        let minted =
            app.guards.tokens.mint(&ask.subject, &campaign, ask.cancel, now, ask.expires_in_s);
        let (token, expires) = minted.map_err(|_| {
            let detail =
                "this server has no secret to sign tokens with: set FIRSTCOME_TOKEN_SECRET";
            Problem::new(Code::Forbidden, detail)
        })?;
        let view = Minted {
            outcome: "minted",
            token,
            subject: &ask.subject,
            campaign: &ask.campaign,
            cancel: ask.cancel,
            expires_at: clock_text::rfc3339(expires),
        };
        app.metrics.answered(view.outcome);
        Ok(json(StatusCode::CREATED, &view))
    };
    answered.await.unwrap_or_else(|problem| app.problem(problem))
}

/// Who asks, where a browser may: a key that may act for anybody, or a token that may for one.
#[derive(Debug)]
pub(super) enum Bearer<'a> {
    Key(&'a Key),
    Subject(SubjectToken),
}

impl App {
    /// Accepts a request whose key has at least this role and is for this campaign, or whose token is
    /// for this campaign; [`Bearer::acts_for`] has to be asked once the subject is known.
    pub(super) fn bearer(
        &self,
        headers: &HeaderMap,
        least: Role,
        campaign: &str,
    ) -> Result<Bearer<'_>, Problem> {
        let Some(token) = self.keys.token(headers) else {
            return self.keys.allow(headers, least, campaign).map(Bearer::Key);
        };
        let token = self.guards.tokens.check(token, self.node.intake.now());
        let token = token.map_err(|fault| problem(&fault))?;
        if !token.campaign.has(campaign) {
            let detail = format!("this token is for {}, not for {campaign:?}", token.campaign);
            return Err(Problem::new(Code::Forbidden, detail));
        }
        Ok(Bearer::Subject(token))
    }
}

impl App {
    /// As [`App::bearer`], about no campaign in particular: [`Bearer::sees`] says which.
    pub(super) fn bearer_at_large(
        &self,
        headers: &HeaderMap,
        least: Role,
    ) -> Result<Bearer<'_>, Problem> {
        let Some(token) = self.keys.token(headers) else {
            return self.keys.know(headers, least).map(Bearer::Key);
        };
        let token = self.guards.tokens.check(token, self.node.intake.now());
        token.map(Bearer::Subject).map_err(|fault| problem(&fault))
    }
}

impl Bearer<'_> {
    /// Says whether the bearer may look at this campaign.
    pub(super) fn sees(&self, campaign: &str) -> bool {
        match self {
            Self::Key(key) => key.covers(campaign).is_ok(),
            Self::Subject(token) => token.campaign.has(campaign),
        }
    }

    /// Accepts a request about this subject.
    pub(super) fn acts_for(&self, subject: &str) -> Result<(), Problem> {
        match self {
            Self::Subject(token) if *token.subject != *subject => {
                let detail = "this token is for another subject, and for nobody else";
                Err(Problem::new(Code::Forbidden, detail))
            }
            Self::Subject(_) | Self::Key(_) => Ok(()),
        }
    }

    /// Accepts a cancel.
    pub(super) fn may_cancel(&self) -> Result<(), Problem> {
        match self {
            Self::Subject(token) if !token.cancel => {
                let detail = "this token does not let its subject cancel (cancel)";
                Err(Problem::new(Code::Forbidden, detail))
            }
            Self::Subject(_) | Self::Key(_) => Ok(()),
        }
    }

    /// Says whether the bearer is the operator.
    pub(super) fn is_operator(&self) -> bool {
        match self {
            Self::Key(key) => key.role >= Role::Operator,
            Self::Subject(_) => false,
        }
    }

    /// Names the bearer in a sentence.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Key(key) => format!("key {:?}", key.name),
            Self::Subject(_) => "a subject token".to_owned(),
        }
    }

    /// Gives the name under which a command of the bearer is recorded.
    pub(super) fn name(&self) -> Box<str> {
        match self {
            Self::Key(key) => key.name.clone(),
            Self::Subject(token) => format!("token {}", token.key).into(),
        }
    }
}

fn problem(fault: &Fault) -> Problem {
    let code = match fault {
        Fault::Expired(_) => Code::TokenExpired,
        Fault::NoKeys
        | Fault::Malformed(_)
        | Fault::UnknownKey(_)
        | Fault::Algorithm { .. }
        | Fault::Signature(_)
        | Fault::Claims(_)
        | Fault::NotEnforced(_)
        | Fault::NotYet(_) => Code::Unauthorized,
    };
    Problem::new(code, fault.to_string())
}
