//! Skipped entries in Redis: a hash that is there once there is one.

use super::Redis;
use super::keys::Keys;
use super::scripts::{bytes, name_bytes};
use super::trouble::{looked, unexpected};
use crate::cluster::MEMBER_FOR;
use crate::failure::Failure;
use crate::name::Name;
use firstcome_core::state::Skip;
use firstcome_store::{Command, Reply};

impl Redis {
    pub(crate) async fn skip(&self, skip: Skip) -> Result<(), Failure> {
        let (step, keys) = (&self.inner.scripts.skip, &self.inner.keys);
        let name = Name { node: skip.node, number: skip.number };
        let command = self
            .call(step, &[&keys.head, &keys.nodes, &keys.manifests, &keys.skips, &keys.journal])
            .arg(skip.position)
            .arg(&name_bytes(name)[..])
            .arg(skip.encode())
            .arg(MEMBER_FOR);
        self.run_resting_on(step, command, (skip.position, name), 0).await.map(drop)
    }

    pub(crate) async fn skips(&self) -> Result<Vec<Skip>, Failure> {
        read(&self.inner.rest.send(&all(&self.inner.keys)).await.map_err(looked)?)
    }
}

/// The command that asks how many entries are skipped.
pub(super) fn count(keys: &Keys) -> Command {
    Command::new("HLEN").arg(&keys.skips)
}

/// The command that asks for the skipped entries.
pub(super) fn all(keys: &Keys) -> Command {
    Command::new("HGETALL").arg(&keys.skips)
}

/// Reads what [`all`] asked for, by position.
pub(super) fn read(reply: &Reply) -> Result<Vec<Skip>, Failure> {
    let pairs = reply.list().map_err(|_| unexpected(reply, "skipped entries"))?;
    let mut skips = Vec::new();
    for pair in pairs.chunks(2) {
        let [field, record] = pair else { return Err(unexpected(reply, "skipped entries")) };
        let position = field.text().ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        let skip = Skip::decode(bytes(record)?);
        skips.push(skip.map_err(|bad| {
            let why = format!("the record that it is skipped: {bad}");
            Failure::Damaged { position, why }
        })?);
    }
    skips.sort_by_key(|skip| skip.position);
    Ok(skips)
}
