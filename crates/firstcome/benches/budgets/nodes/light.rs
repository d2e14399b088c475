//! A node that decodes what it reads and applies nothing.
//!
//! Twenty nodes that each apply what all of them append would share two cores with the store and leave
//! it none. What a node asks of the store does not depend on what it does with the entries: append,
//! read back, pause are those of a node.

use super::seat::CAMPAIGN;
use crate::arrivals::Lane;
use anyhow::Result;
use firstcome_core::command::{BodyWriter, Command};
use firstcome_core::names::NodeId;
use firstcome_journal::redis::Redis;
use firstcome_journal::{Append, Entry, Journal, Name};
use firstcome_node::Pace;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::time::{Instant, sleep_until};

struct Light {
    journal: Journal,
    me: NodeId,
    applied: u64,
    name: Name,
    pace: Pace,
}

impl Light {
    /// Decodes entries as a node does before it applies them.
    ///
    /// Returns whether its own batch was among them.
    fn decode(&mut self, entries: &[Entry], own: Name) -> Result<bool> {
        let (now, mut seen) = (Instant::now(), false);
        for entry in entries {
            let (stamp, body) = entry.open().map_err(|bad| anyhow::anyhow!("{bad}"))?;
            let commands = body.commands().map_err(|bad| anyhow::anyhow!("{bad}"))?;
            std::hint::black_box(&commands);
            if stamp.node != self.me {
                self.pace.saw(stamp.node, now);
            }
            self.applied = stamp.position;
            self.name = Name { node: stamp.node, number: stamp.number };
            seen |= self.name == own;
        }
        Ok(seen)
    }
}

pub(crate) async fn serve(redis: Redis, number: u8, paced: bool, lane: Arc<Lane>) -> Result<()> {
    let me = NodeId([number + 1; 16]);
    let mut node = Light {
        journal: Journal::Redis(redis.clone()),
        me,
        applied: 0,
        name: Name::default(),
        pace: Pace::default(),
    };
    let mut batch = 0;
    while let Some(mut arrivals) = lane.arrivals().await {
        batch += 1;
        let mut body = BodyWriter::new(me, batch, node.applied);
        let fits = arrivals.iter().take_while(|arrival| {
            let subject = format!("s-{:08}", arrival.number);
            body.push(&Command::claim(CAMPAIGN, Some("main"), &subject))
        });
        let fitting = fits.count();
        let rest = arrivals.split_off(fitting);
        if !rest.is_empty() {
            lane.put_back(rest);
        }
        let own = Name { node: me, number: batch };
        let append = Append {
            body: body.finish().into(),
            name: own,
            applied: node.applied,
            applied_name: node.name,
        };
        let mut entries = node.journal.append(append).await?.entries;
        while !node.decode(&entries, own)? {
            entries = node.journal.read(node.applied).await?.entries;
        }
        lane.appends.fetch_add(1, Ordering::Relaxed);
        lane.answered(arrivals.iter().map(|arrival| arrival.at));
        let now = Instant::now();
        if let Some(pause) = node.pace.pause(now).filter(|_| paced) {
            sleep_until(now + pause).await;
        }
    }
    redis.close().await;
    Ok(())
}
