//! A program that is started, says where it listens, and is told to end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::super::quiet;

/// How long a program may take to say what is waited for.
const START: Duration = Duration::from_secs(30);

/// A program that runs. It is killed when this is dropped.
pub(super) struct RunningProgram {
    child: Child,
    lines: Receiver<String>,
}

impl RunningProgram {
    pub(super) fn start(command: &mut Command) -> Result<Self, String> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().map_err(|why| format!("cannot run {command:?}: {why}"))?;
        let stdout = child.stdout.take().ok_or("it has no stdout")?;
        Ok(Self { lines: lines(stdout), child })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the line that has a text in it, and gives what stands behind the text.
    pub(super) fn says(&self, text: &str) -> Result<String, String> {
        let until = Instant::now() + START;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.map_err(|_| format!("it ended or waited, and did not say {text:?}"))?;
            if let Some((_, rest)) = line.split_once(text) {
                return Ok(rest.trim().to_owned());
            }
        }
    }

    /// Sends SIGTERM to a process, and waits until the program and its output end; gives how that went, and how long it took.
    pub(super) fn end(
        mut self,
        pid: u32,
        within: Duration,
    ) -> Result<(ExitStatus, Duration), String> {
        let began = Instant::now();
        quiet(Command::new("kill").args(["-TERM", &pid.to_string()]))?;
        while self.lines.recv_timeout(within.saturating_sub(began.elapsed())).is_ok() {}
        if began.elapsed() >= within {
            return Err(format!("{within:?} after SIGTERM it still runs"));
        }
        let status = self.child.wait().map_err(|why| why.to_string())?;
        Ok((status, began.elapsed()))
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the lines of an output; the end of the receiver is the end of the output.
fn lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = channel();
    // It ends with the output, and so with the program.
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
