//! Bytes that nobody wrote: whatever is read, no reader panics, and none takes more memory than a multiple of what it
//! was given.
//!
//! Half of the inputs are arbitrary; the others are bodies and snapshots with some things changed in them,
//! and their checksums made to fit again, since a reader that stops at a checksum is not much of a test. Memory is what
//! the allocator gives to the thread of a test.

mod change;
mod corpus;

use allocation_counter::measure;
use change::{Change, changed, resealed};
use firstcome_core::command::{Body, Mark};
use firstcome_core::names::{NodeId, PieceName, SpaceId};
use firstcome_core::snapshot::{BadSnapshot, Manifest, Restore};
use firstcome_core::wire::Reader;
use firstcome_core::{Command, Stamp, State};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Bytes of memory a reader may take at most for each byte it is given, and beside them.
///
/// The worst there is: a command of a few bytes is some hundred as a value; a pool, a subject or a hold of a snapshot
/// some hundred more in its tables.
const FACTOR: usize = 256;
const BESIDE: usize = 64 << 10;

/// Inputs of each test.
const CASES: u32 = 32_768;

/// Reads, and says that it took no more memory than its input may cost.
fn bounded<T>(input: usize, read: impl FnOnce() -> T) -> Result<T, TestCaseError> {
    let mut result: std::thread::Result<T> = Err(Box::new("not read"));
    // Caught here: a measurement that a panic leaves goes on for the thread.
    let used = measure(|| result = catch_unwind(AssertUnwindSafe(read))).bytes_max;
    let read = result.unwrap_or_else(|panic| resume_unwind(panic));
    let allowed = (input * FACTOR + BESIDE) as u64;
    prop_assert!(
        used <= allowed,
        "{used} bytes of memory for {input} bytes, {allowed} are allowed"
    );
    Ok(read)
}

fn body(bytes: &[u8]) -> Result<(), TestCaseError> {
    bounded(bytes.len(), || {
        let Ok(body) = Body::open(bytes) else { return };
        // Who reads a journal looks at all of it, and again.
        let commands = body.commands();
        assert_eq!(commands, body.commands());
    })
}

fn snapshot(manifest: &[u8], pieces: &[Vec<u8>]) -> Result<(), TestCaseError> {
    let bytes = manifest.len() + pieces.iter().map(Vec::len).sum::<usize>();
    bounded(bytes, || {
        let restored = Manifest::decode(manifest).and_then(|manifest| {
            let mut restore = Restore::new(manifest);
            for piece in pieces {
                restore.take(piece)?;
            }
            restore.finish()
        });
        if let Ok(mut state) = restored {
            looked_at(&state);
            goes_on(&mut state);
        }
    })
}

/// Looks at a state as a node does that starts from it.
fn looked_at(state: &State) {
    let seen = (state.mark(), state.last_result(), state.memory(), state.live_holds());
    assert_eq!(seen.0, state.mark());
    assert!(state.results_after(state.settled()).take(10_000).count() <= 10_000);
}

/// Applies an entry, as a node does that starts from a state.
fn goes_on(state: &mut State) {
    let (position, at) = (state.position() + 1, state.at().plus_micros(60_000_000));
    let level = state.level();
    let stamp =
        Stamp { position, at, epoch: 0, node: NodeId([9; 16]), number: 1, again_of: None, level };
    let claim = Command::claim("spring", None, "ann");
    let mut outcomes = Vec::new();
    state.apply(stamp, &[Command::Tick { mark: Mark::default() }, claim], &mut outcomes);
    assert_eq!(outcomes.len(), 2);
    looked_at(state);
}

/// Returns a snapshot with one of its pieces changed, or its manifest, and every name and checksum made to fit.
fn altered(
    manifest: &[u8],
    pieces: &[Vec<u8>],
    at: Index,
    changes: &[Change],
) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    let mut pieces = pieces.to_vec();
    let (content, _) = manifest.split_last_chunk::<8>()?;
    let mut content = content.to_vec();
    match at.index(pieces.len() + 1) {
        0 => content = changed(&content, changes),
        piece => {
            let before = PieceName::of(&pieces[piece - 1]).0;
            pieces[piece - 1] = changed(&pieces[piece - 1], changes);
            let after = PieceName::of(&pieces[piece - 1]).0;
            let name = content.windows(16).position(|name| name == before)?;
            content[name..name + 16].copy_from_slice(&after);
        }
    }
    Some((resealed(&content), pieces))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_as_a_body(bytes in vec(any::<u8>(), 0..400), sealed: bool) {
        body(&if sealed { resealed(&bytes) } else { bytes })?;
    }

    #[test]
    fn changed_bodies(which: Index, sealed in prop::bool::weighted(0.9), changes in vec(any::<Change>(), 1..6)) {
        let bodies = corpus::bodies();
        let whole = which.get(&bodies);
        let content = &whole[..whole.len() - 8];
        body(&if sealed { resealed(&changed(content, &changes)) } else { changed(whole, &changes) })?;
    }

    #[test]
    fn arbitrary_bytes_as_a_snapshot(bytes in vec(any::<u8>(), 0..400), piece in vec(any::<u8>(), 0..400)) {
        snapshot(&resealed(&bytes), std::slice::from_ref(&piece))?;
        snapshot(&bytes, &[])?;
        // A manifest that is good, with a piece that is named as it should be.
        let mut content = corpus::manifest_without_pieces();
        content.extend([15 << 3 | 2, 16]);
        content.extend(PieceName::of(&piece).0);
        snapshot(&resealed(&content), &[piece])?;
    }

    #[test]
    fn changed_snapshots(which: Index, at: Index, changes in vec(any::<Change>(), 1..6)) {
        let snapshots = corpus::snapshots();
        let (manifest, pieces) = which.get(&snapshots);
        if let Some((manifest, pieces)) = altered(manifest, pieces, at, &changes) {
            snapshot(&manifest, &pieces)?;
        }
    }

    #[test]
    fn arbitrary_bytes_as_fields(bytes in vec(any::<u8>(), 0..400)) {
        bounded(bytes.len(), || {
            let mut reader = Reader::new(&bytes);
            while let Ok(Some(_)) = reader.value() {}
        })?;
    }
}

/// What these tests rest on: unchanged, everything is read.
#[test]
fn the_corpus_is_good() {
    for bytes in corpus::bodies() {
        Body::open(&bytes).unwrap().commands().unwrap();
        assert_eq!(resealed(&bytes[..bytes.len() - 8]), bytes);
    }
    for (manifest, pieces) in corpus::snapshots() {
        let mut restore = Restore::new(Manifest::decode(&manifest).unwrap());
        for piece in &pieces {
            restore.take(piece).unwrap();
        }
        let mut state = restore.finish().unwrap();
        looked_at(&state);
        goes_on(&mut state);
    }
    let empty = Manifest::decode(&resealed(&corpus::manifest_without_pieces())).unwrap();
    assert_eq!((empty.space, empty.pieces.len()), (SpaceId([7; 16]), 0));
    assert!(matches!(Manifest::decode(&[0; 8]), Err(BadSnapshot::Checksum)));
}

/// The measure itself sees memory that is taken and given back.
#[test]
fn a_reader_that_believes_a_length_is_noticed() {
    let greedy = bounded(10, || drop(vec![0_u8; 10 * FACTOR + BESIDE + 1]));
    assert!(greedy.is_err());
    assert!(bounded(10, || drop(vec![0_u8; 10 * FACTOR])).is_ok());
}
