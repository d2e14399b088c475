//! `Debug` of documents that have codes: everything but the codes.
//!
//! A document is printed where somebody looks for a fault, and a log is read by many: a code must not get there. Each
//! impl names every field, so that a new one does not compile before somebody decided about it.

use std::fmt::{Debug, Formatter, Result};

use crate::claim::{Claim, Won};
use crate::code::{
    CodeLookUpRequest, CodeStepRequest, ImportLinesRequest, IssuedCode, MarkCodesRequest,
    RedeemRequest, Reissued, ReserveRequest,
};
use crate::winner::WinnerLine;

/// Stands where a code is.
struct Hidden;

impl Debug for Hidden {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("(hidden)")
    }
}

impl Debug for ReserveRequest<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { code: _, reference, pool, subject, ttl_ms, r#for: customer } = self;
        let mut shown = f.debug_struct("ReserveRequest");
        shown.field("code", &Hidden);
        shown.field("reference", reference);
        shown.field("pool", pool);
        shown.field("subject", subject);
        shown.field("ttl_ms", ttl_ms);
        shown.field("for", customer);
        shown.finish()
    }
}

impl Debug for RedeemRequest<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { code: _, reference, pool, subject, r#for: customer } = self;
        let mut shown = f.debug_struct("RedeemRequest");
        shown.field("code", &Hidden);
        shown.field("reference", reference);
        shown.field("pool", pool);
        shown.field("subject", subject);
        shown.field("for", customer);
        shown.finish()
    }
}

impl Debug for CodeStepRequest<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { code: _, reference, pool, r#for: customer } = self;
        let mut shown = f.debug_struct("CodeStepRequest");
        shown.field("code", &Hidden);
        shown.field("reference", reference);
        shown.field("pool", pool);
        shown.field("for", customer);
        shown.finish()
    }
}

impl Debug for CodeLookUpRequest<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { code, subject, pool, r#for: customer } = self;
        let mut shown = f.debug_struct("CodeLookUpRequest");
        shown.field("code", &code.as_ref().map(|_| Hidden));
        shown.field("subject", subject);
        shown.field("pool", pool);
        shown.field("for", customer);
        shown.finish()
    }
}

impl Debug for IssuedCode {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self {
            code: _,
            pool,
            rank,
            subject,
            standing,
            issue,
            issued_at,
            expires_at,
            uses,
            redeemed,
            reserved,
            references,
            marks,
        } = self;
        let mut shown = f.debug_struct("IssuedCode");
        shown.field("code", &Hidden);
        shown.field("pool", pool);
        shown.field("rank", rank);
        shown.field("subject", subject);
        shown.field("standing", standing);
        shown.field("issue", issue);
        shown.field("issued_at", issued_at);
        shown.field("expires_at", expires_at);
        shown.field("uses", uses);
        shown.field("redeemed", redeemed);
        shown.field("reserved", reserved);
        shown.field("references", references);
        shown.field("marks", marks);
        shown.finish()
    }
}

impl Debug for Reissued {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { code, outcome, campaign, pool, subject, rank, issue, position, decided } = self;
        let mut shown = f.debug_struct("Reissued");
        shown.field("code", &code.as_ref().map(|_| Hidden));
        shown.field("outcome", outcome);
        shown.field("campaign", campaign);
        shown.field("pool", pool);
        shown.field("subject", subject);
        shown.field("rank", rank);
        shown.field("issue", issue);
        shown.field("position", position);
        shown.field("decided", decided);
        shown.finish()
    }
}

impl Debug for Won<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { code, outcome, campaign, pool, subject, rank, at, position, decided } = self;
        let mut shown = f.debug_struct("Won");
        shown.field("code", &code.as_ref().map(|_| Hidden));
        shown.field("outcome", outcome);
        shown.field("campaign", campaign);
        shown.field("pool", pool);
        shown.field("subject", subject);
        shown.field("rank", rank);
        shown.field("at", at);
        shown.field("position", position);
        shown.field("decided", decided);
        shown.finish()
    }
}

impl Debug for Claim {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { code, pool, rank, unit, hold, at, cancelled } = self;
        let mut shown = f.debug_struct("Claim");
        shown.field("code", &code.as_ref().map(|_| Hidden));
        shown.field("pool", pool);
        shown.field("rank", rank);
        shown.field("unit", unit);
        shown.field("hold", hold);
        shown.field("at", at);
        shown.field("cancelled", cancelled);
        shown.finish()
    }
}

impl Debug for WinnerLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { code, campaign, pool, rank, subject, unit, at, hold } = self;
        let mut shown = f.debug_struct("WinnerLine");
        shown.field("code", &code.as_ref().map(|_| Hidden));
        shown.field("campaign", campaign);
        shown.field("pool", pool);
        shown.field("rank", rank);
        shown.field("subject", subject);
        shown.field("unit", unit);
        shown.field("at", at);
        shown.field("hold", hold);
        shown.finish()
    }
}

impl Debug for MarkCodesRequest {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { codes, pool, ranks, import, reason } = self;
        let mut shown = f.debug_struct("MarkCodesRequest");
        shown.field("codes", &format_args!("{} (hidden)", codes.len()));
        shown.field("pool", pool);
        shown.field("ranks", ranks);
        shown.field("import", import);
        shown.field("reason", reason);
        shown.finish()
    }
}

impl Debug for ImportLinesRequest<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { codes, pool, first } = self;
        let mut shown = f.debug_struct("ImportLinesRequest");
        shown.field("codes", &format_args!("{} (hidden)", codes.len()));
        shown.field("pool", pool);
        shown.field("first", first);
        shown.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::{Value, json};

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
