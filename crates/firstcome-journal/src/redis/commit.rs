//! Atomic steps in Redis, each one call of `commit.lua`: see [`Transaction`].

use super::Redis;
use super::head;
use super::scripts::{bytes, done, name_bytes, number, signed};
use super::stored;
use super::trouble::{looked, trouble, unexpected};
use super::value;
use crate::cluster::MEMBER_FOR;
use crate::error::JournalError;
use crate::name::Name;
use crate::snapshots::manifest::Manifest;
use crate::transaction::cell::{Cell, Kind};
use crate::transaction::{Check, IDLE_PIECES, OLD_ENTRIES, Read, Seen, Transaction, Write};
use firstcome_core::Timestamp;
use firstcome_core::names::PieceName;
use firstcome_store::{Command, RedisReply};
use tokio::time::Instant;

/// The number of a key among those that the script is given.
const MANIFESTS: usize = 3;

impl Redis {
    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Seen, JournalError> {
        let (step, keys) = (&self.inner.scripts.commit, &self.inner.keys);
        let mut command = self.call(step, &keys.all()).arg(&keys.piece);
        for check in &transaction.checks {
            command = add_check(command, check);
        }
        if transaction.frees {
            command = command.arg("frees");
        }
        for write in &transaction.writes {
            command = self.add_write(command, write)?;
        }
        for read in &transaction.reads {
            command = add_read(command, read);
        }
        let command = self.ready(step, command.arg("end"));
        let asked = Instant::now();
        let lost = if transaction.writes.is_empty() { looked } else { trouble };
        let reply = self.inner.rest.send(&command).await.map_err(lost)?;
        let (rested_on, term) = rested_on(&transaction.checks);
        let parts = done(reply, self.inner.space, rested_on, term)?;
        let seen = seen(&transaction, &parts)?;
        if let Some(head) = &seen.head {
            self.inner.first_kept.note(head.first, asked);
        }
        Ok(seen)
    }

    fn add_write(&self, command: Command, write: &Write) -> Result<Command, JournalError> {
        Ok(match write {
            Write::Term => command.arg("mint"),
            Write::Epoch => command.arg("epoch"),
            Write::Level(level) => command.arg("level").arg(*level),
            Write::Entries(entries) => {
                let Some(last) = entries.last() else { return Ok(command) };
                let name = name_bytes(last.name()?);
                let command = command.arg("entries").arg(&name[..]).arg(2 * entries.len());
                entries.iter().fold(command, |command, entry| {
                    command.arg(value::write(entry)).arg(&entry.body[..])
                })
            }
            Write::Restart { tip, epoch, level } => command
                .arg("restart")
                .arg(*level)
                .arg(tip.position)
                .arg(&name_bytes(tip.name)[..])
                .arg(tip.at.as_micros())
                .arg(*epoch),
            Write::Trim(last) => command.arg("trim").arg(*last),
            Write::Manifests(manifests) => add_manifests(command, manifests),
            Write::Piece(name, bytes) => command.arg("piece").arg(name.to_string()).arg(&bytes[..]),
            Write::Named(names) => add_names(command.arg("named"), names),
            Write::Unnamed(names) => add_names(command.arg("unnamed"), names),
            Write::DropIdle(since) => {
                command.arg("drop idle").arg(since.as_micros()).arg(IDLE_PIECES)
            }
            Write::Put(cell) => add_cell(command.arg("put"), cell),
            Write::Stamped(cell) => add_cell(command.arg("stamp"), cell),
            Write::Delete(kind, key) => command.arg("delete").arg(key_of(*kind)).arg(&key[..]),
            Write::Mark(mark) => command.arg("mark").arg(&mark[..]),
            Write::Unmark => command.arg("unmark"),
            Write::Vacate(mark) => command.arg("vacate").arg(&mark[..]),
        })
    }
}

/// Reads what the script answered.
fn seen(transaction: &Transaction, parts: &[RedisReply]) -> Result<Seen, JournalError> {
    let strange = || unexpected(&RedisReply::List(parts.to_vec()), "what was asked for");
    let [now, fields, skips, found @ ..] = parts else { return Err(strange()) };
    let now = Timestamp::from_micros(signed(now)?);
    let fields = fields.list().map_err(|_| strange())?;
    let [fields @ .., term, mark] = fields else { return Err(strange()) };
    let head = head::read(&RedisReply::List(fields.to_vec()), skips, now)?;
    let term = if head.is_some() { number(term)? } else { 0 };
    let mut seen = Seen::new(head, term, now);
    if *mark != RedisReply::Nil {
        seen.mark = Some(bytes(mark)?.to_vec());
    }
    let mut found = found.iter();
    for write in &transaction.writes {
        if let Write::DropIdle(_) = write {
            let count = number(found.next().ok_or_else(strange)?)?;
            seen.dropped += usize::try_from(count).unwrap_or(usize::MAX);
        }
    }
    for read in &transaction.reads {
        read_into(&mut seen, read, found.next().ok_or_else(strange)?)?;
    }
    Ok(seen)
}

fn add_check(command: Command, check: &Check) -> Command {
    match check {
        Check::There => command.arg("there"),
        Check::Nothing => command.arg("nothing"),
        Check::Term(term) => command.arg("term").arg(*term),
        Check::Entry { position, name } => {
            command.arg("entry").arg(*position).arg(&name_bytes(*name)[..])
        }
        Check::End { position, name, epoch } => {
            let command = command.arg("end of journal").arg(*position).arg(&name_bytes(*name)[..]);
            match epoch {
                Some(epoch) => command.arg(*epoch),
                None => command.arg(""),
            }
        }
        Check::Manifests(seen) => {
            let positions: Vec<_> = seen.iter().map(|manifest| manifest.position).collect();
            let command = add_positions(command, &positions);
            ["pieces", "before_pieces"].into_iter().enumerate().fold(
                command,
                |command, (n, field)| match seen.get(n) {
                    // Whatever it has: see `stored::manifests`.
                    Some(damaged) if damaged.position == stored::DAMAGED => command,
                    seen => {
                        let names = seen.map(stored::names_text).unwrap_or_default();
                        command.arg("same").arg(MANIFESTS).arg(field).arg(names)
                    }
                },
            )
        }
        Check::Positions(seen) => add_positions(command, seen),
        Check::Pieces(names) => add_names(command.arg("stored"), names),
        Check::NotApplied(position) => command.arg("not applied").arg(*position).arg(MEMBER_FOR),
        Check::Same(cell) => add_cell(command.arg("same"), cell),
    }
}

fn add_positions(command: Command, seen: &[u64]) -> Command {
    ["position", "before_position"].into_iter().enumerate().fold(command, |command, (n, field)| {
        let position = match seen.get(n) {
            Some(&stored::DAMAGED) => return command,
            position => position.map(u64::to_string).unwrap_or_default(),
        };
        command.arg("same").arg(MANIFESTS).arg(field).arg(position)
    })
}

fn add_manifests(command: Command, manifests: &[Manifest]) -> Command {
    stored::MANIFEST_FIELDS.into_iter().enumerate().fold(command, |command, (n, fields)| {
        let Some(manifest) = manifests.get(n) else {
            let delete = |command: Command, field| command.arg("delete").arg(MANIFESTS).arg(field);
            return fields.into_iter().fold(command, delete);
        };
        let [position, bytes, pieces] = fields;
        let put = |command: Command, field| command.arg("put").arg(MANIFESTS).arg(field);
        let command = put(command, position).arg(manifest.position);
        let command = put(command, bytes).arg(&manifest.bytes[..]);
        put(command, pieces).arg(stored::names_text(manifest))
    })
}

fn add_names(command: Command, names: &[PieceName]) -> Command {
    let command = command.arg(names.len());
    names.iter().fold(command, |command, name| command.arg(name.to_string()))
}

fn add_cell(command: Command, cell: &Cell) -> Command {
    command.arg(key_of(cell.kind)).arg(&cell.key[..]).arg(&cell.value[..])
}

fn add_read(command: Command, read: &Read) -> Command {
    match read {
        Read::Manifests => command.arg("all").arg(MANIFESTS),
        Read::Cells(kind) => command.arg("all").arg(key_of(*kind)),
        Read::Keys(kind) => command.arg("keys").arg(key_of(*kind)),
        Read::Piece(name) => command.arg("get").arg(name.to_string()),
        Read::Old { through, cutoff } => {
            command.arg("old").arg(*through).arg(cutoff.as_micros()).arg(OLD_ENTRIES)
        }
    }
}

/// Returns the number of the key under which cells of a kind are fields.
fn key_of(kind: Kind) -> usize {
    match kind {
        Kind::Node => 5,
        Kind::Report => 6,
        Kind::Skip => 7,
    }
}

/// Returns the entry and the term that a step rests on, which the failures repeat.
fn rested_on(checks: &[Check]) -> ((u64, Name), u64) {
    let (mut entry, mut ours) = ((0, Name::default()), 0);
    for check in checks {
        match check {
            Check::Entry { position, name } => entry = (*position, *name),
            Check::Term(term) => ours = *term,
            Check::There
            | Check::Nothing
            | Check::End { .. }
            | Check::Manifests(_)
            | Check::Positions(_)
            | Check::Pieces(_)
            | Check::NotApplied(_)
            | Check::Same(_) => {}
        }
    }
    (entry, ours)
}

fn read_into(seen: &mut Seen, read: &Read, found: &RedisReply) -> Result<(), JournalError> {
    match read {
        Read::Manifests => seen.manifests = stored::manifests(found)?,
        Read::Cells(kind) => seen.cells.extend(stored::cells(*kind, found)?),
        Read::Keys(kind) => {
            for key in found.list().map_err(|_| unexpected(found, "keys"))? {
                let key = bytes(key)?.to_vec();
                seen.cells.push(Cell { kind: *kind, key, value: Vec::new() });
            }
        }
        Read::Piece(_) => {
            seen.piece = match found {
                RedisReply::Bytes(bytes) => Some(bytes.clone()),
                RedisReply::Nil | RedisReply::Number(_) | RedisReply::List(_) => None,
            };
        }
        Read::Old { .. } => seen.old = Some(number(found)?).filter(|last| *last > 0),
    }
    Ok(())
}
