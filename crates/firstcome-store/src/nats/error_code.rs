//! Maps error codes of JetStream to failures.

use serde_json::Value;

use crate::error::StoreError;
use crate::store_errors::{Meaning, Store};

/// Makes the failure that an error in an answer is, by its code.
pub(super) fn refusal(place: &str, error: &Value) -> StoreError {
    let code = error.get("err_code").and_then(Value::as_u64).unwrap_or_default().to_string();
    let detail = error.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let place = place.to_owned();
    match Store::Nats.meaning(&code) {
        Some(Meaning::InUse) => StoreError::Held { place, detail },
        Some(Meaning::NoRoom) => StoreError::Full { place, detail },
        Some(Meaning::NoDatabase) => StoreError::NoDatabase { place, detail },
        Some(Meaning::NoAccess) => StoreError::Denied { code, detail },
        Some(Meaning::NotReady | Meaning::ReadOnly | Meaning::WrongKind) | None => {
            StoreError::JetStream { code, detail }
        }
    }
}
