//! One connection to NATS servers, which finds another server by itself where one is lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{
    Client, ConnectErrorKind, ConnectOptions, Event, HeaderMap, Message, Request, RequestError,
    RequestErrorKind, Subscriber,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::answers::Answers;
use super::denials::Denials;
use super::error_code::refusal;
use super::options::NatsOptions;
use crate::error::StoreError;

/// After how long without a word the connection has to show that it lives; it is left when it does not twice.
const QUIET: Duration = Duration::from_secs(1);
/// The longest pause between tries to connect again. Servers that come back to their store are waited for half a second by
/// those that were there first.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// A connection to NATS servers. Clones are the same connection.
#[derive(Clone, Debug)]
pub struct NatsConnection {
    client: Client,
    place: Arc<str>,
    answer_within: Duration,
    losses: watch::Receiver<u64>,
    answers: Arc<Answers>,
    denials: Denials,
}

impl NatsConnection {
    /// Connects to one of the servers.
    ///
    /// # Errors
    ///
    /// [`StoreError::Address`], [`StoreError::Denied`], [`StoreError::Tls`], [`StoreError::Unreachable`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn connect(options: NatsOptions) -> Result<Self, StoreError> {
        let address = options.address()?;
        let (loser, losses) = watch::channel(0);
        let denials = Denials::default();
        let noted = denials.clone();
        let mut how = ConnectOptions::new()
            .connection_timeout(options.connect_within)
            .request_timeout(Some(options.answer_within))
            .ping_interval(QUIET)
            .reconnect_delay_callback(|tries| {
                let tries = u32::try_from(tries).unwrap_or(u32::MAX);
                (Duration::from_millis(20) * tries.min(100)).min(LONGEST_PAUSE)
            })
            .event_callback(move |event| {
                match event {
                    Event::Connected => noted.forget(),
                    Event::Disconnected => loser.send_modify(|times: &mut u64| *times += 1),
                    Event::ServerError(error) => noted.note(&error),
                    Event::LameDuckMode
                    | Event::Draining
                    | Event::Closed
                    | Event::SlowConsumer(_)
                    | Event::ClientError(_) => {}
                }
                std::future::ready(())
            });
        if let Some((user, password)) = address.login {
            how = how.user_and_password(user, password);
        }
        if let Some(file) = address.authorities {
            how = how.add_root_certificates(file);
        }
        let place: Arc<str> = address.place.into();
        let client = how.connect(address.servers).await.map_err(|error| {
            let (place, reason) = (place.to_string(), error.to_string());
            match error.kind() {
                ConnectErrorKind::ServerParse => {
                    StoreError::Address { reason, form: "nats://host:port" }
                }
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                    StoreError::Denied { code: String::new(), detail: reason }
                }
                ConnectErrorKind::Tls => {
                    StoreError::Tls { place, source: Arc::new(std::io::Error::other(reason)) }
                }
                ConnectErrorKind::Dns
                | ConnectErrorKind::TimedOut
                | ConnectErrorKind::Io
                | ConnectErrorKind::MaxReconnects => StoreError::Unreachable { place, reason },
            }
        })?;
        let answers = Answers::of(&client).await.map_err(|error| {
            let (place, reason) = (place.to_string(), error.to_string());
            StoreError::Unreachable { place, reason }
        })?;
        let answers = Arc::new(answers);
        let answer_within = options.answer_within;
        Ok(Self { client, place, answer_within, losses, answers, denials })
    }

    /// Returns the identity of the server's process that it is connected to: one that was started again has another.
    #[must_use]
    pub fn server(&self) -> String {
        self.client.server_info().server_id
    }

    /// Returns the name of the server that it is connected to.
    #[must_use]
    pub fn server_name(&self) -> String {
        self.client.server_info().server_name
    }

    /// Returns how often it has connected: another number as soon as something can be sent over another connection.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.client.statistics().connects.load(Ordering::Relaxed)
    }

    /// Returns how long an answer may take.
    #[must_use]
    pub fn answer_within(&self) -> Duration {
        self.answer_within
    }

    /// Returns the most bytes that a message may have, headers included.
    #[must_use]
    pub fn max_payload(&self) -> usize {
        self.client.max_payload()
    }

    /// Returns the version of the server.
    #[must_use]
    pub fn version(&self) -> String {
        self.client.server_info().version
    }

    /// Says whether the server runs at least this version.
    #[must_use]
    pub fn is_at_least(&self, major: i64, minor: i64) -> bool {
        self.client.is_server_compatible(major, minor, 0)
    }

    /// Says whether the server belongs to a cluster.
    #[must_use]
    pub fn is_clustered(&self) -> bool {
        self.client.server_info().cluster.is_some()
    }

    /// Sends a request to the JetStream API and reads its answer.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreachable`] where it was not sent or nobody is there to take it, [`StoreError::Unknown`] where no answer
    /// came; [`StoreError::JetStream`], [`StoreError::Held`], [`StoreError::Full`] and others where the answer is an error.
    pub async fn ask(&self, subject: &str, document: &Value) -> Result<Value, StoreError> {
        let payload =
            if document.is_null() { Vec::new() } else { document.to_string().into_bytes() };
        let request = Request::new().payload(payload.into());
        let answer = self.request(format!("$JS.API.{subject}"), request).await?;
        self.read(&answer)
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn request(
        &self,
        subject: String,
        request: Request,
    ) -> Result<Message, StoreError> {
        let mut losses = self.losses.clone();
        losses.mark_unchanged();
        self.check_connected()?;
        let denied = self.denials.of(&subject, Instant::now());
        tokio::select! {
            biased;
            answer = self.client.send_request(subject.clone(), request) => {
                answer.map_err(|error| self.unanswered(&error))
            }
            failure = denied => Err(failure),
            // No answer comes over another connection.
            () = lost(&mut losses) => {
                let reason = "the connection was lost".to_owned();
                Err(StoreError::Unknown { place: self.place.to_string(), reason })
            }
        }
    }

    /// Reads the JSON document of an answer.
    pub(super) fn read(&self, answer: &Message) -> Result<Value, StoreError> {
        let read: Value = serde_json::from_slice(&answer.payload)
            .map_err(|error| StoreError::Unexpected { detail: error.to_string() })?;
        match read.get("error") {
            Some(error) => Err(refusal(&self.place, error)),
            None => Ok(read),
        }
    }

    /// Sends a request whose answer is many messages; `take` says of each whether more come.
    pub(super) async fn request_many(
        &self,
        subject: String,
        document: &Value,
        mut take: impl FnMut(Message) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let mut losses = self.losses.clone();
        losses.mark_unchanged();
        self.check_connected()?;
        let failed = |error: String| self.unreachable(error);
        let (inbox, mut answers) = self.answers.wait();
        let document = document.to_string().into_bytes().into();
        let since = Instant::now();
        let sent = self.client.publish_with_reply(subject.clone(), inbox, document).await;
        sent.map_err(|error| failed(error.to_string()))?;
        loop {
            let answer = tokio::select! {
                biased;
                answer = timeout(self.answer_within, answers.next()) => answer,
                failure = self.denials.of(&subject, since) => return Err(failure),
                () = lost(&mut losses) => return Err(failed("the connection was lost".to_owned())),
            };
            // What was asked only reads.
            let answer = answer.map_err(|_| failed("it did not answer in time".to_owned()))?;
            let answer = answer.ok_or_else(|| failed("the connection was closed".to_owned()))?;
            if answer.status == Some(async_nats::StatusCode::NO_RESPONDERS) {
                return Err(failed("nobody there takes it".to_owned()));
            }
            if !take(answer)? {
                return Ok(());
            }
        }
    }

    /// Sends a message of a batch that has no answer of its own.
    pub(super) async fn send(
        &self,
        subject: String,
        headers: HeaderMap,
        text: Vec<u8>,
    ) -> Result<(), StoreError> {
        self.check_connected()?;
        let sent = self.client.publish_with_headers(subject, headers, text.into()).await;
        sent.map_err(|error| self.unreachable(error.to_string()))
    }

    /// Begins to listen to a subject of its own.
    pub(super) async fn inbox(&self) -> Result<(String, Subscriber), StoreError> {
        let inbox = self.client.new_inbox();
        let heard = self.client.subscribe(inbox.clone()).await;
        Ok((inbox, heard.map_err(|error| self.unreachable(error.to_string()))?))
    }

    /// Closes the connection.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn close(&self) {
        // What cannot be sent any more is lost, as it would be without this.
        drop(timeout(self.answer_within, self.client.flush()).await);
        drop(self.client.drain().await);
    }

    /// A request to a connection that is lost would be sent whenever there is another one.
    fn check_connected(&self) -> Result<(), StoreError> {
        match self.client.connection_state() {
            State::Connected => Ok(()),
            State::Pending | State::Disconnected => {
                Err(self.unreachable("the connection was lost".to_owned()))
            }
        }
    }

    pub(super) fn unreachable(&self, reason: String) -> StoreError {
        StoreError::Unreachable { place: self.place.to_string(), reason }
    }

    fn unanswered(&self, error: &RequestError) -> StoreError {
        let (place, reason) = (self.place.to_string(), error.to_string());
        match error.kind() {
            // Without anybody who listens nobody got it.
            RequestErrorKind::NoResponders => {
                StoreError::Unreachable { place, reason: "nobody there takes it".to_owned() }
            }
            RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => {
                StoreError::JetStream { code: String::new(), detail: reason }
            }
            RequestErrorKind::TimedOut | RequestErrorKind::Other => {
                StoreError::Unknown { place, reason }
            }
        }
    }
}

/// Waits until the connection is lost.
async fn lost(losses: &mut watch::Receiver<u64>) {
    if losses.changed().await.is_err() {
        // It was closed: whoever waits for an answer is told by the client.
        std::future::pending::<()>().await;
    }
}
