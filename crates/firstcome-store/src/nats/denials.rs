//! What a server denies to the user of a connection: it says so beside the answers, of which there is none then.

use async_nats::ServerError;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::error::StoreError;

/// How many denials are remembered.
const MOST: usize = 64;
/// What the subjects of answers begin with.
const ANSWERS: &str = "_INBOX.";

/// What the server denied, the newest last; clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Denials(watch::Sender<Vec<Denial>>);

#[derive(Clone, Debug)]
struct Denial {
    subject: String,
    at: Instant,
    /// The server's words.
    words: String,
}

impl Denials {
    /// Notes an error of the server, where it is a denial.
    pub(super) fn note(&self, error: &ServerError) {
        let ServerError::Other(words) = error else { return };
        let is_one = words.to_ascii_lowercase().starts_with("permissions violation");
        let Some(subject) = words.split('"').nth(1).filter(|_| is_one) else { return };
        let denial =
            Denial { subject: subject.to_owned(), at: Instant::now(), words: words.clone() };
        self.0.send_modify(|denials| {
            if denials.len() == MOST {
                denials.remove(0);
            }
            denials.push(denial);
        });
    }

    /// Forgets all: on another connection the user may have other rights.
    pub(super) fn forget(&self) {
        self.0.send_replace(Vec::new());
    }

    /// Waits until the server denies a message to a subject, which was sent at some time or later, or denies to hear answers.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub(super) async fn of(&self, subject: &str, since: Instant) -> StoreError {
        let is_it = |denial: &&Denial| {
            denial.subject == subject && denial.at >= since || denial.subject.starts_with(ANSWERS)
        };
        let mut told = self.0.subscribe();
        loop {
            let found = told.borrow_and_update().iter().find(is_it).cloned();
            if let Some(Denial { words, .. }) = found {
                return StoreError::Denied { code: String::new(), detail: words };
            }
            // The sender is here, so it does not end.
            if told.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
