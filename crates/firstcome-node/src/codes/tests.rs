//! Codes over states: typed ones are found, and those of a lost branch are nobody's.

use super::*;
use firstcome_core::codes::{CodeUnit, IssuedCode};
use firstcome_core::command::{CodeCommand, Order, StagedCode};
use firstcome_core::settings::{CodeSettings, CodeSource, HoldSettings, Opens, PoolSettings};
use firstcome_core::{Command, Expect, NodeId, Outcome, Stamp, State, Timestamp};
use firstcome_inject::{Mistake, set};

const SPACE: SpaceId = SpaceId([7; 16]);

fn keys() -> CodeKeys {
    CodeKeys::new(&[("k2", [2; 32]), ("k1", [1; 32])]).expect("two ids")
}

fn settings() -> Settings {
    let generated = CodeSettings::new(CodeSource::Generated, "k1");
    let imported = CodeSettings::new(CodeSource::Imported, "k1");
    Settings {
        title: "".into(),
        opens: Opens::Now,
        closes_at: None,
        limit: None,
        claim_again: false,
        units_return: true,
        public: false,
        pools: vec![
            PoolSettings::coded("made", 10, generated),
            PoolSettings::coded("stock", 0, imported),
        ],
        holding: HoldSettings::default(),
    }
}

fn apply(state: &mut State, command: Command<'_>) -> Outcome {
    let position = state.position() + 1;
    let (at, node) = (Timestamp::from_micros(1_000_000), NodeId([1; 16]));
    let stamp = Stamp { position, at, epoch: 0, node, number: position, again_of: None, level: 4 };
    let mut outcomes = Vec::new();
    state.apply(stamp, &[command], &mut outcomes);
    outcomes.remove(0)
}

/// A campaign with two imported codes, in which these claimed both pools in this order.
pub(crate) fn world(keys: &CodeKeys, subjects: &[&str]) -> State {
    let mut state = State::new(SPACE);
    let (campaign, expect, order) = ("sale", Expect::Anything, Order { id: None, who: "ops" });
    apply(&mut state, Command::Put { campaign, settings: settings(), expect, order });
    let sealed: Vec<_> = {
        let found = state.campaign("sale").expect("it was put");
        let cipher = keys.of(SPACE, found, 1).expect("the key").expect("a coded pool");
        ["Alpha", "Beta"].map(|text| cipher.seal(text, false).expect("a code")).into()
    };
    let staged = |(hash, sealed): &'_ ([u8; 16], Vec<u8>)| (*hash, sealed.clone());
    let lines: Vec<_> = sealed.iter().map(staged).collect();
    let codes = lines.iter().map(|(hash, sealed)| StagedCode { hash: *hash, sealed }).collect();
    let (pool, import, first) = ("stock", "i1", 0);
    apply(
        &mut state,
        Command::Code(CodeCommand::Stage { campaign, pool, import, first, codes, order }),
    );
    apply(
        &mut state,
        Command::Code(CodeCommand::Commit { campaign, pool, import, lines: 2, order }),
    );
    for subject in subjects {
        for pool in ["made", "stock"] {
            let found = state.campaign("sale").expect("it was put");
            let tag = keys.tag(SPACE, (found, Some(pool)), subject, 1).expect("the key");
            let claim = Command::Claim { campaign, pool: Some(pool), subject, limit: None, tag };
            assert!(matches!(apply(&mut state, claim), Outcome::Won { .. }));
        }
    }
    state
}

fn code(keys: &CodeKeys, state: &State, index: usize, rank: u32) -> String {
    let campaign = state.campaign("sale").expect("it is there");
    let view = campaign.code_at(index, rank, (state.at(), 0)).expect("it is issued");
    keys.write(SPACE, (campaign, index), view.unit).expect("the key")
}

/// Between an answer and its document the state may become that of another branch.
#[test]
fn the_code_of_a_claim_is_written_where_it_was_issued_to_its_subject_only() {
    let keys = keys();
    let (ours, other) = (world(&keys, &["ann", "bob"]), world(&keys, &["bob"]));
    let of = |state: &State, index: usize, subject: &str, code: IssuedCode| {
        let campaign = state.campaign("sale").expect("it was put");
        let unit = campaign.unit_issued_to(index, subject, code)?;
        Some(keys.write(SPACE, (campaign, index), unit).expect("the key"))
    };
    let [of_ann, of_bob] = [0, 1].map(|unit| IssuedCode::Imported { unit });
    assert_eq!(of(&ours, 1, "ann", of_ann).as_deref(), Some("Alpha"));
    assert_eq!(of(&ours, 1, "bob", of_bob).as_deref(), Some("Beta"));
    assert_eq!(of(&other, 1, "bob", of_ann).as_deref(), Some("Alpha"), "there he has that one");
    assert_eq!(of(&other, 1, "ann", of_ann), None, "it is somebody else's");
    assert_eq!(of(&other, 1, "bob", of_bob), None, "nobody has it");
    assert_eq!(of(&other, 1, "bob", IssuedCode::Imported { unit: 7 }), None, "it is not there");
    let made = IssuedCode::Generated { unit: 2, tag: 1 };
    assert!(of(&ours, 0, "bob", made).is_some());
    assert_eq!(of(&ours, 0, "ann", made), None);
    assert_eq!(of(&other, 0, "bob", made), None, "there is no such rank");
    assert_eq!(of(&ours, 1, "bob", made), None, "it is none of this pool");
}

#[test]
fn a_typed_code_is_found_in_its_pool_and_others_are_not() {
    let keys = keys();
    let state = world(&keys, &["ann"]);
    let campaign = state.campaign("sale").expect("it is there");
    let made = code(&keys, &state, 0, 1);
    let read = |pool, typed: &str| keys.read(SPACE, campaign, pool, typed);
    let pool = |read: Result<ReadCode, NotRead>| read.map(|read| read.pool.to_string());
    assert_eq!(pool(read(None, &made.to_lowercase())), Ok("made".into()));
    assert_eq!(pool(read(None, " alpha ")), Ok("stock".into()));
    assert_eq!(pool(read(None, "ＡＬ ＰＨＡ")), Ok("stock".into()));
    let as_known = campaign.code_of_rank(1, 1).expect("it is issued");
    assert_eq!(read(None, "aLPHA").map(|read| read.code), Ok(as_known), "typed in any way");
    assert_eq!(read(None, "Alpha\u{378}"), Err(NotRead::Malformed));
    assert_eq!(pool(read(None, "BETA")), Ok("stock".into()), "nobody has it, and it is there");
    assert_eq!(code(&keys, &state, 1, 1), "Alpha");
    assert_eq!(read(Some("made"), "Alpha"), Err(NotRead::Malformed));
    assert_eq!(read(None, "Gamma"), Err(NotRead::Unknown));
    let tag = 1;
    let cipher = keys.of(SPACE, campaign, 0).expect("the key").expect("a coded pool");
    let guess = cipher.write(CodeUnit::Generated { unit: 1, tag }).expect("it is generated");
    assert_eq!(read(None, &guess), Err(NotRead::Unknown));
    let other = CodeKeys::new(&[("k2", [2; 32])]).expect("an id");
    let lacks = NoCodeKey::Lacks("k1".into());
    assert_eq!(other.read(SPACE, campaign, None, &made), Err(NotRead::NoKey(lacks.clone())));
    assert_eq!((other.lacks(campaign), keys.lacks(campaign)), (Some(lacks), None));
}

#[test]
fn a_generated_code_of_a_lost_branch_is_nobodys_on_the_other() {
    let keys = keys();
    let (lost, kept) = (world(&keys, &["ann", "bob"]), world(&keys, &["bob", "ann"]));
    let campaign = kept.campaign("sale").expect("it is there");
    for rank in [1, 2] {
        let of_lost = code(&keys, &lost, 0, rank);
        assert_eq!(keys.read(SPACE, campaign, Some("made"), &of_lost), Err(NotRead::Unknown));
    }
    set(Some(Mistake::TagOfNobody));
    let (lost, kept) = (world(&keys, &["ann", "bob"]), world(&keys, &["bob", "ann"]));
    let anns = code(&keys, &lost, 0, 1);
    let campaign = kept.campaign("sale").expect("it is there");
    let found = keys.read(SPACE, campaign, Some("made"), &anns).is_ok();
    set(None);
    assert!(found, "without the subject in it, the tag protects nobody");
}

#[test]
fn new_pools_get_the_newest_key_and_old_ones_keep_theirs() {
    let keys = keys();
    let state = world(&keys, &[]);
    let unnamed = || {
        let mut settings = settings();
        let codes = settings.pools.iter_mut().filter_map(|pool| pool.codes.as_mut());
        codes.for_each(|codes| codes.key = "".into());
        settings
    };
    let mut wanted = unnamed();
    keys.complete(&mut wanted, None).expect("there is a key");
    let ids = |settings: &Settings| -> Vec<_> {
        let codes = settings.pools.iter().filter_map(|pool| pool.codes.as_ref());
        codes.map(|codes| codes.key.to_string()).collect()
    };
    assert_eq!(ids(&wanted), ["k2", "k2"]);
    let present = state.campaign("sale").ok();
    let mut wanted = unnamed();
    keys.complete(&mut wanted, present).expect("there is a key");
    assert_eq!(ids(&wanted), ["k1", "k1"]);
    let mut named = settings();
    keys.complete(&mut named, None).expect("the key that is named is there");
    assert_eq!(ids(&named), ["k1", "k1"]);
    let none = CodeKeys::default();
    assert_eq!(none.complete(&mut unnamed(), None), Err(NoCodeKey::None));
    assert_eq!(none.complete(&mut settings(), None), Err(NoCodeKey::Lacks("k1".into())));
    // Who lacks the key of a campaign may still change what has nothing to do with it.
    none.complete(&mut unnamed(), present).expect("the pool keeps its key");
    none.complete(&mut settings(), present).expect("the pool keeps its key");
    let twice = CodeKeys::new(&[("k", [1; 32]), ("k", [2; 32])]);
    assert_eq!(twice.err(), Some(BadCodeKeys::Twice("k".into())));
    assert_eq!(CodeKeys::new(&[("", [1; 32])]).err(), Some(BadCodeKeys::Id("".into())));
    assert_eq!(format!("{keys:?}").matches("keys of codes").count(), 2, "no secret is shown");
}
