//! Times as typed: `now`, `+10s`, a moment with an offset, or local time with a zone.

use std::io::IsTerminal as _;

use clap::Args;
use serde_json::Value;

use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::yes;
use crate::cli::terminal::{confirmed, out};
use crate::config::duration_from_text;
use firstcome_api::node::Time;
use firstcome_client::{Ask, Client};
use firstcome_http::clock_text;

/// The forms a time has, as a hint says them.
const FORMS: &str = "write now, +10s (from now), 2027-03-01T10:00:00+09:00 (with an offset, or Z), or \
                     '2027-03-01T10:00:00[Asia/Seoul]' (local time with its zone)";

/// Whether an opening in the past is meant.
#[derive(Debug, Args)]
pub(super) struct PastArgs {
    /// Accept an opening time in the past, without asking.
    #[arg(long)]
    yes: bool,
}

/// A time of the option `--NAME`, as a request has it; `none` is no time.
pub(super) async fn from_text(
    client: &mut Client,
    option: &str,
    text: &str,
) -> Result<Value, Complaint> {
    let wrong = |why: String| Complaint::usage(format!("{option}: {why}")).hint(FORMS);
    match (text, text.strip_prefix('+')) {
        ("none", _) => Ok(Value::Null),
        ("now", _) if option == "--opens" => Ok("now".into()),
        ("now", _) => {
            let complaint = Complaint::usage(format!("{option}: now is for --opens"));
            Err(complaint.hint("`firstcome campaign close` closes it at once"))
        }
        (_, Some(later)) => {
            let later = duration_from_text(later).map_err(|_| {
                wrong(format!(
                    "`{text}` is no time from now: it has a number with a unit, like +90s or +2h"
                ))
            })?;
            let then = now(client).await?.checked_add(later).ok();
            let then = then.ok_or_else(|| wrong(format!("`{text}` is too far from now")))?;
            Ok(then.to_string().into())
        }
        (_, None) => {
            clock_text::parse(text).map_err(wrong)?;
            Ok(text.into())
        }
    }
}

/// An opening time; one that is over already may be a mistake in the year, so it is asked about.
pub(super) async fn opening(
    client: &mut Client,
    text: &str,
    past: &PastArgs,
) -> Result<Value, Complaint> {
    let value = from_text(client, "--opens", text).await?;
    let Ok(at) = clock_text::parse(text) else { return Ok(value) };
    let now = now(client).await?;
    if past.yes || at.as_micros() >= now.as_microsecond() {
        return Ok(value);
    }
    let sentence = format!("--opens: {text} is in the past, so it would be open at once");
    if !std::io::stdin().is_terminal() {
        let hint = "use --opens now to open it at once, or --yes to confirm this time";
        return Err(Complaint::usage(sentence).hint(hint));
    }
    out::talk(format!("{sentence}."));
    if confirmed()? {
        Ok(value)
    } else {
        Err(Complaint::new(Exit::Refused, "not confirmed: nothing was changed"))
    }
}

/// The server's clock.
async fn now(client: &mut Client) -> Result<jiff::Timestamp, Complaint> {
    let (time, _) = yes(client.ask::<Time>(Ask::time()).await?)?;
    time.now.parse().map_err(|_| Complaint::own("the server's time cannot be read"))
}
