//! The names of one lock in a store: its keys, its channel and its row.

use std::borrow::Cow;

use crate::error::Error;

/// The longest name in bytes.
const LONGEST: usize = 4096;

/// How long a fence counter outlives its last use: the store's clock keeps fences growing after that.
const COUNTER_LIFE_MS: u64 = 86_400_000;

/// What the keys of fence counters begin with: of ours, and of Redisson's fenced locks.
const OURS: &str = "fc:fence";
const REDISSONS: &str = "redisson_lock_token";

/// How many may read together, and the most permits a semaphore can have: each stands in its row.
#[cfg(feature = "permits")]
pub(crate) const MOST_PERMITS: u32 = 1000;

/// Which lock of a name is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// Redisson's lock: a hash.
    Plain,
    /// Redisson's fenced lock: the same hash, another counter.
    Fenced,
    /// Redisson's fair lock: the same hash, and a line of those who wait.
    Fair,
    /// The lock of the SET NX PX family: a string.
    Token,
    /// A permit of a semaphore that has so many.
    #[cfg(feature = "permits")]
    Semaphore { permits: u32 },
    /// A reader of a read/write lock.
    #[cfg(feature = "permits")]
    Read,
    /// Its writer.
    #[cfg(feature = "permits")]
    Write,
}

/// Which holds go into one request when they are renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    Lock,
    Token,
    #[cfg(feature = "permits")]
    Permit,
}

impl Sort {
    pub(crate) const ALL: &[Self] = &[
        Self::Lock,
        Self::Token,
        #[cfg(feature = "permits")]
        Self::Permit,
    ];
}

impl Kind {
    /// Returns how many may have it together, 0 for one who has to be alone; `None` for a lock.
    pub(crate) fn permits(self) -> Option<u32> {
        match self {
            Self::Plain | Self::Fenced | Self::Fair | Self::Token => None,
            #[cfg(feature = "permits")]
            Self::Semaphore { permits } => Some(permits),
            #[cfg(feature = "permits")]
            Self::Read => Some(MOST_PERMITS),
            #[cfg(feature = "permits")]
            Self::Write => Some(0),
        }
    }

    /// Tells whether the same owner may have it several times, and whether it can be passed to the next one.
    pub(crate) fn has_owners(self) -> bool {
        matches!(self, Self::Plain | Self::Fenced)
    }

    pub(crate) fn sort(self) -> Sort {
        match self {
            Self::Plain | Self::Fenced | Self::Fair => Sort::Lock,
            Self::Token => Sort::Token,
            #[cfg(feature = "permits")]
            Self::Semaphore { .. } | Self::Read | Self::Write => Sort::Permit,
        }
    }

    /// Returns what the names of Redisson's channels of this kind begin with.
    fn channel(self) -> &'static str {
        match self {
            Self::Plain | Self::Fenced | Self::Fair | Self::Token => "redisson_lock__channel",
            #[cfg(feature = "permits")]
            Self::Semaphore { .. } => "redisson_sc",
            #[cfg(feature = "permits")]
            Self::Read | Self::Write => "redisson_rwlock",
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Plain | Self::Fenced | Self::Fair | Self::Token => "",
            #[cfg(feature = "permits")]
            Self::Semaphore { .. } => "semaphore:",
            #[cfg(feature = "permits")]
            Self::Read | Self::Write => "rw:",
        }
    }
}

/// What is waited for in one queue: a lock of any kind, a semaphore, or a read/write lock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct QueueKey {
    prefix: &'static str,
    name: String,
}

impl QueueKey {
    /// Returns the name of its row, in a table that has rows of no other use.
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only databases have rows"))]
    pub(crate) fn row(&self) -> Cow<'_, str> {
        match self.prefix {
            "" => Cow::Borrowed(&self.name),
            prefix => Cow::Owned(format!("{prefix}{}", self.name)),
        }
    }
}

/// The keys and the channel of one lock.
#[derive(Debug)]
pub(crate) struct LockKeys {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) queue: QueueKey,
    pub(crate) fence: String,
    /// How long the counter lives after its last use in milliseconds; 0 for ever.
    pub(crate) fence_life_ms: u64,
    pub(crate) channel: String,
    release_id: String,
}

impl LockKeys {
    pub(crate) fn new(kind: Kind, name: &str) -> Result<Self, Error> {
        check(name)?;
        let (fence, fence_life_ms) = match kind {
            Kind::Fenced => (prefixed(REDISSONS, name), 0),
            Kind::Plain | Kind::Fair | Kind::Token => (prefixed(OURS, name), COUNTER_LIFE_MS),
            #[cfg(feature = "permits")]
            Kind::Semaphore { .. } | Kind::Read | Kind::Write => {
                (prefixed(OURS, name), COUNTER_LIFE_MS)
            }
        };
        Ok(Self {
            kind,
            fence,
            fence_life_ms,
            channel: prefixed(kind.channel(), name),
            release_id: prefixed("redisson_unlock_latch", name),
            queue: QueueKey { prefix: kind.prefix(), name: name.to_owned() },
            name: name.to_owned(),
        })
    }

    /// Returns the counters of fences that a lock of this name may have: ours, and that of Redisson's fenced lock.
    pub(crate) fn counters(&self) -> [String; 2] {
        [prefixed(OURS, &self.name), prefixed(REDISSONS, &self.name)]
    }

    /// Returns the key under which one request to release is recognised when it is sent again.
    pub(crate) fn release_id(&self, request: u128) -> String {
        format!("{}:{request:032x}", self.release_id)
    }
}

/// Returns a name as it stands in other keys, the way Redisson does it: one with an opening brace anywhere is taken as it is.
pub(crate) fn braced(name: &str) -> Cow<'_, str> {
    if name.contains('{') { Cow::Borrowed(name) } else { Cow::Owned(format!("{{{name}}}")) }
}

/// Joins a prefix and a name the way Redisson does.
pub(crate) fn prefixed(prefix: &str, name: &str) -> String {
    format!("{prefix}:{}", braced(name))
}

fn check(name: &str) -> Result<(), Error> {
    if name.is_empty() {
        return Err(Error::Name { reason: "it is empty" });
    }
    if name.len() > LONGEST {
        return Err(Error::Name { reason: "it is longer than 4096 bytes" });
    }
    if hashed(name) != hashed(&prefixed("x", name)) {
        return Err(Error::Name {
            reason: "its braces would put the lock and its side keys into different slots of a cluster",
        });
    }
    Ok(())
}

/// Returns the part of a key that decides its slot in a cluster.
///
/// Source: the cluster specification of Redis, "hash tags".
fn hashed(key: &str) -> &str {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    tag.filter(|tag| !tag.is_empty()).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_keys_follow_the_brace_rule() {
        let plain = LockKeys::new(Kind::Plain, "lk").unwrap();
        assert_eq!(plain.channel, "redisson_lock__channel:{lk}");
        assert_eq!(plain.fence, "fc:fence:{lk}");
        assert_eq!(plain.release_id(255), format!("redisson_unlock_latch:{{lk}}:{:0>32}", "ff"));

        let tagged = LockKeys::new(Kind::Fenced, "user:{42}").unwrap();
        assert_eq!(tagged.channel, "redisson_lock__channel:user:{42}");
        assert_eq!(tagged.fence, "redisson_lock_token:user:{42}");
    }

    #[test]
    fn braces_in_every_position_are_either_in_one_slot_or_refused() {
        for good in ["a", "{a}", "a{b}", "{a}b", "a{b}c", "a{b}{", "a{b}}", "}a{b}"] {
            assert!(LockKeys::new(Kind::Plain, good).is_ok(), "{good}");
        }
        for bad in ["{", "}", "{}", "a{", "{a", "a{}b", "a}b", "}a{", "a}", "{}a{b}"] {
            let refused = LockKeys::new(Kind::Plain, bad).unwrap_err();
            assert!(matches!(refused, Error::Name { .. }) && refused.hint().is_some(), "{bad}");
        }
    }

    #[test]
    fn names_have_a_length() {
        assert!(LockKeys::new(Kind::Plain, "").is_err());
        assert!(LockKeys::new(Kind::Plain, &"x".repeat(LONGEST)).is_ok());
        assert!(LockKeys::new(Kind::Plain, &"x".repeat(65_536)).is_err());
    }
}
