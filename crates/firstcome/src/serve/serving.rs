//! The tasks of a server beside those of its node: they accept connections, and log what changes.

use super::config_file::ConfigFile;
use crate::config::Config;
use crate::logging::LogLevels;
use anyhow::bail;
use firstcome_http::{App, Runtimes, Serves, server};
use firstcome_node::{APPENDER, Panics, Task};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The name of the task that accepts connections. Without it nobody is answered.
const CONNECTIONS: &str = "connections";

/// The tasks, which end with this at the latest.
pub(super) struct Serving {
    app: Arc<App>,
    connections: Task<usize>,
    /// For who monitors the server.
    operations: Option<Task<usize>>,
    watch: Task<()>,
    /// Reads files again: those of TLS, and the configuration.
    files: Vec<Task<()>>,
    /// Tells the operations' connections to end.
    end: CancellationToken,
}

impl Serving {
    /// Begins to accept connections.
    pub(super) fn start(
        app: Arc<App>,
        (listener, operations): (TcpListener, Option<TcpListener>),
        runtimes: Runtimes,
        config: &Config,
    ) -> Self {
        let (panics, stop) = (app.node.panics.clone(), app.draining.clone());
        let watch = panics.spawn("watch", firstcome_http::watch(Arc::clone(&app), stop.clone()));
        let tls = app.options.rare.tls.clone();
        let tls =
            tls.map(|tls| panics.spawn("tls", tls.watch(Arc::clone(&app.metrics), stop.clone())));
        let files = tls.into_iter().collect();
        let serves = match operations {
            Some(_) => Serves::AllButOperations,
            None => Serves::Everything,
        };
        let (serving, drain) = (Arc::clone(&app), config.drain);
        let connections = panics.spawn(CONNECTIONS, async move {
            let listener = (listener, serves);
            let cut = server::serve(serving, listener, &runtimes, stop, drain).await;
            runtimes.stop().await;
            cut
        });
        let end = CancellationToken::new();
        let operations = operations.map(|listener| {
            let listener = (listener, Serves::Operations);
            let (app, end) = (Arc::clone(&app), end.clone());
            // Beside the others: a probe is answered while they have much to do.
            panics.spawn("operations", async move {
                server::serve(app, listener, &Runtimes::default(), end, Duration::ZERO).await
            })
        });
        Self { app, connections, operations, watch, files, end }
    }

    /// Takes what changes in the file that the settings came from, if they came from one.
    pub(super) fn take_changes(
        &mut self,
        file: Option<ConfigFile>,
        config: &Config,
        admin_key: String,
        levels: LogLevels,
    ) {
        let app = Arc::clone(&self.app);
        let watch = file.map(|file| file.watch(config.clone(), app, admin_key, levels));
        let panics = &self.app.node.panics;
        self.files.extend(watch.map(|watch| panics.spawn("configuration", watch)));
    }

    /// Waits until no connection is accepted any more, or no command decided, because of a bug.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub(super) async fn broke(&self) {
        let panics = &self.app.node.panics;
        tokio::select! {
            () = panics.of(CONNECTIONS) => {}
            () = panics.of(APPENDER) => {}
        }
    }

    /// Accepts no more connections, and lets open requests finish; gives the app, which nobody else has any more, and how
    /// many connections had to be cut.
    ///
    /// Who monitors the server sees to the end that it drains.
    ///
    /// # Errors
    ///
    /// A task panicked, and something of it is left that has the app.
    pub(super) async fn drain(self) -> anyhow::Result<(App, usize)> {
        self.app.draining.cancel();
        let cut = self.connections.ended().await.unwrap_or(0);
        self.watch.ended().await;
        for task in self.files {
            task.ended().await;
        }
        self.end.cancel();
        if let Some(operations) = self.operations {
            operations.ended().await;
        }
        let panics = self.app.node.panics.clone();
        let Some(app) = Arc::into_inner(self.app) else {
            none_panicked(&panics)?;
            unreachable!("no connection is left, and nothing else holds the app");
        };
        Ok((app, cut))
    }
}

/// Ends a server cleanly only if none of its tasks panicked.
///
/// # Errors
///
/// Names those that did.
pub(super) fn none_panicked(panics: &Panics) -> anyhow::Result<()> {
    let names = panics.names();
    if names.is_empty() {
        return Ok(());
    }
    bail!("tasks of this server panicked, which is a bug: {}; the log says where", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_with_a_task_that_panicked_does_not_end_cleanly() {
        let panics = Panics::new(firstcome_node::in_log());
        assert!(none_panicked(&panics).is_ok());
        let has_a_bug = true;
        let _task = panics.spawn(CONNECTIONS, async move { assert!(!has_a_bug, "a bug") });
        panics.of(CONNECTIONS).await;
        let why = none_panicked(&panics).unwrap_err().to_string();
        assert!(why.contains("panicked") && why.contains(CONNECTIONS), "{why}");
    }
}
