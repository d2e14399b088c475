//! Maps failures of the store to failures of the journal.

use crate::failure::Failure;
use firstcome_store::{Effect, Failure as Store, Meaning, Passes, Reply};

/// Says what became of a call that may have changed something.
pub(super) fn trouble(failure: Store) -> Failure {
    let text = failure.to_string();
    // What passes is said before a script runs, or at its first write, and refused there it has done nothing.
    if let Store::Refused { .. } = failure {
        match failure.meaning() {
            Some(Meaning::NoRoom) => return Failure::Full(text),
            Some(meaning) if meaning.passes() != Passes::Never => {
                return Failure::Unavailable(text);
            }
            Some(_) | None => {}
        }
    }
    if let Store::Denied { code, .. } = &failure {
        let fix = if code == "NOPERM" {
            "give the user the rights listed in docs/reference/in-redis.md, with ACL SETUSER"
        } else {
            "check user and password in its URL: redis://USER:PASSWORD@HOST:PORT"
        };
        return Failure::Unfit { why: text, fix: fix.to_owned() };
    }
    if let Store::TooOld { .. }
    | Store::Cluster { .. }
    | Store::WrongKind { .. }
    | Store::Tls { .. }
    | Store::Address { .. } = &failure
    {
        let fix = failure.hint().unwrap_or_default().to_owned();
        return Failure::Unfit { why: text, fix };
    }
    match failure.effect() {
        Effect::None => Failure::Unavailable(text),
        Effect::Unknown | _ => Failure::Unknown(text),
    }
}

/// Says what became of a call that only reads: it cannot have changed anything.
pub(super) fn looked(failure: Store) -> Failure {
    let failure = trouble(failure);
    if let Failure::Unknown(text) = failure {
        return Failure::Unavailable(text);
    }
    failure
}

/// An answer of a shape that no script of ours gives.
pub(super) fn unexpected(reply: &Reply, wanted: &str) -> Failure {
    let mut found = format!("{reply:?}");
    found.truncate(found.floor_char_boundary(200));
    Failure::Unknown(format!("the store answered {found} instead of {wanted}"))
}
