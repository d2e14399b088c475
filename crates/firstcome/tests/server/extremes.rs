//! Every command with extremes in every field, through a node on a journal on disk: it serves on, starts again, and the
//! audit agrees.

use crate::extreme_commands;
use firstcome::offline::audit;
use firstcome_core::command::{Order, Pick};
use firstcome_core::hall::{AreaSettings, Chunk, SeatSettings};
use firstcome_core::settings::PoolSettings;
use firstcome_core::{Command, Expect, Outcome, SpaceId, State};
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{Options, ReadOnly, Sqlite};
use firstcome_journal::{Clock, Journal, Reading};
use firstcome_node::intake::QUEUE_BYTES;
use firstcome_node::{CommandError, Given, Limits, Metrics, Node, OnEmptied};
use prometheus_client::registry::Registry;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const ORDER: Order<'static> = Order { id: None, who: "ops" };

/// A node on the journal in a folder.
pub(crate) struct OnDisk {
    pub(crate) node: Node,
    journal: Sqlite,
}

impl OnDisk {
    /// Starts on a folder.
    async fn start(folder: &Path) -> Self {
        let folder = DataFolder::take(folder).unwrap();
        let journal = Sqlite::open(&folder, Options::new(SpaceId([7; 16]))).unwrap();
        let mut drawn = fastrand::Rng::new();
        let given = Given {
            journal: Journal::Sqlite(journal.clone()),
            clock: Some(Clock::system()),
            address: "".into(),
            random: Box::new(move || drawn.u64(..)),
            limits: Limits {
                queue: 1_000,
                queue_bytes: QUEUE_BYTES,
                wait: Duration::from_secs(30),
                memory: 1 << 30,
                outbox: None,
            },
            metrics: Arc::new(Metrics::new(&mut Registry::default())),
            says: firstcome_node::in_log(),
            core: None,
            settings: BTreeMap::new(),
            on_emptied: OnEmptied::default(),
            codes: std::sync::Arc::default(),
        };
        Self { node: Node::start(given, |_, _| {}).await.unwrap(), journal }
    }

    /// Makes the campaign that is given extremes, and the one beside it.
    pub(crate) async fn open(&self) {
        for name in ["hall", "control"] {
            let mut settings = extreme_commands::plain();
            if name == "hall" {
                settings.pools.push(PoolSettings::seated("seats"));
            }
            let put =
                Command::Put { campaign: name, settings, expect: Expect::Absent, order: ORDER };
            self.yes(&put).await;
        }
        let mut seats: Vec<_> =
            extreme_commands::SEATS.into_iter().map(SeatSettings::named).collect();
        for (at, seat) in seats.iter_mut().enumerate() {
            (seat.row, seat.group) = if at < 4 { ("1", "") } else { ("", "table") };
        }
        let areas = vec![AreaSettings::named("area", 3), AreaSettings::named("field", 1 << 31)];
        let chunk = Chunk { seats, areas };
        self.yes(&Command::Seats { campaign: "hall", pool: "seats", chunk, order: ORDER }).await;
        let picks = vec![Pick::units("seats", vec!["A1", "area"])];
        let hold = Command::Hold { campaign: "hall", id: "h1", subject: "ann", picks, limit: None };
        self.yes(&hold).await;
    }

    async fn yes(&self, command: &Command<'_>) {
        let answer = self.node.intake.decide(command).await.unwrap();
        assert!(!answer.outcome.is_refusal(), "{command:?}: {:?}", answer.outcome);
    }

    /// Asks for a command: whatever the rules say, they say something, or nothing of it gets into the journal.
    async fn ask(&self, command: &Command<'_>) {
        let intake = &self.node.intake;
        let said = if let Command::Claim { campaign, pool, subject, limit: None, .. } = command {
            intake.claim(campaign, *pool, subject, None).await
        } else if let Command::Hold { .. } = command {
            intake.hold(command, None).await
        } else {
            intake.decide(command).await
        };
        match said {
            Ok(_)
            | Err(
                CommandError::TooLarge(_)
                | CommandError::Malformed(_)
                | CommandError::LevelTooLow { .. },
            ) => {}
            Err(failure) => panic!("{command:?}: {failure:?}"),
        }
    }

    /// Claims in the campaign beside it.
    pub(crate) async fn serves(&self, subject: &str) {
        let said = self.node.intake.claim("control", Some("main"), subject, None).await.unwrap();
        assert!(matches!(said.outcome, Outcome::Won { .. }), "{said:?}");
    }

    pub(crate) fn digest(&self) -> (u64, u64) {
        self.node.replica.look(|state: &State| (state.position(), state.digest()))
    }

    async fn write_snapshot(&self) {
        let journal = &self.node.journal;
        let term = journal.mint_term().await.unwrap();
        let (mut frozen, stamp) =
            self.node.replica.look(|state| (state.freeze(true), state.stamp()));
        while let Some(piece) = frozen.next_piece() {
            journal.put_piece(piece.name, piece.bytes.unwrap()).await.unwrap();
        }
        let position = frozen.position();
        let manifest = frozen.finish();
        let pieces = manifest.pieces.clone();
        journal.install(position, stamp.name(), manifest.encode(), pieces, term).await.unwrap();
    }

    pub(crate) async fn stop(self) {
        self.node.stop().await.unwrap();
        self.journal.close().await;
    }
}

pub(crate) fn audited(folder: &Path, digest: (u64, u64)) {
    let journal = Reading::Sqlite(ReadOnly::open(folder).unwrap());
    let report = audit::run(&journal, None, &mut |_| Ok(Vec::new()), |_, _| {}).unwrap();
    assert!(report.ok, "{:?}", report.differences);
    let recomputed = u64::from_str_radix(&report.digest_recomputed, 16).unwrap();
    assert_eq!((report.position, recomputed), digest);
}

async fn walk(commands: &[Command<'static>], snapshot: bool) {
    let folder = tempfile::tempdir().unwrap();
    let before = OnDisk::start(folder.path()).await;
    before.open().await;
    for command in commands {
        before.ask(command).await;
    }
    before.serves("ann").await;
    if snapshot {
        before.write_snapshot().await;
    }
    before.serves("bob").await;
    let digest = before.digest();
    before.stop().await;
    audited(folder.path(), digest);
    let after = OnDisk::start(folder.path()).await;
    assert_eq!(after.digest(), digest);
    after.serves("eve").await;
    let digest = after.digest();
    after.stop().await;
    audited(folder.path(), digest);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_number_or_text_in_a_command_stops_a_node_or_its_next_start(
        commands in prop::collection::vec(extreme_commands::command(), 40..120),
        snapshot: bool,
    ) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(walk(&commands, snapshot));
    }
}
