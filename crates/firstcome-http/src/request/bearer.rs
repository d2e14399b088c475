//! The bearer of a request that a browser may send: a key, or a subject token.

use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::app::App;
use crate::guard::token::{SubjectToken, TokenFault};
use crate::request;
use crate::request::auth::Key;
use axum::http::{HeaderMap, HeaderValue, Response, header};
use firstcome_api::key::Role;
use firstcome_core::campaign::Campaign;
use std::borrow::Cow;
use std::sync::Arc;

/// The bearer of a request: a key that may act for anybody, or a subject token that may act for one subject.
#[derive(Debug)]
pub(crate) enum Bearer {
    Key(Arc<Key>),
    Subject(SubjectToken),
}

/// Who reads a campaign: a bearer or, where the campaign is public, anybody.
#[derive(Debug)]
pub(crate) enum Reader {
    Bearer(Bearer),
    Anybody,
}

impl Reader {
    /// Says whether the reader has a key, and so sees what is for operators and back ends.
    pub(crate) fn has_key(&self) -> bool {
        match self {
            Self::Bearer(Bearer::Key(_)) => true,
            Self::Bearer(Bearer::Subject(_)) | Self::Anybody => false,
        }
    }

    /// Writes for how long an answer to this reader may be used again: one answer for all who come within a second.
    pub(crate) fn cache<B>(&self, mut answer: Response<B>) -> Response<B> {
        if matches!(self, Self::Anybody) {
            let headers = answer.headers_mut();
            // No cache gives it to who has a key. What a key gets is stored by none (RFC 9111, section 3.5).
            headers.append(header::VARY, HeaderValue::from_static("authorization"));
            let second = HeaderValue::from_static("public, max-age=1");
            headers.insert(header::CACHE_CONTROL, second);
        }
        answer
    }
}

impl App {
    /// As [`App::bearer`] with the role to read; without a key or a token a public campaign is read all the same.
    pub(crate) fn reader(&self, headers: &HeaderMap, campaign: &str) -> Result<Reader, Problem> {
        if !headers.contains_key(header::AUTHORIZATION) && self.is_public(campaign) {
            return Ok(Reader::Anybody);
        }
        self.bearer(headers, Role::Read, campaign).map(Reader::Bearer)
    }

    /// Says whether there is a public campaign of this name.
    pub(crate) fn is_public(&self, campaign: &str) -> bool {
        self.node.replica.look(|state| state.campaign(campaign).is_ok_and(Campaign::is_public))
    }

    /// Accepts a request whose key has at least this role and is for this campaign, or whose token is
    /// for this campaign and whose subject does not ask too often.
    ///
    /// [`App::may_ask_about`] has to be asked once the subject that the request names is known.
    pub(crate) fn bearer(
        &self,
        headers: &HeaderMap,
        least: Role,
        campaign: &str,
    ) -> Result<Bearer, Problem> {
        let Some(token) = self.keys.token(headers) else {
            return self.keys.allow(headers, least, campaign).map(Bearer::Key);
        };
        let token = self.guards.tokens.check(token, self.node.intake.now());
        self.subject_in(token, campaign)
    }

    /// Accepts a request for events with a ticket for this campaign, whose subject does not ask too often.
    pub(crate) fn ticket(&self, ticket: &str, campaign: &str) -> Result<Bearer, Problem> {
        let token = self.guards.tokens.check_ticket(ticket.as_bytes(), self.node.intake.now());
        self.subject_in(token, campaign)
    }

    fn subject_in(
        &self,
        token: Result<SubjectToken, TokenFault>,
        campaign: &str,
    ) -> Result<Bearer, Problem> {
        let token = token.map_err(|fault| problem(&fault))?;
        if !token.campaign.has(campaign) {
            let detail = format!("this token is for {}, not for {campaign:?}", token.campaign);
            return Err(Problem::new(Code::Forbidden, detail));
        }
        self.check_subject_rate(&token.subject)?;
        Ok(Bearer::Subject(token))
    }

    /// As [`App::bearer`], about no campaign in particular: [`Bearer::sees`] says which.
    pub(crate) fn bearer_at_large(
        &self,
        headers: &HeaderMap,
        least: Role,
    ) -> Result<Bearer, Problem> {
        let Some(token) = self.keys.token(headers) else {
            return self.keys.know(headers, least).map(Bearer::Key);
        };
        let token = self.guards.tokens.check(token, self.node.intake.now());
        let token = token.map_err(|fault| problem(&fault))?;
        self.check_subject_rate(&token.subject)?;
        Ok(Bearer::Subject(token))
    }

    /// Accepts a request of this bearer about this subject of this campaign.
    pub(crate) fn may_act(
        &self,
        bearer: &Bearer,
        campaign: &str,
        subject: &str,
    ) -> Result<(), Problem> {
        request::campaign(campaign)?;
        self.may_ask_about(bearer, subject)
    }

    /// Accepts a request of this bearer about this subject; what a token asks was counted when it was read.
    pub(crate) fn may_ask_about(&self, bearer: &Bearer, subject: &str) -> Result<(), Problem> {
        request::subject(&self.options, subject)?;
        bearer.acts_for(subject)?;
        match bearer {
            Bearer::Key(_) => self.check_subject_rate(subject),
            Bearer::Subject(_) => Ok(()),
        }
    }
}

impl Bearer {
    /// Says whether the bearer may look at this campaign.
    pub(crate) fn sees(&self, campaign: &str) -> bool {
        match self {
            Self::Key(key) => key.covers(campaign).is_ok(),
            Self::Subject(token) => token.campaign.has(campaign),
        }
    }

    /// Returns whom a request is for: the subject that it names, or else that of the token.
    pub(crate) fn subject<'s>(&self, named: Option<Cow<'s, str>>) -> Result<Cow<'s, str>, Problem> {
        match (named, self) {
            (Some(subject), _) => Ok(subject),
            (None, Self::Subject(token)) => Ok(token.subject.to_string().into()),
            (None, Self::Key(_)) => {
                let detail = "the body has no `subject`: with a key, say whom it is for";
                Err(Problem::invalid(detail))
            }
        }
    }

    /// Accepts a request about this subject.
    pub(crate) fn acts_for(&self, subject: &str) -> Result<(), Problem> {
        match self {
            Self::Subject(token) if *token.subject != *subject => {
                let detail = "this token is for another subject, and for nobody else";
                Err(Problem::new(Code::Forbidden, detail))
            }
            Self::Subject(_) | Self::Key(_) => Ok(()),
        }
    }

    /// Returns a problem about a hold as its bearer is told it: a token, which may be guessing ids, is not told that somebody
    /// else has the hold, and what it misses is counted.
    pub(crate) fn told(&self, problem: Problem, campaign: &str) -> Problem {
        match self {
            Self::Key(_) => problem,
            Self::Subject(_) => problem.without_owner(campaign),
        }
    }

    /// Accepts a cancel.
    pub(crate) fn may_cancel(&self) -> Result<(), Problem> {
        match self {
            Self::Subject(token) if !token.cancel => {
                let detail = "this token does not let its subject cancel (cancel)";
                Err(Problem::new(Code::Forbidden, detail))
            }
            Self::Subject(_) | Self::Key(_) => Ok(()),
        }
    }

    /// Says whether the bearer is shown the codes of a subject that it may ask about.
    pub(crate) fn sees_codes(&self) -> bool {
        match self {
            Self::Key(key) => key.role >= Role::Redeem,
            Self::Subject(_) => true,
        }
    }

    /// Says whether the bearer is the operator.
    pub(crate) fn is_operator(&self) -> bool {
        match self {
            Self::Key(key) => key.role >= Role::Operator,
            Self::Subject(_) => false,
        }
    }

    /// Names the bearer in a sentence.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Key(key) => format!("key {:?}", key.name),
            Self::Subject(_) => "a subject token".to_owned(),
        }
    }

    /// Returns the name under which a command of the bearer is recorded.
    pub(crate) fn name(&self) -> Box<str> {
        match self {
            Self::Key(key) => key.name.clone(),
            Self::Subject(token) => format!("token {}", token.key).into(),
        }
    }
}

fn problem(fault: &TokenFault) -> Problem {
    let expired = matches!(fault, TokenFault::Expired(_));
    let code = if expired { Code::TokenExpired } else { Code::Unauthorized };
    Problem::new(code, fault.to_string())
}
