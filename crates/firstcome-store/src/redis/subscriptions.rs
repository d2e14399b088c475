//! Subscriptions to channels, over one connection that is dialled again when it is lost.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::{PubSubSink, PubSubStream};
use tokio::sync::{Notify, broadcast, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::dial::Dialler;
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
    /// The connection was lost: nothing is heard from here until a [`Event::Gap`] says that it is there again.
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
}

impl Subscription {
    /// Waits for the next message, or for word that some may have been missed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing is lost.
    pub async fn next(&mut self) -> Event {
        match self.events.recv().await {
            Ok(event) => event,
            Err(broadcast::error::RecvError::Lagged(_)) => Event::Gap,
            Err(broadcast::error::RecvError::Closed) => Event::Closed,
        }
    }

    /// Tells whether the server's confirmation holds now, so that nothing is being missed.
    #[must_use]
    pub fn is_live(&self) -> bool {
        let channels = self.membership.shared.channels();
        channels
            .get(&self.membership.name)
            .is_some_and(|channel| *channel.state.borrow() == Status::Live)
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
    channels: Mutex<HashMap<String, Channel>>,
    /// What is wanted has changed.
    changed: Notify,
    stop: Notify,
    name: String,
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
    Closed,
}

/// One user of a channel; the count goes down when it is dropped.
#[derive(Debug)]
struct Membership {
    shared: Arc<Shared>,
    name: String,
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut channels = self.shared.channels();
        if let Some(channel) = channels.get_mut(&self.name) {
            channel.users -= 1;
            if channel.users == 0 {
                channels.remove(&self.name);
                self.shared.changed.notify_one();
            }
        }
    }
}

impl Shared {
    fn channels(&self) -> MutexGuard<'_, HashMap<String, Channel>> {
        // Every change under this lock is complete in itself, so a panic elsewhere spoils nothing.
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what to subscribe to, and what to leave, given what the server has confirmed.
    fn differences(&self, confirmed: &HashSet<String>) -> (Vec<String>, Vec<String>) {
        let channels = self.channels();
        let wanted = |channel: &Channel| *channel.state.borrow() == Status::Wanted;
        let join = channels.iter().filter(|(_, channel)| wanted(channel));
        let join = join.map(|(name, _)| name.clone()).collect();
        let leave =
            confirmed.iter().filter(|name| !channels.contains_key(*name)).cloned().collect();
        (join, leave)
    }

    fn go_live(&self, names: &[String]) {
        let mut channels = self.channels();
        for name in names {
            let Some(channel) = channels.get_mut(name) else { continue };
            channel.state.send_replace(Status::Live);
            if std::mem::replace(&mut channel.lived, true) {
                // Nobody listening is fine.
                drop(channel.events.send(Event::Gap));
            }
        }
    }

    fn deny(&self, name: &str) {
        if let Some(channel) = self.channels().get(name) {
            channel.state.send_replace(Status::Denied);
        }
    }

    fn set_all(&self, status: Status) {
        for channel in self.channels().values() {
            let before = channel.state.send_replace(status);
            let event = match status {
                Status::Closed => Event::Closed,
                Status::Wanted if before == Status::Live => Event::Cut,
                Status::Wanted | Status::Live | Status::Denied => continue,
            };
            // Nobody listening is fine.
            drop(channel.events.send(event));
        }
    }

    fn deliver(&self, name: &str, event: Event) {
        if let Some(channel) = self.channels().get(name) {
            // Nobody listening is fine: the count is about to reach zero.
            drop(channel.events.send(event));
        }
    }
}

impl Subscriptions {
    pub(crate) fn start(dialler: Arc<Dialler>, place: watch::Receiver<Option<Host>>) -> Self {
        let shared = Arc::new(Shared {
            channels: Mutex::default(),
            changed: Notify::new(),
            stop: Notify::new(),
            name: dialler.place(),
        });
        let keeper = tokio::spawn(keep(Arc::clone(&shared), dialler, place));
        Self { shared, keeper: Mutex::new(Some(keeper)) }
    }

    pub(crate) async fn join(
        &self,
        channel: &str,
        deadline: Instant,
    ) -> Result<Subscription, StoreError> {
        let (subscription, mut states) = self.enter(channel);
        let decided = states.wait_for(|status| *status != Status::Wanted);
        let status = tokio::time::timeout_at(deadline, decided).await;
        match status.map(|status| status.map(|status| *status)) {
            Ok(Ok(Status::Live | Status::Wanted)) => Ok(subscription),
            Ok(Ok(Status::Denied)) => {
                let (code, detail) = ("NOPERM".to_owned(), format!("subscribing to {channel}"));
                Err(StoreError::Denied { code, detail })
            }
            Ok(Ok(Status::Closed) | Err(_)) => Err(StoreError::Closed),
            Err(_) => {
                let reason = "the subscription was not confirmed in time".to_owned();
                Err(StoreError::Unreachable { place: self.shared.name.clone(), reason })
            }
        }
    }

    fn enter(&self, name: &str) -> (Subscription, watch::Receiver<Status>) {
        let mut channels = self.shared.channels();
        let channel = channels.entry(name.to_owned()).or_insert_with(|| {
            self.shared.changed.notify_one();
            Channel {
                users: 0,
                events: broadcast::Sender::new(BACKLOG),
                state: watch::Sender::new(Status::Wanted),
                lived: false,
            }
        });
        channel.users += 1;
        let states = channel.state.subscribe();
        let events = channel.events.subscribe();
        let membership = Membership { shared: Arc::clone(&self.shared), name: name.to_owned() };
        (Subscription { events, membership }, states)
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
            if let Ok(connection) = dialler.subscriber(&host).await {
                tries = 0;
                let (sink, stream) = connection.split();
                let mut connection =
                    Connection { shared: &shared, sink, stream, confirmed: HashSet::new() };
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

/// One connection for subscriptions while it lasts.
struct Connection<'a> {
    shared: &'a Shared,
    sink: PubSubSink,
    stream: PubSubStream,
    confirmed: HashSet<String>,
}

impl Connection<'_> {
    /// Joins and leaves channels as wanted and passes messages on, until the connection fails.
    async fn listen(&mut self, heartbeat: Duration) {
        let patience = heartbeat.min(Duration::from_secs(2));
        loop {
            if !self.join_and_leave(patience).await {
                return;
            }
            tokio::select! {
                () = self.shared.changed.notified() => {}
                message = self.stream.next() => match message {
                    Some(message) => hand_out(self.shared, &message),
                    None => return,
                },
                () = tokio::time::sleep(heartbeat) => {
                    let alive = hear_while(self.shared, &mut self.stream, patience, async {
                        self.sink.ping::<redis::Value>().await
                    });
                    if !matches!(alive.await, Some(Ok(_))) {
                        return;
                    }
                }
            }
        }
    }

    /// Brings what the server has confirmed in line with what is wanted; `false` where it does not answer.
    async fn join_and_leave(&mut self, patience: Duration) -> bool {
        let (join, leave) = self.shared.differences(&self.confirmed);
        if !leave.is_empty() {
            let left = self.sink.unsubscribe(&leave);
            if !matches!(
                hear_while(self.shared, &mut self.stream, patience, left).await,
                Some(Ok(()))
            ) {
                return false;
            }
            for name in &leave {
                self.confirmed.remove(name);
            }
        }
        if !join.is_empty() {
            let joined = self.sink.subscribe(&join);
            match hear_while(self.shared, &mut self.stream, patience, joined).await {
                Some(Ok(())) => self.confirm(&join),
                Some(Err(error)) if error.code() == Some("NOPERM") => {
                    return self.join_singly(&join, patience).await;
                }
                _ => return false,
            }
        }
        true
    }

    /// Joins one channel after the other, to find those that the user may not use.
    async fn join_singly(&mut self, names: &[String], patience: Duration) -> bool {
        for name in names {
            let joined = self.sink.subscribe(name);
            match hear_while(self.shared, &mut self.stream, patience, joined).await {
                Some(Ok(())) => self.confirm(std::slice::from_ref(name)),
                Some(Err(error)) if error.code() == Some("NOPERM") => self.shared.deny(name),
                _ => return false,
            }
        }
        true
    }

    fn confirm(&mut self, names: &[String]) {
        self.confirmed.extend(names.iter().cloned());
        self.shared.go_live(names);
    }
}

/// Waits for `work` while messages go on being passed on; `None` where it takes too long.
async fn hear_while<T>(
    shared: &Shared,
    stream: &mut PubSubStream,
    patience: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = std::pin::pin!(tokio::time::timeout(patience, work));
    loop {
        tokio::select! {
            done = &mut work => return done.ok(),
            Some(message) = stream.next() => hand_out(shared, &message),
        }
    }
}

fn hand_out(shared: &Shared, message: &redis::Msg) {
    let event = Event::Message(message.get_payload_bytes().to_vec());
    shared.deliver(message.get_channel_name(), event);
}
