//! A row of the ledger in a backup: JSON, with the columns of the table `results` by their names.

use anyhow::Context as _;
use firstcome_core::Timestamp;
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_node::ledger::{Details, Row};
use serde::{Deserialize, Serialize};

/// A row; what is empty is left out.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    number: u64,
    in_campaign: u32,
    kind_number: u64,
    campaign: Box<str>,
    campaign_number: u32,
    pool: Box<str>,
    pool_number: u16,
    rank: u32,
    subject: Box<str>,
    at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    who: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hold: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moved_from: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reference: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used_by: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issue: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    import: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quantity: Option<u32>,
}

/// Returns a row as it stands in a backup.
pub(crate) fn encode(row: &Row) -> anyhow::Result<Vec<u8>> {
    let Details { reference, used_by, verdict, issue, import, quantity } =
        row.details.as_deref().cloned().unwrap_or_default();
    let Row { campaign, pool, subject, reason, who, unit, hold, moved_from, .. } = row.clone();
    let stored = Stored {
        number: row.number,
        in_campaign: row.in_campaign,
        kind_number: row.kind.code().into(),
        campaign,
        campaign_number: row.campaign_number,
        pool,
        pool_number: row.pool_number,
        rank: row.rank,
        subject,
        at: row.at.as_micros(),
        by: row.by.map(|by| by.as_str().into()),
        reason,
        who,
        unit,
        hold,
        moved_from,
        reference,
        used_by,
        verdict,
        issue,
        import,
        quantity,
    };
    Ok(serde_json::to_vec(&stored)?)
}

/// Reads a row of a backup.
pub(crate) fn decode(bytes: &[u8]) -> anyhow::Result<Row> {
    let stored: Stored =
        serde_json::from_slice(bytes).context("a row of the ledger cannot be read")?;
    let Stored { reference, used_by, verdict, issue, import, quantity, .. } = stored;
    let details = Details { reference, used_by, verdict, issue, import, quantity };
    let by = |word: &str| [By::Subject, By::Operator].into_iter().find(|by| by.as_str() == word);
    Ok(Row {
        number: stored.number,
        in_campaign: stored.in_campaign,
        kind: Kind::of(stored.kind_number).context("a row of the ledger is of no known kind")?,
        campaign: stored.campaign,
        campaign_number: stored.campaign_number,
        pool: stored.pool,
        pool_number: stored.pool_number,
        rank: stored.rank,
        subject: stored.subject,
        at: Timestamp::from_micros(stored.at),
        by: stored
            .by
            .as_deref()
            .map(|word| by(word).context("nobody undoes a claim so"))
            .transpose()?,
        reason: stored.reason,
        who: stored.who,
        unit: stored.unit,
        hold: stored.hold,
        moved_from: stored.moved_from,
        details: (details != Details::default()).then(|| Box::new(details)),
    })
}
