//! Terms, pieces and manifests in Redis.

use super::Redis;
use super::keys::Keys;
use super::scripts::{name_bytes, number};
use super::trouble::{looked, unexpected};
use crate::failure::Failure;
use crate::name::Tip;
use firstcome_core::names::PieceName;
use firstcome_store::{Command, Reply};

impl Redis {
    pub(crate) async fn mint_term(&self) -> Result<u64, Failure> {
        let step = &self.inner.scripts.mint_term;
        let parts = self.run(step, self.call(step, &[&self.inner.keys.head])).await?;
        number(parts.first().unwrap_or(&Reply::Nil))
    }

    pub(crate) async fn put_piece(&self, name: PieceName, bytes: Vec<u8>) -> Result<(), Failure> {
        let (step, keys) = (&self.inner.scripts.put_piece, &self.inner.keys);
        let command = self.call(step, &[&keys.head, &keys.pieces, &keys.piece(name)]);
        self.run(step, command.arg(name.to_string()).arg(bytes)).await.map(drop)
    }

    pub(crate) async fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, Failure> {
        let command = get(&self.inner.keys, name);
        bytes(name, self.inner.rest.send(&command).await.map_err(looked)?)
    }

    pub(crate) async fn install(
        &self,
        tip: Tip,
        manifest: Vec<u8>,
        pieces: Vec<PieceName>,
        term: u64,
    ) -> Result<(), Failure> {
        let (step, keys) = (&self.inner.scripts.install, &self.inner.keys);
        let command = self
            .call(step, &[&keys.head, &keys.manifests, &keys.pieces, &keys.journal])
            .arg(term)
            .arg(tip.position)
            .arg(&name_bytes(tip.name)[..])
            .arg(tip.at.as_micros())
            .arg(manifest)
            .arg(&keys.piece)
            .arg(pieces.len());
        let command = pieces.iter().fold(command, |command, name| command.arg(name.to_string()));
        let rested_on = (tip.position, tip.name);
        self.run_resting_on(step, command, rested_on, term).await.map(drop)
    }

    pub(crate) async fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, Failure> {
        manifest(self.inner.rest.send(&newest(&self.inner.keys)).await.map_err(looked)?)
    }
}

/// The command that asks for a piece.
pub(super) fn get(keys: &Keys, name: PieceName) -> Command {
    Command::new("GET").arg(keys.piece(name))
}

/// Reads a piece, whose name is made of its bytes.
pub(super) fn bytes(name: PieceName, reply: Reply) -> Result<Option<Vec<u8>>, Failure> {
    match reply {
        Reply::Bytes(bytes) if PieceName::of(&bytes) != name => Err(Failure::Broken(format!(
            "piece {name} of a snapshot is torn or altered: its bytes give another name"
        ))),
        Reply::Bytes(bytes) => Ok(Some(bytes)),
        Reply::Nil | Reply::Number(_) | Reply::List(_) => Ok(None),
    }
}

/// The command that asks for the newest manifest.
pub(super) fn newest(keys: &Keys) -> Command {
    Command::new("HGET").arg(&keys.manifests).arg("bytes")
}

pub(super) fn manifest(reply: Reply) -> Result<Option<Vec<u8>>, Failure> {
    match reply {
        Reply::Bytes(manifest) => Ok(Some(manifest)),
        Reply::Nil | Reply::Number(_) | Reply::List(_) => Ok(None),
    }
}

/// Reads the lists of names that the kept manifests name their pieces by, each name once.
pub(super) fn names(reply: &Reply) -> Result<Vec<PieceName>, Failure> {
    let lists = reply.list().map_err(|_| unexpected(reply, "names"))?;
    let mut names = Vec::new();
    for list in lists.iter().filter(|list| **list != Reply::Nil) {
        for name in list.text().map_err(looked)?.split_whitespace() {
            let name = u128::from_str_radix(name, 16).map_err(|_| unexpected(list, "names"))?;
            names.push(PieceName(name.to_be_bytes()));
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}
