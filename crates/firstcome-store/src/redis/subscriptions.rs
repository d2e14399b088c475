//! Subscriptions to channels, over one connection that is dialled again when it is lost.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use redis::{PushInfo, PushKind, Value};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Notify, broadcast, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::dial::{Dialler, Line};
use super::exchange::{Trouble, exchange};
use super::pubsub::PubSub;
use super::{Redis, error_code};
use crate::client::pause;
use crate::error::StoreError;
use crate::host::Host;

/// How many messages a subscriber may be behind before it gets [`Event::Gap`] instead.
const BACKLOG: usize = 16;

/// What a [`Subscription`] hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A message with this content.
    Message(Vec<u8>),
    /// The connection was lost, or the channel is at another server now: nothing is heard until a [`Event::Gap`] says that it is
    /// there again.
    Cut,
    /// Messages may have been missed: the connection had been lost, or too many came at once.
    Gap,
    /// The connection was closed; nothing will follow.
    Closed,
}

/// Messages of one channel, from the moment the server confirmed it; given up on drop.
#[derive(Debug)]
pub struct Subscription {
    events: broadcast::Receiver<Event>,
    membership: Membership,
    /// The cluster in which a sharded channel goes where its slot goes.
    cluster: Option<Redis>,
}

impl Subscription {
    /// Waits for the next message, or for word that some may have been missed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing is lost.
    pub async fn next(&mut self) -> Event {
        if self.membership.status() == Some(Status::Moved)
            && let Some(cluster) = self.cluster.clone()
        {
            return self.follow(&cluster).await;
        }
        match self.events.recv().await {
            Ok(event) => event,
            Err(broadcast::error::RecvError::Lagged(_)) => Event::Gap,
            Err(broadcast::error::RecvError::Closed) => Event::Closed,
        }
    }

    /// Tells whether the server's confirmation holds now, so that nothing is being missed.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.membership.status() == Some(Status::Live)
    }

    /// Has it follow its slot to other servers of a cluster.
    pub(super) fn following(self, cluster: &Redis) -> Self {
        Self { cluster: Some(cluster.clone()), ..self }
    }

    /// Subscribes at the server that has the slot now.
    async fn follow(&mut self, cluster: &Redis) -> Event {
        let mut tries = 0;
        loop {
            let Topic { name, pubsub } = &self.membership.topic;
            match cluster.subscribe(name, *pubsub).await {
                Ok(there) => {
                    *self = there;
                    return Event::Gap;
                }
                Err(StoreError::Closed) => return Event::Closed,
                Err(_) => tokio::time::sleep(pause(tries)).await,
            }
            tries += 1;
        }
    }
}

/// A channel, and how its messages are published.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Topic {
    name: String,
    pubsub: PubSub,
}

impl Topic {
    fn join(&self) -> redis::Cmd {
        self.command(["SUBSCRIBE", "SSUBSCRIBE"])
    }

    fn leave(&self) -> redis::Cmd {
        self.command(["UNSUBSCRIBE", "SUNSUBSCRIBE"])
    }

    fn command(&self, [plain, sharded]: [&str; 2]) -> redis::Cmd {
        let mut words = redis::cmd(match self.pubsub {
            PubSub::Plain => plain,
            PubSub::Sharded => sharded,
        });
        words.arg(&self.name);
        words
    }
}

/// The connection for subscriptions, kept up by a task of its own.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    shared: Arc<Shared>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    channels: Mutex<HashMap<Topic, Channel>>,
    /// What is wanted has changed.
    changed: Notify,
    stop: Notify,
    name: String,
    /// Why there was no connection when it was tried last.
    failure: Mutex<Option<StoreError>>,
    /// Changed and read under the lock of the channels.
    closed: AtomicBool,
}

#[derive(Debug)]
struct Channel {
    users: usize,
    events: broadcast::Sender<Event>,
    state: watch::Sender<Status>,
    /// It has been live before: its subscribers may have missed messages since.
    lived: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Wanted,
    Live,
    Denied,
    /// Another server of the cluster has its slot.
    Moved,
    Closed,
}

/// One user of a channel; the count goes down when it is dropped.
#[derive(Debug)]
struct Membership {
    shared: Arc<Shared>,
    topic: Topic,
}

impl Membership {
    fn status(&self) -> Option<Status> {
        self.shared.channels().get(&self.topic).map(|channel| *channel.state.borrow())
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut channels = self.shared.channels();
        if let Some(channel) = channels.get_mut(&self.topic) {
            channel.users -= 1;
            if channel.users == 0 {
                channels.remove(&self.topic);
                self.shared.changed.notify_one();
            }
        }
    }
}

impl Shared {
    fn channels(&self) -> MutexGuard<'_, HashMap<Topic, Channel>> {
        // Every change under this lock is complete in itself, so a panic elsewhere spoils nothing.
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self) -> MutexGuard<'_, Option<StoreError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what to subscribe to, and what to leave, given what the server has confirmed.
    fn differences(&self, confirmed: &HashSet<Topic>) -> (Vec<Topic>, Vec<Topic>) {
        let channels = self.channels();
        let wanted = |channel: &Channel| *channel.state.borrow() == Status::Wanted;
        let join = channels.iter().filter(|(_, channel)| wanted(channel));
        let join = join.map(|(topic, _)| topic.clone()).collect();
        let leave =
            confirmed.iter().filter(|topic| !channels.contains_key(*topic)).cloned().collect();
        (join, leave)
    }

    fn go_live(&self, topic: &Topic) {
        if let Some(channel) = self.channels().get_mut(topic) {
            let before = channel.state.send_replace(Status::Live);
            if std::mem::replace(&mut channel.lived, true) && before != Status::Live {
                // Nobody listening is fine.
                drop(channel.events.send(Event::Gap));
            }
        }
    }

    /// Sets the state of a channel that is not heard from here.
    fn set(&self, topic: &Topic, status: Status) {
        if let Some(channel) = self.channels().get(topic) {
            channel.set(status);
        }
    }

    fn set_all(&self, status: Status) {
        let channels = self.channels();
        // Nothing joins after that.
        self.closed.fetch_or(status == Status::Closed, Ordering::Relaxed);
        channels.values().for_each(|channel| channel.set(status));
    }

    fn deliver(&self, topic: &Topic, event: Event) {
        if let Some(channel) = self.channels().get(topic) {
            // Nobody listening is fine: the count is about to reach zero.
            drop(channel.events.send(event));
        }
    }
}

impl Channel {
    fn set(&self, status: Status) {
        let before = self.state.send_replace(status);
        let event = match status {
            Status::Closed => Event::Closed,
            // Whoever listens has to look where it is now.
            Status::Moved => Event::Cut,
            Status::Wanted if before == Status::Live => Event::Cut,
            Status::Wanted | Status::Live | Status::Denied => return,
        };
        // Nobody listening is fine.
        drop(self.events.send(event));
    }
}

impl Subscriptions {
    pub(crate) fn start(dialler: Arc<Dialler>, place: watch::Receiver<Option<Host>>) -> Self {
        let shared = Arc::new(Shared {
            channels: Mutex::default(),
            changed: Notify::new(),
            stop: Notify::new(),
            name: dialler.place(),
            failure: Mutex::default(),
            closed: AtomicBool::new(false),
        });
        let keeper = tokio::spawn(keep(Arc::clone(&shared), dialler, place));
        Self { shared, keeper: Mutex::new(Some(keeper)) }
    }

    pub(crate) async fn join(
        &self,
        channel: &str,
        pubsub: PubSub,
        deadline: Instant,
    ) -> Result<Subscription, StoreError> {
        let (subscription, mut states) = self.enter(Topic { name: channel.to_owned(), pubsub });
        let decided = states.wait_for(|status| *status != Status::Wanted);
        let status = tokio::time::timeout_at(deadline, decided).await;
        match status.map(|status| status.map(|status| *status)) {
            Ok(Ok(Status::Live | Status::Wanted)) => Ok(subscription),
            Ok(Ok(Status::Denied)) => {
                let (code, detail) = ("NOPERM".to_owned(), format!("subscribing to {channel}"));
                Err(StoreError::Denied { code, detail })
            }
            Ok(Ok(Status::Moved)) => {
                let (place, detail) =
                    (self.shared.name.clone(), format!("subscribing to {channel}"));
                Err(StoreError::Moved { place, detail })
            }
            Ok(Ok(Status::Closed) | Err(_)) => Err(StoreError::Closed),
            Err(_) => Err(self.shared.failure().clone().unwrap_or_else(|| {
                let reason = "the subscription was not confirmed in time".to_owned();
                StoreError::Unreachable { place: self.shared.name.clone(), reason }
            })),
        }
    }

    fn enter(&self, topic: Topic) -> (Subscription, watch::Receiver<Status>) {
        let mut channels = self.shared.channels();
        let is_closed = self.shared.closed.load(Ordering::Relaxed);
        let channel = channels.entry(topic.clone()).or_insert_with(|| {
            self.shared.changed.notify_one();
            let status = if is_closed { Status::Closed } else { Status::Wanted };
            Channel {
                users: 0,
                events: broadcast::Sender::new(BACKLOG),
                state: watch::Sender::new(status),
                lived: false,
            }
        });
        // Its slot may have come back.
        if *channel.state.borrow() == Status::Moved {
            channel.set(Status::Wanted);
            self.shared.changed.notify_one();
        }
        channel.users += 1;
        let states = channel.state.subscribe();
        let events = channel.events.subscribe();
        let membership = Membership { shared: Arc::clone(&self.shared), topic };
        (Subscription { events, membership, cluster: None }, states)
    }

    pub(crate) async fn close(&self) {
        self.shared.stop.notify_one();
        let keeper = self.keeper.lock().ok().and_then(|mut keeper| keeper.take());
        if let Some(keeper) = keeper {
            // It ends by itself; a panic in it has been reported already.
            drop(keeper.await);
        }
        self.shared.set_all(Status::Closed);
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.lock().ok().and_then(|mut keeper| keeper.take()) {
            keeper.abort();
        }
    }
}

async fn keep(
    shared: Arc<Shared>,
    dialler: Arc<Dialler>,
    mut place: watch::Receiver<Option<Host>>,
) {
    let listening = async {
        let mut tries = 0;
        loop {
            // No connection is made before somebody wants to listen.
            while shared.channels().is_empty() {
                shared.changed.notified().await;
            }
            let host = place.borrow_and_update().clone();
            let Some(host) = host else { return };
            let dialled = dialler.subscriber(&host).await;
            *shared.failure() = dialled.as_ref().err().cloned();
            if let Ok((line, pushes)) = dialled {
                tries = 0;
                let mut connection =
                    Connection { shared: &shared, line, pushes, confirmed: HashSet::new() };
                tokio::select! {
                    () = connection.listen(dialler.options.heartbeat) => {}
                    // Another server is the master now; the old one hears nothing any more.
                    moved = place.changed() => if moved.is_err() { return },
                }
            }
            shared.set_all(Status::Wanted);
            tokio::time::sleep(pause(tries)).await;
            tries += 1;
        }
    };
    tokio::select! {
        () = listening => {}
        () = shared.stop.notified() => {}
    }
    shared.set_all(Status::Closed);
}

/// Returns the code of an error, an empty one where there is no answer.
fn said(answer: &Result<Value, Trouble>) -> Option<String> {
    match answer {
        Ok(_) => None,
        Err(Trouble::Said(error)) => Some(error_code::read(error).0),
        Err(Trouble::Lost(_) | Trouble::NoScript) => Some(String::new()),
    }
}

/// One connection for subscriptions while it lasts.
struct Connection<'a> {
    shared: &'a Shared,
    line: Line,
    /// Messages, and what the server confirms.
    pushes: UnboundedReceiver<PushInfo>,
    confirmed: HashSet<Topic>,
}

impl Connection<'_> {
    /// Joins and leaves channels as wanted and passes messages on, until the connection fails.
    async fn listen(&mut self, heartbeat: Duration) {
        let patience = heartbeat.min(Duration::from_secs(2));
        while self.join_and_leave(patience).await {
            tokio::select! {
                () = self.shared.changed.notified() => {}
                push = self.pushes.recv() => match push {
                    Some(push) => self.take(push),
                    None => return,
                },
                _ = AssertUnwindSafe(&mut self.line.driver).catch_unwind() => return,
                () = tokio::time::sleep(heartbeat) => {
                    if !matches!(self.ask(&[redis::cmd("PING")], patience).await[..], [Ok(_)]) {
                        return;
                    }
                }
            }
        }
    }

    /// Brings what the server has confirmed in line with what is wanted; `false` where it does not answer.
    async fn join_and_leave(&mut self, patience: Duration) -> bool {
        let (join, leave) = self.shared.differences(&self.confirmed);
        if join.is_empty() && leave.is_empty() {
            return true;
        }
        self.confirmed.retain(|topic| !leave.contains(topic));
        let commands = leave.iter().map(Topic::leave).chain(join.iter().map(Topic::join));
        let commands: Vec<_> = commands.collect();
        let mut answers = self.ask(&commands, patience).await.into_iter();
        if answers.len() < commands.len() {
            return false;
        }
        for (topic, answer) in leave.into_iter().zip(answers.by_ref()) {
            match said(&answer).as_deref() {
                None | Some("MOVED") => {}
                // It cannot be left as long as its slot is on its way, or nobody's.
                Some("ASK" | "CLUSTERDOWN") => drop(self.confirmed.insert(topic)),
                Some(_) => return false,
            }
        }
        for (topic, answer) in join.iter().zip(answers) {
            match said(&answer).as_deref() {
                // The confirmation has come for itself. Where a server gives up a slot meanwhile, answers are about other channels.
                None => {}
                Some(_) if self.confirmed.contains(topic) => {}
                Some("NOPERM") => self.shared.set(topic, Status::Denied),
                Some("MOVED") => self.shared.set(topic, Status::Moved),
                // It is asked for again; the other channels are heard all the same.
                Some("CLUSTERDOWN") => {}
                Some(_) => return false,
            }
        }
        true
    }

    /// Waits for what the server says to each command while messages go on being passed on; no answers where the connection
    /// fails.
    async fn ask(
        &mut self,
        commands: &[redis::Cmd],
        patience: Duration,
    ) -> Vec<Result<Value, Trouble>> {
        let deadline = Instant::now() + patience;
        let asked = commands.iter().map(|words| {
            let mut connection = self.line.connection.clone();
            async move { exchange(&mut connection, words, deadline).await }
        });
        let mut asked = std::pin::pin!(join_all(asked));
        let answers = loop {
            tokio::select! {
                answers = &mut asked => break answers,
                Some(push) = self.pushes.recv() => self.take(push),
                _ = AssertUnwindSafe(&mut self.line.driver).catch_unwind() => return Vec::new(),
            }
        };
        // What was confirmed has come before the answers.
        while let Ok(push) = self.pushes.try_recv() {
            self.take(push);
        }
        answers
    }

    /// Passes a message on, or takes note of what the server confirms.
    fn take(&mut self, push: PushInfo) {
        let PushInfo { kind, data } = push;
        let mut data = data.into_iter();
        let Some(Value::BulkString(name)) = data.next() else { return };
        let is_sharded =
            [PushKind::SMessage, PushKind::SSubscribe, PushKind::SUnsubscribe].contains(&kind);
        let pubsub = if is_sharded { PubSub::Sharded } else { PubSub::Plain };
        let topic = Topic { name: String::from_utf8_lossy(&name).into_owned(), pubsub };
        if [PushKind::Message, PushKind::SMessage].contains(&kind) {
            if let Some(Value::BulkString(message)) = data.next() {
                self.shared.deliver(&topic, Event::Message(message));
            }
        } else if [PushKind::Subscribe, PushKind::SSubscribe].contains(&kind) {
            self.shared.go_live(&topic);
            self.confirmed.insert(topic);
        } else if kind == PushKind::SUnsubscribe && self.confirmed.remove(&topic) {
            // Nobody asked for that: the slot goes to another server.
            self.shared.set(&topic, Status::Moved);
        }
    }
}
