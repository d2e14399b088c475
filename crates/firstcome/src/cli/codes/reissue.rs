//! `codes reissue`.

use clap::Args;

use super::{PoolArgs, WhyArgs};
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{ServerArgs, yes};
use crate::cli::terminal::out;
use firstcome_api::code::CodeLookUpRequest;
use firstcome_client::Hidden;
use firstcome_client::{Ask, Client, CodesFound, ReissueRequest, Reissued};

/// Options of `codes reissue`.
#[derive(Debug, Args)]
#[command(override_usage = "firstcome codes reissue [OPTIONS] --reason <TEXT>
       <CAMPAIGN> <SUBJECT> <RANK>")]
#[command(after_help = "\
Uses that were redeemed stay redeemed. Name the number of the new code with --number, one more than `firstcome codes \
look-up` shows: then a repeated command replaces the code once.

Example:
  firstcome codes reissue vouchers ann 1 --reason 'lost it'")]
pub(in crate::cli) struct ReissueArgs {
    /// The campaign.
    campaign: String,
    /// The owner of the claim.
    subject: String,
    /// The rank of the claim.
    rank: u32,
    #[command(flatten)]
    pool: PoolArgs,
    /// The number of the new code: 2 for the first that is replaced [default: one more than now].
    #[arg(long, value_name = "NUMBER")]
    number: Option<u16>,
    #[command(flatten)]
    why: WhyArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn run(args: ReissueArgs, json: bool) -> Result<Exit, Complaint> {
    let mut client = args.server.client()?;
    let issue = match args.number {
        Some(number) => Some(number),
        None => next_number(&mut client, &args).await?,
    };
    let id = args.why.id();
    let body = ReissueRequest {
        pool: args.pool.pool,
        subject: args.subject,
        rank: args.rank,
        issue,
        reason: args.why.reason,
    };
    let ask = Ask::operate_codes(&args.campaign, "reissue", &body, &id);
    let (reissued, raw) = yes(client.ask::<Reissued>(ask).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    let Reissued { campaign, pool, subject, rank, code, .. } = reissued;
    out::line(match code {
        Some(Hidden(code)) => format!("{subject} has {code} for rank {rank} in {campaign}/{pool}"),
        None => format!(
            "the code of rank {rank} in {campaign}/{pool} was replaced, and another time since"
        ),
    });
    Ok(Exit::Yes)
}

/// Looks up the number of the present code; none where the server is to say that a pool must be named.
async fn next_number(client: &mut Client, args: &ReissueArgs) -> Result<Option<u16>, Complaint> {
    let body = CodeLookUpRequest {
        subject: Some(args.subject.as_str().into()),
        pool: args.pool.pool.as_deref().map(Into::into),
        ..CodeLookUpRequest::default()
    };
    let ask = Ask::code_step(&args.campaign, "look-up", body);
    let (found, _) = yes(client.ask::<CodesFound>(ask).await?)?;
    let mut codes = found.codes.iter().filter(|code| code.rank == args.rank);
    Ok(match (codes.next(), codes.next()) {
        (Some(code), None) => Some(code.issue.saturating_add(1)),
        (Some(_), Some(_)) | (None, _) => None,
    })
}
