//! Every part of an error has a name in this crate: who uses it needs no other.

use std::time::Duration;

use firstcome_lock::{Effect, Error, LockedError, Loss, Meaning, Passes, Remaining, StoreError};

/// What somebody's own code may decide by an error.
#[derive(Debug, PartialEq)]
enum Decision {
    TryLater(Option<Duration>),
    GiveTheRight(String),
    Mend(Meaning),
    SeeHowFarItGot(Loss),
    MayHaveHappened,
    Report(String),
}

fn decide(error: &LockedError) -> Decision {
    match error {
        LockedError::Held { remaining: Remaining::AtMost(left), .. } => {
            Decision::TryLater(Some(*left))
        }
        LockedError::Held { remaining: Remaining::Endless | Remaining::Unknown, .. } => {
            Decision::TryLater(None)
        }
        LockedError::Lost { loss, .. } | LockedError::Error(Error::Lost(loss)) => {
            Decision::SeeHowFarItGot(*loss)
        }
        LockedError::Error(Error::Store(StoreError::Denied { code, .. })) => {
            Decision::GiveTheRight(code.clone())
        }
        LockedError::Error(Error::Store(StoreError::Unknown { .. })) => Decision::MayHaveHappened,
        LockedError::Error(Error::Store(store)) => match store.meaning() {
            Some(meaning) if store.passes() != Passes::Never => Decision::Mend(meaning),
            Some(_) | None => Decision::Report(store.to_string()),
        },
        LockedError::Error(other) if other.effect() == Effect::Unknown => Decision::MayHaveHappened,
        other @ (LockedError::Error(_) | _) => Decision::Report(other.to_string()),
    }
}

#[test]
fn errors_are_matched_by_the_names_of_this_crate() {
    let store = |error: StoreError| decide(&LockedError::from(Error::from(error)));
    let refused = |code: &str| StoreError::of_redis("it", code.to_owned(), code.to_owned());
    assert_eq!(store(refused("NOPERM")), Decision::GiveTheRight("NOPERM".to_owned()));
    assert_eq!(store(refused("OOM")), Decision::Mend(Meaning::NoRoom));
    assert_eq!(store(refused("LOADING")), Decision::Mend(Meaning::NotReady));
    let lost = StoreError::Unknown { place: "it".to_owned(), reason: "cut".to_owned() };
    assert_eq!(store(lost), Decision::MayHaveHappened);
    let of = |error: Error| decide(&LockedError::from(error));
    assert_eq!(of(Error::Lost(Loss::Taken)), Decision::SeeHowFarItGot(Loss::Taken));
    assert_eq!(of(Error::Pending { name: "x".to_owned() }), Decision::MayHaveHappened);
    assert!(matches!(of(Error::RuntimeEnded), Decision::Report(_)));
}
