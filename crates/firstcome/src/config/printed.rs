//! `--print-config`: what applies, and where each value came from, as a file that can be used again.

use std::fmt::Write as _;

use data_encoding::HEXLOWER;
use serde_json::json;

use super::span::text_from_duration;
use super::{Config, Resolved, SETTINGS, SettingOrigin};
use firstcome_http::clock_text::rfc3339;
use firstcome_node::ledger::choice::LedgerChoice;

/// Writes the configuration as TOML with each value's origin behind it; secrets are named, not shown.
pub fn print(resolved: &Resolved) -> String {
    let mut page = String::new();
    for setting in SETTINGS {
        let origin = resolved.origins.get(setting.key);
        let is_read_again =
            setting.read_again && matches!(origin, Some(SettingOrigin::File { .. }));
        let mut origin = origin.map(ToString::to_string).unwrap_or_default();
        if is_read_again {
            origin.push_str(", read again when it changes");
        }
        let line = match shown(&resolved.config, setting.key) {
            Some(value) => format!("{} = {value}", setting.key),
            None => format!("# {}: {}", setting.key, unshown(&resolved.config, setting.key)),
        };
        page.push_str(&format!("{line:<44} # {origin}\n"));
    }
    for key in &resolved.config.keys {
        page.push_str(&format!(
            "\n[[keys]]\nname = {}\nsha256 = {}\nrole = {}\n",
            quoted(&key.name),
            quoted(&HEXLOWER.encode(&key.sha256)),
            quoted(key.role.as_str())
        ));
        if let Some(campaigns) = &key.campaigns {
            page.push_str(&format!("campaigns = {}\n", quoted(campaigns)));
        }
        if let Some(rate) = &key.rate {
            let text = rate.map_or("none".to_owned(), |rate| rate.to_string());
            page.push_str(&format!("rate = {}\n", quoted(&text)));
        }
        if let Some(expires) = key.expires {
            page.push_str(&format!("expires = {}\n", quoted(&rfc3339(expires))));
        }
    }
    page
}

/// The same as JSON: one object per setting with its value and origin.
pub fn print_json(resolved: &Resolved) -> serde_json::Value {
    let entry = |key: &'static str| {
        let config = &resolved.config;
        let value = match (key, shown(config, key)) {
            ("keys", _) => config.keys.iter().map(|key| json!({"name": key.name, "sha256": HEXLOWER.encode(&key.sha256), "role": key.role.as_str(), "campaigns": key.campaigns, "expires": key.expires.map(rfc3339)})).collect(),
            // A quoted TOML string, number or truth value of this table is JSON too.
            (_, Some(text)) => serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text)),
            ("ledger", None) => json!({"without_password": config.ledger.to_string()}),
            ("store", None) => config.store.as_ref().map_or(json!(null), |store| json!({"without_password": store.to_string()})),
            ("admin_key", None) => json!({"given": config.admin_key.is_some()}),
            ("token_secret", None) => json!({"given": config.guards.token_secret.is_some()}),
            ("token_keys", None) => config.guards.token_keys.iter().map(|key| json!({"id": key.id})).collect(),
            ("code_keys", None) => config.code_keys.iter().map(|key| json!({"id": key.id})).collect(),
            ("eligibility", None) => config.guards.eligibility.iter().map(|entry| json!({"campaign": entry.campaign(), "url": entry.terms.url.to_string()})).collect(),
            (_, None) => serde_json::Value::Null,
        };
        let origin = resolved.origins.get(key).map(ToString::to_string);
        (key.to_owned(), json!({"value": value, "origin": origin}))
    };
    SETTINGS.iter().map(|setting| entry(setting.key)).collect::<serde_json::Map<_, _>>().into()
}

/// The value of a setting in TOML, or `None` where it has no value or must not be shown.
fn shown(config: &Config, key: &str) -> Option<String> {
    let text = match key {
        // Written down it would be named: a shared store goes without a folder unless one is.
        "data" if config.has_data => quoted(&config.data.to_string_lossy()),
        "store" => quoted(config.store.as_ref().filter(|store| !store.has_secret())?.reveal()),
        "durability" => quoted(&config.durability.to_string()),
        "when_less_durable" => quoted(&config.when_less_durable.to_string()),
        "on_emptied" => quoted(&config.on_emptied.to_string()),
        "leader_lease_ms" => config.leader_lease.as_millis().to_string(),
        "nats_monitor" if config.nats_monitor.is_empty() => return None,
        "nats_monitor" => quoted(&config.nats_monitor.join(",")),
        "nats_monitor_every" => quoted(&text_from_duration(config.nats_monitor_every)),
        "store_ca" => quoted(&config.store_ca.as_ref()?.to_string_lossy()),
        "advertise" => quoted(config.advertise.as_ref()?),
        "space" => quoted(&config.space),
        "space_id" => quoted(&config.space_id?.to_string()),
        "listen" => quoted(&config.listen),
        "ops_listen" => quoted(config.ops_listen.as_ref()?),
        "tls_cert" => quoted(&config.tls.as_ref()?.cert.to_string_lossy()),
        "tls_key" => quoted(&config.tls.as_ref()?.key.to_string_lossy()),
        "tls_client_ca" => quoted(&config.tls.as_ref()?.client_ca.as_ref()?.to_string_lossy()),
        "hsts_s" => config.hsts_s?.to_string(),
        "base_path" if config.base_path.as_str().is_empty() => return None,
        "base_path" => quoted(config.base_path.as_str()),
        "stream_max_ms" => config.stream_max.as_millis().to_string(),
        "ledger" => match &config.ledger {
            LedgerChoice::Postgres(url) | LedgerChoice::MySql(url) if url.has_password() => {
                return None;
            }
            ledger @ (LedgerChoice::Sqlite
            | LedgerChoice::SqliteFile(_)
            | LedgerChoice::Postgres(_)
            | LedgerChoice::MySql(_)
            | LedgerChoice::None) => quoted(&ledger.to_string()),
        },
        "queue" => config.queue.to_string(),
        "command_wait_ms" => config.command_wait.as_millis().to_string(),
        "connections" => config.connections.to_string(),
        "body_bytes" => config.body_bytes.to_string(),
        "header_ms" => config.header_wait.as_millis().to_string(),
        "hold_wait_ms" => config.hold_wait.as_millis().to_string(),
        "idle_ms" => config.idle.as_millis().to_string(),
        "leave_ms" => config.leave.as_millis().to_string(),
        "drain_ms" => config.drain.as_millis().to_string(),
        "settle_interval_ms" => config.settle_interval.as_millis().to_string(),
        "settle_delay_ms" => config.settle_delay.as_millis().to_string(),
        "settle_delay_results" => config.settle_delay_results.to_string(),
        "keep_for" => quoted(&config.keep_for.map_or("never".to_owned(), text_from_duration)),
        "snapshot_mib" => config.snapshot_mib.to_string(),
        "snapshot_every" => quoted(&text_from_duration(config.snapshot_every)),
        "archive" => config.archive.to_string(),
        "memory_limit_mib" => config.memory_limit_mib.to_string(),
        "outbox_max" => config.outbox_max.to_string(),
        "log_format" => quoted(config.log_format?.as_str()),
        "log_level" => quoted(config.log_level.as_str()),
        "pages" => quoted(if config.pages { "on" } else { "off" }),
        "pages_dir" => quoted(&config.pages_dir.as_ref()?.to_string_lossy()),
        "pages_shop" => quoted(config.pages_shop.as_ref()?),
        "rate_entries" => config.guards.rate_entries.to_string(),
        _ => quoted(&config.guards.shown(key)?),
    };
    Some(text)
}

/// What a comment says in place of a value.
fn unshown(config: &Config, key: &str) -> String {
    match key {
        "store" => match &config.store {
            Some(store) => format!("{store}, its password not shown"),
            None => "none".to_owned(),
        },
        "log_format" => "text on a terminal, else json".to_owned(),
        "data" => config.data.to_string_lossy().into_owned(),
        "admin_key" if config.admin_key.is_some() => "given, not shown".to_owned(),
        "ledger" => format!("{}, its password not shown", config.ledger),
        "admin_key" => "generated into the data folder".to_owned(),
        "token_secret" if config.guards.token_secret.is_some() => "given, not shown".to_owned(),
        "token_keys" if !config.guards.token_keys.is_empty() => {
            let ids: Vec<_> = config.guards.token_keys.iter().map(|key| &*key.id).collect();
            format!("{}, not shown", ids.join(", "))
        }
        "code_keys" if !config.code_keys.is_empty() => {
            let ids: Vec<_> = config.code_keys.iter().map(|key| &*key.id).collect();
            format!("{}, not shown", ids.join(", "))
        }
        "code_keys" if config.store.is_none() => "generated into the data folder".to_owned(),
        "eligibility" if !config.guards.eligibility.is_empty() => {
            let of: Vec<_> =
                config.guards.eligibility.iter().map(|entry| entry.campaign()).collect();
            format!("of {}, not shown", of.join(", "))
        }
        "keys" if !config.keys.is_empty() => format!("{} below", config.keys.len()),
        _ => "none".to_owned(),
    }
}

/// A TOML basic string; its escapes are those of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if control.is_control() => {
                write!(quoted, "\\u{:04x}", u32::from(control))
                    .expect("writing to a string cannot fail");
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
