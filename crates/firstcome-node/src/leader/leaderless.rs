//! Since when nobody leads, as far as this node knows, and a word about it to the operator. Who leads then is said where all
//! changes of the leader are.

use super::{Election, Leads};
use crate::event::Event;
use crate::says::Speaker;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How often it is looked at who leads.
const EVERY: Duration = Duration::from_secs(1);
/// How long nobody may lead before that is said: a leader that died is followed within its lease, usually 10 s.
const SAID_AFTER: Duration = Duration::from_secs(15);

/// Keeps since when nobody leads.
#[derive(Debug, Default)]
pub(super) struct Leaderless {
    since: Mutex<Option<Instant>>,
}

impl Leaderless {
    /// Returns for how long nobody has led; zero while somebody does.
    pub(super) fn time(&self) -> Duration {
        self.lock().map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Looks each second, and when this node begins or ends to lead, who leads; says it when nobody does for long.
    pub(super) async fn watch(
        self: Arc<Self>,
        election: Arc<Election>,
        mut leads: watch::Receiver<Option<Leads>>,
        speaker: Speaker,
    ) {
        let mut said = false;
        loop {
            let leader = election.who(leads.borrow_and_update().clone());
            let time = self.note(leader.is_some());
            match leader {
                None if time >= SAID_AFTER && !said => {
                    let why = election.trouble().map(|why| format!("; the lock says: {why}"));
                    let why = why.unwrap_or_default();
                    let seconds = time.as_secs();
                    let text = format!(
                        "nobody has led for {seconds} s: claims go on, results wait, the journal grows{why}"
                    );
                    speaker.say(Event::NobodyLeads, &text);
                    said = true;
                }
                Some(_) => said = false,
                None => {}
            }
            tokio::select! {
                () = sleep(EVERY) => {}
                Ok(()) = leads.changed() => {}
            }
        }
    }

    /// Notes whether somebody leads; gives for how long nobody has.
    fn note(&self, leads: bool) -> Duration {
        let mut since = self.lock();
        if leads {
            *since = None;
            return Duration::ZERO;
        }
        since.get_or_insert_with(Instant::now).elapsed()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
