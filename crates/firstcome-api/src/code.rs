//! Coupon codes: their settings, their use, and what operators do with them.
//!
//! A code never stands in a path or a query: every request that has one has it in its body.

use crate::hidden::Hidden;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The codes of a coded pool.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CodesRequest {
    /// Where they come from.
    #[serde(default)]
    pub source: CodeSource,
    /// The id of the key in `code_keys` with which they are made or kept; if left out, the one the pool has, and for a new pool
    /// the server's first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How many times each can be redeemed: 1 to 100,000; 1 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// How many uses of the pool's codes one subject may have, reserved and redeemed together; no limit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses_per_subject: Option<u32>,
    /// From when on none can be redeemed: RFC 3339 with an offset, or a local time with its zone; never if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
    /// How long after it was issued each can be redeemed: 1,000 to 315,360,000,000 (3,650 days); no limit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_for_ms: Option<i64>,
    /// Whether only its holder may use it; otherwise whoever has it.
    #[serde(default)]
    pub only_by_holder: bool,
}

/// Where the codes of a pool come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CodeSource {
    /// The server computes them from its key.
    #[default]
    Generated,
    /// The operator brings them.
    Imported,
}

/// The codes of a coded pool, as they are set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CodesView))]
pub struct PoolCodes {
    /// `generated` or `imported`.
    pub source: Cow<'static, str>,
    /// The id of their key; not in answers to subject tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How many times each can be redeemed.
    pub uses: u32,
    /// How many uses of the pool's codes one subject may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses_per_subject: Option<u32>,
    /// From when on none can be redeemed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
    /// How long after it was issued each can be redeemed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_for_ms: Option<i64>,
    /// Whether only its holder may use it.
    pub only_by_holder: bool,
}

impl PoolCodes {
    /// Returns the settings with which they would be as they are.
    pub fn settings(&self) -> CodesRequest {
        let imported = self.source == "imported";
        CodesRequest {
            source: if imported { CodeSource::Imported } else { CodeSource::Generated },
            key: self.key.clone(),
            uses: Some(self.uses),
            uses_per_subject: self.uses_per_subject,
            valid_until: self.valid_until.clone(),
            valid_for_ms: self.valid_for_ms,
            only_by_holder: self.only_by_holder,
        }
    }
}

/// A use of a code is set aside.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReserveRequest<'a> {
    /// The code as it was typed.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub code: Hidden<Cow<'a, str>>,
    /// The caller's name for this use, such as the id of an order: 1 to 64 bytes. Code and reference are the identity of the
    /// step.
    #[serde(borrow)]
    pub reference: Cow<'a, str>,
    /// The pool; if left out, every coded pool of the campaign is tried.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Cow<'a, str>>,
    /// Who uses it. Required where only its holder may; a subject token contains its subject.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Cow<'a, str>>,
    /// For how long: 1,000 to 86,400,000; 900,000 (15 minutes) if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<i64>,
    /// The caller's customer who typed the code, 1 to 255 bytes: wrong codes are counted for it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub r#for: Option<Cow<'a, str>>,
}

/// A code is used.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RedeemRequest<'a> {
    /// The code as it was typed.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub code: Hidden<Cow<'a, str>>,
    /// The caller's name for this use, such as the id of an order: 1 to 64 bytes.
    #[serde(borrow)]
    pub reference: Cow<'a, str>,
    /// The pool; if left out, every coded pool of the campaign is tried.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Cow<'a, str>>,
    /// Who uses it. Required where only its holder may.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Cow<'a, str>>,
    /// The caller's customer who typed the code, 1 to 255 bytes: wrong codes are counted for it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub r#for: Option<Cow<'a, str>>,
}

/// A redemption is undone, or a reservation is given back.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CodeStepRequest<'a> {
    /// The code as it was typed.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub code: Hidden<Cow<'a, str>>,
    /// The reference of the redemption or of the reservation.
    #[serde(borrow)]
    pub reference: Cow<'a, str>,
    /// The pool; if left out, every coded pool of the campaign is tried.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Cow<'a, str>>,
    /// The caller's customer who typed the code, 1 to 255 bytes: wrong codes are counted for it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub r#for: Option<Cow<'a, str>>,
}

/// A step on a code. No answer to a step has the code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CodeStep {
    /// `reserved`, `already_reserved`, `redeemed`, `rolled_back` or `reservation_ended`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool of the code.
    pub pool: String,
    /// The rank of the code's claim.
    pub rank: u32,
    /// The reference.
    pub reference: String,
    /// For `redeemed` and `rolled_back`, when it was the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// For `reserved` and `already_reserved`, when the reservation ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// For `rolled_back`, whether the code had expired meanwhile: then its use did not come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired: Option<bool>,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'static, str>,
}

/// Codes are looked up: by their text, or by their holder. Exactly one of `code` and `subject`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CodeLookUpRequest<'a> {
    /// The code as it was typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub code: Option<Hidden<Cow<'a, str>>>,
    /// The holder.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Cow<'a, str>>,
    /// The pool; if left out, every coded pool of the campaign.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Cow<'a, str>>,
    /// The caller's customer who typed the code, 1 to 255 bytes: wrong codes are counted for it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub r#for: Option<Cow<'a, str>>,
}

/// Codes that were looked up.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CodesFound))]
pub struct CodesFound {
    /// The campaign.
    pub campaign: String,
    /// The codes, the latest first in each pool: at most 100.
    pub codes: Vec<IssuedCode>,
    /// Whether there are more codes, or more references or marks of one, than are shown.
    pub more: bool,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this node's state may be out of date.
    pub stale: bool,
    /// Whether this data is known to be durable; `false` if it was not within 1 s.
    pub durable: bool,
}

/// An issued code and its history.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CodeView))]
pub struct IssuedCode {
    /// Its pool.
    pub pool: String,
    /// The rank of its claim.
    pub rank: u32,
    /// Its holder.
    pub subject: String,
    /// The code that the claim has now; a code that was replaced is not shown.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub code: Hidden<String>,
    /// `issued`, `reserved`, `redeemed`, `expired`, `suspended` or `revoked`. A code that was looked up by its text and has been
    /// replaced is `revoked`.
    pub standing: Cow<'static, str>,
    /// The issue number of the code that the claim has now: 1, and one more each time it was replaced.
    pub issue: u16,
    /// When the claim was won.
    pub issued_at: String,
    /// From when on it cannot be redeemed; null for never.
    pub expires_at: Option<String>,
    /// How many times it can be redeemed.
    pub uses: u32,
    /// How many of them are gone.
    pub redeemed: u32,
    /// How many of them are reserved.
    pub reserved: u32,
    /// What was done with it under references, the latest first: at most 1,000 in an answer.
    pub references: Vec<CodeUse>,
    /// What operators did to it, in order: at most the latest 1,000 in an answer.
    pub marks: Vec<CodeMark>,
}

/// A use of a code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CodeUseView))]
pub struct CodeUse {
    /// The reference.
    pub reference: String,
    /// Who used it, if somebody else than its holder was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// `reserved`, `over` (the reservation has expired), `released`, `redeemed` or `rolled_back`.
    pub state: Cow<'static, str>,
    /// When this state began; of `over`, when it was reserved.
    pub at: String,
    /// For `reserved`, when the reservation ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// For `rolled_back`, when it had been redeemed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redeemed_at: Option<String>,
    /// For `rolled_back`, whether the code had expired meanwhile: then its use did not come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired: Option<bool>,
}

/// What an operator did to a code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CodeMarkView))]
pub struct CodeMark {
    /// `revoke`, `suspend`, `restore` or `reissue`.
    pub what: Cow<'static, str>,
    /// The issue number from then on.
    pub issue: u16,
    /// When.
    pub at: String,
    /// The reason; empty if there is none.
    pub reason: String,
    /// The name of the key it was done with.
    pub who: String,
}

/// Codes are revoked, suspended or restored. Exactly one of `codes`, `ranks` and `import`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MarkCodesRequest {
    /// The pool; may be left out if the campaign has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// The codes: 1 to 4,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub codes: Hidden<Vec<String>>,
    /// The codes that the claims of these ranks have now: 1 to 4,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
    /// The id of an import, all of whose codes are revoked, issued or not. Not to suspend or to restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// The reason: up to 256 bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Codes that stand as an operator decided.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CodesMarked {
    /// `codes_marked`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// `revoke`, `suspend` or `restore`.
    pub verdict: Cow<'static, str>,
    /// How many stand otherwise than before.
    pub changed: u32,
    /// Which of the codes or ranks do not exist, by their place in the request, from 0: the first 100.
    pub unknown: Vec<u32>,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'static, str>,
}

/// The code of a claim is replaced by another one; the old one is revoked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReissueRequest {
    /// The pool; may be left out if the campaign has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// The owner of the claim.
    pub subject: String,
    /// The rank of the claim.
    pub rank: u32,
    /// The issue number that the new code is to have: one more than the present one, which a look-up says. With it a request that
    /// is sent again replaces the code once; if left out, each request replaces the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<u16>,
    /// The reason: up to 256 bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A claim has another code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Reissued {
    /// `reissued`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// The owner of the claim.
    pub subject: String,
    /// The rank of the claim.
    pub rank: u32,
    /// The issue number of the new code.
    pub issue: u16,
    /// The new code; left out if it was replaced again meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub code: Option<Hidden<String>>,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'static, str>,
}

/// An import begins, or goes on after an interruption.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ImportCodesRequest {
    /// The pool; may be left out if the campaign has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// A digest of the file, such as its SHA-256 in hexadecimal digits: 16 to 128 bytes of ASCII. The same file is the same
    /// import.
    pub digest: String,
    /// The number of codes in the file: 1 to 2,000,000.
    pub lines: u32,
    /// Whether each code counts only as it is spelled. If not, it is the same code in capitals or without, in full-width letters,
    /// with another dash or with white space.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
}

/// Lines of an import.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ImportLinesRequest<'a> {
    /// The pool; may be left out if the campaign has one.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Cow<'a, str>>,
    /// How many codes of the file come before these.
    pub first: u32,
    /// The codes, in the order of the file: 1 to 4,000, each 1 to 64 bytes of characters that Unicode 18 has, without control
    /// characters.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub codes: Hidden<Vec<Cow<'a, str>>>,
}

/// An import ends: all its codes are put in stock.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CommitCodesRequest {
    /// The pool; may be left out if the campaign has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// The number of codes in the file.
    pub lines: u32,
}

/// How far an import is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CodeImport {
    /// `codes_staged` while it is under way, `codes_imported` once it was committed, `import_discarded`.
    pub outcome: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// Its id.
    pub import: String,
    /// For `codes_staged`, how many lines were taken: the `first` of the next chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
    /// For `codes_imported`, the number of codes in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    /// For `codes_imported`, how many of them were new to the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u32>,
    /// For `codes_imported`, the codes that were not new, by their number in the file, from 1: the first 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<Vec<u32>>,
    /// The position to which this answer belongs.
    pub position: String,
    /// `journal`, or `replica` if the state of this server was enough.
    pub decided: Cow<'static, str>,
}

/// The imports of a pool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CodeImportsView))]
pub struct CodeImportList {
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// Those that were committed, in order: at most 1,000.
    pub imports: Vec<CodeImportLine>,
    /// The id of the import under way; null if there is none.
    pub open: Option<String>,
    /// How many lines of the import under way were taken.
    pub next: Option<u32>,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this data is known to be durable; `false` if it was not within 1 s.
    pub durable: bool,
}

/// A committed import.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CodeImportView))]
pub struct CodeImportLine {
    /// Its id.
    pub import: String,
    /// When it was committed.
    pub at: String,
    /// The name of the key it was committed with.
    pub who: String,
    /// The number of codes in its file.
    pub lines: u32,
    /// How many of them were new to the pool.
    pub added: u32,
    /// Whether all its codes were revoked.
    pub revoked: bool,
}
