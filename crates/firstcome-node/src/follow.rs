//! What the appender does next: take commands, or follow the journal while nobody asks for anything.

use crate::appender::applier::Applier;
use crate::appender::exact_pause::ExactPause;
use firstcome_journal::cluster::News;
use firstcome_journal::{Journal, JournalError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// How long the journal is asked to wait for news.
const NEWS_WITHIN: Duration = Duration::from_millis(300);
/// The pause after a failure of the journal.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// What there is to do next.
pub(crate) enum Next {
    /// The queue is closed and empty.
    Over,
    /// Commands wait.
    Commands,
    /// The journal answered a poll that was sent at this moment.
    News(Instant, Result<News, JournalError>),
    /// Somebody wants the journal read now.
    Look,
    /// The store may have lost something.
    Suspicion,
}

/// Polls a journal that several nodes share.
pub(crate) struct Follower {
    journal: Journal,
    /// The poll under way, with when it was sent.
    poll_in_flight: JoinSet<(Instant, Result<News, JournalError>)>,
    next_poll_at: Instant,
    pause: ExactPause,
}

impl Follower {
    /// Makes one that appends on the runtime `core`, if that has a thread of its own.
    pub(crate) fn new(journal: Journal, now: Instant, core: Option<&Handle>) -> Self {
        let pause = ExactPause::on(core);
        Self { journal, poll_in_flight: JoinSet::new(), next_poll_at: now, pause }
    }

    /// Waits for the next thing to do; nothing is appended before `next_append_at`.
    pub(crate) async fn next(&mut self, applier: &Applier, next_append_at: Instant) -> Next {
        let (applied, _) = applier.replica.applied();
        let (journal, next_poll_at) = (&self.journal, self.next_poll_at);
        let in_flight = &mut self.poll_in_flight;
        // A poll under way stays: dropped, it would still be answered, and sent again.
        let news = async {
            if in_flight.is_empty() {
                sleep_until(next_poll_at).await;
                let (journal, now) = (journal.clone(), Instant::now());
                in_flight.spawn(async move { (now, journal.follow(applied, NEWS_WITHIN).await) });
            }
            match in_flight.join_next().await {
                Some(Ok((since, news))) => Next::News(since, news),
                // It was thrown away with the branch it was about.
                Some(Err(_)) | None => Next::Look,
            }
        };
        let pause = &self.pause;
        let commands = async {
            pause.until(next_append_at).await;
            if applier.queue.any().await { Next::Commands } else { Next::Over }
        };
        // Nothing is lost with an arm that is dropped: signals, commands and the poll stay.
        tokio::select! {
            biased;
            () = applier.signals.suspected() => Next::Suspicion,
            next = commands => next,
            () = applier.signals.wanted() => Next::Look,
            next = news => next,
        }
    }

    /// Polls again after the usual pause: an answer of the journal was taken in.
    pub(crate) fn answered(&mut self, applier: &Applier) {
        self.next_poll_at = Instant::now() + applier.signals.pause_before_news();
    }

    /// Polls again after a pause: the journal failed.
    pub(crate) fn failed(&mut self) {
        self.next_poll_at = Instant::now() + AFTER_FAILURE;
    }

    /// Throws the poll under way away: it is about a branch that was left.
    pub(crate) fn drop_poll(&mut self) {
        self.poll_in_flight.abort_all();
    }
}
