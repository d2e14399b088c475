//! The command that runs under a lock: starts it, passes signals on, stops it when the lock is lost.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use clap::Args;
use rustix::process::{
    Pid, Signal, getpid, kill_process, kill_process_group, test_kill_process_group,
};
use tokio::process::Child;
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::super::complaint::Complaint;
use super::super::out;
use crate::config::duration_from_text;

/// How often to check whether what a command started has ended, too; nothing reports that.
const LOOK: Duration = Duration::from_millis(20);

/// What to run, and how to end it.
#[derive(Debug, Clone, Args)]
pub(super) struct CommandArgs {
    /// When the lock is lost, the command gets TERM, and KILL this much later.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = duration_from_text)]
    pub(super) grace: Duration,
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

/// A running command.
pub(super) struct Running {
    child: Child,
    pid: Pid,
    /// It has a process group of its own, so that what it starts can be reached, too.
    grouped: bool,
    grace: Duration,
}

impl CommandArgs {
    /// Starts the command with more in its environment.
    ///
    /// It is this program that is started, as [`super::child`], which then becomes the command.
    pub(super) fn start(&self, environment: &[(&str, &str)]) -> Result<Running, Complaint> {
        let failed =
            |error: std::io::Error| Complaint::own(format!("cannot start a process: {error}"));
        let this = std::env::current_exe().map_err(failed)?;
        let mut command = tokio::process::Command::new(this);
        command.arg("run-beside").arg(getpid().to_string()).arg("--").args(&self.command);
        command.envs(environment.iter().copied());
        // At a terminal the command stays in this process's group: it may read there, and Ctrl-C reaches both.
        let grouped = !std::io::stdin().is_terminal();
        if grouped {
            command.process_group(0);
        }
        let child = command.spawn().map_err(failed)?;
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let pid = pid.ok_or_else(|| Complaint::own("the command has no process id"))?;
        Ok(Running { child, pid, grouped, grace: self.grace })
    }
}

impl Running {
    /// Waits for the end, passing signals on, or stops the command when `lost` resolves.
    pub(super) async fn wait(
        mut self,
        mut signals: broadcast::Receiver<Signal>,
        lost: impl Future<Output = ()>,
    ) -> Result<Ended, Complaint> {
        let mut lost = std::pin::pin!(lost);
        loop {
            tokio::select! {
                biased;
                () = &mut lost => {
                    self.stop().await?;
                    return Ok(Ended::Stopped);
                }
                status = self.child.wait() => return Ok(Ended::ByItself(code(end(status)?))),
                received = signals.recv() => match received {
                    Ok(signal) => self.pass_on(signal),
                    // Some came faster than they could be passed on; the last ones are still here.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => {
                        return Ok(Ended::ByItself(code(end(self.child.wait().await)?)));
                    }
                },
            }
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
        let sent = if self.grouped {
            kill_process_group(self.pid, signal)
        } else {
            kill_process(self.pid, signal)
        };
        // Fails only where no process is left.
        sent.ok();
    }

    /// TERM, a time of grace, KILL.
    async fn stop(&mut self) -> Result<(), Complaint> {
        let deadline = Instant::now() + self.grace;
        self.send(Signal::TERM);
        // A command that was stopped (SIGSTOP) learns of TERM only when it goes on.
        self.send(Signal::CONT);
        if let Ok(status) = tokio::time::timeout_at(deadline, self.child.wait()).await {
            end(status)?;
            if !self.grouped {
                return Ok(());
            }
            while test_kill_process_group(self.pid).is_ok() && Instant::now() < deadline {
                tokio::time::sleep(LOOK).await;
            }
            if test_kill_process_group(self.pid).is_ok() {
                out::talk("what the command has started did not end in time and is killed");
                self.send(Signal::KILL);
            }
            return Ok(());
        }
        out::talk(format!("the command did not end within {:?} and is killed", self.grace));
        self.send(Signal::KILL);
        end(self.child.wait().await).map(drop)
    }
}

fn end(status: std::io::Result<ExitStatus>) -> Result<ExitStatus, Complaint> {
    status.map_err(|error| Complaint::own(format!("cannot wait for the command: {error}")))
}

/// Gives the exit code as a shell would.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}
