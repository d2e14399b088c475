//! What the digest tells apart.

use crate::play::play;

/// Plays two scripts and says whether their digests agree.
fn agree(one: &str, other: &str) -> bool {
    play(one).state.digest() == play(other).state.digest()
}

#[test]
fn the_digest_tells_apart_who_won_and_what_was_asked() {
    let opened = "0s op puts drop: main 2; vip 2 -> created 1\n";
    let after = |line: &str| format!("{opened}{line}");
    let ann = after("1s ann claims drop/main -> won 1");
    assert!(agree(&ann, &ann));
    for other in [
        "1s bob claims drop/main -> won 1",
        "1s ann claims drop/vip -> won 1",
        "2s ann claims drop/main -> won 1",
        "1s n1.2 ann claims drop/main -> won 1",
        "1s n0.9 ann claims drop/main -> won 1",
    ] {
        assert!(!agree(&ann, &after(other)), "{other}");
    }
    // What a hold remembers shows in a later outcome only.
    let hold =
        |said: &str| after(&format!("1s ann holds h1 drop vip 1{said} -> held vip until 481s"));
    assert!(agree(&hold(""), &hold("")));
    assert!(!agree(&hold(""), &hold(" within 2")));
    assert!(!agree(&hold(" within 1"), &hold(" within 2")));
    assert!(!agree(
        &after("1s op puts drop: main 3; vip 2 -> changed 2"),
        &after("1s op puts drop: main 4; vip 2 -> changed 2"),
    ));
    assert!(!agree(
        &after("1s op pauses drop -> changed 2"),
        &after("1s op closes drop -> changed 2"),
    ));
}

#[test]
fn the_last_4096_digests_can_be_asked_for() {
    let mut world = play("0s op puts drop: main 2 -> created 1");
    let mut marks = vec![world.state.mark()];
    while marks.len() < 5_000 {
        let number = world.state.position() + 1;
        world.entry(world.state.at(), crate::world::node(0), number, &[]);
        marks.push(world.state.mark());
    }
    for mark in &marks {
        let kept = world.state.position() - mark.position < 4_096;
        assert_eq!(world.state.digest_at(mark.position), kept.then_some(mark.digest));
    }
    assert_eq!(world.state.digest_at(0), Some(0), "what an empty journal has is always known");
    assert_eq!(world.state.digest_at(5_001), None);
    assert_eq!(world.state.digest_at(u64::MAX), None);
}
