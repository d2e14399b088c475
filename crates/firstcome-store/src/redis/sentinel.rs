//! Finding the server: at its address, or by asking the sentinels which is the master, or a cluster who has the slot.

use futures_util::StreamExt;
use tokio::sync::Notify;

use super::address::{FORM, Place};
use super::cluster::owner;
use super::dial::{Dialler, Line, unreachable};
use crate::client::pause;
use crate::error::StoreError;
use crate::host::Host;

impl Dialler {
    /// Finds the master, connects, logs in, and looks at the server's version; `left` is where this was connected before.
    pub(crate) async fn line(&self, left: Option<&Host>) -> Result<Line, StoreError> {
        let host = self.within(self.host(left)).await?;
        let line = self.within(self.line_to(host)).await;
        line.map_err(|failure| {
            let StoreError::Unreachable { place, reason } = &failure else { return failure };
            if !self.is_in_cluster() {
                return failure;
            }
            let why = "its cluster announces this address: it must be one that can be reached from here \
                (cluster-announce-ip, cluster-announce-hostname)";
            let reason = format!("{reason}; {why}");
            StoreError::Unreachable { place: place.clone(), reason }
        })
    }

    fn is_in_cluster(&self) -> bool {
        matches!(self.address.place, Place::In { .. })
    }

    /// Finds where the server is now.
    pub(crate) async fn host(&self, left: Option<&Host>) -> Result<Host, StoreError> {
        match &self.address.place {
            Place::At(host) => Ok(host.clone()),
            Place::Behind { sentinels, master } => ask_for_master(self, sentinels, master).await,
            Place::In { cluster } => owner(self, cluster, self.options.slot, left).await,
        }
    }
}

/// Asks the sentinels, one after the other, where the master is.
async fn ask_for_master(
    dialler: &Dialler,
    sentinels: &[Host],
    name: &str,
) -> Result<Host, StoreError> {
    // Each gets its share of the time, so that a silent first one does not use it all up.
    let share = dialler.options.connect_within / u32::try_from(sentinels.len()).unwrap_or(1).max(1);
    let mut last = None;
    for sentinel in sentinels {
        match tokio::time::timeout(share, ask(dialler, sentinel, name)).await {
            Ok(Ok(host)) => return Ok(host),
            Ok(Err(failure)) => last = Some(failure),
            Err(_) => last = Some(unreachable(sentinel, format!("no answer within {share:?}"))),
        }
    }
    Err(last
        .unwrap_or(StoreError::Address { reason: "it names no sentinel".to_owned(), form: FORM }))
}

async fn ask(dialler: &Dialler, sentinel: &Host, name: &str) -> Result<Host, StoreError> {
    let mut line = dialler.sentinel_line(sentinel).await?;
    let mut words = redis::cmd("SENTINEL");
    words.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
    let answer = tokio::select! {
        answer = words.query_async::<Option<(String, u16)>>(&mut line.connection) => answer,
        () = line.driver => return Err(unreachable(sentinel, "it closed the connection")),
    };
    match answer {
        Ok(Some((name, port))) => Ok(Host { name, port }),
        Ok(None) => Err(unreachable(sentinel, format!("it knows no master {name:?}"))),
        Err(error) => Err(unreachable(sentinel, error.to_string())),
    }
}

/// Listens to the sentinels and says so whenever a master changes; a hint only.
pub(crate) async fn watch(dialler: &Dialler, changed: &Notify) {
    let Place::Behind { sentinels, .. } = &dialler.address.place else {
        return std::future::pending().await;
    };
    loop {
        for sentinel in sentinels {
            let Ok(mut subscriber) = dialler.sentinel_subscriber(sentinel).await else { continue };
            if subscriber.subscribe("+switch-master").await.is_err() {
                continue;
            }
            // What happened while nobody listened is found by asking.
            changed.notify_one();
            let mut messages = subscriber.into_on_message();
            while messages.next().await.is_some() {
                changed.notify_one();
            }
        }
        tokio::time::sleep(pause(3)).await;
    }
}
