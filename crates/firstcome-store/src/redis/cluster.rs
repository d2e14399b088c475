//! Finding the server of a Redis Cluster that has a slot.

use redis::Value;

use super::address::{FORM, Place};
use super::dial::{Dialler, unreachable};
use super::slot::Slot;
use crate::error::StoreError;
use crate::host::Host;

/// Asks servers of a cluster, one after the other, which of them has a slot.
pub(super) async fn owner(
    dialler: &Dialler,
    seeds: &[Host],
    slot: Slot,
    left: Option<&Host>,
) -> Result<Host, StoreError> {
    let ranges = ranges(dialler, seeds, left, |ranges| ranges.iter().any(|range| range.has(slot)));
    let owner = ranges.await?.into_iter().find(|range| range.has(slot)).map(|range| range.owner);
    owner.ok_or_else(no_host)
}

/// Asks which server has which slots.
pub(super) async fn ask_all(dialler: &Dialler) -> Result<Vec<Range>, StoreError> {
    let Place::In { cluster } = &dialler.address.place else { return Err(no_host()) };
    ranges(dialler, cluster, None, |ranges| !ranges.is_empty()).await
}

fn no_host() -> StoreError {
    StoreError::Address { reason: "it names no cluster".to_owned(), form: FORM }
}

/// Asks until one gives an answer that will do.
async fn ranges(
    dialler: &Dialler,
    seeds: &[Host],
    left: Option<&Host>,
    will_do: impl Fn(&[Range]) -> bool,
) -> Result<Vec<Range>, StoreError> {
    let hosts = dialler.known.to_ask(seeds, left);
    // Each gets its share of the time, so that silent ones do not use it all up.
    let share =
        dialler.options.connect_within / u32::try_from(hosts.len()).unwrap_or(1).clamp(1, 4);
    let mut last = None;
    for host in hosts {
        match tokio::time::timeout(share, ask(dialler, &host)).await {
            Ok(Ok(ranges)) if will_do(&ranges) => {
                let servers = ranges.iter().flat_map(|range| &range.servers);
                dialler.known.remember(servers.cloned().collect());
                return Ok(ranges);
            }
            Ok(Ok(_)) => {
                last =
                    Some(unreachable(&host, "it knows no server of its cluster that has the slot"));
            }
            Ok(Err(failure)) => last = Some(failure),
            Err(_) => last = Some(unreachable(&host, format!("no answer within {share:?}"))),
        }
        dialler.known.put_last(&host);
    }
    Err(last.unwrap_or_else(no_host))
}

/// Slots of a cluster, with their owner, and all servers that have a copy of them.
#[derive(Debug)]
pub(super) struct Range {
    pub(super) first: u16,
    last: u16,
    pub(super) owner: Host,
    servers: Vec<Host>,
}

impl Range {
    pub(super) fn has(&self, slot: Slot) -> bool {
        (self.first..=self.last).contains(&slot.0)
    }

    /// Reads one of the answer to CLUSTER SLOTS: first and last slot, then the servers, each with host and port; the owner is
    /// the first one. A host that is not known, or empty, is the one that was asked.
    fn read(value: &Value, asked: &Host) -> Option<Self> {
        let Value::Array(parts) = value else { return None };
        let [Value::Int(first), Value::Int(last), servers @ ..] = &parts[..] else { return None };
        let server = |server: &Value| {
            let Value::Array(parts) = server else { return None };
            let [name, Value::Int(port), ..] = &parts[..] else { return None };
            let named = |name: &Value| {
                let Value::BulkString(name) = name else { return None };
                // What Redis says of a host that it has no name for.
                let named = !matches!(&name[..], b"" | b"?");
                named.then(|| String::from_utf8_lossy(name).into_owned())
            };
            let name = named(name).unwrap_or_else(|| asked.name.clone());
            Some(Host { name, port: u16::try_from(*port).ok()? })
        };
        let servers: Vec<Host> = servers.iter().map(server).collect::<Option<_>>()?;
        let slot = |slot: &i64| u16::try_from(*slot).ok();
        Some(Self {
            first: slot(first)?,
            last: slot(last)?,
            owner: servers.first()?.clone(),
            servers,
        })
    }
}

async fn ask(dialler: &Dialler, host: &Host) -> Result<Vec<Range>, StoreError> {
    let mut line = dialler.line_for_questions(host).await?;
    let mut words = redis::cmd("CLUSTER");
    words.arg("SLOTS");
    let answer = tokio::select! {
        answer = words.query_async::<Value>(&mut line.connection) => answer,
        () = line.driver => return Err(unreachable(host, "it closed the connection")),
    };
    let answer = match answer {
        Ok(answer) => answer,
        // `ERR This instance has cluster support disabled`
        Err(error) if error.code() == Some("ERR") => {
            return Err(StoreError::NoCluster { place: host.to_string() });
        }
        Err(error) => return Err(super::dial::refused(host, &error)),
    };
    let Value::Array(ranges) = &answer else {
        return Err(unreachable(host, "its answer to CLUSTER SLOTS is no list"));
    };
    let ranges = ranges.iter().map(|range| Range::read(range, host)).collect::<Option<_>>();
    ranges.ok_or_else(|| unreachable(host, "its answer to CLUSTER SLOTS cannot be read"))
}
