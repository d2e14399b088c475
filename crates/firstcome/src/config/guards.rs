//! Settings of what stands before the rules: how often somebody may ask, and who says where from.

use super::{ConfigError, Layers, table};
use crate::guard::peer::{Header, Network};
use crate::guard::rate::Rate;
use std::fmt::Display;
use std::str::FromStr;

/// What stands before the rules, as it is configured.
#[derive(Debug, Clone)]
pub struct GuardSettings {
    /// How often a subject may ask.
    pub rate_subject: Option<Rate>,
    /// How often a key may ask that has no rate of its own.
    pub rate_key: Option<Rate>,
    /// How often an address may ask.
    pub rate_address: Option<Rate>,
    /// How many subjects, and how many addresses, are remembered.
    pub rate_entries: usize,
    /// Proxies whose word on where a request came from is believed.
    pub trusted_proxies: Vec<Network>,
    /// The header they write it in.
    pub proxy_header: Header,
}

pub(super) fn settings_from(layers: &mut Layers<'_>) -> Result<GuardSettings, ConfigError> {
    Ok(GuardSettings {
        rate_subject: layers.take("rate_subject", || None, rate)?,
        rate_key: layers.take("rate_key", || None, rate)?,
        rate_address: layers.take("rate_address", || None, rate)?,
        rate_entries: layers.take(
            "rate_entries",
            || 65_536,
            |text| table::size(text, 1_024, 16_777_216),
        )?,
        trusted_proxies: layers.take("trusted_proxies", Vec::new, list)?,
        proxy_header: layers.take("proxy_header", Header::default, str::parse)?,
    })
}

/// Reads a rate, or `none`.
pub(super) fn rate(text: &str) -> Result<Option<Rate>, String> {
    match text {
        "none" => Ok(None),
        _ => text.parse().map(Some).map_err(|reason| format!("{reason}; or `none`")),
    }
}

/// Reads what commas part; an empty text has nothing in it.
fn list<T: FromStr<Err = String>>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::parse).collect()
}

impl GuardSettings {
    /// The text of a setting here, as the configuration file has it.
    pub(super) fn shown(&self, key: &str) -> Option<String> {
        let rate = |rate: &Option<Rate>| rate.map_or("none".to_owned(), |rate| rate.to_string());
        Some(match key {
            "rate_subject" => rate(&self.rate_subject),
            "rate_key" => rate(&self.rate_key),
            "rate_address" => rate(&self.rate_address),
            "trusted_proxies" => joined(&self.trusted_proxies),
            "proxy_header" => self.proxy_header.as_str().to_owned(),
            _ => return None,
        })
    }
}

fn joined(list: &[impl Display]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
