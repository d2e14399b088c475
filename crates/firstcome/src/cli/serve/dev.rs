//! `dev`: a server for the tests of who uses Firstcome.

use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::cli::campaign::settings_from_file;
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::terminal::out;
use crate::config::{CodeKeySetting, Overrides, Resolved, resolve};
use crate::serve::{self, Dev};
use firstcome_api::campaign::CampaignRequest;
use firstcome_api::key::Secret;
use firstcome_http::{check_campaign, clock_text};
use firstcome_node::ledger::choice::LedgerChoice;

/// The admin key, unless `FIRSTCOME_ADMIN_KEY` has another.
const KEY: &str = "firstcome-dev-key";
/// What codes are made with, unless the configuration file has a key: they are the same at each start.
const CODE_KEY: [u8; 32] = *b"for tests only, known to anybody";
/// The campaign, where none is named.
const CAMPAIGN: &str = "dev=100";

/// Options of `dev`.
#[derive(Debug, Args)]
#[command(after_help = "\
Everything is in memory and ends with the process. The admin key is `firstcome-dev-key`, or FIRSTCOME_ADMIN_KEY. The \
server listens on loopback only. Of the environment and of --config it takes what `serve` takes, but no store, data \
folder, ledger or second address.

The clock can be moved forward, so that a test needs no sleeping. All that ends by then (holds, offers, reservations, \
campaigns) has ended when the answer comes:
  POST /dev/clock   {\"forward_ms\": 600000}   or   {\"to\": \"2027-03-01T10:00:00Z\"}
at most 31 days in one request. GET /dev/clock shows it. Rate limits and the dates of subject tokens go by the clock \
of the machine.

Results stay in memory, as with `serve --ledger none`. Codes are the same at each start, so never use them for real.

Examples:
  firstcome dev
  firstcome dev --campaign spring=500 --campaign summer=summer.json
  firstcome dev --listen 127.0.0.1:0 --clock 2027-03-01T09:59:00+09:00")]
pub(in crate::cli) struct DevArgs {
    /// The address to listen on; port 0 picks a free one [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// A campaign to begin with: open, with a number of places, or as a file has it in the form of PUT
    /// /v1/campaigns/NAME. May be given several times [default: dev=100].
    #[arg(long = "campaign", value_name = "NAME=PLACES|FILE")]
    campaigns: Vec<String>,
    /// What the clock shows at the start [default: that of the machine].
    #[arg(long, value_name = "TIME")]
    clock: Option<String>,
    /// Configuration file (TOML), as for `serve`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(in crate::cli) fn run(args: DevArgs, json: bool) -> Result<Exit, Complaint> {
    let mut dev = Dev::default();
    let mut campaigns = args.campaigns;
    if campaigns.is_empty() {
        campaigns.push(CAMPAIGN.to_owned());
    }
    for campaign in campaigns {
        dev.campaigns.push(read_campaign(&campaign)?);
    }
    if let Some(text) = &args.clock {
        let at = clock_text::parse(text);
        dev.clock.start_at(at.map_err(|why| Complaint::usage(format!("--clock: {why}")))?);
    }
    let flags = args.listen.map(|listen| ("listen", listen)).into_iter().collect();
    let overrides = Overrides { file: args.config, flags };
    // A store that the shell names is for the servers that are started there.
    let elsewhere = |name: &str| {
        ["FIRSTCOME_STORE", "FIRSTCOME_DATA", "FIRSTCOME_LEDGER", "FIRSTCOME_OPS_LISTEN"]
            .contains(&name)
    };
    let environment = |name: &str| std::env::var(name).ok().filter(|_| !elsewhere(name));
    let Resolved { mut config, .. } = resolve(&overrides, environment)?;
    if config.store.is_some() {
        let why = "dev keeps everything in memory, and the configuration file names a store";
        return Err(Complaint::usage(why).hint("remove it, or use `firstcome serve`"));
    }
    check_loopback(&config.listen)?;
    config.ops_listen = None;
    config.tls = None;
    config.ledger = LedgerChoice::None;
    if config.admin_key.is_none() {
        out::talk(format!("for tests only: the admin key is {KEY}"));
        config.admin_key = Some(Secret::new(KEY).map_err(Complaint::own)?);
    }
    if config.code_keys.is_empty() {
        config.code_keys.push(CodeKeySetting { id: "dev".to_owned(), secret: CODE_KEY });
    }
    config.leave = Duration::ZERO;
    serve::run(config, None, Some(dev), json)?;
    Ok(Exit::Yes)
}

/// Reads `NAME=PLACES` or `NAME=FILE`.
fn read_campaign(text: &str) -> Result<(String, CampaignRequest), Complaint> {
    let wrong = |why: String| Complaint::usage(format!("--campaign {text}: {why}"));
    let Some((name, what)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err(wrong("write NAME=PLACES or NAME=FILE".to_owned()));
    };
    let settings = match what.parse::<u32>() {
        Ok(places) => json!({
            "opens_at": "now",
            "pools": [{"name": "main", "kind": "counted", "capacity": places}],
        }),
        Err(_) => settings_from_file(Path::new(what))?,
    };
    let settings: CampaignRequest =
        serde_json::from_value(settings).map_err(|why| wrong(why.to_string()))?;
    check_campaign(settings.clone()).map_err(wrong)?;
    Ok((name.to_owned(), settings))
}

/// Refuses an address that other machines reach: the key is known to anybody.
fn check_loopback(listen: &str) -> Result<(), Complaint> {
    let wrong = |why: String| Complaint::usage(format!("--listen {listen}: {why}"));
    let mut addresses = listen.to_socket_addrs().map_err(|why| wrong(why.to_string()))?;
    if addresses.all(|address| address.ip().is_loopback()) {
        return Ok(());
    }
    Err(wrong("dev listens on this machine only".to_owned())
        .hint("use an address such as 127.0.0.1:8080, or `firstcome serve`"))
}
