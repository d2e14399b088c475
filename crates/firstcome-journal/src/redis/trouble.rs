//! Maps failures of the store to failures of the journal.

use crate::error::JournalError;
use firstcome_store::{Effect, Meaning, Passes, RedisReply, StoreError};

/// Says what became of a call that may have changed something.
pub(super) fn trouble(failure: StoreError) -> JournalError {
    let text = failure.to_string();
    // What passes is said before a script runs, or at its first write, and refused there it has done nothing.
    if let StoreError::Refused { .. } = failure {
        match failure.meaning() {
            Some(Meaning::NoRoom) => return JournalError::Full(text),
            Some(meaning) if meaning.passes() != Passes::Never => {
                return JournalError::Unavailable(text);
            }
            Some(_) | None => {}
        }
    }
    if let StoreError::Denied { code, .. } = &failure {
        let fix = if code == "NOPERM" {
            "give the user the rights listed in docs/reference/in-redis.md, with ACL SETUSER"
        } else {
            "check user and password in its URL: redis://USER:PASSWORD@HOST:PORT"
        };
        return JournalError::Unfit { why: text, fix: fix.to_owned() };
    }
    if let StoreError::TooOld { .. }
    | StoreError::Cluster { .. }
    | StoreError::NoCluster { .. }
    | StoreError::WrongKind { .. }
    | StoreError::Tls { .. }
    | StoreError::Address { .. } = &failure
    {
        let fix = failure.hint().unwrap_or_default().to_owned();
        return JournalError::Unfit { why: text, fix };
    }
    match failure.effect() {
        Effect::None => JournalError::Unavailable(text),
        Effect::Unknown | _ => JournalError::Unknown(text),
    }
}

/// Says what became of a call that only reads: it cannot have changed anything.
pub(super) fn looked(failure: StoreError) -> JournalError {
    let failure = trouble(failure);
    if let JournalError::Unknown(text) = failure {
        return JournalError::Unavailable(text);
    }
    failure
}

/// An answer of a shape that no script of ours gives.
pub(super) fn unexpected(reply: &RedisReply, wanted: &str) -> JournalError {
    let mut found = format!("{reply:?}");
    found.truncate(found.floor_char_boundary(200));
    JournalError::Unknown(format!("the store answered {found} instead of {wanted}"))
}
