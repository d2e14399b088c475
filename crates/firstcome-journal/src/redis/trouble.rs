//! What a failure of the store means for the journal.

use crate::Failure;
use firstcome_store::{Effect, Failure as Store, Reply};

/// Errors that come before a script's first write, or before it runs at all, and pass by themselves.
const PASSING: [&str; 7] =
    ["LOADING", "BUSY", "MASTERDOWN", "NOREPLICAS", "MISCONF", "TRYAGAIN", "CLUSTERDOWN"];

/// Says what became of a call that may have changed something.
pub(super) fn trouble(failure: Store) -> Failure {
    let text = failure.to_string();
    match &failure {
        // Each script's first write is one that is refused without memory, and refused there it has done nothing.
        Store::Refused { detail } if detail.contains("OOM") => Failure::Full(text),
        Store::Refused { detail } if PASSING.iter().any(|code| detail.contains(code)) => {
            Failure::Unavailable(text)
        }
        Store::Denied { .. } => Failure::Unfit {
            why: text,
            fix: "give the user what docs/reference/redis-keys.md lists under `ACL SETUSER`"
                .to_owned(),
        },
        Store::TooOld { .. }
        | Store::WrongKind { .. }
        | Store::Tls { .. }
        | Store::Address { .. } => {
            let fix = failure.hint().unwrap_or_default().to_owned();
            Failure::Unfit { why: text, fix }
        }
        _ => match failure.effect() {
            Effect::None => Failure::Unavailable(text),
            Effect::Unknown => Failure::Unknown(text),
        },
    }
}

/// Says what became of a call that only reads: it cannot have changed anything.
pub(super) fn looked(failure: Store) -> Failure {
    match trouble(failure) {
        Failure::Unknown(text) => Failure::Unavailable(text),
        other => other,
    }
}

/// An answer of a shape that no script of ours gives.
pub(super) fn unexpected(reply: &Reply, wanted: &str) -> Failure {
    let mut found = format!("{reply:?}");
    found.truncate(found.floor_char_boundary(200));
    Failure::Unknown(format!("the store answered {found} instead of {wanted}"))
}
