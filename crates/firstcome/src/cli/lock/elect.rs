//! `elect`: a command that runs on one of many candidates.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use firstcome_lock::{Election, Event, Locks, Term};
use rustix::process::Signal;
use tokio::sync::{Notify, broadcast, oneshot};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use super::super::complaint::{Complaint, Exit};
use super::super::terminal::out;
use super::command::{CommandArgs, Ended};
use super::deadline::Deadline;
use super::signals::{Signals, asks_for_an_end};
use super::store::StoreArgs;
use super::telling::say;
use crate::config::duration_from_text;

/// The lease of a leader, where nothing else is said.
const LEASE: Duration = Duration::from_secs(10);

/// The shortest lease that is chosen for periodic work.
const LEAST_LEASE: Duration = Duration::from_secs(1);

/// Options of `elect`.
#[derive(Debug, Args)]
#[command(after_help = "\
All candidates run the same command line. One of them is elected and runs the \
command. When it ends (its command ends, or it gets TERM), the next one starts at \
once. When it is killed, or its machine dies, the next one starts after its lease.

Without --every the command runs once, and this candidate ends with it. With \
--every it runs at each interval, never twice at the same time. A failed run is \
reported and does not end the series, unless the command cannot be executed.

The environment of the command has
  FIRSTCOME_LOCK    the name of the election
  FIRSTCOME_TERM    the number of the term, higher than that of every earlier one
  FIRSTCOME_FENCE   the same number: let the protected system refuse writes with a
                    lower one

Signals are passed on to the command and the processes it started; on a terminal \
only to the command. If the term is lost, they get TERM, and KILL after --grace, \
before another candidate can be elected, unless an operator released the lock. \
Then this candidate stands again. A second process has its own timer and does the \
same: it kills the command if this process is stopped for too long, or is killed.

stdout has only the output of the command; with --json also errors of this \
program, as JSON. stderr also has messages about each term that was won or lost, a \
late renewal, and a store that stops or starts to answer.

Exit code: that of the command, 128 and the signal that ended it or this candidate, or
  125  an error of this program: no store, wrong password, wrong usage
  126, 127  the command cannot be executed; it is not found

Examples:
  firstcome elect scheduler --store redis://127.0.0.1:6379 -- ./scheduler
  firstcome elect settle --every 1s -- ./settle-one-batch
  firstcome elect mailer --lease 30s --grace 10s -- \\
    sh -c 'echo term $FIRSTCOME_TERM; exec ./mailer'")]
pub(in crate::cli) struct ElectArgs {
    /// The name of the election, which is the name of a lock.
    name: String,
    /// Run the command at each interval, instead of once.
    #[arg(long, value_name = "TIME", value_parser = duration_from_text)]
    every: Option<Duration>,
    /// The lease: after a leader was killed, the next one begins after at most this time. It is renewed six times in it, ten
    /// times if it is 3s or shorter. Default 10s; with --every three intervals, 1s to 10s.
    #[arg(long, value_name = "TIME", value_parser = duration_from_text)]
    lease: Option<Duration>,
    /// The unique id of this candidate [default: the host name and a random part]. The host name alone is refused.
    #[arg(long, value_name = "ID")]
    node: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    command: CommandArgs,
}

/// The command of this candidate, which may outlive its term for the time of grace.
struct Candidate {
    command: CommandArgs,
    deadline: Deadline,
    election: Election,
    name: String,
    to_command: broadcast::Sender<Signal>,
    /// A signal asked this candidate to end.
    ending: Cell<Option<Signal>>,
    /// A command that was stopped after its term has ended.
    stopped: Arc<Notify>,
    /// The task that waits for the command that was started last.
    command_task: RefCell<Option<JoinHandle<()>>>,
}

pub(in crate::cli) async fn run(args: ElectArgs) -> Result<Exit, Complaint> {
    if args.every.is_some_and(|every| every.is_zero()) {
        let complaint = Complaint::usage("the interval is zero: --every is at least 1ms");
        return Err(complaint.of_our_own());
    }
    let locks = args.store.locks().await.map_err(Complaint::of_our_own)?;
    let exit = stand(args, &locks).await;
    // The lock may not stay held, whatever happened.
    locks.close().await;
    exit.map_err(Complaint::of_our_own)
}

async fn stand(args: ElectArgs, locks: &Locks) -> Result<Exit, Complaint> {
    let mut signals = Signals::listen()?;
    let periodic = || Some((args.every? * 3).clamp(LEAST_LEASE, LEASE));
    let lease = args.lease.or_else(periodic).unwrap_or(LEASE);
    let deadline = Deadline::new(lease, args.command.grace)?;
    let mut election = Election::new(locks, &args.name)?.lease(lease);
    if let Some(node) = args.node {
        election = election.node(node);
    }
    let candidate = Rc::new(Candidate {
        command: args.command,
        deadline,
        election: election.clone(),
        name: args.name,
        to_command: signals.to_command(),
        ending: Cell::new(None),
        stopped: Arc::default(),
        command_task: RefCell::default(),
    });
    let work = |term: Term| {
        let candidate = Rc::clone(&candidate);
        async move {
            out::talk(format!(
                "elected: {} leads {}, term {}",
                term.node(),
                candidate.name,
                term.fence()
            ));
            match args.every {
                None => candidate.serve(&term).await,
                Some(every) => candidate.serve_again_and_again(&term, every).await,
            }
        }
    };
    let mut events = election.events();
    let exit = {
        let mut led = std::pin::pin!(election.run(work));
        loop {
            tokio::select! {
                biased;
                exit = &mut led => break exit?,
                signal = signals.next() => {
                    // Decided here at one point: a command that runs gets the signal, and its end is the end of this.
                    let runs = candidate.to_command.send(signal).is_ok();
                    if asks_for_an_end(signal) {
                        candidate.ending.set(Some(signal));
                        if !runs {
                            break Ok(Exit::Passed(128 + signal.as_raw()));
                        }
                    }
                }
                Some(event) = events.next() => if !matches!(event, Event::Lost { .. }) {
                    // That of the term says the same.
                    say(&event);
                },
                () = candidate.stopped.notified() => if let Some(exit) = candidate.ended_by_signal() {
                    break Ok(exit);
                },
            }
        }
    };
    candidate.wait_for_command().await;
    exit
}

impl Candidate {
    /// Runs the command once.
    async fn serve(&self, term: &Term) -> Result<Exit, Complaint> {
        // That of the term before may still be in its time of grace.
        self.wait_for_command().await;
        if let Some(exit) = self.ended_by_signal() {
            return Ok(exit);
        }
        let fence = term.fence().to_string();
        let environment = [
            ("FIRSTCOME_LOCK", self.name.as_str()),
            ("FIRSTCOME_FENCE", &fence),
            ("FIRSTCOME_TERM", &fence),
        ];
        let to_command = self.to_command.subscribe();
        let running = self.command.start(&environment, self.deadline, term.lease())?;
        let (done, end) = oneshot::channel();
        let stopped = Arc::clone(&self.stopped);
        // This copy of the term keeps the lock until the command has ended, or the lease is over.
        let term = term.clone();
        let command_task = tokio::spawn(async move {
            let ended = running.wait(to_command, term.lease(), "the term").await;
            drop(term);
            if done.send(ended).is_err() {
                // The term is over, so the candidate does not wait for it where it serves.
                stopped.notify_one();
            }
        });
        self.command_task.replace(Some(command_task));
        match end.await {
            Ok(Ok(Ended::ByItself(code))) => Ok(Exit::Passed(code)),
            // The term is over, or was not renewed in time: then it is given up for another candidate to have.
            Ok(Ok(Ended::Stopped)) => {
                // Told to end meanwhile, it does not stand again.
                if let Some(exit) = self.ended_by_signal() {
                    return Ok(exit);
                }
                self.election.resign();
                std::future::pending().await
            }
            Ok(Err(complaint)) => Err(complaint),
            Err(_) => Err(Complaint::own("the task that waits for the command has ended")),
        }
    }

    /// Runs the command at each interval, until a signal asks for an end, or it cannot be run at all.
    async fn serve_again_and_again(&self, term: &Term, every: Duration) -> Result<Exit, Complaint> {
        let mut beat = tokio::time::interval(every);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beat.tick().await;
            let exit = self.serve(term).await?;
            if self.ending.get().is_some() || matches!(exit, Exit::Passed(126 | 127)) {
                return Ok(exit);
            }
            if exit != Exit::Passed(0) {
                out::talk(format!(
                    "a run ended with exit code {}; the next one follows",
                    exit.code()
                ));
            }
        }
    }

    /// Returns the exit of a candidate that a signal has asked to end.
    fn ended_by_signal(&self) -> Option<Exit> {
        self.ending.get().map(|signal| Exit::Passed(128 + signal.as_raw()))
    }

    async fn wait_for_command(&self) {
        let command_task = self.command_task.take();
        if let Some(command_task) = command_task {
            // A panic in it has been reported already.
            drop(command_task.await);
        }
    }
}
