//! The refusals about codes, a row each.

use super::{Effect, IN_1_S, LATER, NO, Row};
use axum::http::StatusCode;
use firstcome_core::CodeRefusal;

#[rustfmt::skip]
pub(super) fn row(refusal: CodeRefusal) -> Row {
    use CodeRefusal as R;
    use StatusCode as S;
    let (status, (retry, retry_after), title) = match refusal {
        //                             status                   retry    title
        R::NotCoded               => (S::CONFLICT,             NO,      "The pool has no codes"),
        R::NotImported            => (S::CONFLICT,             NO,      "The pool's codes are generated"),
        R::ClaimRequired          => (S::CONFLICT,             NO,      "Codes are claimed, not held"),
        R::TagRequired            => (S::SERVICE_UNAVAILABLE,  IN_1_S,  "This server did not know yet that the pool has codes"),
        R::NoSuchCode             => (S::NOT_FOUND,            NO,      "There is no such code"),
        R::NotIssued              => (S::CONFLICT,             NO,      "The code is in stock: nobody was given it"),
        R::SubjectRequired        => (S::UNPROCESSABLE_ENTITY, NO,      "Only its holder may use the code: name the subject"),
        R::AlreadyRedeemed        => (S::CONFLICT,             NO,      "This reference has redeemed the code"),
        R::AlreadyRolledBack      => (S::CONFLICT,             NO,      "This reference's redemption was rolled back"),
        R::CodeRevoked            => (S::GONE,                 NO,      "The code does not count any more"),
        R::CodeSuspended          => (S::CONFLICT,             LATER,   "The code does not count until somebody decides"),
        R::CodeExpired            => (S::GONE,                 NO,      "The code is not valid any more"),
        R::CodeUsed               => (S::CONFLICT,             NO,      "Every use of the code is redeemed"),
        R::CodeReserved           => (S::CONFLICT,             LATER,   "What is left of the code is reserved under other references"),
        R::ReusedSince            => (S::CONFLICT,             NO,      "After this reference's redemption was rolled back, others used the code"),
        R::NotRedeemed            => (S::CONFLICT,             NO,      "This reference has not redeemed the code"),
        R::NotReserved            => (S::CONFLICT,             NO,      "This reference has not reserved the code"),
        R::TooManyReferences      => (S::CONFLICT,             NO,      "The code remembers as many references as one may"),
        R::CodeInUse              => (S::CONFLICT,             NO,      "The claim's code is redeemed or reserved"),
        R::CodesValid             => (S::CONFLICT,             LATER,   "Codes of the campaign can still be redeemed"),
        R::ImportOpen             => (S::CONFLICT,             LATER,   "Another import of the pool is under way"),
        R::NoSuchImport           => (S::NOT_FOUND,            NO,      "There is no such import under way"),
        R::ChunkMissing { .. }    => (S::CONFLICT,             NO,      "Lines before these are missing"),
        R::ImportIncomplete { .. }=> (S::CONFLICT,             NO,      "The import does not have as many lines as its file"),
        R::TooManyCodes           => (S::CONFLICT,             NO,      "The pool cannot have as many codes"),
        R::TooManyImports         => (S::CONFLICT,             NO,      "The pool cannot have as many imports"),
        R::ReissuedSince { .. }   => (S::CONFLICT,             NO,      "The code has another issue number"),
        R::TooManyReissues        => (S::CONFLICT,             NO,      "The claim's code was replaced as often as one can be"),
    };
    Row { outcome: refusal.as_str(), status, retry, retry_after, effect: Effect::None, title }
}
