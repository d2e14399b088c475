//! Bodies as they are stored: what fits, what is refused, and that no bytes do harm.

use crate::world::{SPACE, START, node};
use firstcome_core::command::{
    BadBody, BadCommand, Body, BodyWriter, Encoded, Mark, Order, Pick, Steer, Step, Wish,
};
use firstcome_core::hall::{Price, SeatChange};
use firstcome_core::limits::{BATCH_BYTES, BATCH_COMMANDS};
use firstcome_core::names::Name;
use firstcome_core::outcome::By;
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::{Command, Expect, LEVEL, Settings, Stamp, State};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

fn settings() -> Settings {
    let pool = |name: &str, capacity| PoolSettings::counted(name, capacity);
    Settings {
        title: "Frühling".into(),
        opens: Opens::At(START),
        closes_at: Some(START.plus_micros(9)),
        limit: Some(2),
        claim_again: true,
        units_return: false,
        public: false,
        holding: HoldSettings::default(),
        pools: vec![pool("main", 500), pool("vip", u32::MAX - 1)],
    }
}

const SEAT: SeatChange<'static> = SeatChange {
    name: "A1",
    new_name: Some("B1"),
    grade: Some("R"),
    price: Some(Price { minor: -1, currency: *b"KRW" }),
};

const WISH: Wish<'static> =
    Wish { quantity: 10, grade: Some("R"), channel: Some("web"), area: None, adjacent: true };

/// Every kind of command, with everything it can carry and with as little as it may.
fn commands() -> Vec<Command<'static>> {
    let (campaign, subject) = ("drop", "선착순");
    let order = Order { id: Some("id"), who: "ops" };
    let mark = Mark { position: 7, digest: u64::MAX };
    let cancel = |by, reason, who| {
        let (pool, rank) = (Some("main"), u32::MAX);
        Command::Cancel { campaign, pool, subject, rank, by, reason, who }
    };
    let put = |opens, expect, order| {
        let settings = Settings { opens, ..settings() };
        Command::Put { campaign, settings, expect, order }
    };
    let mut commands = vec![
        Command::claim(campaign, None, subject),
        Command::claim(campaign, Some("main"), "x"),
        Command::Claim { campaign, pool: None, subject, limit: Some(1), tag: None },
        Command::Claim { campaign, pool: Some("main"), subject, limit: Some(u32::MAX), tag: None },
        cancel(By::Subject, "", ""),
        cancel(By::Operator, "fraud", "ops"),
        Command::Cancel {
            campaign,
            pool: None,
            subject,
            rank: 1,
            by: By::Subject,
            reason: "",
            who: "",
        },
        Command::Bar { campaign, subject, reason: "resale", order },
        Command::Bar { campaign, subject: "x", reason: "", order: Order::default() },
        Command::Unbar { campaign, subject, order },
        Command::ChangeSeats { campaign, pool: "main", seats: vec![SEAT], order },
        Command::Join { campaign, pool: None, subject, wish: Wish::units(1), limit: None },
        Command::Join { campaign, pool: Some("main"), subject, wish: WISH, limit: Some(4) },
        Command::Leave { campaign, pool: Some("main"), subject },
        put(Opens::At(START), Expect::Anything, order),
        put(Opens::Now, Expect::Absent, Order::default()),
        put(Opens::Undecided, Expect::Version(0), order),
        put(Opens::Undecided, Expect::Version(u32::MAX), order),
        Command::Tick { mark },
        Command::Settled { through: u64::MAX, term: u64::MAX, mark },
    ];
    let archive = |drop_unsettled| Steer::Archive { drop_unsettled };
    let steers =
        [Steer::Pause, Steer::Resume, Steer::Close, archive(false), archive(true), Steer::Delete];
    commands.extend(steers.map(|steer| Command::Steer { campaign, steer, order }));
    commands
}

fn body(commands: &[Command<'_>]) -> Vec<u8> {
    let mut body = BodyWriter::new(node(3), 9, 4);
    assert!(commands.iter().all(|command| body.push(command)));
    body.finish()
}

#[test]
fn commands_read_back_as_they_were_written() {
    let bytes = body(&commands());
    let read = Body::open(&bytes).unwrap();
    assert_eq!((read.head.level, read.head.node), (LEVEL, node(3)));
    assert_eq!((read.head.number, read.head.durable), (9, 4));
    assert_eq!(read.commands().unwrap(), commands());
}

#[test]
fn a_command_is_none_of_a_body_of_a_lower_level() {
    firstcome_inject::invent_level(true);
    let raise = Command::Raise { level: LEVEL + 1, who: "ops" };
    let read = |level| {
        let mut body = BodyWriter::at_level(level, node(3), 9, 4);
        assert!(body.push(&raise));
        let bytes = body.finish();
        Body::open(&bytes).unwrap().commands().map(|read| read == [raise.clone()])
    };
    assert!(read(LEVEL).unwrap_err().what.contains("higher level"));
    assert_eq!(read(LEVEL + 1), Ok(true));
}

#[test]
fn a_claim_takes_its_subject_and_three_bytes() {
    let claim = |subject| Command::claim("drop", Some("main"), subject);
    let one = body(&[claim("ann")]).len();
    assert_eq!(body(&[claim("ann"), claim("bob")]).len() - one, 3 + 3);
}

#[test]
fn content_is_what_is_asked_not_who_asks() {
    let put = |title: &str, order| {
        let settings = Settings { title: title.into(), ..settings() };
        Command::Put { campaign: "drop", settings, expect: Expect::Anything, order }.content()
    };
    let ops = Order { id: Some("a"), who: "ops" };
    assert_eq!(put("T", ops), put("T", Order::default()));
    assert_ne!(put("T", ops), put("U", ops));
    let seen: std::collections::BTreeSet<u64> =
        commands().iter().map(|command| command.content()).collect();
    assert_eq!(
        seen.len(),
        4 + 6 + 4 + 3 + 1,
        "each put and each steer is its own, the others have none"
    );
}

#[test]
fn a_batch_is_full_at_its_limits_and_what_did_not_fit_leaves_no_trace() {
    let claim = Command::claim("drop", None, "ann");
    let mut many = BodyWriter::new(node(1), 1, 0);
    assert!((0..BATCH_COMMANDS).all(|_| many.push(&claim)));
    assert!(!many.push(&claim));
    assert!(!many.push(&Command::claim("other", None, "ann")));
    let bytes = many.finish();
    let read = Body::open(&bytes).unwrap().commands().unwrap();
    assert_eq!(read, vec![claim; BATCH_COMMANDS]);

    let reason = "r".repeat(256);
    let subject = "s".repeat(255);
    let cancel = Command::Cancel {
        campaign: "drop",
        pool: Some("main"),
        subject: &subject,
        rank: 1,
        by: By::Operator,
        reason: &reason,
        who: "ops",
    };
    let mut large = BodyWriter::new(node(1), 1, 0);
    while large.push(&cancel) {}
    let commands = large.commands();
    let bytes = large.finish();
    assert!(bytes.len() <= BATCH_BYTES && bytes.len() > BATCH_BYTES - 1_000);
    assert_eq!(Body::open(&bytes).unwrap().commands().unwrap().len(), commands);
    // Written again it has the name of its batch beside its own, and still fits.
    let again = BodyWriter::again(&bytes, Name { node: node(2), number: u64::MAX }).unwrap();
    assert!(again.len() <= BATCH_BYTES);
    assert_eq!(Body::open(&again).unwrap().commands().unwrap().len(), commands);
}

#[test]
fn a_body_that_is_written_again_has_another_name_and_the_batch_of_the_first() {
    let claim = Command::claim("drop", None, "ann");
    let first = body(std::slice::from_ref(&claim));
    let batch = Body::open(&first).unwrap().head.name();
    let mut bytes = first;
    for number in 2..=3 {
        let name = Name { node: node(9), number };
        bytes = BodyWriter::again(&bytes, name).unwrap();
        let read = Body::open(&bytes).unwrap();
        assert_eq!((read.head.name(), read.head.batch()), (name, batch));
        assert_eq!(read.commands().unwrap(), vec![claim.clone()]);
    }
    // A body that names itself is refused: one batch would have two forms.
    let itself = BodyWriter::new(node(1), 1, 0).again_of(Name { node: node(1), number: 1 });
    let refused = Body::open(&itself.finish()).unwrap_err().to_string();
    assert!(refused.contains("no other name"), "{refused}");
}

#[test]
fn thousands_of_names_in_one_batch_read_back() {
    let names: Vec<String> = (0..BATCH_COMMANDS).map(|n| format!("c{}", n % 1_500)).collect();
    let claims = names.iter().map(|campaign| Command::claim(campaign, None, "s"));
    let claims: Vec<_> = claims.collect();
    let bytes = body(&claims);
    assert_eq!(Body::open(&bytes).unwrap().commands().unwrap(), claims);
}

#[test]
fn an_encoded_command_is_the_command_and_gives_the_same_body() {
    // Targets of one byte, of two bytes, and none.
    let names: Vec<String> = (0..300).map(|n| format!("campaign-{n}")).collect();
    let mut all = commands();
    all.extend(names.iter().map(|campaign| Command::claim(campaign, None, "s")));
    let step = Step { campaign: "campaign-299", hold: "h", subject: "s", id: Some("again") };
    all.push(Command::Extend { step, by_us: Some(1) });
    let (mut at_once, mut encoded) =
        (BodyWriter::new(node(1), 7, 3), BodyWriter::new(node(1), 7, 3));
    for command in &all {
        let one = Encoded::new(command).unwrap();
        assert_eq!(one.command(), *command);
        assert!(at_once.push(command) && encoded.push_encoded(&one));
    }
    let bytes = encoded.finish();
    assert_eq!(bytes, at_once.finish());
    assert_eq!(Body::open(&bytes).unwrap().commands().unwrap(), all);
}

#[test]
fn a_command_that_no_body_can_carry_is_refused_before_it_waits() {
    let long = "n".repeat(64);
    let most = |picks: usize| Command::Block {
        campaign: "hall",
        units: (0..picks).map(|_| Pick::units("main", vec![long.as_str(); 500])).collect(),
        blocked: true,
        reason: "",
        order: Order::default(),
    };
    assert!(matches!(Encoded::new(&most(64)), Err(BadCommand::TooLarge { bytes: 2_000_000.. })));
    let large = Encoded::new(&most(31)).unwrap();
    assert!(large.size() > 1_000_000);
    assert!(
        BodyWriter::new(node(1), u64::MAX, u64::MAX).push_encoded(&large),
        "it fits an empty body"
    );
}

#[test]
fn a_pool_with_an_empty_name_is_not_taken_for_no_pool() {
    let long = "p".repeat(300);
    for pool in ["", &long] {
        let encoded = Encoded::new(&Command::claim("drop", Some(pool), "ann"));
        assert!(matches!(encoded, Err(BadCommand::Malformed(_))), "{pool:?} as {encoded:?}");
    }
}

#[test]
fn a_newer_level_is_told_apart_from_damage() {
    let newer = BodyWriter::at_level(LEVEL + 1, node(1), 1, 0).finish();
    assert_eq!(Body::open(&newer).unwrap_err(), BadBody::TooNew(LEVEL + 1));
    let none = BodyWriter::at_level(0, node(1), 1, 0).finish();
    assert!(matches!(Body::open(&none), Err(BadBody::Malformed(_))));
}

#[test]
fn one_wrong_bit_or_a_missing_end_is_refused() {
    let bytes = body(&commands());
    for bit in 0..bytes.len() * 8 {
        let mut altered = bytes.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(Body::open(&altered), Err(BadBody::Checksum { .. })));
    }
    for cut in 0..bytes.len() {
        assert!(Body::open(&bytes[..cut]).is_err());
    }
}

#[test]
fn what_is_outside_its_bounds_is_refused_though_the_checksum_fits() {
    let order = Order { id: Some("id"), who: "ops" };
    let claim = |campaign, subject| Command::claim(campaign, None, subject);
    let (long, longer) = ("x".repeat(257), "x".repeat(1_000));
    let put = |settings| {
        let expect = Expect::Anything;
        Command::Put { campaign: "drop", settings, expect, order }
    };
    let steer = |id, who| {
        let order = Order { id: Some(id), who };
        Command::Steer { campaign: "drop", steer: Steer::Pause, order }
    };
    let cancel = |pool, reason| {
        let (campaign, subject, rank, by, who) = ("drop", "ann", 1, By::Operator, "ops");
        Command::Cancel { campaign, pool: Some(pool), subject, rank, by, reason, who }
    };
    let picks = || vec![Pick::quantity("main", 1)];
    let hold = |limit| {
        let (campaign, id, subject) = ("drop", "h1", "ann");
        Command::Hold { campaign, id, subject, picks: picks(), limit }
    };
    let change = |limit| {
        let step = Step { campaign: "drop", hold: "h1", subject: "ann", id: None };
        Command::Change { step, add: picks(), drop: Vec::new(), limit }
    };
    let reseat = |seats| {
        let (campaign, pool, order) = ("drop", "main", Order::default());
        Command::ChangeSeats { campaign, pool, seats, order }
    };
    let bad = [
        claim("", "ann"),
        claim("Drop", "ann"),
        claim("drop", ""),
        claim("drop", "a\nb"),
        claim("drop", &long),
        claim(&longer, "ann"),
        cancel("Main", "fraud"),
        cancel("main", &long),
        steer("", "ops"),
        steer("id", &long),
        put(Settings { pools: Vec::new(), ..settings() }),
        put(Settings { limit: Some(0), ..settings() }),
        put(Settings { title: long.as_str().into(), ..settings() }),
        Command::Claim { campaign: "drop", pool: None, subject: "ann", limit: Some(0), tag: None },
        Command::Claim { campaign: "drop", pool: None, subject: "a\nb", limit: Some(1), tag: None },
        Command::Claim { campaign: "Drop", pool: None, subject: "ann", limit: Some(1), tag: None },
        hold(Some(0)),
        change(Some(0)),
        Command::Bar { campaign: "drop", subject: "a\nb", reason: "", order: Order::default() },
        Command::Bar { campaign: "drop", subject: "ann", reason: &long, order: Order::default() },
        Command::Unbar { campaign: "", subject: "ann", order: Order::default() },
        reseat(Vec::new()),
        reseat(vec![SeatChange { name: "", ..SEAT }]),
        reseat(vec![SeatChange { grade: Some(&long), ..SEAT }]),
        reseat(vec![SEAT; 4_001]),
        Command::Raise { level: 0, who: "ops" },
        Command::Raise { level: LEVEL + 1, who: "ops" },
    ];
    for command in bad {
        let bytes = body(std::slice::from_ref(&command));
        let read = Body::open(&bytes).unwrap().commands();
        assert!(read.is_err(), "{command:?} came back as {read:?}");
        let encoded = Encoded::new(&command);
        assert!(matches!(encoded, Err(BadCommand::Malformed(_))), "{command:?} as {encoded:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Any content under a checksum that fits is read, or refused: and what is read can be applied.
    #[test]
    fn no_content_makes_a_reader_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
        tail in prop::collection::vec(any::<u8>(), 0..16),
    ) {
        let mut bytes = body(&commands());
        bytes.truncate(bytes.len() - 8);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.extend(tail);
        let checksum = xxh3_64(&bytes);
        bytes.extend(checksum.to_le_bytes());
        if let Ok(body) = Body::open(&bytes)
            && let Ok(commands) = body.commands()
        {
            let stamp = Stamp { position: 1, at: START, epoch: 0, node: node(1), number: 1, again_of: None, level: LEVEL };
            let mut outcomes = Vec::new();
            State::new(SPACE).apply(stamp, &commands, &mut outcomes);
            prop_assert_eq!(outcomes.len(), commands.len());
        }
    }

    #[test]
    fn arbitrary_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Body::open(&bytes).is_err());
        let mut sealed = bytes.clone();
        sealed.extend(xxh3_64(&bytes).to_le_bytes());
        prop_assert!(Body::open(&sealed).is_err());
    }
}
