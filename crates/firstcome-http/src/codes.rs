//! Coupon codes over HTTP. A code is in the body of a request, never in its path or query; and no problem, log line or count has
//! one.
//!
//! | File | Subject |
//! |---|---|
//! | `steps` | reserving, redeeming, rolling back and releasing |
//! | `look_up` | how a code stands, and what was done with it |
//! | `operate` | revoking, suspending, restoring and replacing |
//! | `imports` | bringing codes |
//! | `tries` | wrong codes, counted and slowed |
//! | `missing_key` | a server without the key of a campaign |

pub(crate) mod imports;
pub(crate) mod look_up;
pub(crate) mod missing_key;
pub(crate) mod operate;
pub(crate) mod steps;
mod tries;

pub(crate) use tries::Origin;

use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::app::App;
use crate::request::call::Call;
use crate::request::{self, Query};
use axum::body::{Body, Bytes};
use firstcome_core::{CodeOutcome, Outcome};
use firstcome_node::codes::{CodePool, PoolCipher};
use firstcome_node::intake::Unread;
use serde::Deserialize;

/// Codes that a request names at most: as many as a command has.
const CODES_IN_REQUEST: usize = firstcome_core::limits::CODES_TOGETHER;

/// Bytes of a request that names many codes: what 4,000 of them take as text.
const MANY_BYTES: usize = 4 << 20;

/// Reads a body that may have codes: what is wrong is said by its place, and nothing of the body is repeated.
fn json<'a, T: Deserialize<'a>>(bytes: &'a [u8], members: &str) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|why| {
        let (line, column) = (why.line(), why.column());
        let detail = format!(
            "the body is not right at line {line} column {column}: it is a JSON object with {members}"
        );
        Problem::invalid(detail)
    })
}

/// Reads a body that may name many codes.
async fn body_of_many<P>(call: &Call<P>, body: Body) -> Result<Bytes, Problem> {
    let options = &call.app.options;
    let (kinds, most) = (["application/json"], MANY_BYTES.max(options.body_bytes));
    Ok(request::body_of(options, &call.headers, body, &kinds, most).await?.1)
}

/// Finds the coded pool that an operator's request is about, as of the position it brings.
async fn coded_pool(
    app: &App,
    campaign: &str,
    pool: Option<&str>,
    query: &Query,
) -> Result<CodePool, Problem> {
    if let Some(pool) = pool {
        request::pool(campaign, pool)?;
    }
    let found = app.node.intake.coded_pool(campaign, pool, query.min_position()?).await;
    found.map_err(|not| unread(not, campaign))
}

/// Returns what makes and reads the codes of a pool; refuses where this server lacks the key.
fn cipher<'a>(app: &'a App, pool: &CodePool) -> Result<PoolCipher<'a>, Problem> {
    pool.cipher(&app.node.intake.codes).map_err(|missing| Problem::failed(&missing.into()))
}

/// Returns the problem of what was typed and is no code.
fn unread(unread: Unread, campaign: &str) -> Problem {
    match unread {
        Unread::Malformed => {
            let detail = "a typing error: no code of this campaign is written so";
            Problem::new(Code::Malformed, detail)
        }
        Unread::Refused(answer) => match crate::asks::yes(Ok(answer), campaign) {
            Err(problem) => problem,
            Ok(_) => unreachable!("what was refused is a problem"),
        },
        Unread::Failed(failure) => Problem::failed(&failure),
    }
}

/// Returns what was answered about codes, if it was about them.
fn of_codes(outcome: &Outcome) -> Option<&CodeOutcome> {
    if let Outcome::Code(outcome) = outcome { Some(outcome) } else { None }
}
