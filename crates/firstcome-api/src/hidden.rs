//! Values that are never shown.

use serde::{Deserialize, Serialize};
use std::fmt::{Debug, Formatter, Result};
use std::ops::Deref;

/// A value that `Debug` does not show: a code.
///
/// A document is printed where somebody looks for a fault, and a log is read by many: a code must not get there. It has no
/// `Display` either; the value itself is behind `*`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hidden<T>(pub T);

impl<T> Debug for Hidden<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("(hidden)")
    }
}

impl<T> Deref for Hidden<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Hidden<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use crate::claim::{Claim, Won};
    use crate::code::{
        CodeLookUpRequest, CodeStepRequest, ImportLinesRequest, IssuedCode, MarkCodesRequest,
        RedeemRequest, Reissued, ReserveRequest,
    };
    use crate::winner::WinnerLine;
    use serde::Deserialize;
    use serde_json::{Value, json};
    use std::fmt::Debug;

    const CODE: &str = "4F2K-9ABC-7XYZ-TT01";

    /// Reads a document that has the code, and shows it.
    fn shown<'de, T: Deserialize<'de> + Debug>(document: &'de str) -> String {
        assert!(document.contains(CODE));
        format!("{:?}", serde_json::from_str::<T>(document).unwrap())
    }

    #[test]
    fn no_document_shows_its_code() {
        let base = json!({
            "outcome": "won", "campaign": "sale", "pool": "main", "subject": "ann", "rank": 1, "at": "t",
            "issue": 1, "position": "0.1", "decided": "journal",
        });
        let with = |more: Value, all: bool| {
            let mut document = if all { base.clone() } else { json!({}) };
            for (name, value) in more.as_object().unwrap() {
                document[name] = value.clone();
            }
            document.to_string()
        };
        let step = with(json!({"code": CODE, "reference": "order-1"}), false);
        let codes = with(json!({"codes": [CODE, CODE], "first": 0}), false);
        let marks = with(json!({"codes": [CODE, CODE]}), false);
        let issued = with(
            json!({
                "code": CODE, "standing": "issued", "issued_at": "t", "expires_at": null, "uses": 1,
                "redeemed": 0, "reserved": 0, "references": [], "marks": [],
            }),
            true,
        );
        let all = with(json!({ "code": CODE, "cancelled": null }), true);
        let look_up = json!({ "code": CODE }).to_string();
        let said = [
            shown::<ReserveRequest<'_>>(&step),
            shown::<RedeemRequest<'_>>(&step),
            shown::<CodeStepRequest<'_>>(&step),
            shown::<CodeLookUpRequest<'_>>(&look_up),
            shown::<MarkCodesRequest>(&marks),
            shown::<ImportLinesRequest<'_>>(&codes),
            shown::<IssuedCode>(&issued),
            shown::<Reissued>(&all),
            shown::<Won<'_>>(&all),
            shown::<Claim>(&all),
            shown::<WinnerLine>(&all),
        ];
        for said in said {
            assert!(!said.contains("4F2K") && said.contains("hidden"), "{said}");
        }
    }
}
