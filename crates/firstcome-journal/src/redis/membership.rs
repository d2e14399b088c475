//! Heartbeats of nodes, and reports of forks.

use super::Redis;
use super::scripts::{bytes, signed};
use super::trouble::{looked, trouble, unexpected};
use crate::cluster::{GONE_FOR, GONE_NODES, MEMBER_FOR};
use crate::failure::Failure;
use crate::shared::{Membership, NodeStatus};
use firstcome_core::{NodeId, Timestamp};
use firstcome_store::{Command, Reply};
use tokio::time::Instant;

/// How many reports are kept; beyond it those of the oldest epochs go.
const REPORTS: u32 = 64;
/// The longest report, in bytes.
const REPORT_BYTES: usize = 1 << 20;
/// Bytes of what a node says of itself, without the text at the end and with when it last did.
const FRONT_BYTES: usize = 56;

impl Redis {
    pub(crate) async fn announce(&self, me: NodeStatus, level: u32) -> Result<Membership, Failure> {
        let (step, keys) = (&self.inner.scripts.announce, &self.inner.keys);
        let command = self
            .call(step, &[&keys.head, &keys.nodes, &keys.skips])
            .arg(&me.node.0[..])
            .arg(write(&me))
            .arg(MEMBER_FOR)
            .arg(level)
            .arg(GONE_FOR)
            .arg(GONE_NODES);
        let asked = Instant::now();
        let parts = self.run(step, command).await?;
        let [now, fields, live, skips, gone] = &parts[..] else {
            return Err(unexpected(&Reply::List(parts), "a roll"));
        };
        let head = self.read_head(fields, skips, Timestamp::from_micros(signed(now)?))?;
        self.inner.first_kept.note(head.first, asked);
        let nodes = |pairs: &Reply| {
            let pairs = pairs.list().map_err(|_| unexpected(pairs, "nodes"))?;
            Ok::<Vec<_>, Failure>(pairs.chunks(2).filter_map(read).collect())
        };
        let (mut nodes, gone) = (nodes(live)?, nodes(gone)?);
        nodes.sort_by_key(|(node, _)| node.node);
        Ok(Membership { head, nodes, gone })
    }

    pub(crate) async fn leave(&self, node: NodeId) -> Result<(), Failure> {
        let command = Command::new("HDEL").arg(&self.inner.keys.nodes).arg(&node.0[..]);
        self.inner.rest.send(&command).await.map(drop).map_err(trouble)
    }

    pub(crate) async fn report(
        &self,
        epoch: u32,
        node: NodeId,
        text: String,
    ) -> Result<(), Failure> {
        if text.len() > REPORT_BYTES {
            return Err(Failure::Unavailable("a report has at most 1 MiB".to_owned()));
        }
        let step = &self.inner.scripts.report;
        let command = Command::script(&step.script, &[&self.inner.keys.forks])
            .arg(format!("{epoch:08x}{node}"))
            .arg(text)
            .arg(REPORTS);
        self.run(step, command).await.map(drop)
    }

    pub(crate) async fn reports(&self) -> Result<Vec<(u32, NodeId, String)>, Failure> {
        let command = Command::new("HGETALL").arg(&self.inner.keys.forks);
        let reply = self.inner.rest.send(&command).await.map_err(looked)?;
        let pairs = reply.list().map_err(|_| unexpected(&reply, "reports"))?;
        let mut reports = Vec::new();
        for pair in pairs.chunks(2) {
            let [field, text] = pair else { continue };
            let field = field.text().map_err(looked)?;
            let read = field.split_at_checked(8).and_then(|(epoch, node)| {
                let epoch = u32::from_str_radix(epoch, 16).ok()?;
                let node = u128::from_str_radix(node, 16).ok()?;
                Some((epoch, NodeId(node.to_be_bytes())))
            });
            let Some((epoch, node)) = read else { continue };
            reports.push((epoch, node, text.text().map_err(looked)?));
        }
        reports.sort();
        Ok(reports)
    }
}

/// Gives the bytes of what a node says of itself; when it does is put before them.
fn write(me: &NodeStatus) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(FRONT_BYTES + me.address.len() + 1 + me.words.len());
    bytes.extend_from_slice(&me.position.to_le_bytes());
    bytes.extend_from_slice(&me.durable.to_le_bytes());
    bytes.extend_from_slice(&me.epoch.to_le_bytes());
    bytes.extend_from_slice(&me.level.to_le_bytes());
    bytes.extend_from_slice(&me.memory.to_le_bytes());
    bytes.extend_from_slice(&me.since.as_micros().to_le_bytes());
    bytes.extend_from_slice(&me.digest.to_le_bytes());
    bytes.extend_from_slice(me.address.as_bytes());
    // A build that knows no words shows them behind the address.
    if !me.words.is_empty() {
        bytes.push(b' ');
        bytes.extend_from_slice(me.words.as_bytes());
    }
    bytes
}

/// Reads a node and what it said; one of a form that is not known is left out.
fn read(pair: &[Reply]) -> Option<(NodeStatus, Timestamp)> {
    let [node, said] = pair else { return None };
    let node = NodeId(bytes(node).ok()?.try_into().ok()?);
    let (front, text) = bytes(said).ok()?.split_first_chunk::<FRONT_BYTES>()?;
    let text = String::from_utf8_lossy(text);
    let (address, words) = text.split_once(' ').unwrap_or((&text, ""));
    let u64_at =
        |from: usize| Some(u64::from_le_bytes(front.get(from..from + 8)?.try_into().ok()?));
    let me = NodeStatus {
        node,
        position: u64_at(8)?,
        durable: u64_at(16)?,
        epoch: u32::from_le_bytes(front.get(24..28)?.try_into().ok()?),
        level: u32::from_le_bytes(front.get(28..32)?.try_into().ok()?),
        memory: u64_at(32)?,
        since: Timestamp::from_micros(u64_at(40)?.cast_signed()),
        digest: u64_at(48)?,
        address: address.into(),
        words: words.into(),
    };
    Some((me, Timestamp::from_micros(u64_at(0)?.cast_signed())))
}
