//! A real server, and the program run against it with nothing else in its environment.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use firstcome_testbed::RedisServer;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// One test's server.
pub(crate) struct Scene {
    pub(crate) redis: RedisServer,
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) talk: String,
}

/// The program without a store.
pub(crate) fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
    command.args(args).env_clear().env("LANG", "C").stdin(Stdio::null());
    // The commands of these tests are found as everywhere.
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

impl Scene {
    /// Starts a server; `None` where it is skipped.
    pub(crate) fn new() -> Option<Self> {
        Some(Self { redis: RedisServer::start()? })
    }

    pub(crate) fn program(&self, args: &[&str]) -> Command {
        let mut command = program(args);
        command.env("FIRSTCOME_STORE", self.redis.url());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        said(&self.program(args).output().unwrap())
    }

    /// Starts the program and goes on; its command's lines can be waited for.
    pub(crate) fn start(&self, args: &[&str]) -> Shell {
        Shell::of(&mut self.program(args))
    }
}

pub(crate) fn said(output: &Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        talk: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Asserts the exit code and gives stdout without its line end.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        self.out.trim_end().to_owned()
    }

    /// Asserts the exit code, and that both texts are said on stderr.
    #[track_caller]
    pub(crate) fn complains(self, code: i32, sentence: &str, hint: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.talk.contains(&format!("error: {sentence}")), "{self:?}");
        let hints: String = self.talk.lines().filter(|line| line.starts_with("hint: ")).collect();
        assert!(hints.contains(hint), "{self:?}");
    }
}

/// A program that runs; it dies with its test.
pub(crate) struct Shell {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Shell {
    /// Starts a command.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns the way to write to it, where it was started with one.
    pub(crate) fn input(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// Waits for the command's next line.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        self.lines.next().expect("another line").unwrap()
    }

    /// Waits for a line of talk that begins so.
    #[track_caller]
    pub(crate) fn talk_until(&mut self, beginning: &str) -> String {
        let talk = BufReader::new(self.child.stderr.as_mut().unwrap());
        let mut lines = talk.lines().map_while(Result::ok);
        lines.find(|line| line.starts_with(beginning)).expect("it says so")
    }

    pub(crate) fn tell(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end; what it printed since the last line is in it.
    pub(crate) fn end(mut self) -> Said {
        let rest: Vec<String> = self.lines.by_ref().map_while(Result::ok).collect();
        let mut talk = String::new();
        std::io::Read::read_to_string(&mut self.child.stderr.take().unwrap(), &mut talk).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        Said { code, out: rest.join("\n"), talk }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Tells whether a process has ended, though nobody may have asked for its exit code yet.
pub(crate) fn gone(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    state.is_empty() || state.starts_with(['Z', 'X'])
}

/// Waits for the end of a process that was killed: nobody waits for it where it is no child of the one who did that.
#[track_caller]
pub(crate) fn is_gone_soon(pid: &str) {
    let begun = Instant::now();
    while !gone(pid) {
        assert!(begun.elapsed() < Duration::from_secs(10), "{pid} is alive");
        std::thread::sleep(Duration::from_millis(5));
    }
}
