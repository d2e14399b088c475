//! Entries that are skipped: what counts of them, and that every replay that knows it agrees.

use crate::world::{SECOND, SPACE, START, apply, node};
use firstcome_core::command::{BodyWriter, Order};
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::snapshot::{Manifest, Restore};
use firstcome_core::state::{BadSkip, EntryEffect, Skip};
use firstcome_core::{Command, Expect, LEVEL, Settings, Stamp, State};
use xxhash_rust::xxh3::xxh3_64_with_seed;

fn settings() -> Settings {
    Settings {
        title: "".into(),
        opens: Opens::Now,
        closes_at: None,
        limit: None,
        claim_again: false,
        units_return: true,
        public: false,
        holding: HoldSettings::default(),
        pools: vec![PoolSettings::counted("main", 5)],
    }
}

/// The entries of this story: a campaign, ann's claim in two copies, and bob's.
fn entries() -> Vec<(Stamp, Vec<u8>)> {
    let (expect, order) = (Expect::Anything, Order { id: None, who: "op" });
    let put = Command::Put { campaign: "drop", settings: settings(), expect, order };
    let (ann, bob) = (Command::claim("drop", None, "ann"), Command::claim("drop", None, "bob"));
    let batches = [(1, 1, put), (2, 1, ann.clone()), (2, 1, ann), (2, 2, bob)];
    let entry = |(place, (by, number, command)): (usize, (u8, u64, Command<'_>))| {
        let mut body = BodyWriter::new(node(by), number, 0);
        assert!(body.push(&command));
        let position = place as u64 + 1;
        let at = START.plus_micros(place as i64 * SECOND);
        (
            Stamp { position, at, epoch: 0, node: node(by), number, again_of: None, level: LEVEL },
            body.finish(),
        )
    };
    batches.into_iter().enumerate().map(entry).collect()
}

fn skip(position: u64, by: u8, number: u64) -> Skip {
    let (reason, who) = ("areas overflow".into(), "ann".into());
    Skip { position, node: node(by), number, at: START, reason, who }
}

fn replayed(skips: &[Skip]) -> State {
    let mut state = State::new(SPACE);
    state.learn_skips(skips.to_vec());
    for (stamp, body) in entries() {
        apply(&mut state, stamp, &body);
    }
    state
}

fn ranks(state: &State) -> (Option<u32>, Option<u32>) {
    let pool = &state.campaign("drop").unwrap().pools()[0];
    let rank = |subject| pool.claims_of(subject).next().map(|claim| claim.rank);
    (rank("ann"), rank("bob"))
}

#[test]
fn a_skipped_entry_changes_nothing_but_time_and_its_second_copy_neither() {
    assert_eq!(ranks(&replayed(&[])), (Some(1), Some(2)));
    let state = replayed(&[skip(2, 2, 1)]);
    assert_eq!(ranks(&state), (None, Some(1)));
    assert_eq!((state.position(), state.service()), (4, 3 * SECOND));
    assert_eq!(state.skipped(), [skip(2, 2, 1)]);
}

#[test]
fn an_entry_of_another_name_is_not_skipped() {
    let whole = replayed(&[]);
    for other in [skip(2, 1, 1), skip(2, 2, 2), skip(7, 2, 1)] {
        let state = replayed(&[other]);
        assert_eq!((state.digest(), state.skipped()), (whole.digest(), &[][..]));
    }
}

#[test]
fn the_digest_has_a_2_where_others_have_0_or_1() {
    let mut state = State::new(SPACE);
    state.learn_skips([skip(2, 2, 1)]);
    let entries = entries();
    apply(&mut state, entries[0].0, &entries[0].1);
    let (before, stamp) = (state.digest(), entries[1].0);
    let mut outcomes = Vec::new();
    assert_eq!(state.apply(stamp, &[], &mut outcomes), EntryEffect::Skipped);
    let mut part = stamp.position.to_le_bytes().to_vec();
    part.extend_from_slice(&stamp.at.as_micros().to_le_bytes());
    part.extend_from_slice(&stamp.epoch.to_le_bytes());
    part.extend_from_slice(&stamp.node.0);
    part.extend_from_slice(&stamp.number.to_le_bytes());
    part.push(2);
    assert_eq!(state.digest(), xxh3_64_with_seed(&part, before));
    assert!(outcomes.is_empty());
}

#[test]
fn a_snapshot_says_what_was_skipped_and_one_without_has_the_bytes_it_had() {
    let snapshot = |state: &State| {
        let mut frozen = state.freeze(true);
        let mut pieces = Vec::new();
        while let Some(piece) = frozen.next_piece() {
            pieces.push(piece.bytes.unwrap());
        }
        (frozen.finish(), pieces)
    };
    let state = replayed(&[skip(2, 2, 1)]);
    let (manifest, pieces) = snapshot(&state);
    let read = Manifest::decode(&manifest.encode()).unwrap();
    assert_eq!(read, manifest);
    let mut restore = Restore::new(read);
    pieces.iter().for_each(|piece| restore.take(piece).unwrap());
    let again = restore.finish().unwrap();
    assert_eq!((again.skipped(), again.mark()), (state.skipped(), state.mark()));
    assert_eq!(snapshot(&replayed(&[])).0.skipped, []);
    let mut without = manifest.clone();
    without.skipped.clear();
    let record = skip(2, 2, 1).encode().len();
    // One more field: its key is two bytes, its length one.
    assert_eq!(manifest.encode().len(), without.encode().len() + 3 + record);
}

#[test]
fn a_record_reads_back_and_one_that_was_altered_does_not() {
    let bytes = skip(2, 2, 1).encode();
    assert_eq!(Skip::decode(&bytes), Ok(skip(2, 2, 1)));
    for place in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[place] ^= 1;
        assert_eq!(Skip::decode(&altered), Err(BadSkip::Checksum));
        assert_eq!(Skip::decode(&bytes[..place]), Err(BadSkip::Checksum));
    }
}

#[test]
fn an_entry_that_does_not_follow_is_an_answer_and_the_state_says_where_it_stood() {
    let mut state = State::new(SPACE);
    let entries = entries();
    apply(&mut state, entries[0].0, &entries[0].1);
    let before = state.mark();
    let broke = state.try_apply(entries[2].0, &[], &mut Vec::new()).unwrap_err();
    assert_eq!((broke.position, broke.in_time, broke.campaign), (3, true, None));
    assert!(broke.why.contains("entries are applied in order"), "{}", broke.why);
    assert_eq!(state.mark(), before);
}
