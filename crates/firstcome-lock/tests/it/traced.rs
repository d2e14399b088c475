//! The same events as events of `tracing`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use firstcome_lock::{Election, Locks, Memory, MemoryLink};
use tracing::field::{Field, Visit};
use tracing::span;
use tracing::{Level, Metadata, Subscriber};

use crate::stage::{SECOND, take};

/// An event as a subscriber sees it.
#[derive(Debug, Clone)]
struct Seen {
    level: Level,
    fields: BTreeMap<&'static str, String>,
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

/// Keeps the events of this library.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<Seen>>>);

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "firstcome_lock"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut seen = Seen { level: *event.metadata().level(), fields: BTreeMap::new() };
        event.record(&mut seen);
        self.0.lock().unwrap().push(seen);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl Kept {
    fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn kinds(seen: &[Seen]) -> Vec<(&str, Level)> {
    seen.iter().map(|seen| (seen.fields["event"].as_str(), seen.level)).collect()
}

/// Nobody has asked for events of the library itself: a subscriber is enough.
#[tokio::test(start_paused = true)]
async fn a_subscriber_sees_what_happens_with_its_level_and_fields() {
    let kept = Kept::default();
    // Where there is one subscriber only, tracing asks that of the thread which comes to an event first, and remembers the
    // answer: on the thread of another test there is none, and then nobody ever hears of the event.
    let _second = tracing::Dispatch::new(Kept::default());
    let _guard = tracing::subscriber::set_default(kept.clone());
    let (memory, link) = (Memory::new(), MemoryLink::new());
    let builder = Locks::builder().watchdog(60 * SECOND);
    let ann = builder.memory(&memory.through(&link)).unwrap();

    take(&ann.mutex("x").unwrap()).await.release().await.unwrap();
    let seen = kept.take();
    assert_eq!(kinds(&seen), [("acquired", Level::DEBUG), ("released", Level::DEBUG)]);
    assert!(
        seen.iter().all(|seen| seen.fields["name"] == "x" && seen.fields["message"].contains('x'))
    );
    assert!(seen[0].fields.contains_key("fence") && seen[0].fields.contains_key("waited_ms"));
    assert_eq!(seen[1].fields["released"], "free");

    let lease = take(&ann.mutex("x").unwrap()).await;
    kept.take();
    link.stall();
    tokio::time::sleep(25 * SECOND).await;
    link.open();
    tokio::time::sleep(SECOND).await;
    let seen = kept.take();
    let expected =
        [("store_silent", Level::WARN), ("store_back", Level::INFO), ("renewed_late", Level::WARN)];
    assert_eq!(kinds(&seen), expected);
    let late_ms: u64 = seen[2].fields["late_ms"].parse().unwrap();
    assert!((15_000..16_000).contains(&late_ms) && seen[2].fields["name"] == "x", "{seen:?}");
    link.stall();
    // Nobody looks at the lease.
    tokio::time::sleep(60 * SECOND).await;
    let seen = kept.take();
    assert_eq!(kinds(&seen), [("store_silent", Level::WARN), ("lost", Level::WARN)]);
    assert_eq!(seen[1].fields["loss"], "ran_out");
    assert!(seen[1].fields["silent_ms"].parse::<u64>().unwrap() > 30_000);
    link.open();
    drop(lease);

    let bob = Locks::with_memory(&memory);
    let election = Election::new(&bob, "job").unwrap().node("bob");
    tokio::time::sleep(SECOND).await;
    kept.take();
    election.run(|_| async {}).await.unwrap();
    let seen = kept.take();
    let of_terms: Vec<_> =
        seen.iter().filter(|seen| seen.fields["event"].starts_with("term")).cloned().collect();
    assert_eq!(kinds(&of_terms), [("term_won", Level::INFO), ("term_lost", Level::INFO)]);
    let fields = &of_terms[1].fields;
    assert_eq!(
        [&fields["election"], &fields["node"], &fields["loss"]],
        ["job", "bob", "given_back"]
    );
    // What tells owners apart at the store is not told.
    assert!(seen.iter().all(|seen| !format!("{seen:?}").contains(bob.id())), "{seen:?}");
}
