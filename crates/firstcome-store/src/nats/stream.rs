//! A stream of JetStream: a log, or a table of keys and values in which each subject keeps its last message.

use async_nats::{HeaderMap, Message, Request, StatusCode};
use data_encoding::BASE64;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Stored;
use super::connection::NatsConnection;
use super::delivery::Delivery;
use crate::error::StoreError;

/// How many subjects a server gives the last messages of at once at most.
const MANY: usize = 1024;

/// How often at most a server is drawn to deliver messages. One of three leads: of a hundred deliveries one is by another.
const DRAWS: usize = 12;

/// A sequence that no message has.
const NEVER: u64 = 1 << 53;

/// A stream, by its name. Clones are the same stream.
#[derive(Clone, Debug)]
pub struct Stream {
    nats: NatsConnection,
    name: String,
}

/// What a stream keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// The last message of each subject: it is a table.
    LastOfEach,
    /// All messages: it is a log. The first one gets this sequence, at least 1.
    All {
        /// That sequence.
        first: u64,
    },
}

/// What a stream says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The sequence of its last message; 0 before the first.
    pub last: u64,
    /// The clock of the server that leads it, in microseconds since 1970-01-01T00:00:00Z.
    pub now: i64,
    /// When it was made, as the server writes it.
    pub created: String,
    /// The server that leads it; empty where the server belongs to no cluster.
    pub leader: String,
    /// The names of the servers that have it.
    pub servers: Vec<String>,
    /// Its configuration.
    pub config: Value,
}

/// A message to store, and what it rests on.
#[derive(Clone, Debug, Default)]
pub struct Put {
    /// Its subject.
    pub subject: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The sequence of the stream's last message. Of a batch only the first message may say so.
    pub after: Option<u64>,
    /// A subject, and the sequence of its last message; 0 where it must have none.
    pub rests_on: Option<(String, u64)>,
}

impl Put {
    /// Begins with a message that rests on nothing.
    #[must_use]
    pub fn new(subject: String, bytes: Vec<u8>) -> Self {
        Self { subject, bytes, after: None, rests_on: None }
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(after) = self.after {
            headers.insert("Nats-Expected-Last-Sequence", after.to_string());
        }
        if let Some((subject, sequence)) = &self.rests_on {
            headers.insert("Nats-Expected-Last-Subject-Sequence", sequence.to_string());
            if *subject != self.subject {
                headers.insert("Nats-Expected-Last-Subject-Sequence-Subject", &**subject);
            }
        }
        headers
    }
}

impl Stream {
    /// Names a stream; nothing is asked yet.
    #[must_use]
    pub fn new(nats: NatsConnection, name: String) -> Self {
        Self { nats, name }
    }

    /// Returns the connection it is reached by.
    #[must_use]
    pub fn nats(&self) -> &NatsConnection {
        &self.nats
    }

    /// Makes it where it is not there, in files, on this many servers.
    ///
    /// # Errors
    ///
    /// Those of [`NatsConnection::ask`].
    pub async fn create(
        &self,
        subjects: &str,
        replicas: u32,
        keeps: Keeps,
    ) -> Result<(), StoreError> {
        let (most, first) = match keeps {
            Keeps::LastOfEach => (1, 0),
            Keeps::All { first } => (-1, first),
        };
        let config = json!({
            "name": self.name,
            "subjects": [subjects],
            "storage": "file",
            "num_replicas": replicas,
            "max_msgs_per_subject": most,
            "first_seq": first,
            "discard": "new",
            "deny_delete": true,
            "allow_direct": true,
            "allow_atomic": true,
        });
        self.nats.ask(&format!("STREAM.CREATE.{}", self.name), &config).await.map(drop)
    }

    /// Removes it with all that is in it; one that is not there is removed already.
    ///
    /// # Errors
    ///
    /// Those of [`NatsConnection::ask`].
    pub async fn remove(&self) -> Result<(), StoreError> {
        match self.nats.ask(&format!("STREAM.DELETE.{}", self.name), &Value::Null).await {
            Ok(_) | Err(StoreError::NoDatabase { .. }) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Asks for its state.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoDatabase`] where it is not there; those of [`NatsConnection::ask`].
    pub async fn info(&self) -> Result<Info, StoreError> {
        let info = self.nats.ask(&format!("STREAM.INFO.{}", self.name), &Value::Null).await?;
        let text = |path: &str| info.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let others = info.pointer("/cluster/replicas").and_then(Value::as_array);
        let others = others.into_iter().flatten();
        let mut servers: Vec<String> =
            others.filter_map(|other| other["name"].as_str().map(str::to_owned)).collect();
        match text("/cluster/leader") {
            "" => servers.push(self.nats.server_name()),
            leader => servers.push(leader.to_owned()),
        }
        Ok(Info {
            servers,
            last: info.pointer("/state/last_seq").and_then(Value::as_u64).unwrap_or_default(),
            now: micros(text("/ts"))?,
            created: text("/created").to_owned(),
            leader: text("/cluster/leader").to_owned(),
            config: info.get("config").cloned().unwrap_or_default(),
        })
    }

    /// Asks the server that leads it for the last message of a subject, which may have wildcards.
    ///
    /// # Errors
    ///
    /// Those of [`NatsConnection::ask`].
    pub async fn last(&self, subject: &str) -> Result<Option<Stored>, StoreError> {
        self.get(&json!({ "last_by_subj": subject })).await
    }

    /// Asks the server that leads it for the message of a sequence.
    ///
    /// # Errors
    ///
    /// Those of [`NatsConnection::ask`].
    pub async fn at(&self, sequence: u64) -> Result<Option<Stored>, StoreError> {
        self.get(&json!({ "seq": sequence })).await
    }

    async fn get(&self, which: &Value) -> Result<Option<Stored>, StoreError> {
        let strange = |detail: &str| StoreError::Unexpected { detail: detail.to_owned() };
        let answer = self.nats.ask(&format!("STREAM.MSG.GET.{}", self.name), which).await;
        let answer = match answer {
            // There is no such message.
            Err(StoreError::JetStream { code, .. }) if code == "10037" => return Ok(None),
            answer => answer?,
        };
        let text = |path: &str| answer.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let sequence = answer.pointer("/message/seq").and_then(Value::as_u64);
        let bytes = BASE64.decode(text("/message/data").as_bytes());
        Ok(Some(Stored {
            subject: text("/message/subject").to_owned(),
            sequence: sequence.ok_or_else(|| strange("a message without a sequence"))?,
            at: micros(text("/message/time"))?,
            bytes: bytes.map_err(|_| strange("a message without content"))?,
        }))
    }

    /// Reads the first messages of subjects with wildcards from a sequence on: at most `count`, and `most` bytes in all,
    /// but at least one. Any server that has a copy answers: it may not have the newest ones yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreachable`], also where there is no such stream.
    pub async fn next(
        &self,
        subject: &str,
        from: u64,
        count: usize,
        most: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        let which = json!({ "next_by_subj": subject, "seq": from.max(1), "batch": count, "max_bytes": most });
        Ok(self.get_many(&which).await?.0)
    }

    /// Reads the last message of each subject that matches, at most 1,024 of them; `None` where the server that answers does
    /// not have all messages up to a sequence yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreachable`]; [`StoreError::JetStream`] where there are more, or more bytes than a server gives at once.
    pub async fn each(&self, subject: &str, last: u64) -> Result<Option<Vec<Stored>>, StoreError> {
        let which = json!({ "multi_last": [subject], "batch": MANY });
        let (found, up_to) = self.get_many(&which).await?;
        Ok((up_to.is_none_or(|up_to| up_to >= last)).then_some(found))
    }

    /// Has one of its servers deliver all messages from a sequence on, as they are stored.
    ///
    /// That is the leader, if it is drawn in some attempts: the others know of a message one step later. Those that are not
    /// used go by themselves.
    ///
    /// # Errors
    ///
    /// Those of [`NatsConnection::ask`].
    pub async fn deliver(&self, from: u64) -> Result<Delivery, StoreError> {
        let leader = self.info().await?.leader;
        for _ in 1..DRAWS {
            let (delivery, by) = self.deliver_by_any(from).await?;
            if by == leader {
                return Ok(delivery);
            }
        }
        Ok(self.deliver_by_any(from).await?.0)
    }

    /// Has any of its servers deliver messages; gives which one does, where it says so.
    async fn deliver_by_any(&self, from: u64) -> Result<(Delivery, String), StoreError> {
        let (inbox, heard) = self.nats.inbox().await?;
        let consumer = format!("fc-{}", Uuid::new_v4().simple());
        let document = json!({
            "stream_name": self.name,
            "action": "create",
            "config": {
                "name": consumer,
                "deliver_subject": inbox,
                "deliver_policy": "by_start_sequence",
                "opt_start_seq": from.max(1),
                "ack_policy": "none",
                "replay_policy": "instant",
                "mem_storage": true,
                "num_replicas": 1,
                // It goes by itself after this time without anybody who listens.
                "inactive_threshold": 5_000_000_000_u64,
            },
        });
        let create = format!("CONSUMER.CREATE.{}.{consumer}", self.name);
        let created = self.nats.ask(&create, &document).await?;
        let by = created.pointer("/cluster/leader").and_then(Value::as_str).unwrap_or_default();
        Ok((Delivery::new(heard), by.to_owned()))
    }

    /// Returns the messages, and up to which sequence the server had looked, where it says so.
    async fn get_many(&self, which: &Value) -> Result<(Vec<Stored>, Option<u64>), StoreError> {
        let (mut found, mut up_to) = (Vec::new(), None);
        let subject = format!("$JS.API.DIRECT.GET.{}", self.name);
        self.nats
            .request_many(subject, which, |answer| match answer.status {
                None | Some(StatusCode::OK) => {
                    found.push(stored(&answer)?);
                    Ok(true)
                }
                // 204 ends a list, 404 is an empty one.
                Some(status) if [204, 404].contains(&status.as_u16()) => {
                    let number = |name| header(&answer, name).and_then(|text| text.parse().ok());
                    up_to = number("Nats-UpTo-Sequence");
                    if up_to.is_some() && number("Nats-Num-Pending").is_some_and(|more| more > 0) {
                        let detail = "there is more than is given at once".to_owned();
                        return Err(StoreError::JetStream { code: String::new(), detail });
                    }
                    Ok(false)
                }
                Some(status) => {
                    let detail = answer.description.clone().unwrap_or_default();
                    Err(StoreError::JetStream { code: status.as_u16().to_string(), detail })
                }
            })
            .await?;
        Ok((found, up_to))
    }

    /// Stores messages: all of them, one after the other, or none. Gives the sequence of the last one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`] where what one of them rests on is not so; [`StoreError::Unknown`] where no answer came; those of
    /// [`NatsConnection::ask`].
    pub async fn put(&self, mut messages: Vec<Put>) -> Result<u64, StoreError> {
        let Some(last) = messages.pop() else {
            return Err(StoreError::Unexpected { detail: "nothing to store".to_owned() });
        };
        let mut headers = last.headers();
        if !messages.is_empty() {
            let batch = Uuid::new_v4().simple().to_string();
            let count = messages.len() + 1;
            for (number, message) in messages.into_iter().enumerate() {
                let mut headers = message.headers();
                headers.insert("Nats-Batch-Id", &*batch);
                headers.insert("Nats-Batch-Sequence", (number + 1).to_string());
                self.nats.send(message.subject, headers, message.bytes).await?;
            }
            headers.insert("Nats-Batch-Id", &*batch);
            headers.insert("Nats-Batch-Sequence", count.to_string());
            headers.insert("Nats-Batch-Commit", "1");
        }
        let request = Request::new().headers(headers).payload(last.bytes.into());
        let answer = self.nats.request(last.subject, request).await?;
        let answer = self.nats.read(&answer)?;
        let sequence = answer.get("seq").and_then(Value::as_u64);
        sequence.ok_or_else(|| StoreError::Unexpected { detail: answer.to_string() })
    }

    /// Looks whether messages that are sent to a subject reach the stream: for a moment after it was made they may not.
    /// Nothing is stored.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreachable`] where they do not; those of [`NatsConnection::ask`].
    pub async fn probe(&self, subject: String) -> Result<(), StoreError> {
        // No stream has so many messages, so that this one is refused.
        let rests_on = Some((subject.clone(), NEVER));
        match self.put(vec![Put { rests_on, ..Put::new(subject, Vec::new()) }]).await {
            Ok(_) | Err(StoreError::Held { .. }) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Removes the messages of subjects, which may have wildcards, before a sequence.
    ///
    /// # Errors
    ///
    /// Those of [`NatsConnection::ask`].
    pub async fn purge(&self, subject: &str, before: u64) -> Result<(), StoreError> {
        let which = json!({ "filter": subject, "seq": before });
        self.nats.ask(&format!("STREAM.PURGE.{}", self.name), &which).await.map(drop)
    }

    /// Removes all messages before a sequence, which is then that of the first one. It may be beyond the last one.
    ///
    /// # Errors
    ///
    /// Those of [`NatsConnection::ask`].
    pub async fn begin_with(&self, first: u64) -> Result<(), StoreError> {
        let which = json!({ "seq": first });
        self.nats.ask(&format!("STREAM.PURGE.{}", self.name), &which).await.map(drop)
    }
}

fn header<'a>(message: &'a Message, name: &'static str) -> Option<&'a str> {
    Some(message.headers.as_ref()?.get(name)?.as_str())
}

fn stored(message: &Message) -> Result<Stored, StoreError> {
    let found = |name| header(message, name).unwrap_or_default();
    let sequence = found("Nats-Sequence").parse();
    Ok(Stored {
        subject: found("Nats-Subject").to_owned(),
        sequence: sequence.map_err(|_| StoreError::Unexpected {
            detail: "a message without a sequence".to_owned(),
        })?,
        at: micros(found("Nats-Time-Stamp"))?,
        bytes: message.payload.to_vec(),
    })
}

/// Reads a time as the server writes it.
fn micros(text: &str) -> Result<i64, StoreError> {
    let time = text.parse::<Timestamp>();
    let time = time.map_err(|error| StoreError::Unexpected { detail: error.to_string() })?;
    Ok(time.as_microsecond())
}
