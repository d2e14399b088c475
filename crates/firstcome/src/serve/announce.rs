//! What a server says on stdout when it serves: where it is, and what its answers rest on.

use std::io::Write as _;
use std::net::SocketAddr;

use firstcome_journal::folder::DataFolder;
use firstcome_node::ledger::choice::LedgerChoice;
use firstcome_node::log;
use serde_json::json;

use super::ADMIN_KEY_FILE;
use crate::config::Config;

/// Says where the server is, the address first: programs that start a server read that line.
///
/// With `json` each line is an object with one member. A reader who hangs up after it must not end the server.
pub(super) fn announce(
    config: &Config,
    folder: Option<&DataFolder>,
    (address, operations): (SocketAddr, SocketAddr),
    promise: &str,
    json: bool,
) {
    let lines = lines(config, folder, (address, operations), promise);
    let line = |(name, value, more): &(&str, String, String)| match json {
        true => json!({name.replace(' ', "_"): value}).to_string(),
        false => format!("{name} {value}{more}"),
    };
    let text: Vec<String> = lines.iter().map(line).collect();
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{}", text.join("\n")).and_then(|()| out.flush());
    if let Err(why) = written {
        log!(StdoutClosed, %address, "nobody reads standard output: {why}");
    }
}

/// What there is to say: its name, its value, and words for people behind it.
fn lines(
    config: &Config,
    folder: Option<&DataFolder>,
    (address, operations): (SocketAddr, SocketAddr),
    promise: &str,
) -> Vec<(&'static str, String, String)> {
    let plain = |name, value| (name, value, String::new());
    let scheme = config.scheme();
    let mut lines = vec![plain("listening on", format!("{scheme}://{address}"))];
    if let Some(folder) = folder {
        lines.push(plain("data folder", folder.path().display().to_string()));
    }
    if let Some(store) = &config.store {
        lines.push(plain("store", store.to_string()));
    }
    lines.push(plain("page", format!("{scheme}://{address}{}/docs", config.base_path)));
    lines.push(plain("metrics", format!("{scheme}://{operations}/metrics")));
    lines.push(plain("space", config.space.clone()));
    lines.push(plain("durability", promise.to_owned()));
    let without = match config.ledger == LedgerChoice::None {
        true => ": results stay in memory until their campaign leaves it",
        false => "",
    };
    lines.push(("ledger", config.ledger.to_string(), without.to_owned()));
    if let (None, Some(folder)) = (&config.admin_key, folder) {
        let file = folder.path().join(ADMIN_KEY_FILE).display().to_string();
        lines.push(("admin key in", file, " (FIRSTCOME_ADMIN_KEY sets your own)".to_owned()));
    }
    lines
}
