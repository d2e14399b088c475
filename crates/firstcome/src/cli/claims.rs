//! `claim` and `cancel`: what a back end does, by hand.

use clap::Args;

use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, yes};
use super::out;
use super::table::seconds;
use firstcome_client::{Ask, CancelAsk, Cancelled, Claim, Client, SubjectClaims, Won};

/// Options of `claim`.
#[derive(Debug, Args)]
#[command(after_help = "\
A claim is known by its campaign, pool and subject: asking again is always safe and gives the same rank.

Examples:
  firstcome claim spring ann
  firstcome claim gig ann --pool balcony --json")]
pub(super) struct ClaimArgs {
    /// The campaign.
    campaign: String,
    /// Who claims: a user id or whatever names one person, 1 to 255 bytes.
    subject: String,
    /// The pool; may be left out where there is one.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `cancel`.
#[derive(Debug, Args)]
#[command(after_help = "\
A cancel names the rank, so that a repeated cancel cannot hit a newer claim. Without --rank the subject's only live \
claim is looked up first. The rank is never given to anybody else; the place returns to its pool unless the campaign \
says otherwise.

Examples:
  firstcome cancel spring ann --reason \"asked by phone\"
  firstcome cancel spring bob --rank 2 --by-subject")]
pub(super) struct CancelArgs {
    /// The campaign.
    campaign: String,
    /// Whose claim.
    subject: String,
    /// The pool; may be left out where there is one.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// The claim's rank; looked up if left out.
    #[arg(long, value_name = "RANK")]
    rank: Option<u32>,
    /// Why; needed unless the subject wishes it.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The subject wishes it: whether they may claim again is then the campaign's rule.
    #[arg(long)]
    by_subject: bool,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn claim(args: ClaimArgs, json: bool) -> Result<Exit, Complaint> {
    let ask = Ask::claim(&args.campaign, &args.subject, args.pool.as_deref());
    let (won, raw) = yes(args.server.client()?.ask::<Won>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        let words = if won.outcome == "already_won" { "already has" } else { "has" };
        let Won { subject, rank, campaign, pool, at, .. } = won;
        let at = seconds(&at);
        out::line(format!("{subject} {words} rank {rank} in {campaign}/{pool} since {at}"));
    }
    Ok(Exit::Yes)
}

pub(super) async fn cancel(args: CancelArgs, json: bool) -> Result<Exit, Complaint> {
    let mut client = args.server.client()?;
    let (rank, pool) = match args.rank {
        Some(rank) => (rank, args.pool.clone()),
        None => {
            let claim = only_live_claim(&mut client, &args).await?;
            (claim.rank, Some(claim.pool))
        }
    };
    let ask = Ask::cancel(&CancelAsk {
        campaign: args.campaign.clone(),
        subject: args.subject,
        pool,
        rank,
        reason: args.reason,
        by_subject: args.by_subject,
    });
    let (done, raw) = yes(client.ask::<Cancelled>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        let Cancelled { subject, rank, pool, by, .. } = done;
        out::line(format!(
            "cancelled rank {rank} of {subject} in {}/{pool}, by the {by}",
            args.campaign
        ));
    }
    Ok(Exit::Yes)
}

/// Looks up the one claim that can be meant.
async fn only_live_claim(client: &mut Client, args: &CancelArgs) -> Result<Claim, Complaint> {
    let ask = Ask::claims_of(&args.campaign, &args.subject);
    let (held, _) = yes(client.ask::<SubjectClaims>(ask).await?)?;
    let wanted = |claim: &Claim| args.pool.as_ref().is_none_or(|pool| *pool == claim.pool);
    let mut live: Vec<_> = held.claims.into_iter().filter(wanted).collect();
    // A claim cancelled already is repeated as it was, so that a cancel sent again is answered like the first.
    if live.iter().any(|claim| claim.cancelled.is_none()) {
        live.retain(|claim| claim.cancelled.is_none());
    } else {
        live.drain(..live.len().saturating_sub(1));
    }
    match (live.pop(), live.is_empty()) {
        (Some(claim), true) => Ok(claim),
        (Some(_), false) => {
            let sentence =
                format!("{} has claims in several pools of {}", args.subject, args.campaign);
            Err(Complaint::usage(sentence).hint("name one with --pool"))
        }
        (None, _) => {
            let sentence = format!("{} has no claim in {}", args.subject, args.campaign);
            Err(Complaint::new(Exit::Refused, sentence))
        }
    }
}
