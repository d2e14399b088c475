//! The process that becomes the command: this program, started again by the process beside the command.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::Args;

use super::super::complaint::{Complaint, Exit};

/// The process that started this one, and the command it becomes.
#[derive(Debug, Args)]
pub(in crate::cli) struct ChildArgs {
    starter: i32,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Becomes the command, which dies with the process beside it, even if that is killed.
pub(in crate::cli) fn run(args: ChildArgs) -> Result<Exit, Complaint> {
    die_with(args.starter).map_err(Complaint::of_our_own)?;
    let mut words = args.command.iter();
    let program = words.next().ok_or_else(|| Complaint::usage("no command is given"))?;
    let error = Command::new(program).args(words).exec();
    let sentence = format!("cannot run `{}`: {error}", program.to_string_lossy());
    Err(if error.kind() == std::io::ErrorKind::NotFound {
        Complaint::new(Exit::CommandNotFound, sentence)
            .hint("see that it is installed and on the PATH, or write its path")
    } else {
        Complaint::new(Exit::CommandNotExecutable, sentence)
            .hint("see that it is a program and that you may run it (`ls -l`)")
    })
}

/// Asks the kernel to kill this process, whatever it becomes, when its parent dies.
#[cfg(target_os = "linux")]
fn die_with(starter: i32) -> Result<(), Complaint> {
    use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
    let failed = |error| Complaint::own(format!("cannot tie the command to this process: {error}"));
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)?;
    // It may have died before that.
    if getppid().map(Pid::as_raw_pid) == Some(starter) {
        Ok(())
    } else {
        Err(Complaint::own("the process beside the command has died before the command began"))
    }
}

/// Elsewhere the process with the lock kills it when the process beside it is gone.
#[cfg(not(target_os = "linux"))]
fn die_with(_: i32) -> Result<(), Complaint> {
    Ok(())
}
