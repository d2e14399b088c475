//! What the appender does next: take commands, or follow the journal while nobody asks for anything.

use super::appender::{Appender, Applying};
use super::replica::Stop;
use super::silence::LOOK_FOR_OVERDUE;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_journal::shared::News;
use firstcome_journal::{Entry, Failure as Broken};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// How long the journal is asked to wait for news.
const NEWS_WITHIN: Duration = Duration::from_millis(300);

/// What there is to do next.
pub(super) enum Next {
    Over,
    Commands,
    News(Instant, Result<News, Broken>),
    Look,
    Suspicion,
}

impl Appender {
    /// Waits for the next thing to do.
    pub(super) async fn next(&mut self) -> Next {
        let Some(shared) = &self.shared else {
            return if self.queue.any().await { Next::Commands } else { Next::Over };
        };
        let (applied, _) = self.replica.applied();
        let (asked, pauses, rests) = (&mut self.asked, self.pauses, self.rests);
        // A question under way stays: dropped, it would still be answered, and asked again.
        let news = async {
            if asked.is_empty() {
                sleep_until(pauses).await;
                let (shared, now) = (shared.clone(), Instant::now());
                asked.spawn(async move { (now, shared.follow(applied, NEWS_WITHIN).await) });
            }
            match asked.join_next().await {
                Some(Ok((since, news))) => Next::News(since, news),
                // It was thrown away with the history it was about.
                Some(Err(_)) | None => Next::Look,
            }
        };
        let commands = async {
            // A timer rounds up to its next millisecond even what is over: no pause must be none.
            if Instant::now() < rests {
                sleep_until(rests).await;
            }
            if self.queue.any().await { Next::Commands } else { Next::Over }
        };
        // Nothing is lost with an arm that is dropped: calls, commands and the question stay.
        tokio::select! {
            biased;
            () = self.calls.suspected() => Next::Suspicion,
            next = commands => next,
            () = self.calls.wanted() => Next::Look,
            next = news => next,
        }
    }

    /// Takes in what the journal had to tell.
    pub(super) async fn take(
        &mut self,
        asked: Instant,
        news: Result<News, Broken>,
    ) -> Result<(), Stop> {
        match news {
            Ok(News { entries, now }) => {
                self.clock.heard(now, asked);
                self.take_entries(asked, entries).await
            }
            Err(broken) => {
                self.pauses = Instant::now() + LOOK_FOR_OVERDUE;
                self.doubt(&broken).await
            }
        }
    }

    /// Reads what there is now.
    pub(super) async fn look(&mut self) -> Result<(), Stop> {
        let (asked, (applied, _)) = (Instant::now(), self.replica.applied());
        let read = self.patiently(None, self.journal.read(applied)).await;
        match read {
            Ok(entries) => self.take_entries(asked, entries).await,
            Err(broken) => self.doubt(&broken).await,
        }
    }

    async fn take_entries(&mut self, asked: Instant, entries: Vec<Entry>) -> Result<(), Stop> {
        if self.may_have_lost() {
            return self.heal(None).await;
        }
        let all = entries.len() < READ_ENTRIES;
        match self.apply(entries, None)? {
            Applying::Broke => return self.heal(None).await,
            Applying::Done { .. } if all => {
                self.health.answered();
                self.health.caught_up(asked);
                self.pauses = Instant::now() + self.calls.pause_before_news();
            }
            // There is more: whoever waits for it is not served yet.
            Applying::Done { .. } => self.calls.look(),
        }
        Ok(())
    }

    /// Notes that the journal cannot be read; mends it if it is not the one this node followed.
    async fn doubt(&mut self, broken: &Broken) -> Result<(), Stop> {
        if self.is_lost(broken) {
            return self.heal(None).await;
        }
        self.broken(broken)?;
        Ok(())
    }
}
