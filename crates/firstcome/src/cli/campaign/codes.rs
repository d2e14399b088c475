//! The codes of a campaign that is created on the command line.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::time;
use crate::cli::complaint::Complaint;
use crate::config::duration_from_text;
use firstcome_client::Client;
use firstcome_core::limits::{CODE_USES, CODES_GENERATED};

/// A pool of codes, and what can be done with each of them.
#[derive(Debug, Args)]
pub(super) struct CodesArgs {
    /// The number of coupon codes that the server generates, in one pool named main.
    #[arg(long, value_name = "COUNT", group = "codes", conflicts_with_all = ["places", "pool", "seated"], value_parser = clap::value_parser!(u64).range(1..=CODES_GENERATED))]
    coded: Option<u64>,
    /// A pool named main of coupon codes that are imported: see `firstcome codes import`.
    #[arg(long, group = "codes", conflicts_with_all = ["places", "pool", "seated"])]
    coded_import: bool,
    /// How many times each code can be redeemed [default: 1].
    #[arg(long, value_name = "COUNT", requires = "codes", value_parser = clap::value_parser!(u32).range(1..=i64::from(CODE_USES)))]
    uses: Option<u32>,
    /// How many uses of these codes one subject may have.
    #[arg(long, value_name = "COUNT", requires = "codes", value_parser = clap::value_parser!(u32).range(1..))]
    uses_per_subject: Option<u32>,
    /// From when on no code can be redeemed.
    #[arg(long, value_name = "TIME", requires = "codes")]
    valid_until: Option<String>,
    /// How long after it was issued a code can be redeemed, such as 30d.
    #[arg(long, value_name = "TIME", requires = "codes", value_parser = duration_from_text)]
    valid_for: Option<Duration>,
    /// Only the subject that has a code may use it; otherwise whoever knows it.
    #[arg(long, requires = "codes")]
    only_by_holder: bool,
}

impl CodesArgs {
    /// Returns the pool of codes, if there is to be one.
    pub(super) async fn pool(&self, client: &mut Client) -> Result<Option<Value>, Complaint> {
        if self.coded.is_none() && !self.coded_import {
            return Ok(None);
        }
        let valid_until = match &self.valid_until {
            Some(text) => time::from_text(client, "--valid-until", text).await?,
            None => Value::Null,
        };
        let valid_for_ms =
            self.valid_for.map(|valid| u64::try_from(valid.as_millis()).unwrap_or(u64::MAX));
        let codes = json!({
            "source": if self.coded_import { "imported" } else { "generated" },
            "uses": self.uses,
            "uses_per_subject": self.uses_per_subject,
            "valid_until": valid_until,
            "valid_for_ms": valid_for_ms,
            "only_by_holder": self.only_by_holder,
        });
        let mut pool = json!({"name": "main", "kind": "coded", "codes": codes});
        if let Some(capacity) = self.coded {
            pool["capacity"] = capacity.into();
        }
        Ok(Some(pool))
    }
}
