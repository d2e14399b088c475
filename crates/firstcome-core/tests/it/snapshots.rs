//! The state in pieces: out, in, and refused when a bit is wrong.

use crate::play::{play, play_on};
use crate::world::{START, World, node};
use firstcome_core::command::{Late, Order, Pick, Step};
use firstcome_core::limits::PIECE_BYTES;
use firstcome_core::names::PieceName;
use firstcome_core::outcome::By;
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::snapshot::{BadSnapshot, Frozen, Manifest, Restore};
use firstcome_core::{Command, Expect, Settings, State};
use proptest::prelude::*;

/// A snapshot as a store has it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) manifest: Vec<u8>,
    pub(crate) pieces: Vec<Vec<u8>>,
}

pub(crate) fn taken(state: &State, whole: bool) -> Taken {
    drain(state.freeze(whole))
}

pub(crate) fn drain(mut frozen: Frozen) -> Taken {
    let mut pieces = Vec::new();
    while let Some(piece) = frozen.next_piece() {
        let bytes = piece.bytes.expect("a whole snapshot brings every byte");
        assert!(bytes.len() <= PIECE_BYTES);
        pieces.push(bytes);
    }
    Taken { manifest: frozen.finish().encode(), pieces }
}

pub(crate) fn restored(taken: &Taken) -> State {
    let manifest = Manifest::decode(&taken.manifest).unwrap();
    let mut restore = Restore::new(manifest);
    for piece in &taken.pieces {
        restore.take(piece).unwrap();
    }
    restore.finish().unwrap()
}

/// A campaign with sealed segments, cancels, claims again, an archived neighbour, ids, nodes and results.
fn full(claims: u32) -> World {
    let mut world = play(
        "
        0s   op#a puts drop: main 900000; vip 5; limit 2; again; closes 90h; title Spring -> created 1
        0s   op   puts gone: main 1; gone; title Winter -> created 1
        0s   ann  claims gone                   -> won 1
        0s   op   closes gone                   -> changed 2
        0s   op   drops gone                    -> changed 3
        0s   op   puts hall: main 3; gone       -> created 1
        0s   op   puts next: main 3; opens 9h   -> created 1
        0s   op#b pauses next                   -> changed 2
        0s   ann  claims hall                   -> won 1
        0s   ann  cancels hall/main 1           -> cancelled by subject at 0s
        1s   n1.7 ann claims drop/vip           -> won 1
        1s   op   cancels ann drop/vip 1 for fraud  -> cancelled by operator at 1s
        1s   bob  claims drop/vip               -> won 2
        1s   bob  cancels drop/vip 2            -> cancelled by subject at 1s
        2s   bob  claims drop/vip               -> won 3
        2s   ledger has 2 in term 3             -> settled 2
    ",
    );
    claim(&mut world, 0, claims);
    world
}

/// Lets subjects numbered `from` to `upto` claim, all in one pool.
fn claim(world: &mut World, from: u32, upto: u32) {
    let names: Vec<String> = (from..upto).map(|n| format!("subject-{n}")).collect();
    for names in names.chunks(4_000) {
        let pool = Some("main");
        let claims = names.iter().map(|subject| Command::claim("drop", pool, subject));
        let claims: Vec<_> = claims.collect();
        let (at, number) = (world.state.at().plus_micros(1), world.state.position() + 1);
        world.entry(at, node(0), number, &claims);
    }
}

const AFTER: &str = "
    3s   op#a puts drop: main 900000; vip 5; limit 2; again; closes 90h; title Spring -> created 1
    3s   op#a pauses drop                   -> id_reused
    3s   n1.7 ann claims drop/vip           -> copy
    3s   n1.8 ann claims drop/vip           -> won 4
    3s   bob  claims drop/vip               -> already_won 3 at 2s
    3s   bob  cancels drop/vip 2            -> cancelled by subject at 1s
    3s   bob  cancels drop/vip 3            -> cancelled by subject at 3s
    3s   bob  claims drop/vip               -> won 5
    3s   ann  claims gone                   -> archived
    3s   ann  claims hall                   -> already_cancelled
    3s   bob  claims hall                   -> won 2
    3s   op   puts new: main 1              -> created 1
    9h   bob  claims next                   -> paused
    90h  bob  claims drop/main              -> closed
";

#[test]
fn what_comes_out_goes_in_and_answers_the_same() {
    let mut world = full(20_000);
    let back = restored(&taken(&world.state, true));
    for name in ["drop", "hall", "next"] {
        let (a, b) = (world.state.campaign(name).unwrap(), back.campaign(name).unwrap());
        assert_eq!(
            (a.version(), a.settings(), a.unsettled()),
            (b.version(), b.settings(), b.unsettled())
        );
        assert_eq!(
            (a.created_at(), a.phase(START), a.number()),
            (b.created_at(), b.phase(START), b.number())
        );
        for (a, b) in a.pools().iter().zip(b.pools()) {
            assert!((1..=a.last_rank() + 1).all(|rank| a.claim(rank) == b.claim(rank)));
            assert_eq!(
                (a.taken(), a.cancelled(), a.last_rank()),
                (b.taken(), b.cancelled(), b.last_rank())
            );
        }
    }
    let archived = |state: &State| -> Vec<_> {
        let gone =
            state.campaigns_named("", "").filter_map(|(name, named)| Some((name, named.err()?)));
        gone.map(|(name, gone)| (name.to_owned(), gone.clone())).collect()
    };
    assert_eq!(archived(&world.state), archived(&back));
    let numbers = |state: &State| -> Vec<_> {
        state.results_after(0).map(|row| (row.number, row.in_campaign)).collect()
    };
    assert_eq!(numbers(&world.state), numbers(&back));
    assert_eq!((world.state.settled(), world.state.term()), (back.settled(), back.term()));
    assert_eq!((world.state.service(), world.state.token()), (back.service(), back.token()));
    world.replace_twin(back);
    play_on(world, AFTER);
}

#[test]
fn a_restored_state_gives_the_same_snapshot_again() {
    let world = full(20_000);
    let once = taken(&world.state, true);
    let twice = taken(&restored(&once), true);
    let segments = |taken: &Taken| taken.pieces.iter().filter(|p| p.len() > 100_000).count();
    assert_eq!(segments(&once), segments(&twice));
    assert_eq!(restored(&twice).mark(), world.state.mark());
}

#[test]
fn which_claims_came_from_holds_is_written_once_for_each_full_run_of_them() {
    let mut world = play("0s op puts hall: vip 9000; many; ttl 9s -> created 1");
    for n in 0..10 {
        let (id, at) = (format!("h{n}"), world.state.at());
        let picks = vec![Pick::quantity("vip", 500)];
        let (campaign, subject) = ("hall", &*id);
        let hold = Command::Hold { campaign, id: &id, subject, picks, limit: None };
        let step = Step { campaign, hold: &id, subject, id: None };
        let confirm = Command::Confirm { step, units: Vec::new(), late: Late::Refuse };
        let number = world.state.position() + 1;
        world.entry(at, node(0), number, &[hold, confirm]);
    }
    let brought = || {
        let mut frozen = world.state.freeze(false);
        let pieces = std::iter::from_fn(|| frozen.next_piece()).inspect(|piece| piece.stored());
        pieces.map(|piece| piece.bytes.is_some()).collect::<Vec<_>>()
    };
    assert!(brought().iter().all(|brought| *brought));
    assert_eq!(
        brought().iter().filter(|brought| !*brought).count(),
        2,
        "of 5,000 in runs of 2,048"
    );
    let kept = taken(&world.state, true);
    assert_eq!(taken(&restored(&kept), true), kept);
}

#[test]
fn a_sealed_segment_is_written_once_in_its_life() {
    let mut world = full(20_000);
    let last = world.state.last_result();
    world = play_on(world, &format!("3s ledger has {last} -> settled {last}"));
    let mut store = std::collections::BTreeMap::new();
    let mut snapshot = |state: &State| -> (Manifest, usize) {
        let (mut frozen, mut written) = (state.freeze(false), 0);
        while let Some(piece) = frozen.next_piece() {
            if let Some(bytes) = &piece.bytes {
                written += bytes.len();
                store.insert(piece.name, bytes.clone());
            }
            assert!(store.contains_key(&piece.name), "a store is told of pieces it has only");
            piece.stored();
        }
        let manifest = frozen.finish();
        let mut restore = Restore::new(manifest.clone());
        while let Some(name) = restore.wanted() {
            restore.take(&store[&name]).unwrap();
        }
        assert_eq!(restore.finish().unwrap().mark(), state.mark());
        (manifest, written)
    };
    let (_, first) = snapshot(&world.state);
    let (_, again) = snapshot(&world.state);
    assert!(again < first / 3, "the second snapshot wrote {again} of {first} bytes");
    claim(&mut world, 20_000, 30_000);
    let (manifest, grown) = snapshot(&world.state);
    assert!(grown < first, "10,000 more claims wrote {grown} bytes after {first}");
    // A node that starts from the store does not write again what the store has.
    let mut restore = Restore::new(manifest);
    while let Some(name) = restore.wanted() {
        restore.take(&store[&name]).unwrap();
    }
    let mut frozen = restore.finish().unwrap().freeze(false);
    let mut rewritten = 0;
    while let Some(piece) = frozen.next_piece() {
        assert!(piece.bytes.is_some() || store.contains_key(&piece.name), "it is nowhere");
        rewritten += piece.bytes.map_or(0, |bytes| bytes.len());
    }
    assert!(rewritten <= grown, "a restarted node wrote {rewritten} bytes after {grown}");
    // Another store gets everything.
    assert!(taken(&world.state, true).pieces.iter().map(Vec::len).sum::<usize>() > first);
}

#[test]
fn claims_go_on_while_a_snapshot_is_taken() {
    let mut world = full(9_000);
    let at_once = taken(&world.state, true);
    let mut frozen = world.state.freeze(true);
    let mark = world.state.mark();
    let mut pieces = Vec::new();
    let mut next = 9_000;
    while let Some(piece) = frozen.next_piece() {
        pieces.push(piece.bytes.unwrap());
        claim(&mut world, next, next + 3_000);
        next += 3_000;
    }
    let slowly = Taken { manifest: frozen.finish().encode(), pieces };
    assert_eq!(slowly, at_once);
    assert_eq!(restored(&slowly).mark(), mark);
}

#[test]
fn longest_names_and_reasons_fit_their_pieces() {
    let mut world = World::new();
    let name = "c".repeat(64);
    let pools = (0..256).map(|n| PoolSettings::counted(&format!("{n:064}"), 600));
    let settings = Settings {
        title: "t".repeat(256).into(),
        opens: Opens::Now,
        closes_at: None,
        limit: None,
        claim_again: false,
        units_return: true,
        public: false,
        holding: HoldSettings::default(),
        pools: pools.collect(),
    };
    settings.check().unwrap();
    let (id, who) = ("i".repeat(64), "w".repeat(64));
    let order = Order { id: Some(&id), who: &who };
    let put = Command::Put { campaign: &name, settings, expect: Expect::Anything, order };
    world.entry(START, node(1), 1, &[put]);
    let (pool, reason) = ("0".repeat(64), "r".repeat(256));
    for n in 0..600_u32 {
        let subject = format!("{n:0255}");
        let claim = Command::claim(&name, Some(&pool), &subject);
        let by = By::Operator;
        let (pool, who) = (Some(pool.as_str()), who.as_str());
        let subject = subject.as_str();
        let cancel = Command::Cancel {
            campaign: &name,
            pool,
            subject,
            rank: n + 1,
            by,
            reason: &reason,
            who,
        };
        world.entry(START, node(1), u64::from(n) + 2, &[claim, cancel]);
    }
    assert_eq!(restored(&taken(&world.state, true)).mark(), world.state.mark());
}

#[test]
fn many_small_pools_share_pieces() {
    let mut world = World::new();
    for n in 0..300_u64 {
        let name = format!("drop-{n}");
        let pools = vec![PoolSettings::counted("main", 5)];
        let settings = Settings {
            title: "".into(),
            opens: Opens::Now,
            closes_at: None,
            limit: None,
            claim_again: false,
            units_return: true,
            public: false,
            holding: HoldSettings::default(),
            pools,
        };
        let order = Order::default();
        let put = Command::Put { campaign: &name, settings, expect: Expect::Anything, order };
        let claim = Command::claim(&name, None, "ann");
        world.entry(START, node(1), n + 1, &[put, claim]);
    }
    assert!(taken(&world.state, true).pieces.len() < 3);
}

#[test]
fn one_wrong_bit_anywhere_is_refused() {
    let whole = taken(&full(200).state, true);
    for bit in 0..whole.manifest.len() * 8 {
        let mut manifest = whole.manifest.clone();
        manifest[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Manifest::decode(&manifest), Err(BadSnapshot::Checksum));
    }
    for cut in 0..whole.manifest.len() {
        assert_eq!(Manifest::decode(&whole.manifest[..cut]), Err(BadSnapshot::Checksum));
    }
    let manifest = Manifest::decode(&whole.manifest).unwrap();
    for (place, piece) in whole.pieces.iter().enumerate() {
        for byte in 0..piece.len() {
            let mut altered = piece.clone();
            altered[byte] ^= 1 << (byte % 8);
            let mut restore = Restore::new(manifest.clone());
            whole.pieces[..place].iter().for_each(|good| restore.take(good).unwrap());
            let name = restore.wanted().unwrap();
            assert_eq!(restore.take(&altered), Err(BadSnapshot::Altered(name)));
        }
    }
}

#[test]
fn pieces_that_are_missing_or_too_many_are_refused() {
    let whole = taken(&full(200).state, true);
    let manifest = Manifest::decode(&whole.manifest).unwrap();
    let restore = Restore::new(manifest.clone());
    assert!(matches!(restore.finish(), Err(BadSnapshot::Unfit(_))));
    let mut restore = Restore::new(manifest);
    whole.pieces.iter().for_each(|piece| restore.take(piece).unwrap());
    assert!(matches!(restore.take(&whole.pieces[0]), Err(BadSnapshot::Unfit(_))));
}

proptest! {
    /// Bytes whose name fits but which no build wrote: refused or taken, never a panic.
    #[test]
    fn made_up_pieces_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        twice: bool,
    ) {
        thread_local!(static WHOLE: Taken = taken(&full(50).state, true));
        WHOLE.with(|whole| {
            let mut pieces = whole.pieces.clone();
            for (at, byte) in &changes {
                let place = at.index(pieces.len());
                let at = at.index(pieces[place].len());
                pieces[place][at] = *byte;
            }
            if twice {
                pieces.push(pieces[0].clone());
            }
            let mut manifest = Manifest::decode(&whole.manifest).unwrap();
            manifest.pieces = pieces.iter().map(|piece| PieceName::of(piece)).collect();
            let mut restore = Restore::new(manifest);
            if pieces.iter().all(|piece| restore.take(piece).is_ok()) {
                drop(restore.finish());
            }
        });
    }
}
