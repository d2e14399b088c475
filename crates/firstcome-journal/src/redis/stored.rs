//! Reads what stands beside the entries in Redis: manifests, pieces, cells.

use super::keys::Keys;
use super::scripts::{bytes, number};
use super::trouble::{looked, unexpected};
use crate::error::JournalError;
use crate::snapshots::manifest::{Manifest, check_piece};
use crate::transaction::cell::{Cell, Kind};
use firstcome_core::names::PieceName;
use firstcome_store::{Command, RedisReply};

/// The fields of each kept manifest, the newest first: its position, its bytes, the names of its pieces.
pub(super) const MANIFEST_FIELDS: [[&str; 3]; 2] =
    [["position", "bytes", "pieces"], ["before_position", "before_bytes", "before_pieces"]];

/// The position of a manifest that cannot be read: no state has it.
pub(super) const DAMAGED: u64 = 0;

/// The command that asks for the manifests.
pub(super) fn ask_manifests(keys: &Keys) -> Command {
    Command::new("HGETALL").arg(&keys.manifests)
}

/// Reads the fields and values of the manifests.
pub(super) fn manifests(reply: &RedisReply) -> Result<Vec<Manifest>, JournalError> {
    let pairs = reply.list().map_err(|_| unexpected(reply, "manifests"))?;
    let field = |name: &str| {
        let found = pairs.chunks_exact(2).find(|pair| pair[0].text().is_ok_and(|f| f == name));
        found.map(|pair| &pair[1])
    };
    let mut manifests = Vec::new();
    for [position, body, pieces] in MANIFEST_FIELDS {
        let Some(position) = field(position) else { break };
        let (Some(body), Some(pieces)) = (field(body), field(pieces)) else {
            return Err(unexpected(reply, "manifests"));
        };
        manifests.push(match (number(position), names(pieces)) {
            (Ok(position), Ok(pieces)) => {
                Manifest { position, pieces, bytes: bytes(body)?.to_vec() }
            }
            // Somebody else wrote there: it is a damaged one, in whose place the next snapshot comes.
            (Err(_), _) | (_, Err(_)) => Manifest { position: DAMAGED, ..Manifest::default() },
        });
    }
    Ok(manifests)
}

/// Reads the names of pieces.
fn names(reply: &RedisReply) -> Result<Vec<PieceName>, JournalError> {
    let text = reply.text().map_err(looked)?;
    let name = |name| u128::from_str_radix(name, 16).map(|name| PieceName(name.to_be_bytes()));
    let names: Result<_, _> = text.split_whitespace().map(name).collect();
    names.map_err(|_| unexpected(reply, "names"))
}

/// Returns the names of a manifest's pieces as they are stored.
pub(super) fn names_text(manifest: &Manifest) -> String {
    let names: Vec<_> = manifest.pieces.iter().map(PieceName::to_string).collect();
    names.join(" ")
}

/// The command that asks for a piece.
pub(super) fn ask_piece(keys: &Keys, name: PieceName) -> Command {
    Command::new("GET").arg(keys.piece(name))
}

/// Reads a piece.
pub(super) fn piece(name: PieceName, reply: RedisReply) -> Result<Option<Vec<u8>>, JournalError> {
    match reply {
        RedisReply::Bytes(bytes) => check_piece(name, Some(bytes)),
        RedisReply::Nil | RedisReply::Number(_) | RedisReply::List(_) => Ok(None),
    }
}

/// The command that asks for the names of all pieces.
pub(super) fn ask_piece_names(keys: &Keys) -> Command {
    Command::new("ZRANGE").arg(&keys.pieces).arg(0).arg(-1)
}

/// Reads the names of pieces, and gives their keys.
pub(super) fn piece_keys(keys: &Keys, reply: &RedisReply) -> Result<Vec<String>, JournalError> {
    let names = reply.list().map_err(|_| unexpected(reply, "the names of pieces"))?;
    let key = |name: &RedisReply| {
        let name = name.text().map_err(|_| unexpected(reply, "the names of pieces"))?;
        Ok(format!("{}{name}", keys.piece))
    };
    names.iter().map(key).collect()
}

/// The command that asks how many entries are skipped.
pub(super) fn ask_skip_count(keys: &Keys) -> Command {
    Command::new("HLEN").arg(&keys.skips)
}

/// The command that asks for the skipped entries.
pub(super) fn ask_skips(keys: &Keys) -> Command {
    Command::new("HGETALL").arg(&keys.skips)
}

/// Reads cells of a kind, which are the fields of a hash.
pub(super) fn cells(kind: Kind, reply: &RedisReply) -> Result<Vec<Cell>, JournalError> {
    let strange = || unexpected(reply, "the fields of a hash");
    let mut cells = Vec::new();
    for pair in reply.list().map_err(|_| strange())?.chunks(2) {
        let [key, value] = pair else { return Err(strange()) };
        let (key, value) = (bytes(key)?.to_vec(), bytes(value)?.to_vec());
        cells.push(Cell { kind, key, value });
    }
    Ok(cells)
}
