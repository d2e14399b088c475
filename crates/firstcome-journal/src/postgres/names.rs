//! The names of a journal's schema, of its locks and of its channel.

use crate::error::JournalError;
use xxhash_rust::xxh3::xxh3_64;

/// What the name of a journal's schema begins with.
const PREFIX: &str = "fc_journal_";
/// Bytes a name may have in PostgreSQL.
const LONGEST: usize = 63;

/// Under which names a journal is found.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// Also the name of the channel.
    pub(super) schema: String,
    /// The advisory lock of a transaction that changes the journal.
    pub(super) order_lock: i64,
    /// The advisory lock of who listens.
    pub(super) listening_lock: i64,
}

impl Names {
    pub(super) fn of(space_name: &str) -> Result<Self, JournalError> {
        let schema = format!("{PREFIX}{space_name}");
        if schema.len() > LONGEST {
            let most = LONGEST - (schema.len() - space_name.len());
            return Err(JournalError::Unfit {
                why: format!("the name of a space in PostgreSQL has at most {most} bytes"),
                fix: "choose a shorter --space".to_owned(),
            });
        }
        // The same for every server of the space; another journal with the same number of a lock would only have to wait.
        let lock = |what: &str| xxh3_64(format!("{what} of {schema}").as_bytes()).cast_signed();
        Ok(Self { order_lock: lock("order"), listening_lock: lock("listeners"), schema })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journals_have_names_of_their_own() {
        let [main, other] = ["main", "main_0"].map(|name| Names::of(name).unwrap());
        assert_eq!(main.schema, "fc_journal_main");
        assert_ne!(main.schema, other.schema);
        assert_ne!(main.order_lock, main.listening_lock);
        assert_ne!(main.order_lock, other.order_lock);
        let failure = Names::of(&"x".repeat(53)).unwrap_err();
        assert!(failure.to_string().contains("at most 52 bytes"), "{failure}");
        assert_eq!(Names::of(&"x".repeat(52)).unwrap().schema.len(), LONGEST);
    }
}
