//! Real servers refuse, and what that means is known by the code they say.

mod databases;
mod redis;

use firstcome_store::{Meaning, Passes, StoreError};

/// Says that a failure has this meaning, and passes or not as its meaning says.
#[track_caller]
fn means(failure: &StoreError, meaning: Meaning) {
    assert_eq!(failure.meaning(), Some(meaning), "{failure:?}");
    assert_eq!(failure.passes(), meaning.passes());
    assert_eq!(failure.passes_by_itself(), meaning.passes() == Passes::ByItself);
}
