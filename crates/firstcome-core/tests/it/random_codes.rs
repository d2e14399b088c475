//! Random commands on codes, with what must hold after each; and many at once for the last use.

use crate::coding::hash;
use crate::comparison::same_as_the_model;
use crate::play::play;
use crate::snapshots::{restored, taken};
use crate::world::{Gave, SECOND, START, World, node};
use firstcome_core::campaign::CodeStatus;
use firstcome_core::codes::{CodeKey, CodeVerdict, UseState};
use firstcome_core::command::{CodeCommand, CodeStep, Late, Order, StagedCode, Step, Wish};
use firstcome_core::limits::{CODE_SPARE_REFERENCES, CODES_TOGETHER, IMPORTS, REISSUES};
use firstcome_core::{CodeOutcome, CodeRefusal, Command, Outcome, State};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::{BTreeMap, BTreeSet};

const SUBJECTS: [&str; 4] = ["ann", "bob", "eve", "zoe"];
const REFERENCES: [&str; 4] = ["o1", "o2", "o3", "o4"];
const TEXTS: [&str; 8] = ["A", "B", "B/x", "B/y", "C", "C/x", "D", "E"];
const OFFERS: [&str; 4] = ["offer-1", "offer-2", "offer-3", "offer-4"];
const SEALED: &[u8] = b"0123456789abcdef-";

fn code() -> impl Strategy<Value = (&'static str, CodeKey)> {
    prop_oneof![
        (1..5_u32, 1..4_u64).prop_map(|(unit, tag)| ("made", CodeKey::Generated { unit, tag })),
        select(&TEXTS[..]).prop_map(|text| ("stock", CodeKey::Imported { hash: hash(text) })),
    ]
}

fn command() -> impl Strategy<Value = Command<'static>> {
    let step = || {
        (code(), select(&REFERENCES[..])).prop_map(|((pool, code), reference)| CodeStep {
            campaign: "sale",
            pool: Some(pool),
            code,
            reference,
        })
    };
    let subject = || proptest::option::of(select(&SUBJECTS[..]));
    let order = Order { id: None, who: "ops" };
    let pool = || select(&["made", "stock"][..]);
    prop_oneof![
        4 => (pool(), select(&SUBJECTS[..]), 1..4_u64).prop_map(|(pool, subject, tag)| {
            let (campaign, pool, tag) = ("sale", Some(pool), Some(tag));
            Command::Claim { campaign, pool, subject, limit: None, tag }
        }),
        4 => (step(), subject(), 1..30_i64).prop_map(|(step, subject, ttl)| {
            Command::Code(CodeCommand::Reserve { step, subject, ttl_us: ttl * SECOND })
        }),
        6 => (step(), subject())
            .prop_map(|(step, subject)| Command::Code(CodeCommand::Redeem { step, subject })),
        3 => step().prop_map(|step| Command::Code(CodeCommand::RollBack { step })),
        2 => step().prop_map(|step| Command::Code(CodeCommand::EndReservation { step })),
        1 => (code(), select(&CodeVerdict::ALL[..])).prop_map(move |((pool, code), verdict)| {
            let (campaign, codes, reason) = ("sale", vec![code], "");
            Command::Code(CodeCommand::Mark { campaign, pool, codes, verdict, reason, order })
        }),
        1 => (pool(), select(&SUBJECTS[..]), 1..4_u32, 2..4_u16, 4..7_u64).prop_map(
            move |(pool, subject, rank, issue, tag)| {
                let (campaign, tag, reason) = ("sale", Some(tag), "");
                let again =
                    CodeCommand::Reissue { campaign, pool, subject, rank, issue, tag, reason, order };
                Command::Code(again)
            }
        ),
        2 => (0..4_u32, proptest::collection::vec(select(&TEXTS[..]), 1..4)).prop_map(
            move |(first, texts)| {
                let staged = |text: &&str| StagedCode { hash: hash(text), sealed: SEALED };
                let codes = texts.iter().map(staged).collect();
                let (campaign, pool, import) = ("sale", "stock", "i1");
                Command::Code(CodeCommand::Stage { campaign, pool, import, first, codes, order })
            }
        ),
        1 => (1..5_u32).prop_map(move |lines| {
            let (campaign, pool, import) = ("sale", "stock", "i1");
            Command::Code(CodeCommand::Commit { campaign, pool, import, lines, order })
        }),
        1 => Just(Command::Code(CodeCommand::RevokeImport {
            campaign: "sale", pool: "stock", import: "i1", reason: "", order,
        })),
        4 => (pool(), select(&SUBJECTS[..])).prop_map(|(pool, subject)| {
            let (campaign, pool, wish) = ("sale", Some(pool), Wish::units(1));
            Command::Join { campaign, pool, subject, wish, limit: None }
        }),
        1 => (pool(), select(&SUBJECTS[..])).prop_map(|(pool, subject)| {
            Command::Leave { campaign: "sale", pool: Some(pool), subject }
        }),
        1 => (select(&OFFERS[..]), select(&SUBJECTS[..]), any::<bool>()).prop_map(
            |(hold, subject, releases)| {
                let step = Step { campaign: "sale", hold, subject, id: None };
                if releases {
                    Command::Release { step, units: Vec::new() }
                } else {
                    Command::Confirm { step, units: Vec::new(), late: Late::Retake }
                }
            }
        ),
        2 => (pool(), select(&SUBJECTS[..]), 1..4_u32).prop_map(|(pool, subject, rank)| {
            let by = firstcome_core::outcome::By::Subject;
            let (campaign, pool, reason, who) = ("sale", Some(pool), "", subject);
            Command::Cancel { campaign, pool, subject, rank, by, reason, who }
        }),
    ]
}

/// Checks what must hold of every code, whatever was asked.
fn check(world: &World) {
    let state = &world.state;
    let (now, campaign) = ((state.at(), state.service()), state.campaign("sale").unwrap());
    for (index, pool) in campaign.pools().iter().enumerate() {
        let (mut units, mut owners) = (BTreeSet::new(), BTreeMap::new());
        for rank in 1..=pool.last_rank() {
            let view = campaign.code_at(index, rank, now).unwrap();
            let unit = format!("{:?}", view.unit);
            let owner = owners.entry(unit.clone()).or_insert(view.subject);
            assert_eq!(*owner, view.subject, "a unit is one subject's");
            assert!(!pool.is_live(rank) || units.insert(unit), "a unit is one claim's");
            assert_eq!(Some(view.subject), pool.claim(rank).map(|claim| claim.subject));
            let (mut used, mut live, mut references) = (0, 0, BTreeMap::new());
            for (_, known) in campaign.uses_of(index, rank) {
                let counts = match known.state {
                    UseState::Redeemed | UseState::RolledBack { expired: true, .. } => true,
                    UseState::Reserved { deadline } => {
                        live += u32::from(deadline > now.1);
                        false
                    }
                    UseState::Released | UseState::RolledBack { .. } => false,
                };
                used += u32::from(counts);
                let of_reference = references.entry(&known.reference).or_insert(0);
                *of_reference += u32::from(known.state == UseState::Redeemed);
                assert!(*of_reference <= 1, "a reference redeems a code once");
            }
            assert_eq!((used, live), (view.used, view.reserved));
            assert!(used + live <= view.uses, "uses never exceed the limit");
        }
        let counts = pool.counts();
        let offers = campaign.holds().filter(|hold| hold.is_live() && hold.is_offer());
        let offers: Vec<&str> = offers
            .filter(|hold| usize::from(hold.takes()[0].pool) == index)
            .map(|hold| hold.subject())
            .collect();
        assert_eq!(counts.held as usize, offers.len(), "what is held is offered");
        // Imported codes may be withdrawn while they are offered; the others cannot be.
        let all = counts.held + counts.confirmed + pool.left();
        let fits = if index == 0 { all == pool.capacity() } else { all >= pool.capacity() };
        assert!(fits && counts.confirmed <= pool.capacity(), "a unit is in one state");
        list_is_kept(state, index, &offers);
    }
    let counts = |status| !matches!(status, CodeStatus::Revoked);
    let any = (0..campaign.pools().len()).any(|index| {
        let ranks = 1..=campaign.pools()[index].last_rank();
        ranks.filter_map(|rank| campaign.code_at(index, rank, now)).any(|view| counts(view.status))
    });
    assert_eq!(campaign.has_valid_codes(START), any, "what counts is counted");
}

/// Checks that nobody is on a list twice, or waits for what is free, and that the order is that of joining.
fn list_is_kept(state: &State, index: usize, offers: &[&str]) {
    let campaign = state.campaign("sale").unwrap();
    let pool = &campaign.pools()[index];
    let waiting: Vec<_> = pool.waiters_after(0).collect();
    assert!(waiting.is_sorted_by(|one, next| one.ticket < next.ticket));
    let mut alone: BTreeSet<&str> = waiting.iter().map(|waiting| waiting.subject).collect();
    alone.extend(offers);
    assert_eq!(alone.len(), waiting.len() + offers.len(), "one place or one offer each");
    assert!(waiting.is_empty() || pool.left() == 0, "somebody waits for what is free");
    for waiting in &waiting {
        let has = pool.claims_of(waiting.subject).any(|claim| claim.cancel.is_none());
        assert!(!has, "who has a code does not wait");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_no_code_is_used_beyond_its_uses(
        commands in proptest::collection::vec((command(), 0..20_i64), 1..60),
        back in 0..60_usize,
    ) {
        let mut world = play(
            "
            0s op puts sale: made coded 3; uses 2; each 2; valid 300s; stock imported; uses 2; again; offer 30s -> created 1
            ",
        );
        let mut at = START;
        for (nth, (command, later)) in commands.iter().enumerate() {
            at = at.plus_micros(later * SECOND);
            let number = world.state.position() + 1;
            world.entry(at, node(0), number, std::slice::from_ref(command));
            check(&world);
            if nth == back {
                let back = restored(&taken(&world.state, true));
                prop_assert_eq!(back.memory(), back.walked_memory());
                world.replace_twin(back);
            }
        }
        prop_assert_eq!(world.state.memory(), world.state.walked_memory());
        same_as_the_model(&world);
    }
}

/// What one person can do alone, and what a shop does with codes in that person's name.
fn alone() -> impl Strategy<Value = Command<'static>> {
    let (campaign, pool, subject, limit) = ("sale", Some("main"), "ann", None);
    let step = || {
        (select(&["A", "B", "C"][..]), select(&REFERENCES[..2])).prop_map(
            move |(text, reference)| CodeStep {
                campaign,
                pool,
                code: CodeKey::Imported { hash: hash(text) },
                reference,
            },
        )
    };
    prop_oneof![
        6 => Just(Command::Claim { campaign, pool, subject, limit, tag: None }),
        2 => Just(Command::Join { campaign, pool, subject, wish: Wish::units(1), limit }),
        1 => Just(Command::Leave { campaign, pool, subject }),
        6 => (1..9_u32).prop_map(move |rank| {
            let (by, reason, who) = (firstcome_core::outcome::By::Subject, "", subject);
            Command::Cancel { campaign, pool, subject, rank, by, reason, who }
        }),
        2 => step().prop_map(|step| {
            Command::Code(CodeCommand::Reserve { step, subject: None, ttl_us: SECOND })
        }),
        1 => step().prop_map(|step| Command::Code(CodeCommand::EndReservation { step })),
        1 => step().prop_map(|step| Command::Code(CodeCommand::Redeem { step, subject: None })),
        2 => step().prop_map(|step| Command::Code(CodeCommand::RollBack { step })),
        1 => (1..4_u32).prop_map(move |rank| {
            let (pool, tag, reason) = ("main", None, "");
            let (issue, order) = (2, Order { id: None, who: "ops" });
            let again =
                CodeCommand::Reissue { campaign, pool, subject, rank, issue, tag, reason, order };
            Command::Code(again)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn one_person_never_has_more_of_the_imported_codes_than_one_and_those_that_replaced_it(
        commands in proptest::collection::vec((alone(), 0..3_i64), 1..60),
    ) {
        let mut world = play(
            "
            0s op puts sale: main imported; again; offer 30s     -> created 1
            0s op stages sale/main i1 from 0: A B C D E F        -> codes_staged 6
            0s op commits sale/main i1 of 6                      -> codes_imported 6 of 6
            ",
        );
        let (mut at, mut seen, mut replaced) = (START, BTreeSet::new(), 0);
        for (command, later) in &commands {
            at = at.plus_micros(later * SECOND);
            let number = world.state.position() + 1;
            world.entry(at, node(0), number, std::slice::from_ref(command));
            let campaign = world.state.campaign("sale").unwrap();
            let all = campaign.codes_of("ann", (at, world.state.service()));
            seen.extend(all.map(|view| format!("{:?}", view.unit)));
            let marks = campaign.pools()[0].codes().unwrap().marks();
            replaced = marks.iter().filter(|mark| mark.verdict.is_none()).count();
            prop_assert!(seen.len() <= 1 + replaced, "saw {seen:?}");
        }
        let others = ["p1", "p2", "p3", "p4", "p5"].map(|subject| {
            Command::Claim { campaign: "sale", pool: None, subject, limit: None, tag: None }
        });
        let number = world.state.position() + 1;
        let Gave::Outcomes(said) = world.entry(at, node(0), number, &others) else {
            panic!("it is new");
        };
        let won = said.iter().filter(|said| said.as_str() == "won").count();
        prop_assert_eq!(won, 5 - replaced);
        same_as_the_model(&world);
    }
}

fn redeem(unit: u32, reference: &str) -> Command<'_> {
    let code = CodeKey::Generated { unit, tag: 7 };
    let step = CodeStep { campaign: "sale", pool: None, code, reference };
    Command::Code(CodeCommand::Redeem { step, subject: None })
}

fn outcomes(world: &mut World, commands: &[Command<'_>]) -> Vec<Outcome> {
    let number = world.state.position() + 1;
    match world.entry(START, node(0), number, commands) {
        Gave::Outcomes(outcomes) => outcomes,
        Gave::Copy => panic!("it is new"),
    }
}

#[test]
fn of_64_at_once_for_the_last_use_one_gets_it_a_thousand_times() {
    let mut world = play(
        "
        0s op puts sale: main coded 1000 -> created 1
        ",
    );
    let references: Vec<String> = (0..64).map(|n| format!("order-{n}")).collect();
    let subjects: Vec<String> = (0..1_000).map(|n| format!("s{n}")).collect();
    for (unit, subject) in (1..).zip(&subjects) {
        let (campaign, limit, tag) = ("sale", None, Some(7));
        let claim = Command::Claim { campaign, pool: None, subject, limit, tag };
        let all: Vec<_> = std::iter::once(claim)
            .chain(references.iter().map(|reference| redeem(unit, reference)))
            .collect();
        let said = outcomes(&mut world, &all);
        let redeemed = |said: &&Outcome| said.as_str() == "redeemed";
        let refused = |said: &&Outcome| **said == CodeRefusal::CodeUsed.into();
        let counts = (said.iter().filter(redeemed).count(), said.iter().filter(refused).count());
        assert_eq!(counts, (1, 63));
    }
    let pool = &world.state.campaign("sale").unwrap().pools()[0];
    assert!(pool.memory() <= 1_000 * 512, "{} bytes for 1,000 redemptions", pool.memory());
}

#[test]
fn a_code_remembers_so_many_references_a_claim_so_many_codes_and_a_pool_so_many_imports() {
    let mut world = play(
        "
        0s op  puts sale: main coded 5 -> created 1
        0s op  puts stock: main imported -> created 1
        0s ann claims sale tag 7 -> won 1
        ",
    );
    let last = CODE_SPARE_REFERENCES;
    for n in 0..=last + 1 {
        let reference = format!("o{n}");
        let code = CodeKey::Generated { unit: 1, tag: 7 };
        let step = CodeStep { campaign: "sale", pool: None, code, reference: &reference };
        let reserve = CodeCommand::Reserve { step, subject: None, ttl_us: SECOND };
        let (reserve, end) =
            (Command::Code(reserve), Command::Code(CodeCommand::EndReservation { step }));
        let said = outcomes(&mut world, &[reserve, end]);
        let refused = said[0] == CodeRefusal::TooManyReferences.into();
        assert_eq!(refused, n > last, "reference {n}");
    }
    let order = Order { id: None, who: "ops" };
    for issue in 2..=REISSUES + 1 {
        let (campaign, pool, subject, rank, reason) = ("sale", "main", "ann", 1, "");
        let tag = Some(u64::from(issue) + 100);
        let again =
            CodeCommand::Reissue { campaign, pool, subject, rank, issue, tag, reason, order };
        let said = outcomes(&mut world, &[Command::Code(again)]);
        assert_eq!(said[0] == CodeRefusal::TooManyReissues.into(), issue > REISSUES);
    }
    for n in 0..=IMPORTS {
        let (campaign, pool, import) = ("stock", "main", &*format!("i{n}"));
        let codes = vec![StagedCode { hash: hash(import), sealed: SEALED }];
        let stage = CodeCommand::Stage { campaign, pool, import, first: 0, codes, order };
        let commit = CodeCommand::Commit { campaign, pool, import, lines: 1, order };
        let said = outcomes(&mut world, &[Command::Code(stage), Command::Code(commit)]);
        assert_eq!(said[0] == CodeRefusal::TooManyImports.into(), n == IMPORTS);
    }
    let back = restored(&taken(&world.state, true));
    assert_eq!(back.memory(), back.walked_memory());
    world.replace_twin(back);
}

#[test]
fn a_million_codes_are_imported_take_60_bytes_each_and_no_more_are() {
    let mut state = play(
        "
        0s op puts sale: main imported -> created 1
        ",
    )
    .state;
    let before = state.memory();
    let order = Order { id: None, who: "ops" };
    let (campaign, pool, import) = ("sale", "main", "i1");
    let mut apply = |command: CodeCommand<'_>| {
        let position = state.position() + 1;
        let (node, number, level) = (node(0), position, firstcome_core::LEVEL);
        let stamp = firstcome_core::Stamp {
            position,
            at: START,
            epoch: 0,
            node,
            number,
            again_of: None,
            level,
        };
        let mut outcomes = Vec::new();
        state.apply(stamp, &[Command::Code(command)], &mut outcomes);
        (outcomes.remove(0), state.memory())
    };
    // 16 bytes of seal and 12 of text.
    let sealed = [b'x'; 28];
    let most = 1_000_000_u32;
    for first in (0..most).step_by(CODES_TOGETHER) {
        let numbers = first..first + CODES_TOGETHER as u32;
        let hashes =
            numbers.map(|n| u128::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        let codes = hashes.map(|hash| StagedCode { hash, sealed: &sealed }).collect();
        let stage = CodeCommand::Stage { campaign, pool, import, first, codes, order };
        let (said, _) = apply(stage);
        let next = first + CODES_TOGETHER as u32;
        assert_eq!(said, CodeOutcome::Staged { next }.into());
    }
    let more = vec![StagedCode { hash: [0xff; 16], sealed: &sealed }];
    let stage = CodeCommand::Stage { campaign, pool, import, first: most, codes: more, order };
    assert_eq!(apply(stage).0, CodeRefusal::TooManyCodes.into());
    let (said, memory) = apply(CodeCommand::Commit { campaign, pool, import, lines: most, order });
    let (lines, added, duplicates) = (most, most, Vec::new());
    assert_eq!(said, CodeOutcome::Committed { lines, added, duplicates }.into());
    let each = (memory - before) / most as usize - 12;
    assert!(each <= 60, "{each} bytes a code beyond its text");
}

/// Whoever is first at the instant at which a code expires: the redemption is too late at it, and in time one microsecond
/// before; so is a reservation that others wait for.
#[test]
fn expiry_and_redemption_at_one_instant_have_one_winner_in_both_orders() {
    for (ttl, later, redeemed, other) in [
        // The code expires after 10 s, a reservation after `ttl` seconds.
        (20, 10 * SECOND - 1, "redeemed", "code_used"),
        (20, 10 * SECOND, "redeemed", "code_expired"),
        (5, 5 * SECOND - 1, "redeemed", "code_used"),
        (5, 5 * SECOND, "code_used", "redeemed"),
        (5, 10 * SECOND, "code_expired", "code_expired"),
    ] {
        for other_first in [false, true] {
            let mut world = play(
                "
                0s op  puts sale: main coded 1; valid 10s -> created 1
                0s ann claims sale tag 7 -> won 1
                ",
            );
            let step = CodeStep {
                campaign: "sale",
                pool: None,
                code: CodeKey::Generated { unit: 1, tag: 7 },
                reference: "mine",
            };
            let reserve = CodeCommand::Reserve { step, subject: None, ttl_us: ttl * SECOND };
            outcomes(&mut world, &[Command::Code(reserve)]);
            let number = world.state.position() + 1;
            let mut both = [redeem(1, "mine"), redeem(1, "other")];
            if other_first {
                both.reverse();
            }
            let gave = world.entry(START.plus_micros(later), node(0), number, &both);
            let Gave::Outcomes(mut said) = gave else { panic!("it is new") };
            if other_first {
                said.reverse();
            }
            // Before its deadline a reservation wins, also over who comes first.
            let expected = match (redeemed, other, other_first) {
                ("redeemed", "code_used", true) => ["redeemed", "code_reserved"],
                ("code_used", "redeemed", false) => ["redeemed", "code_used"],
                _ => [redeemed, other],
            };
            let said: Vec<_> = said.iter().map(Outcome::as_str).collect();
            assert_eq!(said, expected, "{ttl} s, after {later} us, other first: {other_first}");
            check(&world);
        }
    }
}
