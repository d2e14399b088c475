//! The process beside a command, which kills it when the lock is over, even if the process with the lock is stopped.
//!
//! It is this program, started again, with a socket in the place of standard input. Over that come the command's standard
//! input and, line by line, until when the command may run; back go the command's process id and its exit code. The end
//! of the socket is the end of the process with the lock.

use std::ffi::OsString;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use clap::Args;
use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};
use rustix::time::{ClockId, clock_gettime};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::Instant;

use super::super::complaint::{Complaint, Exit};
use super::signals::Signals;

/// The command to stand beside.
#[derive(Debug, Args)]
pub(in crate::cli) struct BesideArgs {
    /// Give the command a process group of its own, and kill that.
    #[arg(long)]
    grouped: bool,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Hands over what the command reads.
pub(super) fn send_stdin(socket: &net::UnixStream) -> std::io::Result<()> {
    let stdin = std::io::stdin();
    let fds = [stdin.as_fd()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    sendmsg(socket, &[IoSlice::new(b"i")], &mut control, SendFlags::empty())?;
    Ok(())
}

fn receive_stdin(socket: &net::UnixStream) -> std::io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut fds) = message
            && let Some(stdin) = fds.next()
        {
            return Ok(stdin);
        }
    }
    Err(std::io::Error::other("no standard input was handed over"))
}

/// Writes down a time for another process of this machine.
pub(super) fn to_text(at: Instant) -> String {
    let left = at.saturating_duration_since(Instant::now());
    format!("until {}\n", monotonic().saturating_add(left).as_nanos())
}

/// Reads what [`to_text`] wrote, in another process.
fn from_text(line: &str) -> Option<Instant> {
    let nanos: u64 = line.strip_prefix("until ")?.parse().ok()?;
    let left = Duration::from_nanos(nanos).saturating_sub(monotonic());
    Instant::now().checked_add(left)
}

/// Returns the time of the clock that all processes of a machine share, and that nobody sets.
fn monotonic() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    let (seconds, nanos) = (u64::try_from(now.tv_sec), u32::try_from(now.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default())
}

/// Runs the command, and kills it when its time is over or its starter is gone.
pub(in crate::cli) async fn run(args: BesideArgs) -> Result<Exit, Complaint> {
    beside(args).await.map_err(|error| {
        Complaint::own(format!("cannot stand beside the command: {error}")).of_our_own()
    })
}

async fn beside(args: BesideArgs) -> std::io::Result<Exit> {
    let socket = net::UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let stdin = receive_stdin(&socket)?;
    socket.set_nonblocking(true)?;
    let (reader, mut writer) = UnixStream::from_std(socket)?.into_split();
    let mut lines = BufReader::new(reader).lines();
    // What it receives itself is for the command, which its starter tells.
    let mut signals = Signals::listen().map_err(|_| std::io::Error::other("no signals"))?;
    // Nothing begins without an end.
    let first = lines.next_line().await?;
    let Some(mut until) = first.as_deref().and_then(from_text) else {
        return Err(std::io::Error::other("nobody said until when the command may run"));
    };

    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command.arg("run-beside").arg(getpid().to_string()).arg("--").args(&args.command);
    command.stdin(Stdio::from(stdin));
    if args.grouped {
        command.process_group(0);
    }
    let mut child = command.spawn()?;
    drop(command);
    let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let pid = pid.ok_or_else(|| std::io::Error::other("the command has no process id"))?;
    let kill = || match args.grouped {
        true => kill_process_group(pid, Signal::KILL),
        false => kill_process(pid, Signal::KILL),
    };
    writer.write_all(format!("pid {pid}\n").as_bytes()).await.ok();
    let mut is_held = true;
    let status = loop {
        tokio::select! {
            biased;
            line = lines.next_line(), if is_held => match line {
                Ok(Some(line)) => until = from_text(&line).unwrap_or(until),
                Ok(None) | Err(_) => {
                    is_held = false;
                    until = Instant::now();
                }
            },
            status = child.wait() => break status?,
            () = tokio::time::sleep_until(until) => {
                // It fails only where no process is left.
                kill().ok();
                until = Instant::now() + Duration::from_secs(1);
            }
            _ = signals.next() => {}
        }
    };
    let code = code(status);
    writer.write_all(format!("ended {code}\n").as_bytes()).await.ok();
    Ok(Exit::Passed(code))
}

/// Returns the exit code as a shell would.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}
