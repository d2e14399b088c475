//! `locks`: who holds what, and how an operator takes it away.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::{Args, Subcommand};
use firstcome_lock::{Database, Election, Error, Holder, Leader, Locks};
use firstcome_store::{Command, Redis};
use serde_json::{Value, json};

use super::super::complaint::{Complaint, Exit};
use super::super::terminal::out;
use super::super::terminal::table::{Column, Table, TableArgs};
use super::store::StoreArgs;

/// Keys that begin so belong to a lock whose name is the rest, in braces where the name has none.
const COUNTERS: [&str; 2] = ["fc:fence:", "redisson_lock_token:"];

/// How many keys the store looks at for one answer.
const KEYS_PER_LOOK: u32 = 1000;

/// What can be done with locks.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum LocksVerb {
    /// List held locks.
    List(LockListArgs),
    /// Show the owner of a lock; exit code 1 if it is free.
    Inspect(NameArgs),
    /// Free a lock, whoever holds it; exit code 1 if it was free.
    Release(LockReleaseArgs),
    /// Print the statements that create the tables for locks in a database.
    Ddl(DdlArgs),
}

/// Options of `locks ddl`.
#[derive(Debug, Args)]
#[command(after_help = "\
Missing tables are created automatically if the user may create tables. If you create them by hand, the user needs \
only the right to select, insert, update and delete in them.

Examples:
  firstcome locks ddl --kind postgres | psql shop
  firstcome locks ddl --kind mysql | mariadb shop")]
pub(in crate::cli) struct DdlArgs {
    /// The database.
    #[arg(long, value_name = "KIND")]
    kind: Kind,
}

/// The databases there are statements for.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Kind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB and MySQL.
    Mysql,
    /// A SQLite file.
    Sqlite,
}

/// Options of `locks list`.
#[derive(Debug, Args)]
#[command(after_help = "\
In a database: all held locks. In Redis: locks with a fence, acquired by Firstcome within a day, or Redisson's fenced \
ones. A lock acquired only by Redisson's plain lock cannot be found: use `locks inspect` with its name. The command \
reads all keys, a thousand at a time.

Examples:
  firstcome locks list --store redis://127.0.0.1:6379
  FIRSTCOME_STORE=redis://127.0.0.1:6379 firstcome locks list --json")]
pub(in crate::cli) struct LockListArgs {
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// Options of `locks inspect`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstcome locks inspect nightly-report --store redis://127.0.0.1:6379
  firstcome locks inspect scheduler --json")]
pub(in crate::cli) struct NameArgs {
    /// The name of the lock.
    name: String,
    /// In Redis, also accept a string with any token as a lock, if it has an expiry.
    #[arg(long)]
    token: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Options of `locks release`.
#[derive(Debug, Args)]
#[command(after_help = "\
The holder is not asked. A renewed lease is lost at its next renewal, at most 10 s later with the usual lease of 30 s; \
a fixed lease only at its end. Until then there may be two owners: use this only if you know that the holder is gone. \
In Redis a key that is no lock is not changed.

Example:
  firstcome locks release nightly-report --store redis://127.0.0.1:6379")]
pub(in crate::cli) struct LockReleaseArgs {
    #[command(flatten)]
    lock: NameArgs,
}

pub(in crate::cli) async fn run(verb: LocksVerb, json: bool) -> Result<Exit, Complaint> {
    match verb {
        LocksVerb::List(args) => list(&args, json).await,
        LocksVerb::Inspect(args) => inspect(&args, json).await,
        LocksVerb::Release(args) => release(&args.lock, json).await,
        LocksVerb::Ddl(args) => Ok(ddl(&args, json)),
    }
}

fn ddl(args: &DdlArgs, json: bool) -> Exit {
    let database = match args.kind {
        Kind::Postgres => Database::Postgres,
        Kind::Mysql => Database::MySql,
        Kind::Sqlite => Database::Sqlite,
    };
    let statements = database.create_tables();
    if json {
        out::json(&json!({"ddl": statements}));
    } else {
        out::line(statements.trim_end());
    }
    Exit::Yes
}

/// The owner is a UUID and a number: not cut if there is space.
const TABLE: [Column; 5] = [
    Column::new("lock").least(16),
    Column::new("owner").least(12),
    Column::number("holds").spare(1),
    Column::number("ends in"),
    Column::number("fence"),
];

async fn list(args: &LockListArgs, json: bool) -> Result<Exit, Complaint> {
    let held = if args.store.is_redis() {
        held_in_redis(args).await?
    } else {
        let locks = args.store.look().await?;
        let held = locks.held().await;
        locks.close().await;
        held?.unwrap_or_default()
    };
    if json {
        let held: Vec<Value> = held.iter().map(|(name, holder)| document(name, holder)).collect();
        out::json(&json!({"locks": held}));
        return Ok(Exit::Yes);
    }
    let mut table = Table::new(args.table, &TABLE);
    for (name, holder) in &held {
        let (holds, fence) = (holder.holds.to_string(), fence_text(holder));
        table.row([name.clone(), holder.owner.clone(), holds, rest_text(holder), fence]);
    }
    if held.is_empty() {
        out::talk("no lock is held");
    } else {
        table.print();
    }
    Ok(Exit::Yes)
}

/// Finds the locks by the counters of their fences, which are the only list there is.
async fn held_in_redis(args: &LockListArgs) -> Result<Vec<(String, Holder)>, Complaint> {
    let mut names = BTreeSet::new();
    for server in args.store.servers().await? {
        let found = names_at(&server).await;
        server.close().await;
        names.extend(found.map_err(Error::from)?);
    }
    let locks = args.store.look().await?;
    let mut held = Vec::new();
    for name in names {
        match locks.inspect(&name).await {
            Ok(Some(holder)) => held.push((name, holder)),
            Ok(None) => {}
            // A key of another kind, or a name that is none, in the way of one lock hides no other.
            Err(Error::Name { .. }) => {}
            Err(Error::Store(firstcome_store::StoreError::WrongKind { detail })) => {
                out::talk(format!("note: {name} is no lock: {detail}"));
            }
            Err(failure) => return Err(failure.into()),
        }
    }
    locks.close().await;
    Ok(held)
}

/// Returns the names of all locks that have a counter of fences at a server.
async fn names_at(server: &Redis) -> Result<BTreeSet<String>, firstcome_store::StoreError> {
    let mut names = BTreeSet::new();
    for prefix in COUNTERS {
        let mut cursor = "0".to_owned();
        loop {
            let look = Command::new("SCAN").arg(&cursor).arg("MATCH").arg(format!("{prefix}*"));
            let answer = server.send(&look.arg("COUNT").arg(KEYS_PER_LOOK)).await?;
            let (next, found) = match answer.list()? {
                [next, found] => (next.text()?, found.list()?),
                _ => break,
            };
            for key in found {
                let key = key.text()?;
                names.extend(key.strip_prefix(prefix).into_iter().flat_map(names_of));
            }
            // The store ends it with this cursor after each key was looked at.
            if next == "0" {
                break;
            }
            cursor = next;
        }
    }
    Ok(names)
}

/// Returns the locks that share a counter: one whose name has braces is written like one whose name has none.
fn names_of(rest: &str) -> Vec<String> {
    let inside = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let inside = inside.filter(|inside| !inside.contains('{'));
    inside.into_iter().chain([rest]).map(str::to_owned).collect()
}

async fn inspect(args: &NameArgs, json: bool) -> Result<Exit, Complaint> {
    let locks = args.store.look().await?;
    let found = look(&locks, args).await;
    locks.close().await;
    let name = &args.name;
    let Some((holder, leader)) = found? else {
        if json {
            out::json(&json!({"name": name, "held": false}));
        } else {
            out::line(format!("{name} is free"));
        }
        return Ok(Exit::Refused);
    };
    if json {
        let mut document = document(name, &holder);
        if let Some(leader) = leader {
            document["leader"] = json!({"node": leader.node, "term": leader.term.get()});
        }
        out::json(&document);
        return Ok(Exit::Yes);
    }
    out::line(format!("{name} is held by {}", holder.owner));
    out::line(format!("  holds    {}", holder.holds));
    out::line(format!("  ends in  {}, unless it is renewed", rest_text(&holder)));
    out::line(format!("  fence    {}", fence_text(&holder)));
    if let Some(leader) = leader {
        out::line(format!("  leader   {}, term {}", leader.node, leader.term));
    }
    Ok(Exit::Yes)
}

/// Returns who holds a lock, and who leads where it is that of an election.
async fn look(locks: &Locks, args: &NameArgs) -> Result<Option<(Holder, Option<Leader>)>, Error> {
    if args.token {
        let holder = locks.token(&args.name)?.inspect().await?;
        return Ok(holder.map(|holder| (holder, None)));
    }
    let Some(holder) = locks.inspect(&args.name).await? else { return Ok(None) };
    let leader = Election::new(locks, &args.name)?.watch().await?.current();
    Ok(Some((holder, leader)))
}

async fn release(args: &NameArgs, json: bool) -> Result<Exit, Complaint> {
    let locks = args.store.look().await?;
    let freed = match args.token {
        true => locks.token(&args.name)?.force_release().await,
        false => locks.force_release(&args.name).await,
    };
    locks.close().await;
    let (freed, name) = (freed?, &args.name);
    if json {
        out::json(&json!({"name": name, "released": freed}));
    } else if freed {
        out::line(format!("{name} was held and is free"));
    } else {
        out::line(format!("{name} was free already"));
    }
    Ok(if freed { Exit::Yes } else { Exit::Refused })
}

fn document(name: &str, holder: &Holder) -> Value {
    json!({
        "name": name,
        "held": true,
        "owner": holder.owner,
        "holds": holder.holds,
        "remaining_ms": holder.remaining.map(|rest| u64::try_from(rest.as_millis()).unwrap_or(u64::MAX)),
        "fence": holder.last_fence,
    })
}

fn rest_text(holder: &Holder) -> String {
    let seconds = |rest: Duration| format!("{:.1} s", rest.as_secs_f64());
    holder.remaining.map_or_else(|| "never".to_owned(), seconds)
}

fn fence_text(holder: &Holder) -> String {
    holder.last_fence.map_or_else(|| "-".to_owned(), |fence| fence.to_string())
}

#[cfg(test)]
mod tests {
    use super::names_of;

    #[test]
    fn names_are_read_off_their_counters() {
        assert_eq!(names_of("{report}"), ["report", "{report}"]);
        assert_eq!(names_of("user:{42}"), ["user:{42}"]);
        assert_eq!(names_of("{a}:{b}"), ["{a}:{b}"]);
    }
}
