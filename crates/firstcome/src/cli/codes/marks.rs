//! `codes revoke`, `suspend` and `restore`.

use clap::{ArgGroup, Args};

use super::{PoolArgs, WhyArgs, code};
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{ServerArgs, yes};
use crate::cli::terminal::out;
use firstcome_client::Hidden;
use firstcome_client::{Ask, CodesMarked, MarkCodesRequest};

/// Which codes, and why.
#[derive(Debug, Args)]
struct CodesArgs {
    /// The campaign.
    campaign: String,
    /// Codes, at most 4,000; `-` reads them from stdin, one on each line.
    #[arg(value_name = "CODE")]
    codes: Vec<String>,
    /// The code that the claim of this rank has now; may be given several times.
    #[arg(long, value_name = "RANK")]
    rank: Vec<u32>,
    #[command(flatten)]
    pool: PoolArgs,
    #[command(flatten)]
    why: WhyArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `codes suspend` and `codes restore`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["codes", "rank"])))]
pub(in crate::cli) struct MarkArgs {
    #[command(flatten)]
    codes: CodesArgs,
}

/// Options of `codes revoke`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).args(["codes", "rank", "import"])))]
pub(in crate::cli) struct RevokeArgs {
    #[command(flatten)]
    codes: CodesArgs,
    /// All codes of this import, issued or not.
    #[arg(long, value_name = "IMPORT")]
    import: Option<String>,
}

pub(super) async fn revoke(args: RevokeArgs, json: bool) -> Result<Exit, Complaint> {
    mark("revoke", args.codes, args.import, json).await
}

pub(super) async fn suspend(args: MarkArgs, json: bool) -> Result<Exit, Complaint> {
    mark("suspend", args.codes, None, json).await
}

pub(super) async fn restore(args: MarkArgs, json: bool) -> Result<Exit, Complaint> {
    mark("restore", args.codes, None, json).await
}

async fn mark(
    verb: &str,
    args: CodesArgs,
    import: Option<String>,
    json: bool,
) -> Result<Exit, Complaint> {
    let id = args.why.id();
    let body = MarkCodesRequest {
        pool: args.pool.pool,
        codes: Hidden(code::several(&args.codes)?),
        ranks: args.rank,
        import,
        reason: args.why.reason,
    };
    let asked = body.codes.len() + body.ranks.len();
    let ask = Ask::operate_codes(&args.campaign, verb, &body, &id);
    let (marked, raw) = yes(args.server.client()?.ask::<CodesMarked>(ask).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    let CodesMarked { campaign, pool, changed, unknown, .. } = &marked;
    let done = match verb {
        "revoke" => "revoked",
        "suspend" => "suspended",
        _ => "restored",
    };
    let there = asked.saturating_sub(unknown.len());
    let others = match u64::from(*changed) < there as u64 {
        true => ", the others had this status already",
        false => "",
    };
    out::line(format!(
        "{done} {} of {campaign}/{pool}{others}",
        out::count((*changed).into(), "code")
    ));
    if !unknown.is_empty() {
        // By their place, counted from 1: what was typed is not repeated.
        let places = unknown.iter().map(|place| (place + 1).to_string());
        out::talk(format!(
            "note: not there: number {} of those named",
            places.collect::<Vec<_>>().join(", ")
        ));
    }
    Ok(Exit::Yes)
}
