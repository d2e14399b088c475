//! `token`: has the server mint a subject token.

use std::time::Duration;

use clap::Args;

use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, yes};
use super::terminal::out;
use super::terminal::table::seconds;
use crate::config::duration_from_text;
use firstcome_client::{Ask, Minted};

/// Options of `token`.
#[derive(Debug, Args)]
#[command(after_help = "\
A browser sends the token as `Authorization: Bearer TOKEN`. It can then claim, hold and read for this subject in this \
campaign, and cancel with --cancel; it cannot confirm. The server needs FIRSTCOME_TOKEN_SECRET.

Examples:
  firstcome token spring ann
  firstcome token 'spring-*' ann --for 2h --cancel")]
pub(super) struct TokenArgs {
    /// The campaign, or the beginning of names followed by *.
    campaign: String,
    /// The subject of the token.
    subject: String,
    /// How long it is valid, up to 31d.
    #[arg(long = "for", default_value = "15m", value_name = "TIME", value_parser = good_for_from_text)]
    good_for: Duration,
    /// Allow cancels, too.
    #[arg(long)]
    cancel: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// The longest a token is good for, as the server has it.
const LONGEST: Duration = Duration::from_secs(31 * 86_400);

fn good_for_from_text(text: &str) -> Result<Duration, String> {
    let length = duration_from_text(text)?;
    if length < Duration::from_secs(1) || length > LONGEST {
        return Err(format!("must be 1s to 31d, not `{text}`"));
    }
    Ok(length)
}

pub(super) async fn run(args: TokenArgs, json: bool) -> Result<Exit, Complaint> {
    let good_for = u32::try_from(args.good_for.as_secs()).unwrap_or(u32::MAX);
    let ask = Ask::mint(&args.campaign, &args.subject, good_for, args.cancel);
    let (minted, raw) = yes(args.server.client()?.ask::<Minted>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        out::line(&minted.token);
        out::talk(format!("valid until {}", seconds(&minted.expires_at)));
    }
    Ok(Exit::Yes)
}
