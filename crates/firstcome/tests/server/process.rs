//! The real program, started and killed.

use crate::wire::Talk;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The admin key of every server here.
pub(crate) const KEY: &str = "the-key-of-the-tests";
/// How long a test waits for a process before it gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server process on a free port; killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// What it said on standard output, up to and including its durability.
    pub(crate) said: String,
}

/// Returns the command that serves a folder, with settings as environment variables.
pub(crate) fn serve(folder: &Path, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
    command.arg("serve").env_clear();
    command.env("FIRSTCOME_DATA", folder).env("FIRSTCOME_LISTEN", "127.0.0.1:0");
    command.env("FIRSTCOME_ADMIN_KEY", KEY).env("RUST_BACKTRACE", "0");
    command.env("FIRSTCOME_LEAVE_MS", "0");
    for (name, value) in settings {
        command.env(format!("FIRSTCOME_{name}"), value);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Server {
    /// Serves a folder.
    pub(crate) fn on(folder: &Path) -> Self {
        Self::with(folder, &[])
    }

    pub(crate) fn with(folder: &Path, settings: &[(&str, &str)]) -> Self {
        Self::of(serve(folder, settings))
    }

    /// Starts a command and waits until it says where it listens.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (mut said, mut address) = (String::new(), None);
        // The last of the lines a server begins with; what comes later stays in the pipe.
        while !said.contains("\ndurability ") {
            let mut line = String::new();
            if out.read_line(&mut line).unwrap() == 0 {
                let mut why = String::new();
                child.stderr.take().unwrap().read_to_string(&mut why).unwrap();
                child.wait().unwrap();
                panic!("it ended before it served: {said}{why}");
            }
            if let Some(found) = line.trim().strip_prefix("listening on http://") {
                address = Some(found.parse().unwrap());
            }
            said += &line;
        }
        child.stdout = Some(out.into_inner());
        Self { child, address: address.unwrap(), said }
    }

    pub(crate) fn talk(&self) -> Talk {
        Talk::to(self.address, KEY).unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the memory that it has in use, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Ends it with SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }

    /// Waits for its end; gives how it ended and what it said on standard error.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let mut errors = self.child.stderr.take().unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            // It ends when the process does, however that ends.
            drop(errors.read_to_string(&mut text));
            drop(tell.send(text));
        });
        let text = told.recv_timeout(PATIENCE).expect("the process ends when told to");
        (self.child.wait().unwrap(), text)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs a verb on a folder to its end; gives its exit code, what it said on standard output and on standard error.
pub(crate) fn verb(
    folder: &Path,
    settings: &[(&str, &str)],
    args: &[&str],
) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
    command.args(args).env_clear().env("FIRSTCOME_DATA", folder).env("FIRSTCOME_KEY", KEY);
    for (name, value) in settings {
        command.env(format!("FIRSTCOME_{name}"), value);
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Runs a command that must not serve; gives what it says on standard error.
pub(crate) fn cannot_serve(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success(), "it served: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}
