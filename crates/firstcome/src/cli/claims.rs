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
A cancel names what it cancels: --rank, --unit, or --hold for all claims of a hold. Without them the subject's only \
live claim is cancelled; who has several is refused with their ranks. Cancelling again changes nothing. The rank is \
never given to anybody else; the place returns to its pool unless the campaign says otherwise.

Say on whose word: --reason for the operator's, --by-subject for the subject's own. A cancel does not bar the subject: \
that is `firstcome bar` (in campaigns made before level 3 an operator's cancel does).

Examples:
  firstcome cancel spring ann --reason \"asked by phone\"
  firstcome cancel spring bob --rank 2 --by-subject
  firstcome cancel gala ann --unit A1 --by-subject")]
pub(super) struct CancelArgs {
    /// The campaign.
    campaign: String,
    /// Whose claim.
    subject: String,
    /// The pool; may be left out where there is one.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// The claim's rank.
    #[arg(long, value_name = "RANK", group = "which")]
    rank: Option<u32>,
    /// The seat or area that the claim is of.
    #[arg(long, value_name = "UNIT", group = "which")]
    unit: Option<String>,
    /// The hold that the claims came from: all of them.
    #[arg(long, value_name = "HOLD", group = "which")]
    hold: Option<String>,
    /// Why the operator cancels.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The subject wishes it.
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
    if args.reason.is_none() && !args.by_subject {
        let sentence = "say on whose word it is cancelled";
        let hint = "--reason TEXT for the operator's, --by-subject if the subject wishes it";
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
                "this key may cancel only what the subject wishes: add --by-subject if it does";
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
            // By a bar, or, in a campaign made before level 3, by this cancel.
            let barred = if kept_out { "; the subject is kept out of this campaign" } else { "" };
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
    let ask = Ask::claims_of(campaign, subject);
    let (held, _) = yes(client.ask::<SubjectClaims>(ask).await?)?;
    let is = |asked: &Option<String>, has: Option<&str>| {
        asked.as_ref().is_none_or(|asked| Some(asked.as_str()) == has)
    };
    let wanted = |claim: &Claim| {
        is(&args.pool, Some(&claim.pool))
            && is(&args.unit, claim.unit.as_deref())
            && is(&args.hold, claim.hold.as_deref())
    };
    let mut found: Vec<_> = held.claims.into_iter().filter(wanted).collect();
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
