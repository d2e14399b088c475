//! What a server must be like to hold a journal, and what its operator should know.

use crate::database::Durability;
use crate::error::JournalError;
use crate::journal::warning::Warning;

/// Words in the version of servers that speak PostgreSQL's protocol and are something else, each with why it will not do.
const OTHERS: [(&str, &str); 12] = [
    ("cockroachdb", NO_LOCK),
    ("-yb-", NO_LOCK),
    ("redshift", NO_ORDER),
    ("greenplum", NO_ORDER),
    ("questdb", NO_ORDER),
    ("materialize", NO_ORDER),
    ("risingwave", NO_ORDER),
    ("cratedb", NO_ORDER),
    ("ydb", NO_LOCK),
    ("spanner", NO_LOCK),
    ("dsql", NO_LOCK),
    ("using h2", NO_LOCK),
];
const NO_LOCK: &str =
    "an advisory lock of a transaction does not order what everybody commits there";
const NO_ORDER: &str = "it is made for analysis, and does not order what everybody commits";

/// Refuses what is not PostgreSQL by what it says it is.
pub(super) fn check_version(version: &str) -> Result<(), JournalError> {
    let small = version.to_lowercase();
    let other = OTHERS.iter().find(|(word, _)| small.contains(word)).map(|(_, why)| *why);
    let why = match other {
        Some(why) => why,
        None if version.starts_with("PostgreSQL ") || version.starts_with("EnterpriseDB ") => {
            return Ok(());
        }
        None => "nothing is known of it",
    };
    Err(JournalError::Unfit {
        why: format!("it is not PostgreSQL but {:?}: {why}", shortened(version)),
        fix: "use PostgreSQL, version 12 or newer".to_owned(),
    })
}

fn shortened(version: &str) -> &str {
    &version[..version.floor_char_boundary(80)]
}

/// Says that a server does not force what it commits to its disk. What it wrote meanwhile only a sync of all files forces there.
pub(super) fn fsync_is_off() -> Warning {
    Warning {
        what: "fsync is off: what it commits is not on its disk".to_owned(),
        fix: "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf(), then `sync` in a shell of its machine"
            .to_owned(),
    }
}

/// The settings of a server that matter.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerSettings {
    pub(super) is_standby: bool,
    /// It forces its log to the disk.
    pub(super) fsync: bool,
    /// As it is for our sessions.
    pub(super) synchronous_commit: String,
    pub(super) full_page_writes: bool,
    pub(super) standbys: String,
}

impl ServerSettings {
    /// Refuses a server that cannot keep what is promised.
    pub(super) fn check(&self, durability: Durability) -> Result<(), JournalError> {
        let unfit =
            |why: &str, fix: &str| Err(JournalError::Unfit { why: why.into(), fix: fix.into() });
        if self.is_standby {
            return unfit("it is a read-only standby", "give the address of the primary");
        }
        match self.less(durability) {
            Some(Warning { what, fix }) => {
                unfit(&what, &format!("{fix}, or choose --durability memory"))
            }
            None => Ok(()),
        }
    }

    /// Returns why it promises less than what was chosen, if it does.
    pub(super) fn less(&self, durability: Durability) -> Option<Warning> {
        if durability == Durability::Memory {
            return None;
        }
        if !self.fsync {
            return Some(fsync_is_off());
        }
        (self.synchronous_commit == "off").then(|| Warning {
            what: "synchronous_commit is off, and this user cannot turn it on: what it commits is not on its disk".to_owned(),
            fix: "ALTER ROLE USER SET synchronous_commit = on".to_owned(),
        })
    }

    /// Returns what an operator should know and nobody is refused for.
    pub(super) fn warnings(&self, durability: Durability, pooled: bool) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |what: &str, fix: &str| {
            warnings.push(Warning { what: what.to_owned(), fix: fix.to_owned() });
        };
        if durability == Durability::Memory {
            warn(
                "what it commits is not on its disk when it is answered: a crash loses the last entries",
                "choose --durability fsync",
            );
        } else if !self.full_page_writes {
            warn(
                "full_page_writes is off: after a power cut its pages may be torn",
                "set full_page_writes = on",
            );
        }
        if self.waits_for_standbys(durability).is_none() {
            warn(
                "commits wait for no standby: a failover loses the last entries, which servers that have them put back",
                "set synchronous_standby_names",
            );
        }
        if pooled {
            warn(
                "a pooler stands between: servers look for entries again and again, nobody is notified",
                "give the address of the database itself",
            );
        }
        warnings
    }

    /// Says which standbys commits wait for, if they wait for any.
    fn waits_for_standbys(&self, durability: Durability) -> Option<&str> {
        let waits = !matches!(self.synchronous_commit.as_str(), "off" | "local")
            && durability == Durability::Fsync;
        Some(self.standbys.trim()).filter(|names| waits && !names.is_empty())
    }

    /// Says in one sentence what an entry that was confirmed has survived.
    pub(super) fn promise(&self, durability: Durability) -> String {
        match (durability, self.waits_for_standbys(durability)) {
            (Durability::Memory, _) => {
                "memory: an accepted claim is in the memory of one PostgreSQL and of every node that saw it".to_owned()
            }
            (Durability::Fsync, None) => {
                "fsync: an accepted claim is on the disk of the PostgreSQL".to_owned()
            }
            (Durability::Fsync, Some(names)) => {
                format!("fsync: an accepted claim is on the disk of the PostgreSQL, which also waits for its standbys: {names}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_postgresql_will_do() {
        for version in [
            "PostgreSQL 15.8 (Debian 15.8-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc, 64-bit",
            "PostgreSQL 16.2 on aarch64-unknown-linux-gnu, compiled by clang, 64-bit",
            "PostgreSQL 17.0 (EnterpriseDB Advanced Server 17.0.0) on x86_64-pc-linux-gnu",
        ] {
            check_version(version).unwrap();
        }
        for version in [
            "CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27)",
            "PostgreSQL 11.2-YB-2.18.4.0-b0 on x86_64-pc-linux-gnu, compiled by clang",
            "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC, Redshift 1.0.63269",
            "PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, QuestDB",
            "PostgreSQL 13.14.0-RisingWave-2.0.1 (abc)",
            "PostgreSQL 9.4.26 (Greenplum Database 6.25.3) on x86_64",
            "CrateDB 5.6.1 (built 0a1b2c3)",
            "Something 1.0",
            "",
        ] {
            let Err(JournalError::Unfit { why, fix }) = check_version(version) else {
                panic!("{version} passes")
            };
            assert!(why.contains("it is not PostgreSQL") && fix.contains("PostgreSQL"), "{why}");
        }
    }

    #[test]
    fn what_is_not_on_the_disk_is_never_called_durable() {
        let good = ServerSettings {
            fsync: true,
            synchronous_commit: "on".to_owned(),
            full_page_writes: true,
            ..ServerSettings::default()
        };
        good.check(Durability::Fsync).unwrap();
        assert!(good.promise(Durability::Fsync).starts_with("fsync: "));
        for bad in [
            ServerSettings { fsync: false, ..good.clone() },
            ServerSettings { synchronous_commit: "off".to_owned(), ..good.clone() },
        ] {
            let failure = bad.check(Durability::Fsync).unwrap_err();
            assert!(failure.hint().is_some_and(|fix| fix.contains("memory")), "{failure}");
            bad.check(Durability::Memory).unwrap();
            assert!(bad.promise(Durability::Memory).starts_with("memory: "));
        }
        let standby = ServerSettings { is_standby: true, ..good.clone() };
        standby.check(Durability::Memory).unwrap_err();
        let copied = ServerSettings { standbys: "ANY 1 (a, b)".to_owned(), ..good.clone() };
        assert!(copied.promise(Durability::Fsync).contains("ANY 1 (a, b)"));
        assert!(!copied.promise(Durability::Memory).contains("ANY"));
        assert!(copied.warnings(Durability::Fsync, false).is_empty());
        assert_eq!(good.warnings(Durability::Fsync, true).len(), 2);
        let local = ServerSettings { synchronous_commit: "local".to_owned(), ..copied };
        assert!(!local.promise(Durability::Fsync).contains("ANY"));
    }
}
