//! `claim` and `cancel`: what a back end does, by hand.

mod file;
mod subjects;

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, yes};
use super::terminal::out;
use super::terminal::table::seconds;
use super::waitlist::{self, WaitArgs};
use firstcome_client::Hidden;
use firstcome_client::{Ask, CancelAsk, Cancelled, Claim, Client, Joined, SubjectClaims, Won};

/// Options of `claim`.
#[derive(Debug, Args)]
#[command(after_help = "\
The identity of a claim is its campaign, pool and subject: a repeated claim is safe and prints the same rank.

With --wait the subject joins the waitlist of the pool if what it wants is not free. What comes free is offered to \
those who wait, in order: an offer is a hold, taken with `firstcome hold confirm`. A repeated claim prints the place, \
or takes the code that is offered.
A claim of a pool with codes prints the code of the subject; with --file they are not printed, see `codes export`.

A file has a header `subject[,pool][,ref]`, or one subject on each line. A wrong line is reported before anything is sent. The \
lines are claimed in their order, many in one request; each answer is a line of CSV on stdout, or with --json a line of JSON. \
What has no answer is sent again, and printed when it has one. Exit codes: 0 all are won, 1 some are refused, 3 some have no \
answer and nothing changed by them, 4 some may have happened. Run it again to finish it.

Examples:
  firstcome claim spring ann
  firstcome claim gig ann --pool balcony --json
  firstcome claim gala eve --wait --quantity 2 --adjacent
  firstcome claim spring --file subjects.csv")]
pub(super) struct ClaimArgs {
    /// The campaign.
    campaign: String,
    /// The subject: a user id or another name of one person, 1 to 255 bytes.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    subject: Option<String>,
    /// Claim for each line of this file; `-` is stdin.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The pool; may be left out if there is only one.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `cancel`.
#[derive(Debug, Args)]
#[command(after_help = "\
Name the claim: --rank, --unit, or --hold for all claims of a hold. Without them the subject's only live claim is \
cancelled; if it has several, the command is refused and prints their ranks. A repeated cancel changes nothing. The \
rank is never used again; the place goes back to its pool unless the campaign says otherwise.

Say who decides: --reason for the operator, --by-subject for the subject. A cancel does not bar the subject: use \
`firstcome bar`.

Examples:
  firstcome cancel spring ann --reason \"asked by phone\"
  firstcome cancel spring bob --rank 2 --by-subject
  firstcome cancel gala ann --unit A1 --by-subject")]
pub(super) struct CancelArgs {
    /// The campaign.
    campaign: String,
    /// The subject.
    subject: String,
    /// The pool; may be left out if there is only one.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// The rank of the claim.
    #[arg(long, value_name = "RANK", group = "which")]
    rank: Option<u32>,
    /// The seat or area of the claim.
    #[arg(long, value_name = "UNIT", group = "which")]
    unit: Option<String>,
    /// The hold of the claims: all of them are cancelled.
    #[arg(long, value_name = "HOLD", group = "which")]
    hold: Option<String>,
    /// The operator decides, for this reason.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The subject decides.
    #[arg(long)]
    by_subject: bool,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn claim(args: ClaimArgs, json: bool) -> Result<Exit, Complaint> {
    let (campaign, pool) = (args.campaign.as_str(), args.pool.as_deref());
    if let Some(file) = &args.file {
        return file::claim(args.server.client()?, (campaign, pool), file, json).await;
    }
    let subject = args.subject.as_deref().unwrap_or_default();
    let Some(wish) = args.wait.wish() else {
        let ask = Ask::claim(campaign, subject, pool);
        let (won, raw) = yes(args.server.client()?.ask::<Won>(ask).await?)?;
        print_won(won, &raw, json);
        return Ok(Exit::Yes);
    };
    let ask = Ask::join(campaign, subject, pool, &wish);
    let (joined, raw) = yes(args.server.client()?.ask::<Joined>(ask).await?)?;
    if let Joined::Won(won) = joined {
        print_won(won, &raw, json);
    } else {
        waitlist::joined(&joined, &raw, json);
    }
    Ok(Exit::Yes)
}

fn print_won(won: Won, raw: &Value, json: bool) {
    if json {
        out::json(raw);
    } else {
        let words = if won.outcome == "already_won" { "already has" } else { "has" };
        let Won { subject, rank, campaign, pool, at, code, .. } = won;
        let at = seconds(&at);
        let code = code.map(|Hidden(code)| format!(" with code {code}")).unwrap_or_default();
        out::line(format!("{subject} {words} rank {rank} in {campaign}/{pool} since {at}{code}"));
    }
}

pub(super) async fn cancel(args: CancelArgs, json: bool) -> Result<Exit, Complaint> {
    if args.reason.is_none() && !args.by_subject {
        let sentence = "say who cancels it";
        let hint = "--reason TEXT if the operator decides, --by-subject if the subject does";
        return Err(Complaint::usage(sentence).hint(hint));
    }
    let mut client = args.server.client()?;
    let meant = match args.rank {
        Some(rank) => vec![(rank, args.pool.clone())],
        None => {
            let claims = meant(&mut client, &args).await?.into_iter();
            claims.map(|claim| (claim.rank, Some(claim.pool))).collect()
        }
    };
    for (rank, pool) in meant {
        let ask = Ask::cancel(&CancelAsk {
            campaign: args.campaign.clone(),
            subject: args.subject.clone(),
            pool,
            rank,
            reason: args.reason.clone(),
            by_subject: args.by_subject,
        });
        let (done, raw) = yes(client.ask::<Cancelled>(ask).await?).map_err(|complaint| {
            let key =
                "this key may cancel only for the subject: add --by-subject if the subject decided it";
            if !args.by_subject && complaint.is("forbidden") {
                complaint.hint(key)
            } else {
                complaint
            }
        })?;
        if json {
            out::json(&raw);
        } else {
            let Cancelled { subject, rank, pool, by, kept_out, .. } = done;
            let barred = if kept_out { "; the subject is barred from this campaign" } else { "" };
            let campaign = &args.campaign;
            out::line(format!(
                "cancelled rank {rank} of {subject} in {campaign}/{pool}, by the {by}{barred}"
            ));
        }
    }
    Ok(Exit::Yes)
}

/// Looks up the claims that are meant: one, or all of a hold.
async fn meant(client: &mut Client, args: &CancelArgs) -> Result<Vec<Claim>, Complaint> {
    let CancelArgs { campaign, subject, .. } = args;
    let (mut found, mut after) = (Vec::new(), Some(0));
    while let Some(from) = after {
        let ask = Ask::claims_of(campaign, subject, from);
        let (page, _) = yes(client.ask::<SubjectClaims>(ask).await?)?;
        found.extend(page.claims);
        after = page.next;
    }
    let is = |asked: &Option<String>, has: Option<&str>| {
        asked.as_ref().is_none_or(|asked| Some(asked.as_str()) == has)
    };
    let wanted = |claim: &Claim| {
        is(&args.pool, Some(&claim.pool))
            && is(&args.unit, claim.unit.as_deref())
            && is(&args.hold, claim.hold.as_deref())
    };
    found.retain(wanted);
    if args.hold.is_none() {
        // A claim cancelled already is repeated as it was, so that a cancel sent again is answered like the first.
        if found.iter().any(|claim| claim.cancelled.is_none()) {
            found.retain(|claim| claim.cancelled.is_none());
        } else {
            found.truncate(1);
        }
    }
    if found.is_empty() {
        let mut which = String::new();
        for (name, asked) in [("pool", &args.pool), ("unit", &args.unit), ("hold", &args.hold)] {
            if let Some(asked) = asked {
                which.push_str(&format!(" of {name} {asked}"));
            }
        }
        let sentence = format!("{subject} has no claim{which} in {campaign}");
        return Err(Complaint::new(Exit::Refused, sentence));
    }
    if args.hold.is_none() && found.len() > 1 {
        return Err(several(args, found));
    }
    Ok(found)
}

/// Refuses to choose among claims, and names each by its rank.
fn several(args: &CancelArgs, mut claims: Vec<Claim>) -> Complaint {
    claims.sort_by_key(|claim| claim.rank);
    let one_pool = claims.iter().all(|claim| claim.pool == claims[0].pool);
    let name = |claim: &Claim| {
        let pool = if one_pool { String::new() } else { format!("{}/", claim.pool) };
        let unit = claim.unit.as_ref().map(|unit| format!(" ({unit})")).unwrap_or_default();
        format!("{pool}{}{unit}", claim.rank)
    };
    let ranks: Vec<String> = claims.iter().map(name).collect();
    let sentence = format!(
        "{} has {} claims in {}: ranks {}",
        args.subject,
        claims.len(),
        args.campaign,
        ranks.join(", ")
    );
    let hint = if one_pool { "name one with --rank" } else { "name one with --pool and --rank" };
    Complaint::usage(sentence).hint(hint)
}
