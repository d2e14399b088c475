//! `codes reserve`, `redeem`, `roll-back` and `release`: the life of one use of a code.

use std::time::Duration;

use clap::Args;

use super::{PoolArgs, code};
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{ServerArgs, yes};
use crate::cli::terminal::out;
use crate::cli::terminal::table::seconds;
use crate::config::duration_from_text;
use firstcome_api::code::{CodeStepRequest, RedeemRequest, ReserveRequest};
use firstcome_client::Hidden;
use firstcome_client::{Ask, CodeStep};

/// A code, what it is used for, and where.
#[derive(Debug, Args)]
struct StepArgs {
    /// The campaign.
    campaign: String,
    /// The code as it was typed; `-` reads it from stdin. Arguments can be seen by all users of the machine.
    code: String,
    /// Your name for this use, such as the id of the order: 1 to 64 bytes. A repeated step gets its first answer.
    reference: String,
    #[command(flatten)]
    pool: PoolArgs,
    /// Your customer who typed the code: wrong codes are counted for it.
    #[arg(long, value_name = "NAME")]
    customer: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Who uses a code.
#[derive(Debug, Args)]
struct UserArgs {
    /// Who uses it; required if only its holder may.
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
}

/// Options of `codes reserve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reserve at the checkout, redeem at the payment. A reservation never refuses its own reference, and it is redeemed even \
if the code expires meanwhile. It ends at its deadline; nothing has to be cleaned up.

Examples:
  firstcome codes reserve vouchers - order-4711 < code.txt
  firstcome codes reserve vouchers - order-4711 --for 30m --json < code.txt")]
pub(in crate::cli) struct ReserveArgs {
    #[command(flatten)]
    step: StepArgs,
    #[command(flatten)]
    user: UserArgs,
    /// How long, 1s to 1d.
    #[arg(long = "for", value_name = "TIME", default_value = "15m", value_parser = duration_from_text)]
    lasts: Duration,
}

/// Options of `codes redeem`.
#[derive(Debug, Args)]
#[command(after_help = "\
A code can be redeemed with or without a reservation. A repeated command prints the time of the first one.

Example:
  firstcome codes redeem vouchers - order-4711 < code.txt")]
pub(in crate::cli) struct RedeemArgs {
    #[command(flatten)]
    step: StepArgs,
    #[command(flatten)]
    user: UserArgs,
}

/// Options of `codes roll-back`.
#[derive(Debug, Args)]
#[command(after_help = "\
For a refund. If the code has expired meanwhile, its use does not come back, and the answer says so.

Example:
  firstcome codes roll-back vouchers - order-4711 < code.txt")]
pub(in crate::cli) struct RollBackArgs {
    #[command(flatten)]
    step: StepArgs,
}

/// Options of `codes release`.
#[derive(Debug, Args)]
#[command(after_help = "\
For a cart that was left. Without it, the reservation ends at its deadline.

Example:
  firstcome codes release vouchers - order-4711 < code.txt")]
pub(in crate::cli) struct ReleaseArgs {
    #[command(flatten)]
    step: StepArgs,
}

impl StepArgs {
    fn body(&self) -> Result<CodeStepRequest<'_>, Complaint> {
        Ok(CodeStepRequest {
            code: Hidden(code::one(&self.code)?.into()),
            reference: self.reference.as_str().into(),
            pool: self.pool.pool.as_deref().map(Into::into),
            r#for: self.customer.as_deref().map(Into::into),
        })
    }

    /// Takes a step, and prints in words what it came to.
    async fn take(
        &self,
        verb: &str,
        body: impl serde::Serialize,
        json: bool,
        words: impl FnOnce(&CodeStep) -> String,
    ) -> Result<Exit, Complaint> {
        let ask = Ask::code_step(&self.campaign, verb, body);
        let (step, raw) = yes(self.server.client()?.ask::<CodeStep>(ask).await?)?;
        if json {
            out::json(&raw);
        } else {
            out::line(words(&step));
        }
        Ok(Exit::Yes)
    }
}

/// Names a code without its text: by the rank of its claim.
fn which(step: &CodeStep) -> String {
    format!("the code of rank {} in {}/{}", step.rank, step.campaign, step.pool)
}

fn at(time: Option<&String>) -> String {
    time.map(|time| seconds(time)).unwrap_or_default()
}

pub(super) async fn reserve(args: ReserveArgs, json: bool) -> Result<Exit, Complaint> {
    let CodeStepRequest { code, reference, pool, r#for } = args.step.body()?;
    let subject = args.user.subject.as_deref().map(Into::into);
    let ttl_ms = Some(i64::try_from(args.lasts.as_millis()).unwrap_or(i64::MAX));
    let body = ReserveRequest { code, reference, pool, subject, ttl_ms, r#for };
    let words = |step: &CodeStep| {
        let already = if step.outcome == "already_reserved" { " already" } else { "" };
        let until = at(step.expires_at.as_ref());
        format!("{} is{already} reserved for {} until {until}", which(step), step.reference)
    };
    args.step.take("reserve", body, json, words).await
}

pub(super) async fn redeem(args: RedeemArgs, json: bool) -> Result<Exit, Complaint> {
    let CodeStepRequest { code, reference, pool, r#for } = args.step.body()?;
    let subject = args.user.subject.as_deref().map(Into::into);
    let body = RedeemRequest { code, reference, pool, subject, r#for };
    let words = |step: &CodeStep| {
        let since = at(step.at.as_ref());
        format!("{} was redeemed for {} at {since}", which(step), step.reference)
    };
    args.step.take("redeem", body, json, words).await
}

pub(super) async fn roll_back(args: RollBackArgs, json: bool) -> Result<Exit, Complaint> {
    let words = |step: &CodeStep| {
        let since = at(step.at.as_ref());
        let gone = match step.expired {
            Some(true) => "\nthe code has expired meanwhile, so its use did not come back",
            Some(false) | None => "",
        };
        format!("{} was rolled back for {} at {since}{gone}", which(step), step.reference)
    };
    args.step.take("roll-back", args.step.body()?, json, words).await
}

pub(super) async fn release(args: ReleaseArgs, json: bool) -> Result<Exit, Complaint> {
    let words = |step: &CodeStep| {
        format!("{} is not reserved for {} any more", which(step), step.reference)
    };
    args.step.take("release", args.step.body()?, json, words).await
}
