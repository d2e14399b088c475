use super::*;
use firstcome_core::{LEVEL, SpaceId};
use firstcome_journal::{Head, Name};

/// A server as the others see it: its number, since when it runs, and its words.
fn server(number: u8, since: i64, words: &str) -> (NodeStatus, Timestamp) {
    let status = NodeStatus {
        node: NodeId([number; 16]),
        position: 1,
        durable: 1,
        epoch: 0,
        digest: 0,
        level: LEVEL,
        memory: 0,
        since: Timestamp::from_micros(since),
        address: format!("http://10.0.0.{number}:8080").into(),
        words: words.into(),
    };
    (status, Timestamp::from_micros(0))
}

/// Node 1, which runs since 10, among others.
fn among(
    ledger: LedgerMark,
    nodes: Vec<(NodeStatus, Timestamp)>,
    gone: Vec<(NodeStatus, Timestamp)>,
) -> Agreement {
    let at = Timestamp::from_micros(0);
    let head = Head {
        space: SpaceId([0; 16]),
        level: LEVEL,
        position: 1,
        name: Name::default(),
        at,
        epoch: 0,
        first: 1,
        skips: 0,
        now: at,
    };
    let (_, membership) = watch::channel(Some(Membership { head, nodes, gone }));
    let me = (NodeId([1; 16]), Timestamp::from_micros(10));
    let agreement = Agreement::new(me, Arc::default(), membership);
    agreement.has_ledger(ledger);
    agreement
}

#[test]
fn what_is_announced_is_read_again_and_unknown_words_are_left_out() {
    let settings = BTreeMap::from([("admin_key".to_owned(), "3f".to_owned())]);
    let ledger = LedgerMark::Known(0xabc);
    let said = Announcement { ledger, settings, stands: true, leaving: true };
    assert_eq!(Announcement::read(&said.words()), Some(said.clone()));
    let newer = format!("2{} something", said.words().strip_prefix('1').unwrap_or_default());
    assert_eq!(Announcement::read(&newer), Some(said), "a later build adds words");
    for older in ["", "http", "0 ledger=none"] {
        assert_eq!(Announcement::read(older), None, "{older:?}");
    }
    let unsaid = Announcement::read(&Announcement::default().words()).map(|said| said.ledger);
    assert_eq!(unsaid, Some(LedgerMark::Unsaid));
    let unreached = Announcement::read("1 ledger=unknown").map(|said| said.ledger);
    assert_eq!(unreached, Some(LedgerMark::Unknown));
}

#[test]
fn each_setting_that_differs_is_named_with_the_server() {
    let nodes = vec![
        server(1, 10, ""),
        server(2, 20, "1 ledger=none admin_key=3f tokens=aa other=1"),
        server(3, 30, "1 ledger=00000000000000000000000000000abc admin_key=40"),
        server(4, 40, "1 ledger=none admin_key=77 leaving"),
        server(5, 50, ""),
        server(6, 60, "1 ledger=unknown admin_key=3f"),
    ];
    let agreement = among(LedgerMark::Known(0xabc), nodes, Vec::new());
    let own = [("admin_key", "3f"), ("tokens", "none")];
    agreement.announce(own.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    let found = agreement.differences();
    let found: Vec<_> =
        found.iter().map(|d| (&*d.setting, &*d.address, &*d.theirs, &*d.ours)).collect();
    let (two, three) = ("http://10.0.0.2:8080", "http://10.0.0.3:8080");
    let id = "00000000000000000000000000000abc";
    assert_eq!(
        found,
        [
            ("admin_key", three, "40", "3f"),
            ("ledger", two, "none", id),
            ("tokens", two, "aa", "none")
        ]
    );
}

#[test]
fn a_server_without_the_ledger_gives_way_to_one_that_has_it_and_can_be_elected() {
    let has = |more: &str| format!("1 ledger=00000000000000000000000000000abc{more}");
    let with = |own, words: &str| among(own, vec![server(2, 20, words)], Vec::new());
    let other = Some("http://10.0.0.2:8080".to_owned());
    for own in [LedgerMark::None, LedgerMark::Unknown] {
        assert!(with(own, &has(" stands")).gives_way());
        // It cannot be elected: somebody must write snapshots.
        let agreement = with(own, &has(""));
        assert!(!agreement.gives_way());
        assert_eq!(agreement.has_other_ledger(), other);
        assert!(!with(own, &has(" stands leaving")).gives_way());
        assert!(!with(own, "1 ledger=none stands").gives_way());
        assert!(!with(own, "1 ledger=unknown stands").gives_way());
        assert!(!with(own, "").gives_way(), "nothing is said of its ledger");
    }
    assert!(!with(LedgerMark::Known(0xabc), &has(" stands")).gives_way());
    assert_eq!(with(LedgerMark::Known(0xabc), &has(" stands")).has_other_ledger(), None);
    // Two ledgers: that of the server which has run for longer is the space's.
    assert!(!with(LedgerMark::Known(7), &has(" stands")).gives_way());
    let older = among(LedgerMark::Known(7), vec![server(2, 9, &has(" stands"))], Vec::new());
    assert!(older.gives_way());
}

#[test]
fn a_server_without_a_ledger_knows_of_one_whose_server_is_gone() {
    let has = "1 ledger=00000000000000000000000000000abc stands";
    let gone = || vec![server(2, 5, has)];
    let lacks = among(LedgerMark::None, Vec::new(), gone());
    assert_eq!(lacks.lacks_ledger().as_deref(), Some("http://10.0.0.2:8080"));
    assert!(!lacks.gives_way(), "nobody else can lead");
    assert_eq!(among(LedgerMark::Known(1), Vec::new(), gone()).lacks_ledger(), None);
    let none = vec![server(2, 5, "1 ledger=none stands")];
    assert_eq!(among(LedgerMark::None, Vec::new(), none).lacks_ledger(), None);
}
