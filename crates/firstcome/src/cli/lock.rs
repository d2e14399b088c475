//! `lock`: a command that runs under a lock.

mod beside;
mod child;
mod command;
mod deadline;
mod elect;
mod listing;
mod signals;
mod store;
mod telling;

use std::time::Duration;

use clap::Args;
use firstcome_lock::{Lease, Lock, Locks, Released, Remaining, TryLock};

pub(super) use self::beside::{BesideArgs, run as stand_beside};
pub(super) use self::child::{ChildArgs, run as run_child};
use self::command::{CommandArgs, Ended};
use self::deadline::Deadline;
pub(super) use self::elect::{ElectArgs, run as elect};
pub(super) use self::listing::{LocksVerb, run as locks};
use self::signals::Signals;
use self::store::StoreArgs;
use super::complaint::{Complaint, Exit};
use super::terminal::out;
use crate::config::{duration_from_text, text_from_duration};

/// The lease of a lock that is renewed, as the lock library has it.
const RENEWED: Duration = Duration::from_secs(30);

/// Options of `lock`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --lease the lock lasts as long as the command: it is renewed, and free \
within 30 s after a crash. With --lease it is not renewed, and lost at the end of \
that time.

The environment of the command has
  FIRSTCOME_LOCK    the name of the lock
  FIRSTCOME_FENCE   a number higher than that of every earlier owner: let the
                    protected system refuse writes with a lower one

Signals are passed on to the command and the processes it started; on a terminal \
only to the command. If the lock is lost (the store does not answer for too long, \
an operator released it, the fixed lease ended), they get TERM, and KILL after \
--grace, before another owner can get the lock, unless an operator released it. A \
second process has its own timer and does the same: it kills the command if this \
process is stopped for too long, or is killed.

stdout has only the output of the command; with --json also errors of this \
program, as JSON. stderr also has messages about a late renewal, a lost lock, and \
a store that stops or starts to answer.

Exit code: that of the command, 128 and the signal that ended it, or
  120  not acquired within --wait
  121  the lock was lost
  125  an error of this program: no store, wrong password, wrong usage
  126, 127  the command cannot be executed; it is not found

Examples:
  firstcome lock nightly-report --store redis://127.0.0.1:6379 -- ./report.sh
  firstcome lock deploy --wait 0s -- ./deploy.sh || echo 'somebody else deploys'
  firstcome lock import --lease 10m --grace 1m -- \\
    sh -c './import --fence \"$FIRSTCOME_FENCE\"'
  firstcome lock encoders --permits 3 -- ./encode.sh")]
pub(super) struct LockArgs {
    /// The name of the lock.
    name: String,
    /// How long to wait for the lock; 0s tries once [default: without a limit].
    #[arg(long, value_name = "TIME", value_parser = duration_from_text)]
    wait: Option<Duration>,
    /// Hold the lock at most for this time, and do not renew it.
    #[arg(long, value_name = "TIME", value_parser = duration_from_text)]
    lease: Option<Duration>,
    /// Take the fair lock of this name: who asks first gets it first. In Redis only.
    #[arg(long, conflicts_with_all = ["read", "write", "permits"])]
    fair: bool,
    /// Take the read lock of this name, beside other readers.
    #[arg(long, conflicts_with_all = ["write", "permits"])]
    read: bool,
    /// Take the write lock of this name, alone.
    #[arg(long, conflicts_with = "permits")]
    write: bool,
    /// Take one of so many permits of the semaphore of this name, 1 to 1000.
    #[arg(long, value_name = "N")]
    permits: Option<u32>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    command: CommandArgs,
}

impl LockArgs {
    fn lock(&self, locks: &Locks) -> Result<Lock, firstcome_lock::Error> {
        let lock = match self.permits {
            Some(permits) => locks.semaphore(&self.name, permits)?,
            None if self.fair => locks.fair(&self.name)?,
            None if self.read => locks.read(&self.name)?,
            None if self.write => locks.write(&self.name)?,
            None => locks.mutex(&self.name)?,
        };
        Ok(match self.lease {
            Some(lease) => lock.lease(lease),
            None => lock,
        })
    }
}

pub(super) async fn run(args: LockArgs) -> Result<Exit, Complaint> {
    let locks = args.store.locks().await.map_err(Complaint::of_our_own)?;
    let exit = under_lock(&args, &locks).await;
    // Nothing may stay held, whatever happened.
    locks.close().await;
    exit.map_err(Complaint::of_our_own)
}

async fn under_lock(args: &LockArgs, locks: &Locks) -> Result<Exit, Complaint> {
    let mut signals = Signals::listen()?;
    let deadline = Deadline::new(args.lease.unwrap_or(RENEWED), args.command.grace)?;
    let lock = args.lock(locks)?;
    let mut events = locks.events();
    let tried = tokio::select! {
        tried = acquire(&lock, args.wait) => tried?,
        never = telling::tell(&mut events) => match never {},
        signal = signals.end() => return Ok(Exit::Passed(128 + signal.as_raw())),
    };
    let lease = match tried {
        TryLock::Acquired(lease) => lease,
        TryLock::Held { remaining, .. } => {
            // Only to say who it is: where it cannot be asked, or is free by now, the refusal stands without.
            let holder = locks.inspect(&args.name).await.ok().flatten();
            return Err(not_acquired(args, remaining, holder.map(|holder| holder.owner)));
        }
    };

    let fence = lease.fence().to_string();
    let environment = [("FIRSTCOME_LOCK", args.name.as_str()), ("FIRSTCOME_FENCE", &fence)];
    let to_command = signals.to_command().subscribe();
    let running = args.command.start(&environment, deadline, &lease)?;
    let what = format!("the lock {}", args.name);
    let ended = tokio::select! {
        ended = running.wait(to_command, &lease, &what) => ended?,
        never = signals.pass_on() => match never {},
        never = telling::tell(&mut events) => match never {},
    };
    conclude(&args.name, lease, ended).await
}

async fn acquire(lock: &Lock, wait: Option<Duration>) -> Result<TryLock, firstcome_lock::Error> {
    match wait {
        Some(wait) => lock.lock_within(wait).await,
        None => lock.lock().await.map(TryLock::Acquired),
    }
}

fn not_acquired(args: &LockArgs, remaining: Remaining, owner: Option<String>) -> Complaint {
    let rest = match remaining {
        Remaining::AtMost(rest) => {
            format!("for up to {} s more unless it is renewed", rest.as_secs_f64().ceil())
        }
        Remaining::Endless => "without an end".to_owned(),
        Remaining::Unknown => "for an unknown time".to_owned(),
    };
    let (name, owner) = (&args.name, owner.as_deref().unwrap_or("somebody else"));
    let waited = match args.wait.filter(|wait| !wait.is_zero()) {
        Some(wait) => format!("after {} ", text_from_duration(wait)),
        None => String::new(),
    };
    Complaint::new(Exit::NotAcquired, format!("{waited}{name} is held by {owner}, {rest}"))
        .hint(format!("`firstcome locks inspect {name}` shows more; --wait waits longer"))
}

/// Returns the lock back, and the exit code: a command that may not have been alone to its end has lost the lock.
async fn conclude(name: &str, lease: Lease, ended: Ended) -> Result<Exit, Complaint> {
    let code = match ended {
        Ended::Stopped => return Err(lost(format!("the lock {name} was lost"))),
        Ended::ByItself(code) => code,
    };
    match lease.release().await {
        Ok(Released::Free | Released::StillHeld { .. }) => Ok(Exit::Passed(code)),
        // Whatever else a later version of the library says, it is not that nobody else had the lock.
        Ok(Released::AlreadyLost | _) => Err(lost(format!(
            "the lock {name} was lost before the command ended, with exit code {code}"
        ))),
        Err(pending) => {
            out::talk(format!("note: {pending}"));
            Ok(Exit::Passed(code))
        }
    }
}

fn lost(sentence: String) -> Complaint {
    Complaint::new(Exit::Lost, sentence)
        .hint("earlier writes of the command stay; with its fence, newer owners win")
}
