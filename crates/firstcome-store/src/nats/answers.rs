//! Answers of many messages, all heard by one subscription: one for each question costs a cluster more than the answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_nats::{Client, Message, SubscribeError};
use futures_util::StreamExt as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

type Waiting = Arc<Mutex<HashMap<u64, UnboundedSender<Message>>>>;

/// Hears the answers to questions.
#[derive(Debug)]
pub(super) struct Answers {
    /// What the subjects of answers begin with.
    inbox: String,
    waiting: Waiting,
    next: Mutex<u64>,
    hearing: JoinHandle<()>,
}

/// The answer to one question, which nobody waits for any more when this is dropped.
#[derive(Debug)]
pub(super) struct Answer {
    number: u64,
    messages: UnboundedReceiver<Message>,
    waiting: Waiting,
}

impl Answers {
    /// Begins to hear.
    pub(super) async fn of(client: &Client) -> Result<Self, SubscribeError> {
        let inbox = client.new_inbox();
        let mut heard = client.subscribe(format!("{inbox}.*")).await?;
        let waiting = Waiting::default();
        let hearing = tokio::spawn({
            let waiting = Arc::clone(&waiting);
            async move {
                while let Some(message) = heard.next().await {
                    let number = message.subject.rsplit('.').next().and_then(|n| n.parse().ok());
                    let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(waits) = number.and_then(|number: u64| waiting.get(&number)) {
                        // Whoever does not wait any more needs none.
                        drop(waits.send(message));
                    }
                }
                // The connection was closed: whoever waits hears that there is no more.
                waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
            }
        });
        Ok(Self { inbox, waiting, next: Mutex::new(0), hearing })
    }

    /// Returns the subject for an answer, and the answer.
    pub(super) fn wait(&self) -> (String, Answer) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next += 1;
        let (number, (waits, messages)) = (*next, unbounded_channel());
        drop(next);
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(number, waits);
        let waiting = Arc::clone(&self.waiting);
        (format!("{}.{number}", self.inbox), Answer { number, messages, waiting })
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.hearing.abort();
    }
}

impl Answer {
    /// Waits for the next message of the answer; `None` where the connection was closed.
    pub(super) async fn next(&mut self) -> Option<Message> {
        self.messages.recv().await
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}
