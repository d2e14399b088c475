//! Bytes that were written once must mean the same for ever.

use crate::play::play;
use crate::say::shown_all;
use crate::snapshots::{Taken, restored, taken};
use crate::world::{Gave, SPACE, World, apply};
use firstcome_core::command::{Body, CodeCommand, Command, Steer};
use firstcome_core::{CodeOutcome, CodeRefusal, Outcome, Refusal, Stamp, State, Timestamp};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What one script wrote, and what it gave.
struct Golden {
    name: &'static str,
    script: &'static str,
    journal: &'static [u8],
    outcomes: &'static str,
    snapshot: &'static [u8],
}

macro_rules! golden {
    ($name:literal) => {
        Golden {
            name: $name,
            script: include_str!(concat!("../golden/", $name, ".script")),
            journal: include_bytes!(concat!("../golden/", $name, ".journal")),
            outcomes: include_str!(concat!("../golden/", $name, ".outcomes")),
            snapshot: include_bytes!(concat!("../golden/", $name, ".snapshot")),
        }
    };
}

const GOLDEN: [Golden; 8] = [
    golden!("claims"),
    golden!("seats"),
    golden!("ids"),
    golden!("bars"),
    golden!("codes"),
    golden!("waitlists"),
    golden!("public"),
    golden!("acts"),
];

/// They take 100,000 bars, 1,000 references, imports or reissues, or 1,000,000 codes: other tests have them.
const NOT_IN_A_SCRIPT: [&str; 5] = [
    "too_many_bars",
    "too_many_references",
    "too_many_imports",
    "too_many_reissues",
    "too_many_codes",
];

#[test]
fn the_journals_give_what_they_gave() {
    for golden in GOLDEN {
        let mut state = State::new(SPACE);
        let mut lines = golden.outcomes.lines();
        for (stamp, body) in entries(golden.journal) {
            let gave = apply(&mut state, stamp, &body);
            assert_eq!(Some(&*line(&state, &gave)), lines.next(), "{}", golden.name);
        }
        assert_eq!(lines.next(), None);
    }
}

#[test]
fn the_snapshots_restore_and_are_written_the_same() {
    for golden in GOLDEN {
        let kept = snapshot(golden.snapshot);
        let mut state = State::new(SPACE);
        for (stamp, body) in entries(golden.journal) {
            apply(&mut state, stamp, &body);
        }
        let back = restored(&kept);
        assert_eq!(back.mark(), state.mark());
        assert_eq!(back.results_after(0).count(), state.results_after(0).count());
        assert_eq!(taken(&state, true), kept);
        assert_eq!(taken(&back, true), kept);
    }
}

#[test]
fn the_scripts_still_write_their_journals() {
    for golden in GOLDEN {
        let world = play(golden.script);
        assert_eq!(world.journal, entries(golden.journal), "{}", golden.name);
    }
}

#[test]
fn the_journals_have_every_command_and_every_outcome() {
    let mut kinds = BTreeSet::new();
    for (_, body) in GOLDEN.iter().flat_map(|golden| entries(golden.journal)) {
        let body = Body::open(&body).unwrap();
        kinds.extend(body.commands().unwrap().iter().map(|command| match command {
            Command::Claim { tag: Some(_), .. } => "claim of a generated code",
            Command::Claim { limit: Some(_), .. } => "claim within a limit",
            Command::Claim { .. } => "claim",
            Command::Cancel { pool: None, .. } => "cancel without a pool",
            Command::Cancel { .. } => "cancel",
            Command::Put { .. } => "put",
            Command::Steer { steer: Steer::Pause, .. } => "pause",
            Command::Steer { steer: Steer::Resume, .. } => "resume",
            Command::Steer { steer: Steer::Close, .. } => "close",
            Command::Steer { steer: Steer::Archive { drop_unsettled: false }, .. } => "archive",
            Command::Steer { steer: Steer::Archive { drop_unsettled: true }, .. } => "drop",
            Command::Steer { steer: Steer::Delete, .. } => "delete",
            Command::Hold { limit: Some(_), .. } => "hold within a limit",
            Command::Hold { .. } => "hold",
            Command::Change { limit: Some(_), .. } => "change within a limit",
            Command::Change { .. } => "change",
            Command::Extend { .. } => "extend",
            Command::Release { .. } => "release",
            Command::Confirm { .. } => "confirm",
            Command::Seats { .. } => "seats",
            Command::Block { .. } => "block",
            Command::Move { .. } => "move",
            Command::ChangeSeats { .. } => "change seats",
            Command::Bar { .. } => "bar",
            Command::Unbar { .. } => "unbar",
            Command::Join { .. } => "join",
            Command::Leave { .. } => "leave",
            Command::Code(code) => match code {
                CodeCommand::Reserve { .. } => "reserve",
                CodeCommand::Redeem { .. } => "redeem",
                CodeCommand::RollBack { .. } => "roll back",
                CodeCommand::EndReservation { .. } => "end a reservation",
                CodeCommand::Mark { .. } => "mark codes",
                CodeCommand::RevokeImport { .. } => "revoke an import",
                CodeCommand::Reissue { .. } => "reissue",
                CodeCommand::Stage { .. } => "stage",
                CodeCommand::Commit { .. } => "commit",
                CodeCommand::Discard { .. } => "discard",
            },
            Command::Raise { .. } => "raise",
            Command::Tick { .. } => "tick",
            Command::Settled { .. } => "settled",
        }));
    }
    assert_eq!(kinds.len(), 40, "{kinds:?}");
    let refusals = Refusal::ALL.iter().map(|refusal| refusal.as_str());
    let of_codes = CodeRefusal::ALL.iter().map(|refusal| refusal.as_str());
    let names =
        refusals.chain(of_codes).chain(Outcome::YES).chain(CodeOutcome::ALL).chain(["copy"]);
    for name in names.filter(|name| !NOT_IN_A_SCRIPT.contains(name)) {
        let has = |line: &str| {
            line.split(" | ").enumerate().any(|(at, part)| {
                part.split_whitespace().nth(if at == 0 { 2 } else { 0 }) == Some(name)
            })
        };
        let has = GOLDEN.iter().any(|golden| golden.outcomes.lines().any(has));
        assert!(has, "no entry gave {name}");
    }
}

/// Writes the files of one script. Only before the first release.
#[test]
#[ignore = "it writes what all others compare with"]
#[expect(clippy::disallowed_methods, reason = "it writes only what it was told to write")]
fn write_golden() {
    let name = std::env::var("FIRSTCOME_GOLDEN").unwrap();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let script = std::fs::read_to_string(folder.join(format!("{name}.script"))).unwrap();
    let (mut journal, mut outcomes, mut state) = (Vec::new(), String::new(), State::new(SPACE));
    let World { journal: told, .. } = play(&script);
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
    std::fs::write(folder.join(format!("{name}.journal")), journal).unwrap();
    std::fs::write(folder.join(format!("{name}.outcomes")), outcomes).unwrap();
    std::fs::write(folder.join(format!("{name}.snapshot")), snapshot).unwrap();
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
        let (node, number, level) = (head.node, head.number, head.level);
        let stamp = Stamp { position, at, epoch, node, number, again_of: None, level };
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
