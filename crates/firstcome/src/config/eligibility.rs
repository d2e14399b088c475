//! `[[eligibility]]` entries: whom to ask before a claim or a hold, and what is so while nobody answers.

use super::entries::Entries;
use super::span::duration_from_text;
use super::{size, whole};
use firstcome_http::guard::eligibility::Terms;
use firstcome_http::guard::token::Scope;
use http::{HeaderValue, Uri};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// One `[[eligibility]]` entry of the configuration file.
#[derive(Debug, Clone)]
pub struct EligibilitySetting {
    /// The data that the check gets.
    pub terms: Terms,
    /// The file with the authorities of the service.
    pub ca: Option<PathBuf>,
    /// The campaigns, as they are written.
    campaign: String,
}

impl EligibilitySetting {
    /// Returns the settings of the check, with the certificate authorities read.
    ///
    /// # Errors
    ///
    /// Names the file that cannot be read.
    pub fn terms(&self) -> Result<Terms, String> {
        let mut terms = self.terms.clone();
        if let Some(file) = &self.ca {
            let pem = std::fs::read(file);
            let pem = pem.map_err(|why| format!("cannot read {}: {why}", file.display()))?;
            terms.ca = Some(Arc::from(pem));
        }
        Ok(terms)
    }

    /// Returns what decides about people: whom it is asked about, where, and what is so while nobody answers. The secret is
    /// not in it.
    pub fn shown(&self) -> String {
        let Terms { url, admits_when_down, .. } = &self.terms;
        format!("{} {url} {admits_when_down}", self.campaign)
    }

    /// Returns the campaigns, as they are written.
    pub fn campaign(&self) -> &str {
        &self.campaign
    }
}

/// How the entries are read.
pub(super) const ELIGIBILITY: Entries<EligibilitySetting> = Entries {
    setting: "eligibility",
    fields: &[
        "campaign",
        "url",
        "when_down",
        "authorization",
        "ca",
        "timeout_ms",
        "concurrent",
        "keep_yes",
        "keep_no",
        "entries",
        "failures",
        "probe_every",
    ],
    required: &["campaign", "url", "when_down"],
    begin: || EligibilitySetting {
        terms: Terms {
            campaign: Scope::Prefix("".into()),
            url: Uri::default(),
            authorization: None,
            ca: None,
            timeout: Duration::from_secs(1),
            concurrent: 64,
            keep_yes: Duration::from_secs(60),
            keep_no: Duration::from_secs(5),
            entries: 100_000,
            failures: 5,
            probe_every: Duration::from_secs(1),
            admits_when_down: false,
        },
        ca: None,
        campaign: String::new(),
    },
    read: read_field,
    whole: |_| Ok(()),
    name: |entry| &entry.campaign,
};

fn read_field(entry: &mut EligibilitySetting, field: &str, text: &str) -> Result<(), String> {
    let terms = &mut entry.terms;
    match field {
        "campaign" => {
            terms.campaign = text.parse().map_err(|why| format!("is not right: {why}"))?;
            text.clone_into(&mut entry.campaign);
        }
        "url" => terms.url = url(text)?,
        "when_down" => {
            terms.admits_when_down = match text {
                "refuse" => false,
                "admit" => true,
                _ => return Err(format!("must be refuse or admit, not `{text}`")),
            }
        }
        "authorization" => {
            let mut value = HeaderValue::from_str(text)
                .map_err(|_| "must be the value of a header, in visible ASCII".to_owned())?;
            value.set_sensitive(true);
            terms.authorization = Some(value);
        }
        "ca" => entry.ca = Some(text.into()),
        "timeout_ms" => terms.timeout = Duration::from_millis(whole(text, 1, 60_000)?),
        "concurrent" => terms.concurrent = size(text, 1, 65_536)?,
        "keep_yes" => terms.keep_yes = keep(text)?,
        "keep_no" => terms.keep_no = keep(text)?,
        "entries" => terms.entries = size(text, 0, 100_000_000)?,
        "failures" => terms.failures = whole(text, 0, 1_000_000)? as u32,
        _ => {
            let times = Duration::from_millis(10)..=Duration::from_secs(3_600);
            let time = duration_from_text(text).ok().filter(|time| times.contains(time));
            let wrong = || format!("must be a time from 10ms to 1h, like `1s`, not `{text}`");
            terms.probe_every = time.ok_or_else(wrong)?;
        }
    }
    Ok(())
}

fn url(text: &str) -> Result<Uri, String> {
    let uri = text.parse::<Uri>().ok();
    let fits = |uri: &Uri| {
        let scheme = uri.scheme_str() == Some("http") || uri.scheme_str() == Some("https");
        let bare = uri.authority().is_some_and(|host| !host.as_str().contains('@'));
        scheme && bare
    };
    uri.filter(fits).ok_or_else(|| {
        "must be a URL such as https://shop.internal/eligible; a secret belongs into authorization"
            .to_owned()
    })
}

fn keep(text: &str) -> Result<Duration, String> {
    let most = Duration::from_secs(86_400);
    let time = duration_from_text(text).ok().filter(|time| *time <= most);
    time.ok_or_else(|| format!("must be a time up to 1d, like `60s`, not `{text}`"))
}
