//! A real server, and what it says about its work.

use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

/// A `redis-server` of this benchmark's own.
pub(crate) struct Server(firstcome_testbed::Redis);

impl Server {
    /// Starts one; `None` where it is not installed.
    pub(crate) fn start() -> Result<Option<Self>> {
        Ok(firstcome_testbed::Redis::start().map(Self))
    }

    pub(crate) fn url(&self) -> String {
        self.0.url()
    }

    /// Returns the processor time it used so far, in microseconds.
    pub(crate) fn cpu_us(&self) -> Result<f64> {
        let info = self.0.ask("INFO cpu");
        let part = |name: &str| -> Result<f64> {
            let line = info.lines().find_map(|line| line.strip_prefix(name));
            Ok(line.context("INFO cpu has no such line")?.parse::<f64>()? * 1e6)
        };
        Ok(part("used_cpu_user:")? + part("used_cpu_sys:")?)
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
