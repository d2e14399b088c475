//! Settings that both sides must share: the table or the keys, and which clock counts.

use crate::error::Error;

/// The longest name, in characters: the width of the table's column.
#[cfg(any(feature = "postgres", feature = "mysql"))]
const LONGEST_NAME: usize = 64;

/// The longest name, in bytes, where no column limits it.
#[cfg(feature = "redis")]
const LONGEST_KEY: usize = 4096;

/// The longest first part of `locked_by`: with what follows it fits the column of 255.
const LONGEST_HOLDER: usize = 200;

/// The names of keys on Redis: `PREFIX:ENVIRONMENT:NAME`.
///
/// # Examples
///
/// ```
/// use firstcome_shedlock::KeySpace;
/// let keys = KeySpace::default().environment("production");
/// ```
#[cfg(feature = "redis")]
#[derive(Debug, Clone)]
pub struct KeySpace {
    prefix: String,
    environment: String,
    pub(crate) holder: String,
}

#[cfg(feature = "redis")]
impl Default for KeySpace {
    /// ShedLock's own: `job-lock:default:NAME`.
    fn default() -> Self {
        Self {
            prefix: "job-lock".to_owned(),
            environment: "default".to_owned(),
            holder: host_name(),
        }
    }
}

#[cfg(feature = "redis")]
impl KeySpace {
    /// Sets the first part of the key, default `job-lock`.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the second part of the key, default `default`.
    #[must_use]
    pub fn environment(mut self, environment: impl Into<String>) -> Self {
        self.environment = environment.into();
        self
    }

    /// Sets the first part of the holder's name, default the host name; 1 to 200 bytes.
    #[must_use]
    pub fn locked_by(mut self, holder: impl Into<String>) -> Self {
        self.holder = holder.into();
        self
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        check_holder(&self.holder)
    }

    pub(crate) fn key(&self, name: &str) -> Result<String, Error> {
        if name.is_empty() {
            return Err(empty_name());
        }
        if name.len() > LONGEST_KEY {
            return Err(Error::Unfit {
                what: "the lock's name",
                reason: format!("it has {} bytes, {LONGEST_KEY} are possible", name.len()),
                hint: "use a shorter name",
            });
        }
        Ok(format!("{}:{}:{name}", self.prefix, self.environment))
    }
}

/// The table on SQL, and which clock counts.
///
/// # Examples
///
/// ```
/// use firstcome_shedlock::Table;
/// let table = Table::default().name("jobs.shedlock").locked_by("billing-3");
/// ```
#[cfg(any(feature = "postgres", feature = "mysql"))]
#[derive(Debug, Clone)]
pub struct Table {
    pub(crate) name: String,
    pub(crate) client_time: bool,
    pub(crate) holder: String,
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
impl Default for Table {
    /// ShedLock's own table, `shedlock`, and the database's clock.
    fn default() -> Self {
        Self { name: "shedlock".to_owned(), client_time: false, holder: host_name() }
    }
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
impl Table {
    /// Sets the table, default `shedlock`; with a schema it is `SCHEMA.TABLE`.
    ///
    /// It is sent without quotes, as ShedLock sends it: the database decides what upper case means.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Uses the clock of this machine, in UTC, as ShedLock does without `usingDbTime()`; see [the risks](crate#which-clock).
    #[must_use]
    pub fn client_time(mut self) -> Self {
        self.client_time = true;
        self
    }

    /// Sets the first part of `locked_by`, default the host name; 1 to 200 bytes.
    #[must_use]
    pub fn locked_by(mut self, holder: impl Into<String>) -> Self {
        self.holder = holder.into();
        self
    }

    /// Makes a holder that nobody has been before.
    pub(crate) fn fresh_holder(&self) -> String {
        format!("{}:{:016x}", self.holder, fastrand::u64(..))
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let part = |part: &str| {
            let mut letters = part.chars();
            letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
                && letters.all(|letter| letter.is_ascii_alphanumeric() || "_$".contains(letter))
        };
        let mut parts = self.name.split('.');
        if !(parts.all(part) && self.name.split('.').count() <= 2) {
            return Err(Error::Unfit {
                what: "the table's name",
                reason: format!("{:?} is not TABLE or SCHEMA.TABLE", self.name),
                hint: "use letters, digits and _ , and no quotes, as in jobs.shedlock",
            });
        }
        check_holder(&self.holder)
    }
}

/// Checks the name of a lock in a table.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let length = name.chars().count();
    if length == 0 {
        return Err(empty_name());
    }
    if length > LONGEST_NAME {
        return Err(Error::Unfit {
            what: "the lock's name",
            reason: format!("it has {length} characters, the table has room for {LONGEST_NAME}"),
            hint: "use a name of 1 to 64 characters; a longer one would have to be cut short, and then two locks \
                   could be one",
        });
    }
    if name.contains('\0') {
        return Err(Error::Unfit {
            what: "the lock's name",
            reason: "it has a zero byte".to_owned(),
            hint: "use a name without it: the database cannot store it",
        });
    }
    Ok(())
}

fn empty_name() -> Error {
    Error::Unfit {
        what: "the lock's name",
        reason: "it is empty".to_owned(),
        hint: "use a name of 1 to 64 characters",
    }
}

fn check_holder(holder: &str) -> Result<(), Error> {
    if (1..=LONGEST_HOLDER).contains(&holder.len()) && !holder.contains(char::is_control) {
        return Ok(());
    }
    Err(Error::Unfit {
        what: "the name of the holder",
        reason: format!("it has {} bytes, or a control character", holder.len()),
        hint: "give locked_by 1 to 200 bytes of text, or leave it out: it is the host's name then",
    })
}

/// Returns the host's name as the operating system has it, `unknown` where it says none that fits.
fn host_name() -> String {
    let named = firstcome_store::client::host_name();
    named.filter(|name| check_holder(name).is_ok()).unwrap_or_else(|| "unknown".to_owned())
}
