//! Archive files that nobody wrote: whatever is in them, reading them neither panics nor takes more memory than a
//! multiple of what they have.
//!
//! Memory is what the allocator gives to the thread of a test.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops there")]

use allocation_counter::measure;
use firstcome_core::command::{BodyWriter, Command};
use firstcome_core::names::{NodeId, SpaceId};
use firstcome_core::{State, Timestamp};
use firstcome_journal::archive::{ArchivePart, Frames};
use firstcome_journal::entry::{Chain, Sealer};
use firstcome_journal::{Entry, Name};
use firstcome_testbed::Folder;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of memory that reading a file may take for each of its bytes, and beside them: a file is read 64 KiB at a time.
const FACTOR: usize = 64;
const BESIDE: usize = 128 << 10;

const CASES: u32 = 768;
const SEALER: Sealer = Sealer { space: SpaceId([7; 16]) };
const HEADER_BYTES: usize = 44;

/// Reads a file to its end, or to what is wrong with it, applies what is good, and says what the memory came to.
fn read(bytes: &[u8]) -> Result<usize, TestCaseError> {
    let folder = Folder::new("readers");
    let path = folder.path().join("00000000000000000001.fcj");
    std::fs::write(&path, bytes).unwrap();
    let part = ArchivePart { first: 1, path };
    let mut good: std::thread::Result<usize> = Ok(0);
    // Caught here: a measurement that a panic leaves goes on for the thread.
    let used = measure(|| good = catch_unwind(AssertUnwindSafe(|| good_entries(&part)))).bytes_max;
    let good = good.unwrap_or_else(|panic| resume_unwind(panic));
    let allowed = (bytes.len() * FACTOR + BESIDE) as u64;
    prop_assert!(
        used <= allowed,
        "{used} bytes for a file of {}, {allowed} are allowed",
        bytes.len()
    );
    Ok(good)
}

/// Reads a part as far as it is good, and returns how many entries that were.
fn good_entries(part: &ArchivePart) -> usize {
    let Ok(mut frames) = Frames::open(part, SEALER) else { return 0 };
    let (mut chain, mut good) = (Chain::default(), 0);
    while let Ok(Some((entry, name))) = frames.next_entry() {
        if chain.follow(&entry, name).is_err() {
            break;
        }
        if let Ok((_, body)) = entry.open() {
            drop(body.commands());
        }
        good += 1;
    }
    good
}

fn header(sealer: &Sealer) -> Vec<u8> {
    let mut bytes = b"FCARCHIV".to_vec();
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(sealer.space.0);
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes
}

/// Returns the bytes of an entry as an archive has it, its length in front set to `length`.
fn frame(entry: &Entry, length: u32) -> Vec<u8> {
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(entry.position.to_le_bytes());
    bytes.extend(entry.at.as_micros().to_le_bytes());
    bytes.extend(entry.epoch.to_le_bytes());
    bytes.extend(entry.before.node.0);
    bytes.extend(entry.before.number.to_le_bytes());
    bytes.extend(&*entry.body);
    bytes.extend(SEALER.seal(entry).to_le_bytes());
    bytes
}

fn entries(count: u64) -> Vec<Entry> {
    let (mut before, node) = (Name::default(), NodeId([1; 16]));
    let of = |position: u64| {
        let mut writer = BodyWriter::new(node, position, 0);
        let subject = format!("subject-{position}");
        assert!(writer.push(&Command::claim("spring", None, &subject)));
        let at = Timestamp::from_micros(position.cast_signed());
        let entry = Entry { position, at, epoch: 0, before, body: writer.finish().into() };
        before = Name { node, number: position };
        entry
    };
    (1..=count).map(of).collect()
}

fn file(entries: &[Entry]) -> Vec<u8> {
    let frames = entries.iter().flat_map(|entry| frame(entry, entry.body.len() as u32));
    header(&SEALER).into_iter().chain(frames).collect()
}

/// Returns a body with some of its bytes turned, and a checksum that fits.
fn turned(body: &[u8], flips: &[(Index, u8)], cut: Option<Index>) -> Vec<u8> {
    let mut content = body[..body.len() - 8].to_vec();
    if let Some(cut) = cut {
        content.truncate(cut.index(content.len()));
    }
    for (at, bit) in flips {
        if !content.is_empty() {
            let at = at.index(content.len());
            content[at] ^= 1 << (bit % 8);
        }
    }
    content.extend(xxh3_64(&content).to_le_bytes());
    content
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_files(bytes in vec(any::<u8>(), 0..600), with_header: bool) {
        let front = if with_header { header(&SEALER) } else { Vec::new() };
        read(&[front, bytes].concat())?;
    }

    #[test]
    fn files_with_bytes_turned_cut_and_put_in(
        flips in vec((any::<Index>(), 0..8_u8), 0..4),
        cut in proptest::option::of(any::<Index>()),
        more in proptest::option::of((any::<Index>(), vec(any::<u8>(), 1..40))),
    ) {
        let mut bytes = file(&entries(5));
        if let Some((at, more)) = more {
            let at = at.index(bytes.len());
            bytes.splice(at..at, more);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        for (at, bit) in flips {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
        }
        prop_assert!(read(&bytes)? <= 5);
    }

    #[test]
    fn lengths_that_are_too_large(which in 0..5_usize, length: u32, small in 0..2_000_000_u32) {
        for length in [length, small, 1 << 20, u32::MAX] {
            let entries = entries(5);
            let mut bytes = file(&entries[..which]);
            bytes.extend(frame(&entries[which], length));
            let good = length as usize == entries[which].body.len();
            prop_assert_eq!(read(&bytes)?, which + usize::from(good));
        }
    }

    #[test]
    fn entries_that_are_sealed_and_strange(
        position in prop_oneof![Just(3_u64), any::<u64>()],
        at: i64,
        epoch: u32,
        number: u64,
        flips in vec((any::<Index>(), 0..8_u8), 0..6),
        cut in proptest::option::of(any::<Index>()),
    ) {
        let mut all = entries(4);
        let body = turned(&all[2].body, &flips, cut).into();
        let before = Name { node: all[2].before.node, number };
        all[2] = Entry { position, at: Timestamp::from_micros(at), epoch, before, body };
        prop_assert!((2..=4).contains(&read(&file(&all))?));
    }
}

/// What these tests rest on: unchanged, everything is read, and the rules take it.
#[test]
fn the_files_are_good_before_they_are_changed() {
    let all = entries(5);
    assert_eq!(read(&file(&all)).unwrap(), 5);
    assert_eq!(header(&SEALER).len(), HEADER_BYTES);
    let mut state = State::new(SEALER.space);
    for entry in &all {
        let (stamp, body) = entry.open().unwrap();
        state.apply(stamp, &body.commands().unwrap(), &mut Vec::new());
    }
    assert_eq!(state.position(), 5);
}
