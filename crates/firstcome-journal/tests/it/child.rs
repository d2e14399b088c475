//! Tests that need a process of their own: the test binary runs one of its tests again, as a child.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

const MARK: &str = "FIRSTCOME_CHILD";

/// Says whether this process is the child that runs a test's other half.
pub(crate) fn is_child() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Returns the command that runs one test again as a child, behind these words if there are any.
pub(crate) fn again(wrapper: &[&str], test: &str) -> Command {
    let binary = std::env::current_exe().unwrap();
    let mut words = wrapper.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    words.push(binary.to_str().unwrap().to_owned());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(MARK, test).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Runs a child to its end, which must be a good one.
pub(crate) fn must_pass(command: &mut Command) -> Output {
    let output = command.stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the child failed: {}\n{text}\n{talk}", output.status);
    output
}

/// A child that says what was answered, a line each, and is killed when it goes out of scope.
pub(crate) struct Answering {
    child: Child,
    lines: BufReader<ChildStdout>,
    _stdin: ChildStdin,
}

impl Answering {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let stdin = child.stdin.take().unwrap();
        Self { child, lines, _stdin: stdin }
    }

    /// Returns the next position that was answered; none when the child has ended.
    pub(crate) fn next(&mut self) -> Option<u64> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // The test harness may have begun the line with the test's name.
            if let Some((_, position)) = line.trim_end().rsplit_once("answered ") {
                return Some(position.parse().unwrap());
            }
        }
    }

    /// Kills it with SIGKILL and gives what it had answered until then.
    pub(crate) fn kill(mut self) -> Vec<u64> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::iter::from_fn(|| self.next()).collect()
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Says whether strace can trace here. Where it cannot, that is a failure unless `FIRSTCOME_SKIP_MISSING` names it.
pub(crate) fn can_trace() -> bool {
    let can = has("strace", &["-f", "-o", "/dev/null", "true"]);
    if !can {
        let remedy = "install the Debian package `strace` and allow it to trace (ptrace)";
        firstcome_testbed::missing("strace", remedy);
    }
    can
}

/// Says whether a program can be run.
pub(crate) fn has(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Says whether this process has root's rights, which no folder can refuse.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}
