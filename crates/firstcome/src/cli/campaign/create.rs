//! `campaign create`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgGroup, Args};
use serde_json::{Value, json};

use super::codes::CodesArgs;
use super::time::{self, PastArgs};
use super::{IdArgs, name_from_text, pool_from_text, print_put, refused};
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::ServerArgs;
use crate::cli::terminal::given;
use crate::config::duration_from_text;
use firstcome_client::{Ask, Client, Match, OperatorDone, Problem, Reply};
use firstcome_core::limits::{CAPACITY, WAITLIST_MOST};

/// Options of `campaign create`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("pools").required(true).multiple(true).args(["places", "pool", "seated", "coded", "coded_import", "file"])))]
#[command(override_usage = "firstcome campaign create [OPTIONS] <NAME>
       <--places <COUNT>|--pool <NAME=COUNT>|--seated <NAME>|--coded <COUNT>
       |--coded-import|--file <FILE>>")]
#[command(after_help = "\
Times:
  now                               at once (for --opens)
  +10s                              from now, by the server's clock
  2027-03-01T10:00:00+09:00         with an offset, or Z
  2027-03-01T10:00:00[Asia/Seoul]   local time with its zone
Without --opens the campaign is a draft: nobody can claim until it has a time.

Examples:
  firstcome campaign create spring --places 500 --opens now
  firstcome campaign create gig --pool stalls=300 --pool balcony=120 --limit 1 \\
    --opens '2040-03-01T10:00:00[Asia/Seoul]'
  firstcome campaign create gala --seated main --hold-ttl 8m --limit 4 \\
    --opens now
  firstcome campaign create queue --places 20 --waitlist 5000 --offer-time 15m
  firstcome campaign create vouchers --coded 1000 --uses 1 --valid-for 30d \\
    --opens now
  firstcome campaign create bring --coded-import --only-by-holder --opens now
  firstcome campaign create summer --file summer.json")]
pub(in crate::cli) struct CreateArgs {
    /// The name: a-z, 0-9, `_` and `-`, at most 64, first a letter or digit.
    #[arg(value_parser = name_from_text)]
    name: String,
    /// The number of places, in one pool named main.
    #[arg(long, value_name = "COUNT", conflicts_with = "pool", value_parser = clap::value_parser!(u64).range(1..=CAPACITY))]
    places: Option<u64>,
    /// A pool and its number of places; may be given several times.
    #[arg(long, value_name = "NAME=COUNT", value_parser = pool_from_text)]
    pool: Vec<(String, u64)>,
    /// A pool of seats; add them with `firstcome seats import`. May be given several times.
    #[arg(long, value_name = "NAME", value_parser = name_from_text)]
    seated: Vec<String>,
    #[command(flatten)]
    codes: CodesArgs,
    /// How long a hold lasts, 1s to 1d [default: 8m].
    #[arg(long, value_name = "TIME", value_parser = hold_ttl_from_text)]
    hold_ttl: Option<Duration>,
    /// How many may wait for units of each pool, 0 for no waitlist, at most 1000000 [default: 100000].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=i64::from(WAITLIST_MOST)))]
    waitlist: Option<u32>,
    /// How long an offer to somebody on a waitlist lasts, 1s to 1d [default: 10m].
    #[arg(long, value_name = "TIME", value_parser = hold_ttl_from_text)]
    offer_time: Option<Duration>,
    /// The opening time; without it the campaign is a draft.
    #[arg(long, value_name = "TIME")]
    opens: Option<String>,
    /// The closing time.
    #[arg(long, value_name = "TIME")]
    closes: Option<String>,
    #[command(flatten)]
    past: PastArgs,
    /// The title for people.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Units of one subject over all pools, held and claimed together.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Allow a subject that cancelled to claim again, with a new rank.
    #[arg(long)]
    claim_again: bool,
    /// Do not put cancelled places back into the pool.
    #[arg(long)]
    no_units_return: bool,
    /// Let everybody read its counts and its seat map without a key, for the page /c/NAME.
    #[arg(long)]
    public: bool,
    /// The settings as JSON, in the form of PUT /v1/campaigns/NAME; `-` reads stdin.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["places", "pool", "seated", "hold_ttl", "waitlist", "offer_time", "opens", "closes", "title", "limit", "claim_again", "no_units_return", "public", "coded", "coded_import"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn run(args: CreateArgs, json: bool) -> Result<Exit, Complaint> {
    let mut client = args.server.client()?;
    let settings = match &args.file {
        Some(path) => settings_from_file(path)?,
        None => args.settings(&mut client).await?,
    };
    let ask = Ask::put_campaign(&args.name, settings, Match::Nothing, &args.id.get());
    let (answer, raw) = match client.ask::<OperatorDone>(ask).await? {
        Reply::Yes(answer, raw) => (answer, raw),
        Reply::No(problem) => {
            return Err(match &args.file {
                Some(file) => refused_file(problem, file),
                None => refused(problem),
            });
        }
    };
    print_put(&args.name, &answer, &raw, json);
    Ok(Exit::Yes)
}

impl CreateArgs {
    async fn settings(&self, client: &mut Client) -> Result<Value, Complaint> {
        let one = self.places.map(|places| ("main".to_owned(), places));
        let counted = one
            .iter()
            .chain(&self.pool)
            .map(|(name, capacity)| json!({"name": name, "kind": "counted", "capacity": capacity}));
        let seated = self.seated.iter().map(|name| json!({"name": name, "kind": "seated"}));
        let pools = counted.chain(seated).chain(self.codes.pool(client).await?);
        let mut pools: Vec<Value> = pools.collect();
        if let Some(most) = self.waitlist {
            pools.iter_mut().for_each(|pool| pool["waitlist"] = most.into());
        }
        let mut settings = json!({
            "limits": {"campaign": self.limit},
            "claim_again": self.claim_again,
            "units_return": !self.no_units_return,
            "pools": pools,
        });
        if self.public {
            settings["public"] = true.into();
        }
        if let Some(ttl) = self.hold_ttl {
            let ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
            settings["hold_ttl_ms"] = ms.into();
            // Holds may be extended for half an hour, or for as long as they last.
            settings["hold_max_ms"] = ms.max(1_800_000).into();
        }
        if let Some(time) = self.offer_time {
            settings["offer_ms"] = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).into();
        }
        if let Some(title) = &self.title {
            settings["title"] = title.as_str().into();
        }
        if let Some(opens) = &self.opens {
            settings["opens_at"] = time::opening(client, opens, &self.past).await?;
        }
        if let Some(closes) = &self.closes {
            settings["closes_at"] = time::from_text(client, "--closes", closes).await?;
        }
        Ok(settings)
    }
}

/// How long a hold or an offer lasts, as typed.
fn hold_ttl_from_text(text: &str) -> Result<Duration, String> {
    let ttl = duration_from_text(text)?;
    let range = Duration::from_secs(1)..=Duration::from_secs(24 * 60 * 60);
    if range.contains(&ttl) { Ok(ttl) } else { Err(format!("must be 1s to 1d, not `{text}`")) }
}

/// What is wrong with settings from a file is said of the file, in its words.
fn refused_file(problem: Problem, file: &Path) -> Complaint {
    let (file, body) = (file.display(), problem.detail.strip_prefix("the body is not right: "));
    match (body, &*problem.outcome) {
        (Some(why), _) => Complaint::usage(format!("{file}: {why}")),
        (None, "invalid_settings") => Complaint::usage(format!("{file}: {}", problem.detail)),
        (None, _) => problem.into(),
    }
}

pub(in crate::cli) fn settings_from_file(path: &Path) -> Result<Value, Complaint> {
    let (text, name) = (given::read(path)?, path.display());
    let settings: Value = serde_json::from_slice(&text)
        .map_err(|error| Complaint::usage(format!("{name} is not JSON: {error}")))?;
    if settings.is_object() {
        Ok(settings)
    } else {
        Err(Complaint::usage(format!("{name} holds no JSON object")))
    }
}
