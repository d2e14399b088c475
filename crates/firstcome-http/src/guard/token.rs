//! Subject tokens: what a browser shows to act for one subject and for nobody else. A ticket is one with a `scope`, which
//! follows events and does nothing else: it may stand in an address.
//!
//! A token is a JWT (RFC 7519), signed with HS256 or EdDSA by a key that the configuration names,
//! so that a back end mints it with the library it has. What is read is the least that is needed:
//! one signature and two small objects. A key is for one algorithm, and the header does not choose. A header parameter
//! that is not known is refused; a claim that is not known is left alone (RFC 7519, section 4). Checking takes no store.

mod keys;

pub use keys::{TokenKey, TokenKeys};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use firstcome_core::Timestamp;
use firstcome_core::names::{check_name, check_subject};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// The most bytes that a token may have.
pub const MOST_BYTES: usize = 4_096;
/// The longest that a token may be good for, whoever minted it, in seconds: 31 days.
pub const MOST_SECONDS: u32 = 31 * 86_400;
/// How far the clock of a back end that mints may be ahead, in seconds.
pub const AHEAD_SECONDS: i64 = 60;
/// Whom tokens are for, where they say it.
const AUDIENCE: &str = "firstcome";
/// What a ticket is for.
const EVENTS: &str = "events";

/// Which campaigns a token is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One.
    Campaign(Box<str>),
    /// Those whose names begin so.
    Prefix(Box<str>),
}

impl Scope {
    /// Says whether a campaign is among them.
    pub fn has(&self, campaign: &str) -> bool {
        match self {
            Self::Campaign(name) => campaign == &**name,
            Self::Prefix(prefix) => campaign.starts_with(&**prefix),
        }
    }

    /// Returns what the names of all of them begin with.
    pub fn beginning(&self) -> &str {
        match self {
            Self::Campaign(beginning) | Self::Prefix(beginning) => beginning,
        }
    }
}

impl FromStr for Scope {
    type Err = String;

    /// Reads a campaign's name, or the beginning of names with `*` behind it.
    fn from_str(text: &str) -> Result<Self, String> {
        let (beginning, scope) = match text.strip_suffix('*') {
            Some(prefix) => (prefix, Self::Prefix(prefix.into())),
            None => (text, Self::Campaign(text.into())),
        };
        let is_open = beginning.is_empty() && beginning != text;
        if is_open || check_name(beginning).is_ok() {
            return Ok(scope);
        }
        Err(format!("{text:?} is no campaign's name, nor the beginning of names with * behind it"))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Campaign(name) => f.write_str(name),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
        }
    }
}

/// What a token that was checked says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectToken {
    /// The subject of the token.
    pub subject: Box<str>,
    /// Where.
    pub campaign: Scope,
    /// Whether it allows cancels.
    pub cancel: bool,
    /// Until when, not including it; in seconds.
    pub expires: i64,
    /// The id of the key it is signed with.
    pub key: Box<str>,
}

/// Why a token is not good, in the order in which it is looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// This server checks no tokens.
    #[error("this server has no key to check tokens with (token_secret, token_keys)")]
    NoKeys,
    /// It is not of the form of a token.
    #[error("the token is cut or damaged: {0}")]
    Malformed(String),
    /// It names a key that is not known.
    #[error("the token names the key {0:?}, which this server does not know")]
    UnknownKey(String),
    /// It names another algorithm than the key is for.
    #[error("the token says {said}, and the key {key:?} is for {is}")]
    Algorithm {
        /// What the token says.
        said: String,
        /// The key's id.
        key: String,
        /// What the key is for.
        is: &'static str,
    },
    /// It was not signed with the key it names, or was changed since.
    #[error("the signature of the token is not that of the key {0:?}")]
    Signature(String),
    /// It says something that is not understood, or lacks what is needed.
    #[error("the token is not right: {0}")]
    Claims(String),
    /// It is a ticket, and a token is wanted.
    #[error(
        "this is a ticket: it opens GET /v1/campaigns/{{campaign}}/events?ticket= and nothing else"
    )]
    IsTicket,
    /// It is a token, and a ticket is wanted.
    #[error("this is no ticket: POST /v1/tickets gives one for a subject token")]
    NoTicket,
    /// It carries what this version does not know how to keep.
    #[error("the token carries {0:?}, which this version does not enforce: leave it out")]
    NotEnforced(&'static str),
    /// It is not good yet.
    #[error(
        "the token is good from second {0} on by the store's clock; {AHEAD_SECONDS} s ahead are forgiven"
    )]
    NotYet(i64),
    /// It is not good any more.
    #[error("the token was good until second {0} by the store's clock: get another one")]
    Expired(i64),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    kid: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    typ: Option<String>,
}

/// The claims that mean something here, each at most once. Others are for those who minted the token, as RFC 7519 has it.
///
/// A claim that will narrow what a token may do has to be known before anybody mints it, as `groups` and `limit` are:
/// a server that does not know it lets the token through.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Claims {
    sub: String,
    campaign: String,
    exp: i64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cancel: bool,
    /// What a ticket is for; a token has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aud: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    iat: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nbf: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    groups: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<Value>,
}

/// Says whether a bearer's text has the form of a token; a key that is known is a key all the same.
pub fn looks_like_one(text: &[u8]) -> bool {
    text.starts_with(b"ey") && text.iter().filter(|byte| **byte == b'.').count() == 2
}

impl TokenKeys {
    /// Checks a token as of a moment of the store's clock.
    ///
    /// # Errors
    ///
    /// The first [`TokenFault`] there is; [`TokenFault::IsTicket`] of a ticket.
    pub fn check(&self, text: &[u8], now: Timestamp) -> Result<SubjectToken, TokenFault> {
        self.check_for(text, None, now)
    }

    /// Checks a ticket as of a moment of the store's clock; gives what its token said, without the right to cancel.
    ///
    /// # Errors
    ///
    /// The first [`TokenFault`] there is; [`TokenFault::NoTicket`] of a token.
    pub fn check_ticket(&self, text: &[u8], now: Timestamp) -> Result<SubjectToken, TokenFault> {
        self.check_for(text, Some(EVENTS), now)
    }

    fn check_for(
        &self,
        text: &[u8],
        scope: Option<&str>,
        now: Timestamp,
    ) -> Result<SubjectToken, TokenFault> {
        if self.is_empty() {
            return Err(TokenFault::NoKeys);
        }
        let malformed = |why: &str| TokenFault::Malformed(why.to_owned());
        if text.len() > MOST_BYTES {
            return Err(malformed("it is too long"));
        }
        let mut parts = text.split(|byte| *byte == b'.');
        let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(malformed("it has not three parts"));
        };
        let decoded = |part: &[u8], which| {
            let bytes = URL_SAFE_NO_PAD.decode(part);
            bytes.map_err(|_| TokenFault::Malformed(format!("its {which} is no base64url")))
        };
        let signed = &text[..header.len() + 1 + payload.len()];
        let (header, payload, signature) = (
            decoded(header, "header")?,
            decoded(payload, "payload")?,
            decoded(signature, "signature")?,
        );
        let header: Header = serde_json::from_slice(&header)
            .map_err(|why| TokenFault::Malformed(format!("its header: {why}")))?;
        if header.typ.as_ref().is_some_and(|kind| !kind.eq_ignore_ascii_case("JWT")) {
            return Err(malformed("its header has a typ that is not JWT"));
        }
        let Some(key) = self.get(&header.kid) else {
            return Err(TokenFault::UnknownKey(header.kid));
        };
        if header.alg != key.algorithm() {
            let (said, is) = (header.alg, key.algorithm());
            return Err(TokenFault::Algorithm { said, key: header.kid, is });
        }
        if !key.signed(signed, &signature) {
            return Err(TokenFault::Signature(header.kid));
        }
        let claims: Claims =
            serde_json::from_slice(&payload).map_err(|why| TokenFault::Claims(why.to_string()))?;
        claims.check(header.kid, scope, now.as_micros().div_euclid(1_000_000))
    }

    /// Mints a token as of a moment of the store's clock; gives it and until when it is good.
    ///
    /// # Errors
    ///
    /// [`TokenFault::NoKeys`] where there is no key to sign with.
    pub fn mint(
        &self,
        subject: &str,
        campaign: &Scope,
        cancel: bool,
        now: Timestamp,
        seconds: u32,
    ) -> Result<(String, Timestamp), TokenFault> {
        let begins = now.as_micros().div_euclid(1_000_000);
        let expires = begins.saturating_add(seconds.into());
        let claims = Claims {
            sub: subject.to_owned(),
            campaign: campaign.to_string(),
            exp: expires,
            cancel,
            aud: Some(AUDIENCE.into()),
            iat: Some(begins),
            ..Claims::default()
        };
        Ok((self.sign(&claims)?, Timestamp::from_micros(expires * 1_000_000)))
    }

    /// Mints a ticket for events as of a moment of the store's clock: for the subject and the campaigns of a token, to its
    /// end.
    ///
    /// # Errors
    ///
    /// [`TokenFault::NoKeys`] where there is no key to sign with.
    pub fn mint_ticket(&self, token: &SubjectToken, now: Timestamp) -> Result<String, TokenFault> {
        self.sign(&Claims {
            sub: token.subject.to_string(),
            campaign: token.campaign.to_string(),
            exp: token.expires,
            scope: Some(EVENTS.to_owned()),
            aud: Some(AUDIENCE.into()),
            iat: Some(now.as_micros().div_euclid(1_000_000)),
            ..Claims::default()
        })
    }

    fn sign(&self, claims: &Claims) -> Result<String, TokenFault> {
        let (kid, key) = self.signing().ok_or(TokenFault::NoKeys)?;
        let header = Header {
            alg: key.algorithm().to_owned(),
            kid: kid.to_owned(),
            typ: Some("JWT".to_owned()),
        };
        let encoded = |part: Vec<u8>| URL_SAFE_NO_PAD.encode(part);
        let written = "what we sign can be written as JSON";
        let header = encoded(serde_json::to_vec(&header).expect(written));
        let claims = encoded(serde_json::to_vec(claims).expect(written));
        let signed = format!("{header}.{claims}");
        let signature = encoded(key.sign(signed.as_bytes()).ok_or(TokenFault::NoKeys)?);
        Ok(format!("{signed}.{signature}"))
    }
}

impl Claims {
    fn check(self, key: String, scope: Option<&str>, now: i64) -> Result<SubjectToken, TokenFault> {
        let wrong = |why: String| TokenFault::Claims(why);
        match (self.scope.as_deref(), scope) {
            (is, wanted) if is == wanted => {}
            (None, _) => return Err(TokenFault::NoTicket),
            (Some(EVENTS), _) => return Err(TokenFault::IsTicket),
            (Some(other), _) => return Err(wrong(format!("its scope {other:?} is not known"))),
        }
        for (name, given) in [("groups", &self.groups), ("limit", &self.limit)] {
            if given.is_some() {
                return Err(TokenFault::NotEnforced(name));
            }
        }
        if let Some(audience) = &self.aud {
            let of = |one: &Value| one.as_str() == Some(AUDIENCE);
            if !of(audience) && !audience.as_array().is_some_and(|all| all.iter().any(of)) {
                return Err(wrong(format!("aud is {audience}, and not {AUDIENCE:?}")));
            }
        }
        check_subject(&self.sub).map_err(|why| wrong(format!("sub {why}")))?;
        let campaign = self.campaign.parse().map_err(|why| wrong(format!("campaign {why}")))?;
        if let Some(from) = self.nbf.filter(|from| *from > now.saturating_add(AHEAD_SECONDS)) {
            return Err(TokenFault::NotYet(from));
        }
        if self.exp <= now {
            return Err(TokenFault::Expired(self.exp));
        }
        if self.exp > now.saturating_add(i64::from(MOST_SECONDS) + AHEAD_SECONDS) {
            return Err(wrong(format!("exp is more than {MOST_SECONDS} s (31 days) from now")));
        }
        Ok(SubjectToken {
            subject: self.sub.into(),
            campaign,
            cancel: self.cancel,
            expires: self.exp,
            key: key.into(),
        })
    }
}

#[cfg(test)]
mod tests;
