//! `campaign check`: whether a file of settings is right, before the evening on which it is needed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jiff::Zoned;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::create::settings_from_file;
use super::name_from_text;
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::ServerArgs;
use crate::cli::terminal::out;
use crate::config::{Overrides, resolve_here};
use firstcome_api::campaign::CampaignRequest;
use firstcome_client::{Ask, Nodes, Reply};
use firstcome_core::settings::Opens;
use firstcome_core::{Settings, Timestamp};
use firstcome_http::{CheckedCampaign, check_campaign};
use firstcome_rush::terminal::{mark, thousands};

/// Options of `campaign check`.
#[derive(Debug, Args)]
#[command(after_help = "\
FILE has the settings as JSON, in the form of PUT /v1/campaigns/NAME. Nothing is sent that changes anything. A server \
that can be reached is asked how much memory it may use; with --config the services that decide about people of this \
campaign ([[eligibility]]) are connected to. The exit code is 1 if something is wrong.

Examples:
  firstcome campaign check summer.json
  firstcome campaign check summer.json --json")]
pub(in crate::cli) struct CheckArgs {
    /// The settings; `-` reads stdin.
    file: PathBuf,
    /// The name that the campaign will have, to know which services are asked about it.
    #[arg(long, value_name = "NAME", value_parser = name_from_text)]
    name: Option<String>,
    /// The configuration file of the server.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
}

/// How long a service may take to take a connection.
const CONNECTS_IN: Duration = Duration::from_secs(3);
/// The zones in which the opening is shown, beside this machine's and the one in the file.
const ZONES: [&str; 5] =
    ["Asia/Seoul", "UTC", "Europe/London", "America/New_York", "America/Los_Angeles"];

/// What was found.
#[derive(Default)]
struct Findings {
    lines: Vec<(bool, String)>,
    document: serde_json::Map<String, Value>,
}

impl Findings {
    fn add(&mut self, good: bool, text: String) {
        self.lines.push((good, text));
    }

    fn ends(self, json: bool) -> Exit {
        let good = self.lines.iter().all(|(good, _)| *good);
        if json {
            let mut document = self.document;
            let said = |good: bool| -> Vec<&str> {
                let lines = self.lines.iter().filter(|(is, _)| *is == good);
                lines.map(|(_, text)| text.as_str()).collect()
            };
            document.insert("ok".into(), good.into());
            document.insert("right".into(), json!(said(true)));
            document.insert("wrong".into(), json!(said(false)));
            out::json(&document.into());
        } else {
            for (good, text) in &self.lines {
                out::line(format!("{} {text}", mark(*good)));
            }
        }
        if good { Exit::Yes } else { Exit::Refused }
    }
}

pub(super) async fn run(args: CheckArgs, json: bool) -> Result<Exit, Complaint> {
    let file = settings_from_file(&args.file)?;
    let mut findings = Findings::default();
    let zone = file["opens_at"].as_str().and_then(zone_in).map(str::to_owned);
    let asked = serde_json::from_value::<CampaignRequest>(file).map_err(|why| why.to_string());
    let checked = match asked.and_then(check_campaign) {
        Ok(checked) => checked,
        Err(why) => {
            findings.add(false, format!("the settings are not valid: {why}"));
            return Ok(findings.ends(json));
        }
    };
    findings.add(true, format!("the settings are valid: {}", summary(&checked)));
    memory(&args, &checked, &mut findings).await;
    times(&checked.settings, zone.as_deref(), &mut findings);
    services(&args, &mut findings).await?;
    Ok(findings.ends(json))
}

/// The zone that a time names, if it names one.
fn zone_in(text: &str) -> Option<&str> {
    text.split_once('[')?.1.strip_suffix(']')
}

fn summary(checked: &CheckedCampaign) -> String {
    let pools = &checked.settings.pools;
    let pool = |pool: &firstcome_core::settings::PoolSettings| match pool.capacity {
        0 => format!("{} ({})", pool.name, pool.kind.as_str()),
        capacity => {
            format!("{} ({}, {})", pool.name, pool.kind.as_str(), thousands(capacity.into()))
        }
    };
    let names: Vec<String> = pools.iter().map(pool).collect();
    let seats = match checked.seats {
        0 => String::new(),
        seats => format!(", with {} seats and areas", thousands(seats as u64)),
    };
    format!("{}{seats}", names.join(", "))
}

/// Compares the memory that it may take with what each server may use, where one can be asked.
async fn memory(args: &CheckArgs, checked: &CheckedCampaign, findings: &mut Findings) {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let needed = mib(checked.bytes);
    findings.document.insert("needed_bytes".into(), checked.bytes.into());
    let asked = async { args.server.client().ok()?.ask::<Nodes>(Ask::get("/v1/nodes")).await.ok() };
    let limit = match asked.await {
        Some(Reply::Yes(nodes, _)) => nodes.nodes.iter().map(|node| node.memory_limit).min(),
        Some(Reply::No(_)) | None => None,
    };
    match limit {
        None => findings.add(
            true,
            format!("it takes about {needed} MiB of memory; no server could be asked how much it may use"),
        ),
        Some(limit) => {
            findings.document.insert("limit_bytes".into(), limit.into());
            let text = format!(
                "it takes about {needed} MiB of memory, and each server may use {} MiB for all campaigns",
                limit >> 20
            );
            findings.add(checked.bytes <= limit, text);
        }
    }
}

/// Shows the opening and the closing on the clocks of several zones.
fn times(settings: &Settings, named: Option<&str>, findings: &mut Findings) {
    let now = jiff::Timestamp::now();
    let opens = match settings.opens {
        Opens::Undecided => {
            findings
                .add(true, "it is a draft: nobody can claim until it has an opening time".into());
            None
        }
        Opens::Now => {
            findings.add(true, "it opens at once".into());
            None
        }
        Opens::At(at) => Some(at),
    };
    for (what, at) in [("opens", opens), ("closes", settings.closes_at)] {
        let Some(at) = at else { continue };
        let clocks = clocks(at, named);
        let document = clocks.iter().map(|(zone, text)| (zone.clone(), json!(text)));
        findings.document.insert(what.into(), Value::Object(document.collect()));
        let clocks: Vec<String> =
            clocks.into_iter().map(|(zone, text)| format!("\n      {text}  {zone}")).collect();
        let left = at.as_micros() - now.as_microsecond();
        let good = left > 0;
        let text = if good {
            format!("it {what} in {}:{}", span(left / 1_000_000), clocks.concat())
        } else {
            format!("it {what} in the past:{}", clocks.concat())
        };
        findings.add(good, text);
    }
    if let (Some(opens), Some(closes)) = (opens, settings.closes_at) {
        let good = closes > opens;
        let text = if good { "it closes after it opens" } else { "it closes before it opens" };
        findings.add(good, text.to_owned());
    }
}

/// Returns what clocks show at a moment: this machine's, that of the file, and of the usual zones.
fn clocks(at: Timestamp, named: Option<&str>) -> Vec<(String, String)> {
    let Ok(at) = jiff::Timestamp::from_microsecond(at.as_micros()) else { return Vec::new() };
    let here = TimeZone::system();
    let here = here.iana_name().map(str::to_owned);
    let names = named.map(str::to_owned).into_iter().chain(here);
    let mut zones: Vec<String> = Vec::new();
    for name in names.chain(ZONES.map(str::to_owned)) {
        if !zones.contains(&name) {
            zones.push(name);
        }
    }
    let shown = |name: String| {
        let zone = TimeZone::get(&name).ok()?;
        let text = Zoned::new(at, zone).strftime("%a %Y-%m-%d %H:%M:%S %:z").to_string();
        Some((name, text))
    };
    zones.into_iter().filter_map(shown).collect()
}

/// Writes seconds as days, hours and minutes.
fn span(seconds: i64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

/// Connects to the services that are asked about people, as the server's configuration names them.
async fn services(args: &CheckArgs, findings: &mut Findings) -> Result<(), Complaint> {
    if args.config.is_none() {
        return Ok(());
    }
    let overrides = Overrides { file: args.config.clone(), ..Overrides::default() };
    let settings = resolve_here(&overrides)?.config.guards.eligibility;
    let about = |scope: &firstcome_http::guard::token::Scope| {
        args.name.as_deref().is_none_or(|name| scope.has(name))
    };
    for service in settings.iter().filter(|service| about(&service.terms.campaign)) {
        let url = &service.terms.url;
        let port =
            url.port_u16().unwrap_or(if url.scheme_str() == Some("http") { 80 } else { 443 });
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
        let connecting = timeout(CONNECTS_IN, TcpStream::connect((host, port))).await;
        let (campaign, name) = (service.campaign(), format!("{host}:{port}"));
        match connecting {
            Ok(Ok(_)) => findings
                .add(true, format!("the service for {campaign} takes connections at {name}")),
            Ok(Err(why)) => findings.add(
                false,
                format!("the service for {campaign} cannot be reached at {name}: {why}"),
            ),
            Err(_) => findings.add(
                false,
                format!("the service for {campaign} does not answer at {name} within 3 s"),
            ),
        }
    }
    if !settings.iter().any(|service| about(&service.terms.campaign)) {
        findings.add(true, "no service is asked about people of this campaign".into());
    }
    Ok(())
}
