//! What a server must be like to hold a journal, and what its operator should know.

use super::load::cell;
use crate::database::{Durability, strange};
use crate::error::JournalError;
use crate::journal::warning::Warning;
use firstcome_store::mysql::Row;
use std::collections::BTreeMap;

/// The oldest MariaDB that tests of its kind have run with.
const OLDEST: (u32, u32) = (10, 6);

/// Refuses what is not MariaDB by what it says it is.
pub(super) fn check_version(version: &str) -> Result<(), JournalError> {
    let shown = &version[..version.floor_char_boundary(80)];
    let small = version.to_lowercase();
    let other = |why: &str| {
        Err(JournalError::Unfit {
            why: format!("it is not MariaDB but {shown:?}: {why}"),
            fix: "use MariaDB, version 10.6 or newer".to_owned(),
        })
    };
    if ["tidb", "vitess", "singlestore", "oceanbase"].iter().any(|word| small.contains(word)) {
        return other("a row that is locked does not order what everybody commits there");
    }
    if !small.contains("mariadb") {
        return other("no test has run with it");
    }
    let mut numbers = version.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    let release = numbers.next().zip(numbers.next());
    // An old client is told a version with 5.5.5 in front.
    if release.is_some_and(|release| release < OLDEST && release != (5, 5)) {
        return other("it is too old");
    }
    Ok(())
}

/// Bytes that one statement must be able to have: a batch in hexadecimal digits, and more.
const STATEMENT_BYTES: u64 = 8 << 20;

/// What is wrong with a server that takes no writes, and what to do.
pub(super) const READ_ONLY: (&str, &str) =
    ("it is a read-only replica", "give the address of the primary");

/// The settings that may change while a journal is open, as each append asks for them.
pub(super) const CHANGING: &str = "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.log_bin, \
    @@GLOBAL.read_only, @@GLOBAL.sync_binlog";

/// The settings of a server that matter, by their names in `information_schema.global_variables`.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerSettings(BTreeMap<String, String>);

impl ServerSettings {
    /// Their names.
    pub(super) const NAMES: [&str; 9] = [
        "binlog_format",
        "innodb_flush_log_at_trx_commit",
        "innodb_flush_method",
        "log_bin",
        "max_allowed_packet",
        "read_only",
        "sync_binlog",
        "wsrep_on",
        "wsrep_provider",
    ];

    pub(super) fn new(found: impl Iterator<Item = (String, String)>) -> Self {
        Self(found.map(|(name, value)| (name.to_lowercase(), value.to_lowercase())).collect())
    }

    /// Reads a row of [`CHANGING`].
    pub(super) fn changing(row: &[Row]) -> Result<Self, JournalError> {
        let row = row.first().ok_or_else(|| strange("no settings"))?;
        let names = ["innodb_flush_log_at_trx_commit", "log_bin", "read_only", "sync_binlog"];
        let pair = |(column, name): (usize, &str)| Ok((name.to_owned(), cell(row, column)?));
        let pairs: Vec<_> =
            names.into_iter().enumerate().map(pair).collect::<Result<_, JournalError>>()?;
        Ok(Self::new(pairs.into_iter()))
    }

    /// Returns a value in small letters; nothing where the server does not have the setting.
    fn of(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn is_on(&self, name: &str) -> bool {
        !matches!(self.of(name), "" | "off" | "0" | "none")
    }

    /// Refuses a server that cannot keep what is promised.
    pub(super) fn check(&self, durability: Durability) -> Result<(), JournalError> {
        let unfit =
            |why: &str, fix: &str| Err(JournalError::Unfit { why: why.into(), fix: fix.into() });
        if self.is_on("wsrep_on") && self.is_on("wsrep_provider") {
            return unfit(
                "it is part of a Galera cluster, in which a row that is locked on one node is not on the others",
                "use a MariaDB by itself, with a replica if you like",
            );
        }
        if self.is_read_only() {
            return unfit(READ_ONLY.0, READ_ONLY.1);
        }
        if self.is_on("log_bin") && self.of("binlog_format") == "statement" {
            return unfit(
                "binlog_format is STATEMENT, with which it refuses READ COMMITTED",
                "set binlog_format = MIXED or ROW",
            );
        }
        if self.of("max_allowed_packet").parse().is_ok_and(|most: u64| most < STATEMENT_BYTES) {
            return unfit(
                "max_allowed_packet is less than 8 MiB: a large batch would not fit",
                "set max_allowed_packet = 16M",
            );
        }
        match self.less(durability) {
            Some(Warning { what, fix }) => {
                unfit(&what, &format!("{fix}, or choose --durability memory"))
            }
            None => Ok(()),
        }
    }

    /// Says whether it takes no writes.
    pub(super) fn is_read_only(&self) -> bool {
        self.is_on("read_only")
    }

    /// Returns why it promises less than what was chosen, if it does.
    pub(super) fn less(&self, durability: Durability) -> Option<Warning> {
        let less =
            |what: &str, fix: &str| Some(Warning { what: what.to_owned(), fix: fix.to_owned() });
        if durability == Durability::Memory {
            return None;
        }
        if !matches!(self.of("innodb_flush_log_at_trx_commit"), "1" | "3") {
            return less(
                "innodb_flush_log_at_trx_commit is not 1: what it commits is not on its disk",
                "SET GLOBAL innodb_flush_log_at_trx_commit = 1",
            );
        }
        if self.of("innodb_flush_method") == "nosync" {
            return less(
                "innodb_flush_method is nosync: what it commits is not on its disk",
                "set innodb_flush_method = fsync",
            );
        }
        if self.is_on("log_bin") && self.of("sync_binlog") != "1" {
            return less(
                "sync_binlog is not 1: after a power cut it undoes what its binary log lacks",
                "SET GLOBAL sync_binlog = 1",
            );
        }
        None
    }
}

/// Returns what an operator should know and nobody is refused for.
pub(super) fn warnings(durability: Durability) -> Vec<Warning> {
    match durability {
        Durability::Fsync => Vec::new(),
        Durability::Memory => vec![Warning {
            what: "what it commits may not be on its disk when it is answered: a crash may lose the last entries"
                .to_owned(),
            fix: "choose --durability fsync".to_owned(),
        }],
    }
}

/// Says in one sentence what an entry that was confirmed has survived.
pub(super) fn promise(durability: Durability) -> &'static str {
    match durability {
        Durability::Memory => {
            "memory: an accepted claim is in the memory of one MariaDB and of every node that saw it"
        }
        Durability::Fsync => "fsync: an accepted claim is on the disk of the MariaDB",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mariadb_will_do() {
        for version in ["10.11.6-MariaDB-0+deb12u1", "11.4.2-MariaDB", "5.5.5-10.6.18-MariaDB-log"]
        {
            check_version(version).unwrap();
        }
        for version in ["8.0.36", "8.0.11-TiDB-v7.5.0", "10.3.39-MariaDB", "5.7.44-log", ""] {
            let Err(JournalError::Unfit { why, fix }) = check_version(version) else {
                panic!("{version} passes")
            };
            assert!(why.contains("it is not MariaDB") && fix.contains("10.6"), "{why}");
        }
    }

    #[test]
    fn what_is_not_on_the_disk_is_never_called_durable() {
        let good = [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("LOG_BIN", "OFF"),
            ("SYNC_BINLOG", "0"),
            ("READ_ONLY", "OFF"),
            ("MAX_ALLOWED_PACKET", "16777216"),
            ("WSREP_ON", "ON"),
            ("WSREP_PROVIDER", "none"),
        ];
        let with = |changes: &[(&str, &str)]| {
            let pairs = good.iter().chain(changes);
            ServerSettings::new(
                pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
            )
        };
        with(&[]).check(Durability::Fsync).unwrap();
        with(&[("LOG_BIN", "ON"), ("SYNC_BINLOG", "1")]).check(Durability::Fsync).unwrap();
        for lazy in [
            &[("innodb_flush_log_at_trx_commit", "0")][..],
            &[("innodb_flush_log_at_trx_commit", "2")],
            &[("innodb_flush_method", "nosync")],
            &[("LOG_BIN", "ON")],
        ] {
            let failure = with(lazy).check(Durability::Fsync).unwrap_err();
            assert!(failure.hint().is_some_and(|fix| fix.contains("memory")), "{failure}");
            with(lazy).check(Durability::Memory).unwrap();
        }
        for unfit in [
            &[("READ_ONLY", "ON")][..],
            &[("WSREP_PROVIDER", "/usr/lib/galera/libgalera_smm.so")],
            &[("LOG_BIN", "ON"), ("BINLOG_FORMAT", "STATEMENT")],
            &[("MAX_ALLOWED_PACKET", "1048576")],
        ] {
            with(unfit).check(Durability::Memory).unwrap_err();
        }
        assert!(promise(Durability::Memory).starts_with("memory: "));
    }
}
