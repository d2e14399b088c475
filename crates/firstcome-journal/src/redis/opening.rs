//! Checks that a store is fit to hold a journal before anything is written, and again while it is open.

use super::headroom::MemoryUse;
use super::info::{field, replicas, run_of};
use super::keys::Keys;
use super::options::{Durability, Options, Waits};
use super::scripts::{self, Scripts, done};
use super::trouble::{looked, trouble};
use crate::error::JournalError;
use crate::journal::warning::Warning;
use crate::name::Name;
use firstcome_core::names::SpaceId;
use firstcome_core::{LEVEL, newest_level};
use firstcome_store::{Command, Pinned, StoreError, Wire};
use tokio::time::Instant;

/// The settings and the condition of a server.
#[derive(Debug, Default)]
pub(super) struct Server {
    replication: String,
    memory: String,
    persistence: String,
    server: String,
    settings: Vec<(&'static str, Option<String>)>,
}

/// The settings that are looked at beside what INFO tells.
const SETTINGS: [&str; 5] = [
    "appendfsync",
    "no-appendfsync-on-rewrite",
    "save",
    "min-replicas-to-write",
    "maxmemory-policy",
];

impl Server {
    /// Asks the server for everything that matters.
    pub(super) async fn look(pinned: &Pinned, deadline: Instant) -> Result<Self, JournalError> {
        let mut found = Self::default();
        let about = async |section: &str| {
            let asked = pinned.send(Command::new("INFO").arg(section), deadline).await;
            match asked {
                Ok(reply) => Ok(reply.text().unwrap_or_default()),
                Err(StoreError::Denied { .. }) => Ok(String::new()),
                Err(failure) => Err(looked(failure)),
            }
        };
        found.replication = about("replication").await?;
        found.memory = about("memory").await?;
        found.persistence = about("persistence").await?;
        found.server = about("server").await?;
        for name in SETTINGS {
            let asked = Command::new("CONFIG").arg("GET").arg(name);
            let value = match pinned.send(asked, deadline).await {
                Ok(reply) => reply.list().ok().and_then(|pair| pair.get(1)?.text().ok()),
                // The server does not tell, which says nothing of what it is set to.
                Err(StoreError::Denied { .. }) => None,
                Err(failure @ StoreError::Refused { .. }) if !failure.passes_by_itself() => None,
                Err(failure) => return Err(looked(failure)),
            };
            found.settings.push((name, value));
        }
        Ok(found)
    }

    /// Says whether it is a copy of another one.
    pub(super) fn is_replica(&self) -> bool {
        field(&self.replication, "role") == Some("slave")
    }

    /// Returns which run of a server it is.
    pub(super) fn run(&self) -> Option<String> {
        run_of(&self.server)
    }

    fn setting(&self, name: &str) -> Option<&str> {
        let found = self.settings.iter().find(|(known, _)| *known == name);
        found.and_then(|(_, value)| value.as_deref())
    }

    fn policy(&self) -> Option<&str> {
        field(&self.memory, "maxmemory_policy").or_else(|| self.setting("maxmemory-policy"))
    }

    fn has_aof(&self) -> bool {
        field(&self.persistence, "aof_enabled") == Some("1")
    }

    fn syncs_always(&self) -> bool {
        self.setting("appendfsync") == Some("always")
    }

    /// Says whether it syncs nothing while a child of it writes a file: then `always` is not always.
    fn pauses_syncs(&self) -> bool {
        self.setting("no-appendfsync-on-rewrite") == Some("yes")
    }

    fn has_waitaof(&self) -> bool {
        let version = field(&self.server, "redis_version").unwrap_or_default();
        let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
        numbers.next().zip(numbers.next()).is_some_and(|release| release >= (7, 2))
    }

    /// Refuses a store that cannot keep what is promised, and says what its appends wait for.
    pub(super) fn check(&self, durability: Durability) -> Result<Waits, JournalError> {
        if self.is_replica() {
            return Err(JournalError::Unfit {
                why: "it is a read-only replica".to_owned(),
                fix: "give the master's address, or use Sentinel, which follows the master"
                    .to_owned(),
            });
        }
        let waits = match durability {
            Durability::Memory => Waits::No,
            Durability::Copies(wanted) => Waits::Copies(wanted),
            Durability::Fsync if self.syncs_always() && !self.pauses_syncs() => Waits::No,
            Durability::Fsync if self.has_waitaof() => Waits::Aof,
            Durability::Fsync => Waits::No,
        };
        match self.less(durability, waits) {
            Some(Warning { what, fix }) => Err(JournalError::Unfit { why: what, fix }),
            None => Ok(waits),
        }
    }

    /// Says that it may drop the journal, if it may.
    pub(super) fn may_drop(&self) -> Option<Warning> {
        let policy = self.policy().filter(|policy| policy.starts_with("allkeys"))?;
        Some(Warning {
            what: format!("with maxmemory-policy {policy} it may drop the whole journal for room"),
            fix: "CONFIG SET maxmemory-policy noeviction".to_owned(),
        })
    }

    /// Returns why it promises less than what was chosen, if it does, to appends that wait for this.
    pub(super) fn less(&self, durability: Durability, waits: Waits) -> Option<Warning> {
        let less =
            |what: &str, fix: &str| Some(Warning { what: what.to_owned(), fix: fix.to_owned() });
        match (durability, waits) {
            _ if self.may_drop().is_some() => self.may_drop(),
            (Durability::Memory, _) => None,
            (Durability::Copies(wanted), _) => {
                let connected = replicas(&self.replication);
                if connected >= wanted {
                    return None;
                }
                less(
                    &format!("copies={wanted} needs as many replicas, {connected} connected"),
                    "connect more replicas (REPLICAOF on each), or choose fewer copies",
                )
            }
            (Durability::Fsync, _) if !self.has_aof() => {
                less("fsync needs its append-only file, which is off", "CONFIG SET appendonly yes")
            }
            (Durability::Fsync, Waits::Aof) => None,
            (Durability::Fsync, _) if !self.syncs_always() => less(
                "fsync needs it to write to the disk before each answer",
                "CONFIG SET appendfsync always",
            ),
            (Durability::Fsync, _) if self.pauses_syncs() => less(
                "fsync needs it to write to the disk before each answer, also while it rewrites its files",
                "CONFIG SET no-appendfsync-on-rewrite no",
            ),
            (Durability::Fsync, _) => None,
        }
    }

    /// Returns what an operator should know and nobody is refused for.
    pub(super) fn warnings(&self, durability: Durability) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |what: &str, fix: &str| {
            warnings.push(Warning { what: what.to_owned(), fix: fix.to_owned() });
        };
        match self.policy() {
            Some(policy) if policy.starts_with("volatile") => warn(
                &format!(
                    "maxmemory-policy is {policy}: keys with an expiry may be dropped for room"
                ),
                "CONFIG SET maxmemory-policy noeviction",
            ),
            _ => {}
        }
        let denied = SETTINGS.iter().filter(|name| self.setting(name).is_none()).copied();
        let denied: Vec<_> = denied.collect();
        if !denied.is_empty() {
            warn(
                &format!(
                    "CONFIG GET is not allowed, so {} could not be checked",
                    denied.join(", ")
                ),
                "ACL SETUSER USER +config|get",
            );
        }
        if self.memory.is_empty() {
            warn("INFO is not allowed, so room could not be checked", "ACL SETUSER USER +info");
        }
        let saves = self.setting("save").is_none_or(|save| !save.is_empty());
        if !self.has_aof() && !saves {
            warn(
                "neither an append-only file nor snapshots are on: a restart begins with nothing",
                "CONFIG SET appendonly yes",
            );
        }
        match self.setting("appendfsync") {
            Some(pace @ ("everysec" | "no")) if self.has_aof() => warn(
                &format!("appendfsync is {pace}: a crash of the machine loses the last entries"),
                "CONFIG SET appendfsync always",
            ),
            _ => {}
        }
        if replicas(&self.replication) == 0 {
            warn(
                "no replica is connected: what this server loses is only where nodes still have it",
                "REPLICAOF HOST PORT, on another server",
            );
        }
        if let Durability::Copies(copies) = durability
            && self.setting("min-replicas-to-write") == Some("0")
        {
            warn(
                "min-replicas-to-write is 0: a master that was cut off goes on taking entries",
                &format!("CONFIG SET min-replicas-to-write {copies}"),
            );
        }
        let memory = MemoryUse::read(&self.memory);
        if memory.most == 0 && !self.memory.is_empty() {
            warn(
                "maxmemory is not set: the server takes memory until the system ends it",
                "CONFIG SET maxmemory BYTES",
            );
        } else if memory.most > 0 && memory.used * 10 >= memory.most * 7 {
            warn(
                &format!("{} of {} bytes of maxmemory are in use", memory.used, memory.most),
                "CONFIG SET maxmemory BYTES",
            );
        }
        warnings
    }
}

/// Says in one sentence what an entry that was confirmed has survived.
pub(super) fn promise(durability: Durability, waits: Waits) -> String {
    match (durability, waits) {
        (Durability::Memory, _) => {
            "memory: an accepted claim is in the memory of one Redis and of every node that saw it"
                .to_owned()
        }
        (Durability::Copies(copies), _) => {
            format!(
                "copies={copies}: an accepted claim is in the memory of a Redis and of {copies} of its replicas"
            )
        }
        (Durability::Fsync, Waits::Aof) => {
            "fsync: an accepted claim is on the disk of the Redis, which says so with WAITAOF"
                .to_owned()
        }
        (Durability::Fsync, Waits::No | Waits::Copies(_)) => {
            "fsync: an accepted claim is on the disk of the Redis, which syncs before it answers"
                .to_owned()
        }
    }
}

/// Opens a space, or makes it where nothing is stored of it; gives its identity.
pub(super) async fn enter(
    wire: &Wire,
    keys: &Keys,
    options: &Options,
) -> Result<SpaceId, JournalError> {
    let makes = options.wanted.is_none() && options.make;
    let fresh = if makes { options.fresh.to_string() } else { String::new() };
    let script = &Scripts::get().open.script;
    let command = Command::script(script, &[&keys.journal, &keys.head]);
    let command = command.arg(fresh).arg(LEVEL);
    let reply = wire.send(&command).await.map_err(trouble)?;
    let wanted = options.wanted.unwrap_or(options.fresh);
    let parts = match done(reply, wanted, (0, Name::default()), 0) {
        Err(JournalError::Gone(_) | JournalError::Marked { .. }) if options.vacant => {
            return Ok(wanted);
        }
        Err(JournalError::Gone(_)) if options.wanted.is_none() => {
            return Err(JournalError::NoSpace { name: options.space_name.clone() });
        }
        parts => parts?,
    };
    let [_, space, level] = &parts[..] else {
        return Err(JournalError::Broken("its head cannot be read".to_owned()));
    };
    let level = scripts::small(level)?;
    if level > newest_level() {
        return Err(JournalError::TooNew(level));
    }
    let found = scripts::space(space)?;
    if options.vacant {
        return Err(JournalError::HasSpace(found));
    }
    if let Some(wanted) = options.wanted.filter(|wanted| *wanted != found) {
        return Err(JournalError::OtherSpace { found, wanted });
    }
    Ok(found)
}
