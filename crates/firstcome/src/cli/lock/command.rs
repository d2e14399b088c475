//! The command that runs under a lock: starts it, passes signals on, stops it when the lock is lost.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net;
use std::process::Stdio;
use std::time::Duration;

use clap::Args;
use firstcome_lock::{Lease, Loss};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Child;
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::super::complaint::Complaint;
use super::super::terminal::out;
use super::beside::{send_stdin, to_text};
use super::deadline::Deadline;
use crate::config::duration_from_text;

/// How often to check whether what a command started has ended, too; nothing reports that.
const LOOK: Duration = Duration::from_millis(20);

/// How long a process that was killed may take to be gone.
const KILLED_WITHIN: Duration = Duration::from_secs(1);

/// What to run, and how to end it.
#[derive(Debug, Clone, Args)]
pub(super) struct CommandArgs {
    /// If the lock is lost, the command gets TERM, and KILL after this time. By default 7.5 % of the lease. A longer time
    /// makes TERM earlier, so that the command ends before another owner gets the lock. At most half of the lease.
    #[arg(long, value_name = "TIME", value_parser = duration_from_text)]
    pub(super) grace: Option<Duration>,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// By itself, or by a signal: its exit code, or 128 and the signal.
    ByItself(i32),
    /// It was stopped, because what it ran under was lost.
    Stopped,
}

/// A running command, and the process beside it.
pub(super) struct Running {
    beside: Child,
    said: Lines<BufReader<OwnedReadHalf>>,
    told: OwnedWriteHalf,
    /// The command's, as soon as it is known.
    pid: Option<Pid>,
    /// It has a process group of its own, so that what it starts can be reached, too.
    grouped: bool,
    deadline: Deadline,
    /// By when the process beside it kills the command.
    kill_at: Instant,
}

/// What the process beside the command says.
enum Said {
    Ended(i32),
    /// It was killed, or stands in nobody's way any more.
    Nothing,
}

impl CommandArgs {
    /// Starts the command with more in its environment; it may run for as long as `lease` allows.
    ///
    /// It is this program that is started, as [`super::beside`], which starts it once more, as [`super::child`], which then
    /// becomes the command.
    pub(super) fn start(
        &self,
        environment: &[(&str, &str)],
        deadline: Deadline,
        lease: &Lease,
    ) -> Result<Running, Complaint> {
        let failed =
            |error: std::io::Error| Complaint::own(format!("cannot start a process: {error}"));
        let this = std::env::current_exe().map_err(failed)?;
        let (ours, theirs) = net::UnixStream::pair().map_err(failed)?;
        let mut command = tokio::process::Command::new(this);
        command.arg("stand-beside");
        // At a terminal the command stays in this process's group: it may read there, and Ctrl-C reaches both.
        let grouped = !std::io::stdin().is_terminal();
        if grouped {
            // What stops everybody in this process's group must not stop the one who ends the command.
            command.arg("--grouped").process_group(0);
        }
        command.arg("--").args(&self.command).envs(environment.iter().copied());
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        let beside = command.spawn().map_err(failed)?;
        // The other end of the socket closes with the process that has it.
        drop(command);
        send_stdin(&ours).map_err(failed)?;
        let kill_at = deadline.of(lease).map_or_else(Instant::now, |(_, kill_at)| kill_at);
        (&ours).write_all(to_text(kill_at).as_bytes()).map_err(failed)?;
        ours.set_nonblocking(true).map_err(failed)?;
        let (said, told) = UnixStream::from_std(ours).map_err(failed)?.into_split();
        let said = BufReader::new(said).lines();
        Ok(Running { beside, said, told, pid: None, grouped, deadline, kill_at })
    }
}

impl Running {
    /// Waits for the end, passing signals on, or stops the command when the lease is lost or nearly over.
    pub(super) async fn wait(
        mut self,
        mut signals: broadcast::Receiver<Signal>,
        lease: &Lease,
        what: &str,
    ) -> Result<Ended, Complaint> {
        let mut lost = std::pin::pin!(lease.lost());
        let mut hears = true;
        loop {
            let now = Instant::now();
            let next = match self.deadline.of(lease) {
                Some((term_at, _)) if term_at <= now => {
                    out::talk(format!("{what} was not renewed in time; stopping the command"));
                    self.stop(self.kill_at).await?;
                    return Ok(Ended::Stopped);
                }
                Some((term_at, kill_at)) => {
                    // A renewal moves it by much more than this.
                    if kill_at > self.kill_at + Duration::from_millis(1) {
                        self.tell(kill_at);
                    }
                    term_at.min(now + self.deadline.look())
                }
                None => now + self.deadline.look(),
            };
            tokio::select! {
                biased;
                loss = &mut lost => {
                    out::talk(format!("{what} is over: {loss}; stopping the command"));
                    // Somebody else may have the lock already, or cannot have it before that.
                    let grace = Instant::now() + self.deadline.grace();
                    let kill_at = if loss == Loss::RanOut { grace.min(self.kill_at) } else { grace };
                    self.stop(kill_at).await?;
                    return Ok(Ended::Stopped);
                }
                said = said(&mut self.said, &mut self.pid) => {
                    return match said {
                        Said::Ended(code) => {
                            self.beside_ends().await;
                            Ok(Ended::ByItself(code))
                        }
                        Said::Nothing => {
                            out::talk("the process beside the command is gone, and so is the command");
                            self.send(Signal::KILL);
                            self.beside_ends().await;
                            Ok(Ended::ByItself(128 + Signal::KILL.as_raw()))
                        }
                    };
                }
                received = signals.recv(), if hears && self.pid.is_some() => match received {
                    Ok(signal) => self.pass_on(signal),
                    // Some came faster than they could be passed on; the last ones are still here.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => hears = false,
                },
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }

    /// Tells the process beside the command until when it may run.
    fn tell(&mut self, kill_at: Instant) {
        // Where it does not fit, or nobody reads it, the command is killed at the time that was told before.
        if self.told.try_write(to_text(kill_at).as_bytes()).is_ok() {
            self.kill_at = kill_at;
        }
    }

    fn pass_on(&self, signal: Signal) {
        let from_terminal = signal == Signal::INT || signal == Signal::QUIT;
        if self.grouped || !from_terminal {
            self.send(signal);
        }
    }

    /// Sends a signal to the command, and to what it has started where that can be reached.
    fn send(&self, signal: Signal) {
        let Some(pid) = self.pid else { return };
        let sent =
            if self.grouped { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
        // Fails only where no process is left.
        sent.ok();
    }

    /// Tells whether the command, or what it has started, is still there where that can be asked.
    fn is_there(&self) -> bool {
        self.grouped && self.pid.is_some_and(|pid| test_kill_process_group(pid).is_ok())
    }

    /// TERM, and KILL at that time.
    async fn stop(&mut self, kill_at: Instant) -> Result<(), Complaint> {
        self.tell(kill_at);
        self.send(Signal::TERM);
        // A command that was stopped (SIGSTOP) learns of TERM only when it goes on.
        self.send(Signal::CONT);
        let ended = said(&mut self.said, &mut self.pid);
        let ended = tokio::time::timeout_at(kill_at, ended).await.is_ok();
        while ended && self.is_there() && Instant::now() < kill_at {
            tokio::time::sleep(LOOK).await;
        }
        // The process beside it kills at the same moment: what was there until then was killed.
        if Instant::now() >= kill_at {
            let grace = self.deadline.grace();
            out::talk(format!(
                "the command, or what it started, did not end within {grace:?} and is killed"
            ));
            self.send(Signal::KILL);
        }
        self.beside_ends().await;
        Ok(())
    }

    /// Waits for the end of the process beside the command, which may stand still.
    async fn beside_ends(&mut self) {
        if tokio::time::timeout(KILLED_WITHIN, self.beside.wait()).await.is_err() {
            // Its command dies with it. Fails only where it is gone.
            self.beside.kill().await.ok();
        }
    }
}

/// Hears what the process beside the command says; its first word is the command's process id.
///
/// Cancel safe: what was read of a line is kept.
async fn said(lines: &mut Lines<BufReader<OwnedReadHalf>>, pid: &mut Option<Pid>) -> Said {
    loop {
        let line = lines.next_line().await.ok().flatten();
        let Some(line) = line else { return Said::Nothing };
        if let Some(code) = line.strip_prefix("ended ").and_then(|code| code.parse().ok()) {
            return Said::Ended(code);
        }
        let number = line.strip_prefix("pid ").and_then(|number| number.parse().ok());
        *pid = number.and_then(Pid::from_raw).or(*pid);
    }
}
