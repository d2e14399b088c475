//! The settings of a campaign, read from a file and made fit for a rehearsal.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::cli::campaign::settings_from_file;
use crate::cli::complaint::Complaint;
use firstcome_api::campaign::{CampaignRequest, PoolKind};
use firstcome_api::code::CodeSource;
use firstcome_http::check_campaign;
use firstcome_rush::terminal::short;

/// The longest hold and offer, where nothing is said: people who never come back are waited for.
const HOLD: Duration = Duration::from_secs(5);

/// How long a hold lasts where the settings say nothing.
const USUAL_HOLD_MS: u64 = 480_000;

/// Settings to rehearse.
pub(super) struct Rehearsed {
    pub(super) settings: Value,
    /// What is not as in the file.
    pub(super) notes: Vec<String>,
}

/// Reads the settings; a hold lasts as long as `hold` says.
pub(super) fn read(file: &Path, hold: Option<Duration>) -> Result<Rehearsed, Complaint> {
    let mut settings = settings_from_file(file)?;
    let wrong = |why: String| Complaint::usage(format!("{}: {why}", file.display()));
    let asked: CampaignRequest =
        serde_json::from_value(settings.clone()).map_err(|why| wrong(why.to_string()))?;
    check_campaign(asked.clone()).map_err(&wrong)?;
    for pool in &asked.pools {
        let name = &pool.name;
        if pool.kind == PoolKind::Seated && pool.seats.is_empty() {
            return Err(wrong(format!("pool {name} has no seats, so nobody can hold one"))
                .hint("give it `seats` in the file, as `firstcome seats import` takes them"));
        }
        let codes = pool.codes.as_ref().map(|codes| codes.source);
        if codes == Some(CodeSource::Imported) {
            return Err(wrong(format!("pool {name} has imported codes, and the file has none"))
                .hint("rehearse it with generated ones: `codes` without `source`"));
        }
    }
    for pool in settings["pools"].as_array_mut().into_iter().flatten() {
        if let Some(codes) = pool.get_mut("codes").and_then(Value::as_object_mut) {
            // The rehearsal has a key of its own.
            codes.remove("key");
        }
    }
    let mut notes = Vec::new();
    shorten(&mut settings, hold, &mut notes);
    // What was right as the file has it is right with another hold too, unless that is longer than a hold may be.
    let asked = serde_json::from_value(settings.clone()).map_err(|why| wrong(why.to_string()))?;
    check_campaign(asked).map_err(|why| Complaint::usage(format!("--hold-ttl: {why}")))?;
    Ok(Rehearsed { settings, notes })
}

/// Has holds and offers last no longer than a rehearsal can wait.
fn shorten(settings: &mut Value, hold: Option<Duration>, notes: &mut Vec<String>) {
    let ms = |length: Duration| u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    let most = settings["hold_max_ms"].as_u64().unwrap_or(u64::MAX);
    let now = settings["hold_ttl_ms"].as_u64().unwrap_or(USUAL_HOLD_MS.min(most));
    let wanted = hold.map_or(now.min(ms(HOLD)), ms);
    settings["hold_ttl_ms"] = wanted.into();
    let is_seated = |pool: &Value| pool["kind"] == "seated";
    let seated = settings["pools"].as_array().is_some_and(|pools| pools.iter().any(is_seated));
    if wanted != now && seated {
        let (wanted, now) = (Duration::from_millis(wanted), Duration::from_millis(now));
        notes.push(format!("a hold lasts {} instead of {}", short(wanted), short(now)));
    }
    let offer = settings["offer_ms"].as_u64().unwrap_or(u64::MAX);
    settings["offer_ms"] = offer.min(ms(HOLD)).into();
}
