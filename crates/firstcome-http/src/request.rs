//! The parts of a request, each checked against its limits: path, body, names, query.

pub(crate) mod auth;
pub(crate) mod bearer;
pub(crate) mod call;
pub(crate) mod format;
pub(crate) mod id;
pub(crate) mod tokens;

use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::options::HttpOptions;
use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use firstcome_api::unseen::is_format;
use firstcome_core::hall::Price;
use firstcome_core::names::{Position, check_command_id, check_name, check_subject, check_text};
use firstcome_core::outcome::Missing;
use firstcome_core::{Refusal, limits};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use std::pin::pin;
use tokio::time::timeout;

/// Lines of a page if the caller does not say.
const ROWS: usize = 1_000;
/// Lines of a page at most.
const MOST_ROWS: usize = 10_000;

/// Reads a body of JSON, within the configured size and time.
pub(crate) async fn body<B>(
    options: &HttpOptions,
    headers: &HeaderMap,
    body: B,
) -> Result<Bytes, Problem>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let most = options.body_bytes;
    body_of(options, headers, body, &["application/json"], most).await.map(|(_, body)| body)
}

/// Reads a body of one of some media types, within a size and the configured time; gives which of them it is.
pub(crate) async fn body_of<B>(
    options: &HttpOptions,
    headers: &HeaderMap,
    body: B,
    kinds: &[&'static str],
    most: usize,
) -> Result<(&'static str, Bytes), Problem>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let kind = kind_of(headers, kinds)?;
    let read = timeout(options.body_time, whole(Limited::new(body, most))).await;
    match read {
        Ok(Ok(read)) => Ok((kind, read)),
        Ok(Err(why)) if why.is::<LengthLimitError>() => {
            let detail = format!("the body has more than {most} bytes");
            Err(Problem::new(Code::TooLarge, detail))
        }
        Ok(Err(why)) => Err(Problem::invalid(format!("the body could not be read: {why}"))),
        Err(_) => {
            let seconds = options.body_time.as_secs_f32();
            let detail = format!("the body did not come within {seconds} s");
            Err(Problem::new(Code::Timeout, detail))
        }
    }
}

/// Reads a body to its end: a small one is its first frame, and needs no buffer beside that.
pub(crate) async fn whole<B: hyper::body::Body<Data = Bytes>>(body: B) -> Result<Bytes, B::Error> {
    let mut body = pin!(body);
    let (mut first, mut all) = (Bytes::new(), Vec::new());
    while let Some(frame) = body.frame().await.transpose()? {
        // Trailers are not read.
        let Ok(more) = frame.into_data() else { continue };
        if first.is_empty() {
            first = more;
        } else {
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&more);
        }
        if body.is_end_stream() {
            break;
        }
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

/// Accepts one of some media types of a body that is sent as it is; gives which of them it is.
pub(crate) fn kind_of(
    headers: &HeaderMap,
    kinds: &[&'static str],
) -> Result<&'static str, Problem> {
    if let Some(coding) = headers.get(header::CONTENT_ENCODING)
        && !coding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        let coding = String::from_utf8_lossy(coding.as_bytes());
        let detail = format!("send the body as it is, without Content-Encoding: {coding}");
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    let given = headers.get(header::CONTENT_TYPE).map(|kind| {
        let mut parts = kind.as_bytes().split(|b| *b == b';').map(<[u8]>::trim_ascii);
        (parts.next().unwrap_or_default(), parts.find_map(charset))
    });
    if let Some((_, Some(charset))) = given
        && ![&b"utf-8"[..], b"us-ascii"].iter().any(|known| charset.eq_ignore_ascii_case(known))
    {
        let detail = format!("send UTF-8, not charset={}", String::from_utf8_lossy(charset));
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    let given = given.map(|(kind, _)| kind);
    let known =
        |given: &[u8]| kinds.iter().find(|kind| given.eq_ignore_ascii_case(kind.as_bytes()));
    given.and_then(known).copied().ok_or_else(|| {
        let mut detail = format!("send Content-Type: {}", kinds.join(" or "));
        if let Some(given) = given {
            detail = format!("{detail}, not {:?}", String::from_utf8_lossy(given));
        }
        Problem::new(Code::UnsupportedMediaType, detail)
    })
}

/// Returns the character set that a parameter of a media type names.
fn charset(parameter: &[u8]) -> Option<&[u8]> {
    let (name, value) = parameter.split_at_checked(b"charset=".len())?;
    let quoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    let value = quoted.unwrap_or(value);
    name.eq_ignore_ascii_case(b"charset=").then_some(value)
}

/// Reads JSON, and says at which line and column it is wrong.
pub(crate) fn json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes)
        .map_err(|why| Problem::invalid(format!("the body is not right: {why}")))
}

/// Accepts a campaign's name; one that none can have is not found.
pub(crate) fn campaign(name: &str) -> Result<(), Problem> {
    let missing = Refusal::NotFound(Missing::Campaign);
    check_name(name).map_err(|_| Problem::refused(missing, name))
}

/// Accepts a pool's name; one that none can have is not found.
pub(crate) fn pool(campaign: &str, name: &str) -> Result<(), Problem> {
    let missing = Refusal::NotFound(Missing::Pool);
    check_name(name).map_err(|_| Problem::refused(missing, campaign))
}

/// Accepts a subject; where subjects are strict, only one that looks like no other.
pub(crate) fn subject(options: &HttpOptions, subject: &str) -> Result<(), Problem> {
    let wrong = |why: &str| Problem::new(Code::InvalidSubject, format!("the subject {why}"));
    check_subject(subject).map_err(|why| wrong(&why.to_string()))?;
    if !options.strict_subjects {
        return Ok(());
    }
    if subject.starts_with(char::is_whitespace) || subject.ends_with(char::is_whitespace) {
        return Err(wrong("begins or ends with white space (subjects = \"strict\")"));
    }
    match subject.chars().find(|letter| is_format(*letter)) {
        Some(letter) => {
            let code = u32::from(letter);
            Err(wrong(&format!("has U+{code:04X}, which nobody sees (subjects = \"strict\")")))
        }
        None => Ok(()),
    }
}

/// Accepts an operator's reason: 1 to 256 bytes.
pub(crate) fn reason(reason: &str) -> Result<(), Problem> {
    let most = limits::REASON_BYTES;
    if reason.is_empty() || reason.len() > most {
        return Err(Problem::invalid(format!("a reason has 1 to {most} bytes")));
    }
    check_text(reason).map_err(|why| Problem::invalid(format!("the reason {why}")))
}

/// Reads a price: both of its parts, or neither.
pub(crate) fn price(minor: Option<i64>, currency: Option<&str>) -> Result<Option<Price>, Problem> {
    let (minor, currency) = match (minor, currency) {
        (None, None) => return Ok(None),
        (Some(minor), Some(currency)) => (minor, currency),
        (Some(_), None) | (None, Some(_)) => {
            return Err(Problem::invalid("a price has price_minor and currency"));
        }
    };
    if minor < 0 {
        return Err(Problem::invalid(format!("price_minor {minor}: a price is not below 0")));
    }
    match <[u8; 3]>::try_from(currency.as_bytes()) {
        Ok(letters) if letters.iter().all(u8::is_ascii_uppercase) => {
            Ok(Some(Price { minor, currency: letters }))
        }
        Ok(_) | Err(_) => {
            Err(Problem::invalid(format!("currency {currency:?}: it is three capital letters")))
        }
    }
}

/// Returns the id of an operator command, from `Idempotency-Key`.
pub(crate) fn command_id(headers: &HeaderMap) -> Result<Option<Box<str>>, Problem> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let most = limits::COMMAND_ID_BYTES;
    let id = std::str::from_utf8(value.as_bytes()).map_err(|_| {
        Problem::invalid(format!("Idempotency-Key is not UTF-8 of 1 to {most} bytes"))
    })?;
    check_command_id(id).map_err(|why| Problem::invalid(format!("Idempotency-Key {why}")))?;
    Ok(Some(id.into()))
}

/// The query of a request: what follows the question mark.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query that may have these names, and `min_position`.
    pub(crate) fn parse(raw: Option<&str>, names: &[&str]) -> Result<Self, Problem> {
        let Some(raw) = raw else {
            return Ok(Self::default());
        };
        let pairs: Vec<(String, String)> =
            form_urlencoded::parse(raw.as_bytes()).into_owned().collect();
        let known = |name: &str| name == "min_position" || names.contains(&name);
        match pairs.iter().find(|(name, _)| !known(name)) {
            Some((name, _)) => Err(Problem::invalid(format!(
                "the query has {name:?}, which this route does not take; it takes {}",
                [names, &["min_position"]].concat().join(", ")
            ))),
            None => Ok(Self(pairs)),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn number<N: std::str::FromStr>(&self, name: &str) -> Result<Option<N>, Problem> {
        self.get(name)
            .map(|value| {
                value.parse().map_err(|_| {
                    Problem::invalid(format!("{name}={value} is not a number this route takes"))
                })
            })
            .transpose()
    }

    /// Returns how many lines a page is to have.
    pub(crate) fn limit(&self) -> Result<usize, Problem> {
        self.limit_of(ROWS, MOST_ROWS)
    }

    /// The same, of a list with another number of lines if the caller does not say, and another maximum.
    pub(crate) fn limit_of(&self, rows: usize, most: usize) -> Result<usize, Problem> {
        let limit = self.number("limit")?.unwrap_or(rows);
        if (1..=most).contains(&limit) {
            return Ok(limit);
        }
        Err(Problem::invalid(format!("limit={limit} is outside 1 to {most}")))
    }

    pub(crate) fn min_position(&self) -> Result<Option<Position>, Problem> {
        self.get("min_position")
            .map(|text| {
                text.parse().map_err(|why| Problem::invalid(format!("min_position {text:?} {why}")))
            })
            .transpose()
    }
}
