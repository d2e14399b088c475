//! `health`: asks a server whether it is ready, for supervisors of containers, which start programs and read exit codes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use firstcome_client::{Client, Error, Server};
use serde_json::json;

use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::from_here;
use crate::cli::terminal::out;
use crate::config::{Config, Overrides, duration_from_text, resolve_here};

/// Options of `health`.
#[derive(Debug, Args)]
#[command(after_help = "\
It asks `/readyz` once, without a key, and prints one line: `ready`, or `not ready` and why. The exit code is 0 or 1; 1 is \
also that of a server that does not answer in time. The reasons are words: with a key, `/readyz` itself gives sentences.

Examples:
  firstcome health
  firstcome health --config firstcome.toml
  firstcome health --url http://10.0.0.7:8080 --json")]
pub(in crate::cli) struct HealthArgs {
    /// The address of the server [default: that of a `serve` with this environment and file: its ops_listen, otherwise its
    /// listen, from this machine].
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    url: Option<String>,
    /// Configuration file (TOML) of the server; also FIRSTCOME_CONFIG.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The longest wait for the answer.
    #[arg(long, default_value = "3s", value_name = "TIME", value_parser = duration_from_text)]
    timeout: Duration,
}

pub(in crate::cli) async fn run(args: HealthArgs, json: bool) -> Result<Exit, Complaint> {
    let url = match args.url {
        Some(url) => url,
        None => {
            let overrides = Overrides { file: args.config, ..Overrides::default() };
            configured(&resolve_here(&overrides)?.config)?
        }
    };
    let server = Server::parse(&url).map_err(Complaint::usage)?;
    let reasons = match Client::to(server, None, args.timeout).ready().await {
        Ok(ready) if ready.status == "ready" => None,
        Ok(ready) => Some(ready.reasons),
        Err(Error::Unchanged(no)) => {
            Some(vec![format!("no answer from {}: {}", no.server(), no.reason())])
        }
        Err(why) => Some(vec![why.to_string()]),
    };
    let status = if reasons.is_none() { "ready" } else { "not_ready" };
    match &reasons {
        _ if json => {
            out::json(&json!({"status": status, "reasons": reasons.as_deref().unwrap_or_default()}))
        }
        None => out::line("ready"),
        Some(reasons) => out::line(format!("not ready: {}", reasons.join(", "))),
    }
    Ok(if reasons.is_none() { Exit::Yes } else { Exit::Refused })
}

/// Returns the URL at which a server with these settings has its probes, as it is reached from this machine.
fn configured(config: &Config) -> Result<String, Complaint> {
    let (setting, address) = match &config.ops_listen {
        Some(address) => ("ops_listen", address),
        None => ("listen", &config.listen),
    };
    if address.ends_with(":0") {
        let complaint = format!("`{setting}` has port 0: the port of the server is not known here");
        return Err(Complaint::usage(complaint).hint("name the server with --url"));
    }
    Ok(format!("{}://{}", config.scheme(), from_here(address)))
}
