//! Bytes that were written once must mean the same for ever.

use crate::play::play;
use crate::say::shown_all;
use crate::snapshots::{Taken, restored, taken};
use crate::world::{Gave, SPACE, World, apply};
use firstcome_core::command::{Body, Command, Steer};
use firstcome_core::{Refusal, Stamp, State, Timestamp};
use std::collections::BTreeSet;
use std::path::PathBuf;

const SCRIPT: &str = include_str!("../golden/level-1.script");
const JOURNAL: &[u8] = include_bytes!("../golden/level-1.journal");
const OUTCOMES: &str = include_str!("../golden/level-1.outcomes");
const SNAPSHOT: &[u8] = include_bytes!("../golden/level-1.snapshot");

#[test]
fn the_journal_of_level_1_gives_what_it_gave() {
    let mut state = State::new(SPACE, 0);
    let mut lines = OUTCOMES.lines();
    for (stamp, body) in entries(JOURNAL) {
        let gave = apply(&mut state, stamp, &body);
        assert_eq!(Some(&*line(&state, &gave)), lines.next());
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn the_snapshot_of_level_1_restores_and_is_written_the_same() {
    let kept = snapshot(SNAPSHOT);
    let mut state = State::new(SPACE, 0);
    for (stamp, body) in entries(JOURNAL) {
        apply(&mut state, stamp, &body);
    }
    let back = restored(&kept);
    assert_eq!(back.mark(), state.mark());
    assert_eq!(back.results_after(0).count(), state.results_after(0).count());
    // As long as this build writes level 1, it writes these bytes.
    assert_eq!(taken(&state, true), kept);
    assert_eq!(taken(&back, true), kept);
}

#[test]
fn the_script_of_level_1_still_writes_its_journal() {
    let world = play(SCRIPT);
    assert_eq!(world.journal, entries(JOURNAL));
}

#[test]
fn the_journal_of_level_1_has_every_command_and_every_outcome() {
    let mut kinds = BTreeSet::new();
    for (_, body) in entries(JOURNAL) {
        let body = Body::open(&body).unwrap();
        kinds.extend(body.commands().unwrap().iter().map(|command| match command {
            Command::Claim { .. } => "claim",
            Command::Cancel { .. } => "cancel",
            Command::Put { .. } => "put",
            Command::Steer { steer: Steer::Pause, .. } => "pause",
            Command::Steer { steer: Steer::Resume, .. } => "resume",
            Command::Steer { steer: Steer::Close, .. } => "close",
            Command::Steer { steer: Steer::Archive { drop_unsettled: false }, .. } => "archive",
            Command::Steer { steer: Steer::Archive { drop_unsettled: true }, .. } => "drop",
            Command::Hold { .. } => "hold",
            Command::Change { .. } => "change",
            Command::Extend { .. } => "extend",
            Command::Release { .. } => "release",
            Command::Confirm { .. } => "confirm",
            Command::Seats { .. } => "seats",
            Command::Block { .. } => "block",
            Command::Move { .. } => "move",
            Command::Tick { .. } => "tick",
            Command::Settled { .. } => "settled",
        }));
    }
    assert_eq!(kinds.len(), 10, "{kinds:?}");
    let yes =
        ["won", "already_won", "cancelled", "created", "changed", "unchanged", "ticked", "settled"];
    for name in Refusal::ALL.iter().map(|refusal| refusal.as_str()).chain(yes).chain(["copy"]) {
        let has = |line: &str| line.split_whitespace().nth(2) == Some(name);
        assert!(OUTCOMES.lines().any(has), "no entry gave {name}");
    }
}

/// Writes the files of the present level. Only before that level is released.
#[test]
#[ignore = "it writes what all others compare with"]
fn write_golden() {
    let (mut journal, mut outcomes, mut state) = (Vec::new(), String::new(), State::new(SPACE, 0));
    let World { journal: told, .. } = play(SCRIPT);
    for (stamp, body) in told {
        journal.extend((body.len() as u32).to_le_bytes());
        journal.extend(stamp.position.to_le_bytes());
        journal.extend(stamp.at.as_micros().to_le_bytes());
        journal.extend(stamp.epoch.to_le_bytes());
        journal.extend(&body);
        let gave = apply(&mut state, stamp, &body);
        outcomes.push_str(&line(&state, &gave));
        outcomes.push('\n');
    }
    let Taken { manifest, pieces } = taken(&state, true);
    let mut snapshot = Vec::new();
    for part in std::iter::once(&manifest).chain(&pieces) {
        snapshot.extend((part.len() as u32).to_le_bytes());
        snapshot.extend(part);
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    std::fs::write(folder.join("level-1.journal"), journal).unwrap();
    std::fs::write(folder.join("level-1.outcomes"), outcomes).unwrap();
    std::fs::write(folder.join("level-1.snapshot"), snapshot).unwrap();
}

fn line(state: &State, gave: &Gave) -> String {
    let came = match gave {
        Gave::Copy => "copy".into(),
        Gave::Outcomes(outcomes) => shown_all(outcomes, state.at()),
    };
    format!("{} {:016x} {came}", state.position(), state.digest())
}

fn cut<'a, const N: usize>(bytes: &mut &'a [u8]) -> [u8; N] {
    let (front, rest): (&'a [u8; N], _) = bytes.split_first_chunk().unwrap();
    *bytes = rest;
    *front
}

fn cut_off(bytes: &mut &[u8], length: u32) -> Vec<u8> {
    bytes.split_off(..length as usize).unwrap().to_vec()
}

fn entries(mut bytes: &[u8]) -> Vec<(Stamp, Vec<u8>)> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let length = u32::from_le_bytes(cut(&mut bytes));
        let position = u64::from_le_bytes(cut(&mut bytes));
        let at = Timestamp::from_micros(i64::from_le_bytes(cut(&mut bytes)));
        let epoch = u32::from_le_bytes(cut(&mut bytes));
        let body = cut_off(&mut bytes, length);
        let head = Body::open(&body).unwrap().head;
        let stamp = Stamp { position, at, epoch, node: head.node, number: head.number };
        entries.push((stamp, body));
    }
    entries
}

fn snapshot(mut bytes: &[u8]) -> Taken {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let length = u32::from_le_bytes(cut(&mut bytes));
        parts.push(cut_off(&mut bytes, length));
    }
    let manifest = parts.remove(0);
    Taken { manifest, pieces: parts }
}
