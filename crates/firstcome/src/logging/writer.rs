//! Lines on their way to standard error: nobody waits for its reader, and what does not fit is counted.

use firstcome_node::log;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant};

/// Lines that may wait for the reader of standard error.
const WAITING: usize = 4_096;
/// How long an ending program waits until they are read.
const FLUSH: Duration = Duration::from_secs(5);

enum LogMessage {
    Line(Vec<u8>),
    /// Answered once all before it is written.
    Flush(Sender<()>),
}

/// Where lines are put; a thread writes them out.
#[derive(Clone)]
pub(super) struct Lines {
    waiting: SyncSender<LogMessage>,
    lost: Arc<AtomicU64>,
}

impl Lines {
    pub(super) fn to_stderr() -> Self {
        Self::to(std::io::stderr())
    }

    fn to(out: impl Write + Send + 'static) -> Self {
        let (waiting, lines) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let untold = Arc::clone(&lost);
        // Detached on purpose: it ends with the process, which does not wait for a reader that went away.
        std::thread::spawn(move || write_out(lines, &untold, out));
        Self { waiting, lost }
    }

    /// Waits until all that was put here is written, for a few seconds at most.
    pub(super) fn flush(&self) {
        let (written, is_written) = channel();
        let end = Instant::now() + FLUSH;
        let mut message = LogMessage::Flush(written);
        while let Err(TrySendError::Full(full)) = self.waiting.try_send(message) {
            if Instant::now() >= end {
                return;
            }
            message = full;
            std::thread::sleep(Duration::from_millis(1));
        }
        // Whoever reads nothing gets nothing more.
        is_written.recv_timeout(end.saturating_duration_since(Instant::now())).ok();
    }
}

impl Write for Lines {
    /// Takes a whole line, or counts it as lost.
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        if self.waiting.try_send(LogMessage::Line(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn write_out(lines: Receiver<LogMessage>, lost: &AtomicU64, mut out: impl Write) {
    for message in lines {
        match message {
            // A reader that went away must not end the server.
            LogMessage::Line(line) => drop(out.write_all(&line)),
            LogMessage::Flush(written) => drop(written.send(())),
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            log!(LogLinesLost, lost, "lines of the log were lost: standard error is not read");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Condvar, Mutex};

    /// Takes nothing until it may.
    #[derive(Clone, Default)]
    struct Slow(Arc<Pipe>);

    #[derive(Default)]
    struct Pipe {
        content: Mutex<Content>,
        opened: Condvar,
    }

    #[derive(Default)]
    struct Content {
        is_open: bool,
        bytes: Vec<u8>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let content = self.0.content.lock().unwrap();
            let closed = |content: &mut Content| !content.is_open;
            let mut content = self.0.opened.wait_while(content, closed).unwrap();
            content.bytes.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_who_reads_nothing_keeps_nobody_waiting() {
        let slow = Slow::default();
        let mut lines = Lines::to(slow.clone());
        let begun = Instant::now();
        for n in 0..WAITING + 100 {
            lines.write_all(format!("{n}\n").as_bytes()).unwrap();
        }
        assert!(lines.lost.load(Ordering::Relaxed) >= 99);
        Lines::flush(&lines);
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it waits for a few seconds, not for ever"
        );
        slow.0.content.lock().unwrap().is_open = true;
        slow.0.opened.notify_all();
        Lines::flush(&lines);
        let text = String::from_utf8(slow.0.content.lock().unwrap().bytes.clone()).unwrap();
        assert!(text.starts_with("0\n1\n2\n"), "{text:.20}");
        assert!(text.lines().count() >= WAITING, "{}", text.lines().count());
    }
}
