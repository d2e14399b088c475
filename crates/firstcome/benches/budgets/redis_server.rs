//! A real server, and what it says about its work.

use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

/// A `redis-server` of this benchmark's own.
pub(crate) struct Store(firstcome_testbed::RedisServer);

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
}

impl Work {
    /// Returns what was done since an earlier moment.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            cpu_us: self.cpu_us - earlier.cpu_us,
            commands: self.commands - earlier.commands,
            read: self.read - earlier.read,
            written: self.written - earlier.written,
        }
    }
}

impl Store {
    /// Starts one; `None` where it is not installed.
    pub(crate) fn start() -> Option<Self> {
        firstcome_testbed::RedisServer::start().map(Self)
    }

    pub(crate) fn url(&self) -> String {
        self.0.url()
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.port()
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
        })
    }

    /// Waits until somebody listens on a channel.
    pub(crate) async fn heard(&self, channel: &str) -> Result<()> {
        while self.0.ask(&format!("PUBSUB NUMSUB {channel}")).ends_with(":0") {
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        Ok(())
    }

    /// Begins to count what clients send.
    pub(crate) fn count(&self) -> Result<Count> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.0.port()))?;
        stream.write_all(b"MONITOR\r\n")?;
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        lines.next().context("no answer to MONITOR")??;
        // What a script calls inside is shown as coming from `lua`.
        let sent = |line: &String| {
            !["[0 lua]", "\"INFO\"", "\"QUIT\""].iter().any(|other| line.contains(other))
        };
        let counting = std::thread::spawn(move || lines.map_while(Result::ok).filter(sent).count());
        Ok(Count { stream, counting })
    }
}

/// A count of the commands that clients send, as the server's MONITOR shows them.
///
/// Watching makes the server slower: nothing is timed meanwhile.
pub(crate) struct Count {
    stream: TcpStream,
    counting: JoinHandle<usize>,
}

impl Count {
    pub(crate) fn stop(self) -> Result<f64> {
        self.stream.shutdown(Shutdown::Both)?;
        let sent = self.counting.join().map_err(|_| anyhow::anyhow!("counting failed"))?;
        Ok(sent as f64)
    }
}
