//! A data folder of an earlier level: as it was until it is raised, and then for good.

use crate::extremes::{OnDisk, audited};
use firstcome::offline::raise_level::{Raised, raise};
use firstcome_core::command::level_of;
use firstcome_core::{LEVEL, State};
use firstcome_journal::sqlite::ReadOnly;
use firstcome_journal::{Failure, Reading};
use std::path::Path;

/// Gives the level of each entry.
fn levels(folder: &Path) -> Vec<u32> {
    let journal = Reading::Sqlite(ReadOnly::open(folder).unwrap());
    journal.entries(1).map(|entry| level_of(&entry.unwrap().0.body).unwrap()).collect()
}

#[tokio::test]
async fn a_folder_of_level_1_stays_so_through_restarts_until_it_is_raised_offline() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let server = OnDisk::start(data, 1).await;
    server.open().await;
    server.serves("ann").await;
    let used = raise(data).await.unwrap_err();
    assert!(matches!(used, Failure::InUse { .. }), "{used}");
    server.stop().await;
    let server = OnDisk::start(data, LEVEL).await;
    server.serves("bob").await;
    let digest = server.digest();
    server.stop().await;
    assert!(levels(data).iter().all(|level| *level == 1), "{:?}", levels(data));
    audited(data, digest);

    assert_eq!(raise(data).await.unwrap(), Raised { before: 1, level: LEVEL });
    assert_eq!(raise(data).await.unwrap(), Raised { before: LEVEL, level: LEVEL });
    assert_eq!(levels(data).iter().filter(|level| **level == LEVEL).count(), 1);
    let server = OnDisk::start(data, LEVEL).await;
    assert_eq!(server.node.replica.look(State::level), LEVEL);
    server.serves("eve").await;
    let of_campaign = |state: &State| state.campaign("control").unwrap().level();
    assert_eq!(server.node.replica.look(of_campaign), 1);
    let digest = server.digest();
    server.stop().await;
    assert_eq!(levels(data).last(), Some(&LEVEL));
    audited(data, digest);
}

#[tokio::test]
async fn a_folder_is_raised_while_it_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let server = OnDisk::start(folder.path(), 1).await;
    server.open().await;
    let raised = server.node.intake.raise_level("ops").await.unwrap();
    assert_eq!(raised.outcome.as_str(), "raised");
    server.serves("ann").await;
    let digest = server.digest();
    server.stop().await;
    audited(folder.path(), digest);
    let server = OnDisk::start(folder.path(), 1).await;
    assert_eq!((server.node.replica.look(State::level), server.digest()), (LEVEL, digest));
    server.stop().await;
}

#[tokio::test]
async fn where_there_is_no_journal_nothing_is_raised_and_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    assert!(raise(&nowhere).await.is_err());
    assert!(!nowhere.exists());
}
