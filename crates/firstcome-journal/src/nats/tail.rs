//! The end of the log, as one run of one server delivers it: so whoever appends need not ask for what was stored.

use crate::ancestry::{Cursor, mark};
use crate::cluster::EndedDeliveries;
use firstcome_store::nats::{Stored, Stream};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// How many bytes of messages are kept for readers, and how many messages: whoever is further behind reads from a server.
const KEPT_BYTES: usize = 16 << 20;
const KEPT_MESSAGES: usize = 1024;
/// The pause before it is tried again to have messages delivered.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// What was delivered.
#[derive(Debug)]
pub(super) struct Tail {
    stream: Stream,
    /// The sequence delivered last.
    told: watch::Sender<u64>,
    running: Mutex<Option<Running>>,
    ended: Arc<Mutex<EndedDeliveries>>,
}

/// What takes in what is delivered, when it began, and what it took in. One that was stopped may still be at its last message:
/// so each has messages of its own.
#[derive(Debug)]
struct Running {
    task: JoinHandle<()>,
    since: Instant,
    /// A server has been found that delivers.
    begun: Arc<AtomicBool>,
    held: Arc<Mutex<HeldMessages>>,
}

/// The messages that are kept: they follow one another, and each was behind the one before it when that one was read.
#[derive(Debug, Default)]
struct HeldMessages {
    messages: VecDeque<(u64, Arc<Stored>)>,
    bytes: usize,
}

impl Running {
    /// Ends it, and what it took in.
    fn forget(&mut self) {
        self.task.abort();
        // It may be at its last message still.
        self.begun = Arc::default();
        self.held = Arc::default();
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        if let Some(running) = self.running.get_mut() {
            running.task.abort();
        }
    }
}

impl Tail {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            told: watch::Sender::new(0),
            running: Mutex::new(None),
            ended: Arc::default(),
        }
    }

    /// Returns how often messages were delivered no longer.
    pub(super) fn ended(&self) -> EndedDeliveries {
        self.ended.lock().clone()
    }

    /// Watches the sequence of the message delivered last.
    pub(super) fn told(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }

    /// Has messages delivered from where a reader stands, who read all there was, unless they are.
    pub(super) fn begin(&self, cursor: &Cursor) {
        // Without a message that is there nobody could tell whether it is the same log.
        if cursor.bare {
            return;
        }
        let mut running = self.running.lock();
        if let Some(Running { task, since, .. }) = &*running
            && (!task.is_finished() || since.elapsed() < AGAIN_AFTER)
        {
            return;
        }
        self.told.send_replace(0);
        let held = Arc::default();
        let (ended, begun) = (Arc::clone(&self.ended), Arc::new(AtomicBool::new(false)));
        let deliver = Deliver {
            stream: self.stream.clone(),
            cursor: cursor.clone(),
            begun: Arc::clone(&begun),
            held: Arc::clone(&held),
            told: self.told.clone(),
        };
        let task = tokio::spawn(async move { count(&ended, deliver.run().await) });
        *running = Some(Running { task, since: Instant::now(), begun, held });
    }

    /// Ends a delivery that lags too much to be of use; one that has not begun yet goes on to.
    pub(super) fn give_up(&self) {
        let mut running = self.running.lock();
        let Some(one) = running.as_mut().filter(|one| one.begun.load(Ordering::Relaxed)) else {
            return;
        };
        if !one.task.is_finished() {
            count(&self.ended, "a message that was stored was not delivered in time".to_owned());
        }
        one.forget();
        drop(running);
        self.told.send_replace(0);
    }

    fn delivers(&self) -> bool {
        let running = self.running.lock();
        let begun = |one: &Running| one.begun.load(Ordering::Relaxed) && !one.task.is_finished();
        running.as_ref().is_some_and(begun)
    }

    /// Forgets what was delivered: the log may be another one.
    pub(super) fn forget(&self) {
        if let Some(running) = &mut *self.running.lock() {
            running.forget();
        }
        self.told.send_replace(0);
    }

    /// Returns the messages behind a cursor that were delivered, up to one; nothing where they do not go on where it stands.
    pub(super) fn behind(&self, cursor: &Cursor, to: u64) -> Vec<Arc<Stored>> {
        let held = self.running.lock().as_ref().map(|running| Arc::clone(&running.held));
        let held = held.unwrap_or_default();
        let held = held.lock();
        let Some((_, first)) = held.messages.front() else { return Vec::new() };
        let back = cursor.sequence.checked_sub(first.sequence);
        let Some(back) = back.and_then(|back| usize::try_from(back).ok()) else {
            return Vec::new();
        };
        let there = held.messages.get(back);
        if there.is_none_or(|(mark, _)| !cursor.has_mark(*mark)) {
            return Vec::new();
        }
        let further = held.messages.iter().skip(back + 1).map(|(_, stored)| stored);
        further.take_while(|stored| stored.sequence <= to).cloned().collect()
    }

    /// Waits until a message was delivered, at most so long; says whether it was.
    pub(super) async fn wait_for(&self, sequence: u64, at_most: Duration) -> bool {
        if !self.delivers() {
            return false;
        }
        let mut told = self.told.subscribe();
        timeout(at_most, told.wait_for(|last| *last >= sequence)).await.is_ok()
    }
}

/// Counts a delivery that ended.
fn count(ended: &Mutex<EndedDeliveries>, why: String) {
    let mut ended = ended.lock();
    ended.count += 1;
    ended.why = why.into();
}

/// Takes in what is delivered.
struct Deliver {
    stream: Stream,
    cursor: Cursor,
    begun: Arc<AtomicBool>,
    held: Arc<Mutex<HeldMessages>>,
    told: watch::Sender<u64>,
}

impl Deliver {
    /// Goes on until something is missing; gives what was.
    async fn run(self) -> String {
        let Self { stream, cursor, begun, held, told } = self;
        // The message that the reader read last comes first: so it is seen that it is the same log.
        let mut delivery = match stream.deliver(cursor.sequence).await {
            Ok(delivery) => delivery,
            Err(why) => return why.to_string(),
        };
        begun.store(true, Ordering::Relaxed);
        let mut next = cursor.sequence;
        loop {
            let stored = match delivery.next().await {
                Some(Ok(stored)) => stored,
                Some(Err(why)) => return why.to_string(),
                None => return "the connection was closed".to_owned(),
            };
            let mark = mark(&stored.bytes);
            if stored.sequence != next {
                return format!("message {next} of the log was not delivered");
            }
            if next == cursor.sequence && !cursor.has_mark(mark) {
                return format!("message {next} of the log is another one than was read");
            }
            next += 1;
            held.lock().push(mark, stored);
            told.send_replace(next - 1);
        }
    }
}

impl HeldMessages {
    fn push(&mut self, mark: u64, stored: Stored) {
        self.bytes += stored.bytes.len();
        self.messages.push_back((mark, Arc::new(stored)));
        while self.messages.len() > KEPT_MESSAGES || self.bytes > KEPT_BYTES {
            let Some((_, first)) = self.messages.pop_front() else { break };
            self.bytes -= first.bytes.len();
        }
    }
}
