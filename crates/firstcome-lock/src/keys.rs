use crate::Failure;

/// The longest name in bytes.
const LONGEST: usize = 4096;

/// How long a fence counter outlives its last use: the store's clock keeps fences growing after that.
const COUNTER_LIFE_MS: u64 = 86_400_000;

/// Which lock of a name is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// Redisson's lock: a hash.
    Plain,
    /// Redisson's fenced lock: the same hash, another counter.
    Fenced,
    /// The lock of the SET NX PX family: a string.
    Token,
}

/// The keys and the channel of one lock.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) fence: String,
    /// How long the counter lives after its last use in milliseconds; 0 for ever.
    pub(crate) fence_life_ms: u64,
    pub(crate) channel: String,
    latch: String,
}

impl Keys {
    pub(crate) fn new(kind: Kind, name: &str) -> Result<Self, Failure> {
        check(name)?;
        let (fence, fence_life_ms) = match kind {
            Kind::Fenced => (prefixed("redisson_lock_token", name), 0),
            Kind::Plain | Kind::Token => (prefixed("fc:fence", name), COUNTER_LIFE_MS),
        };
        Ok(Self {
            kind,
            fence,
            fence_life_ms,
            channel: prefixed("redisson_lock__channel", name),
            latch: prefixed("redisson_unlock_latch", name),
            name: name.to_owned(),
        })
    }

    /// Gives the latch of one request to release.
    pub(crate) fn latch(&self, request: u128) -> String {
        format!("{}:{request:032x}", self.latch)
    }
}

/// Joins a prefix and a name the way Redisson does: a name with an opening brace anywhere is taken as it is.
pub(crate) fn prefixed(prefix: &str, name: &str) -> String {
    if name.contains('{') { format!("{prefix}:{name}") } else { format!("{prefix}:{{{name}}}") }
}

fn check(name: &str) -> Result<(), Failure> {
    if name.is_empty() {
        return Err(Failure::Name { reason: "it is empty" });
    }
    if name.len() > LONGEST {
        return Err(Failure::Name { reason: "it is longer than 4096 bytes" });
    }
    if hashed(name) != hashed(&prefixed("x", name)) {
        return Err(Failure::Name {
            reason: "its braces would put the lock and its side keys into different slots of a cluster",
        });
    }
    Ok(())
}

/// Gives the part of a key that decides its slot in a cluster.
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
        let plain = Keys::new(Kind::Plain, "lk").unwrap();
        assert_eq!(plain.channel, "redisson_lock__channel:{lk}");
        assert_eq!(plain.fence, "fc:fence:{lk}");
        assert_eq!(plain.latch(255), format!("redisson_unlock_latch:{{lk}}:{:0>32}", "ff"));

        let tagged = Keys::new(Kind::Fenced, "user:{42}").unwrap();
        assert_eq!(tagged.channel, "redisson_lock__channel:user:{42}");
        assert_eq!(tagged.fence, "redisson_lock_token:user:{42}");
    }

    #[test]
    fn braces_in_every_position_are_either_in_one_slot_or_refused() {
        for good in ["a", "{a}", "a{b}", "{a}b", "a{b}c", "a{b}{", "a{b}}", "}a{b}"] {
            assert!(Keys::new(Kind::Plain, good).is_ok(), "{good}");
        }
        for bad in ["{", "}", "{}", "a{", "{a", "a{}b", "a}b", "}a{", "a}", "{}a{b}"] {
            let refused = Keys::new(Kind::Plain, bad).unwrap_err();
            assert!(matches!(refused, Failure::Name { .. }) && refused.hint().is_some(), "{bad}");
        }
    }

    #[test]
    fn names_have_a_length() {
        assert!(Keys::new(Kind::Plain, "").is_err());
        assert!(Keys::new(Kind::Plain, &"x".repeat(LONGEST)).is_ok());
        assert!(Keys::new(Kind::Plain, &"x".repeat(65_536)).is_err());
    }
}
