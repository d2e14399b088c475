//! A real server, and what it says about its work.

use anyhow::{Context, Result};

/// A `redis-server` of this benchmark's own.
pub(crate) struct Store(firstcome_testbed::Redis);

/// What a server did until a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    /// Processor time, in microseconds.
    pub(crate) cpu_us: f64,
    /// Commands, those inside scripts included.
    pub(crate) commands: f64,
    /// Bytes read from clients, and written to them.
    pub(crate) read: f64,
    pub(crate) written: f64,
    /// Bytes of memory in use.
    pub(crate) memory: f64,
}

impl Work {
    /// Returns what was done since an earlier moment.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            cpu_us: self.cpu_us - earlier.cpu_us,
            commands: self.commands - earlier.commands,
            read: self.read - earlier.read,
            written: self.written - earlier.written,
            memory: self.memory - earlier.memory,
        }
    }
}

impl Store {
    /// Starts one; `None` where it is not installed.
    pub(crate) fn start() -> Option<Self> {
        firstcome_testbed::Redis::start().map(Self)
    }

    pub(crate) fn url(&self) -> String {
        self.0.url()
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.port()
    }

    pub(crate) fn ask(&self, words: &str) -> String {
        self.0.ask(words)
    }

    pub(crate) fn restart(&mut self) {
        self.0.restart();
    }

    /// Returns how often a command was executed so far, inside scripts too.
    pub(crate) fn calls_of(&self, command: &str) -> f64 {
        self.0.calls_of(command) as f64
    }

    /// Returns what it did so far.
    pub(crate) fn work(&self) -> Result<Work> {
        let info = self.0.ask("INFO all");
        let number = |name: &str| -> Result<f64> {
            let line = info.lines().find_map(|line| line.strip_prefix(name));
            Ok(line.with_context(|| format!("INFO has no {name}"))?.parse::<f64>()?)
        };
        Ok(Work {
            cpu_us: (number("used_cpu_user:")? + number("used_cpu_sys:")?) * 1e6,
            commands: number("total_commands_processed:")?,
            read: number("total_net_input_bytes:")?,
            written: number("total_net_output_bytes:")?,
            memory: number("used_memory:")?,
        })
    }
}
