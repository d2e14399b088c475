//! What a store promises by its settings, asked again while the server runs.

use firstcome_http::Durability;
use firstcome_journal::{Journal, Promise, Warning};
use firstcome_node::Event::{DurabilityUnproven, StoreWarning};
use firstcome_node::log;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// How often a store is asked for its settings.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// The same while it promises less than what was chosen.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The command that raises a limit of which more is used at one time than at another: what is left is for the metrics.
const MORE_MEMORY: &str = "CONFIG SET maxmemory BYTES";

/// A task that watches what is promised, until this is dropped.
pub(super) struct Watching(JoinHandle<()>);

impl Watching {
    pub(super) fn start(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Begins to ask a store for its settings: after each pause, where another run of its server answers than before, and where
/// an append was refused. Gives what is promised, beginning with what was found at the start.
pub(super) fn watch_settings(
    journal: &Journal,
    promise: String,
    warnings: &[Warning],
) -> (watch::Receiver<Durability>, Watching) {
    let (told, durability) = watch::channel(Durability { promise, trouble: None, refuses: false });
    let watcher = Watcher { journal: journal.clone(), warnings: warnings.to_vec(), told };
    (durability, Watching::start(watcher.run()))
}

struct Watcher {
    journal: Journal,
    /// Those of the last look.
    warnings: Vec<Warning>,
    told: watch::Sender<Durability>,
}

impl Watcher {
    async fn run(mut self) {
        let mut runs = self.journal.incarnations();
        loop {
            if self.told.borrow().trouble.is_some() {
                sleep(LOOK_AGAIN).await;
            } else {
                tokio::select! {
                    () = sleep(LOOK_EVERY) => {}
                    Ok(()) = runs.changed() => {}
                    () = self.journal.less_durable() => {}
                }
            }
            // A store that does not answer says nothing of its settings: what was known counts.
            if let Ok(Some(promise)) = self.journal.look_at_promise().await {
                self.take(promise);
            }
        }
    }

    /// Says what is promised now, and logs what is news.
    fn take(&mut self, found: Promise) {
        let Promise { sentence: promise, less, warnings } = found;
        let before = self.told.borrow().clone();
        let refuses = less.as_ref().is_some_and(|less| less.refuses);
        let trouble = less.map(|less| {
            let meanwhile = match less.refuses {
                true => "commands are refused until it does",
                false => "commands are answered all the same (when_less_durable)",
            };
            format!(
                "durability_unproven: the store promises less than `durability` asks for: {}; {meanwhile}: {}",
                less.what, less.fix
            )
        });
        let now = Durability { promise, trouble, refuses };
        if now != before {
            self.told.send_replace(now.clone());
        }
        match (&before.trouble, &now.trouble) {
            (None, Some(why)) => DurabilityUnproven.write(why),
            (Some(_), None) => {
                log!(DurabilityProven, "the store promises what was chosen again: {}", now.promise);
            }
            (None, None) if before.promise != now.promise => {
                log!(DurabilityChanged, "the store promises something else now: {}", now.promise);
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
        let is_known = |new: &Warning| self.warnings.iter().any(|known| known.fix == new.fix);
        for new in warnings.iter().filter(|new| new.fix != MORE_MEMORY && !is_known(new)) {
            StoreWarning.write(&format!("{}; {}", new.what, new.fix));
        }
        self.warnings = warnings;
    }
}
