//! An endpoint with the version that is stored, and what keeps it from being changed.

use crate::endpoint::Endpoint;
use firstcome_node::ledger::{Ledger, LedgerError, StoredWebhook};

/// Endpoints of a space.
pub(crate) const ENDPOINTS: usize = 100;

/// Why something asked of the endpoints was not done. Nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("there is no such webhook")]
    NoSuch,
    /// The settings cannot be taken; says why.
    #[error("{0}")]
    Bad(String),
    #[error("a space has at most {ENDPOINTS} webhooks")]
    TooMany,
    #[error("this Idempotency-Key was used for a webhook with other settings")]
    Reused,
    #[error("others change it again and again: try later")]
    Changing,
    #[error("the ledger: {0}")]
    Ledger(#[from] LedgerError),
}

/// An endpoint with the version that is stored.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) id: String,
    pub(crate) version: u64,
    pub(crate) endpoint: Endpoint,
}

impl Stored {
    pub(crate) fn read(row: StoredWebhook) -> Result<Self, LedgerError> {
        let StoredWebhook { id, version, document } = row;
        let endpoint = serde_json::from_str(&document);
        // What stands there may be a secret: only the place is said.
        let broken = |why: serde_json::Error| {
            let (line, column) = (why.line(), why.column());
            LedgerError::Broken(format!(
                "the document of webhook {id}, line {line} column {column}"
            ))
        };
        let endpoint = endpoint.map_err(broken)?;
        Ok(Self { id, version, endpoint })
    }

    /// Writes it with this content; says whether nobody had changed it since it was read.
    pub(crate) async fn write(
        &mut self,
        ledger: &Ledger,
        endpoint: Endpoint,
    ) -> Result<bool, Failure> {
        let document =
            serde_json::to_string(&endpoint).expect("an endpoint can be written as JSON");
        let (id, version) = (self.id.clone(), self.version + 1);
        let row = StoredWebhook { id, version, document };
        let written = match ledger.put_webhook(row.clone()).await {
            // The answer was lost: whoever drew this document wrote it.
            Err(LedgerError::Unknown(_)) => {
                let there = ledger.webhooks().await?.into_iter().find(|there| there.id == row.id);
                there.is_some_and(|there| there == row)
            }
            written => written?,
        };
        if written {
            (self.version, self.endpoint) = (version, endpoint);
        }
        Ok(written)
    }
}

/// Reads one endpoint.
pub(crate) async fn read_one(ledger: &Ledger, id: &str) -> Result<Option<Stored>, LedgerError> {
    let rows = ledger.webhooks().await?;
    rows.into_iter().find(|row| row.id == id).map(Stored::read).transpose()
}
