//! Repairs after the store lost entries: backfill, raising the epoch, reseeding.

use super::scripts::{name_bytes, small};
use super::trouble::unexpected;
use super::{Redis, value};
use crate::entry::{Entry, Head};
use crate::failure::Failure;
use crate::name::Name;
use crate::shared::Seed;
use firstcome_store::Reply;

impl Redis {
    pub(crate) async fn put_back(
        &self,
        head: u64,
        name: Name,
        entries: Vec<Entry>,
    ) -> Result<(), Failure> {
        let Some(last) = check_chain(head, name, &entries)? else { return Ok(()) };
        let (step, keys) = (&self.inner.scripts.put_back, &self.inner.keys);
        let command = self
            .call(step, &[&keys.journal, &keys.head])
            .arg(head)
            .arg(&name_bytes(name)[..])
            .arg(&name_bytes(last)[..]);
        let command = entries
            .iter()
            .fold(command, |command, entry| command.arg(value::write(entry)).arg(&entry.body[..]));
        self.run(step, command).await.map(drop)
    }

    pub(crate) async fn raise_epoch(&self, seen: Head) -> Result<u32, Failure> {
        let step = &self.inner.scripts.raise_epoch;
        let command = self
            .call(step, &[&self.inner.keys.head])
            .arg(seen.position)
            .arg(&name_bytes(seen.name)[..])
            .arg(seen.epoch);
        let parts = self.run(step, command).await?;
        match parts.first() {
            Some(epoch) => small(epoch),
            None => Err(unexpected(&Reply::List(parts), "an epoch")),
        }
    }

    pub(crate) async fn reseed(&self, seen: Option<Head>, seed: Seed) -> Result<(), Failure> {
        let (step, keys) = (&self.inner.scripts.reseed, &self.inner.keys);
        let command = self
            .call(step, &[&keys.journal, &keys.head, &keys.manifests, &keys.pieces])
            .arg(self.inner.options.shard)
            .arg(seed.level);
        let command = match seen {
            Some(seen) => {
                let name = &name_bytes(seen.name)[..];
                command.arg(seen.position).arg(name).arg(seen.epoch)
            }
            None => command.arg("").arg("").arg(""),
        };
        let command = command
            .arg(seed.position)
            .arg(&name_bytes(seed.name)[..])
            .arg(seed.at.as_micros())
            .arg(seed.epoch)
            .arg(seed.manifest)
            .arg(&keys.piece)
            .arg(seed.pieces.len());
        let names = seed.pieces.iter();
        let command = names.fold(command, |command, name| command.arg(name.to_string()));
        self.run(step, command).await.map(drop)
    }
}

/// Checks that entries follow one another after an entry; gives the name of the last, if there is one.
fn check_chain(head: u64, name: Name, entries: &[Entry]) -> Result<Option<Name>, Failure> {
    let (mut position, mut before, mut last) = (head, name, None);
    for entry in entries {
        position += 1;
        if entry.position != position || entry.before != before {
            let why = format!("it does not follow entry {} {before}", position - 1);
            return Err(Failure::Damaged { position: entry.position, why });
        }
        before = entry.name()?;
        last = Some(before);
    }
    Ok(last)
}
