//! A folder of its own, a server in it, and the program run with nothing else in its environment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

pub(crate) const KEY: &str = "a-key-for-these-tests";

/// One test's folder.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
}

/// What a command said.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) talk: String,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Asserts the exit code and gives stdout.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        self.out
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The program, in this folder, with a clean environment.
    pub(crate) fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
        command.args(args).env_clear().env("LANG", "C").env("TMPDIR", self.path());
        command.current_dir(self.path()).stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        said(&self.program(args).output().unwrap())
    }

    /// Starts a server on `./firstcome-data` and waits for its first line.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// Starts a server with further arguments and waits for its first line.
    pub(crate) fn serve_with(&self, more: &[&str]) -> Server {
        self.serve_in(more, &[])
    }

    /// Starts a server with further arguments and more in its environment, and waits for its first line.
    pub(crate) fn serve_in(&self, more: &[&str], environment: &[(&str, &str)]) -> Server {
        let mut command = self.program(&["serve", "--new-space", "--listen", "127.0.0.1:0"]);
        command.args(more).env("FIRSTCOME_LEAVE_MS", "0").envs(environment.iter().copied());
        command.env("FIRSTCOME_ADMIN_KEY", KEY).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        let url = first.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{first:?}"));
        Server { url: url.to_owned(), child, _lines: Box::new(lines) }
    }
}

pub(crate) fn said(output: &Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        talk: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A server that dies with its test.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) child: Child,
    pub(crate) _lines: Box<dyn BufRead + Send>,
}

impl Server {
    /// Runs a verb against this server with its key.
    pub(crate) fn ask(&self, scene: &Scene, args: &[&str]) -> Said {
        let mut command = scene.program(args);
        command.env("FIRSTCOME_URL", &self.url).env("FIRSTCOME_KEY", KEY);
        said(&command.output().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
