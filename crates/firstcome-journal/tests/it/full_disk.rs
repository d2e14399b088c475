//! A disk without room is an answer, and nothing is half done.

use crate::child;
use crate::world::{Hands, MINUTE, Player, Scratch, all, install, open, options};
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{ReadOnly, Sqlite};
use firstcome_journal::verify::Verify;
use firstcome_journal::{Journal, JournalError};
use std::path::PathBuf;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

fn data() -> PathBuf {
    PathBuf::from(std::env::var_os("DATA").unwrap())
}

/// Runs a test again on a disk of its own of a few MiB; says no if that is not possible here.
fn on_a_small_disk(test: &str) {
    let scratch = Scratch::new();
    let root = ["unshare", "--mount"];
    let nobody = ["unshare", "--map-root-user", "--mount"];
    let unshare = if child::is_root() { &root[..] } else { &nobody[..] };
    let mount = format!(
        "mkdir -p '{0}' && mount -t tmpfs -o size=2m tmpfs '{0}'",
        scratch.data().display()
    );
    let [program, options @ ..] = unshare else { unreachable!() };
    let try_out = [options, &["sh", "-c", &mount]].concat();
    if !child::has(program, &try_out) {
        let remedy = "run the test where `unshare --mount` may mount a tmpfs, as root";
        return firstcome_testbed::missing("tmpfs", remedy);
    }
    let script = format!("{mount} && exec \"$0\" \"$@\"");
    let wrapper = [unshare, &["sh", "-c", &script]].concat();
    child::must_pass(child::again(&wrapper, test).env("DATA", scratch.data()));
}

#[test]
fn a_full_disk_is_an_answer_and_room_ends_it() {
    if !child::is_child() {
        return on_a_small_disk("full_disk::a_full_disk_is_an_answer_and_room_ends_it");
    }
    runtime().block_on(async {
        std::fs::write(data().join("ballast"), vec![1; 1 << 20]).unwrap();
        let folder = DataFolder::take(data()).unwrap();
        let hands = Hands::new();
        let sqlite = Sqlite::open(&folder, options(&hands)).unwrap();
        let journal = Journal::Sqlite(sqlite.clone());
        let mut ann = Player::new(b'a');
        let long = "x".repeat(255);
        let failure = loop {
            assert!(ann.applied < 10_000);
            if let Err(failure) = ann.claims(&journal, &long).await {
                break failure;
            }
        };
        assert!(matches!(failure, JournalError::Full(_)), "{failure}");
        let full_at = ann.applied;
        assert!(full_at > 10, "{full_at}");
        for _ in 0..3 {
            let failure = ann.claims(&journal, &long).await.unwrap_err();
            assert!(matches!(failure, JournalError::Full(_)), "{failure}");
            assert_eq!(journal.head().await.unwrap().position, full_at);
            assert_eq!(all(&journal, 0).await.len() as u64, full_at, "reading goes on");
        }
        assert!(matches!(journal.mint_term().await, Err(JournalError::Full(_))));
        std::fs::remove_file(data().join("ballast")).unwrap();
        for _ in 0..20 {
            ann.claims(&journal, "there is room").await.unwrap();
        }
        assert_eq!(journal.mint_term().await.unwrap(), 1);
        sqlite.close().await;
        drop(folder);
        let journal = Journal::Sqlite(open(&data(), &hands));
        let entries = all(&journal, 0).await;
        assert_eq!(entries.len() as u64, full_at + 20);
        Player::new(b'z').apply(&entries);
    });
}

/// Trimming writes to the archive before it makes room: where there is none, nothing goes.
#[test]
fn a_full_disk_trims_nothing_until_there_is_room() {
    if !child::is_child() {
        return on_a_small_disk("full_disk::a_full_disk_trims_nothing_until_there_is_room");
    }
    runtime().block_on(async {
        let hands = Hands::new();
        let sqlite = open(&data(), &hands);
        let journal = Journal::Sqlite(sqlite.clone());
        let mut ann = Player::new(b'a');
        for _ in 0..200 {
            ann.claims(&journal, &"x".repeat(255)).await.unwrap();
        }
        let term = journal.mint_term().await.unwrap();
        install(&journal, 150, vec![1], Vec::new(), term).await.unwrap();
        install(&journal, 200, vec![2], Vec::new(), term).await.unwrap();
        hands.turn(11 * MINUTE);
        let ballast = data().join("ballast");
        // As much as fits.
        drop(std::fs::write(&ballast, vec![1; 2 << 20]));
        for _ in 0..3 {
            let failure = journal.trim(term).await.unwrap_err();
            assert!(matches!(failure, JournalError::Full(_)), "{failure}");
            assert_eq!(
                all(&journal, journal.head().await.unwrap().first - 1)
                    .await
                    .last()
                    .unwrap()
                    .position,
                200
            );
        }
        std::fs::remove_file(&ballast).unwrap();
        assert_eq!(journal.trim(term).await.unwrap(), 151);
        let verified = Verify::new(&ReadOnly::open(&data()).unwrap()).run(|_| {}).unwrap();
        assert_eq!((verified.from, verified.entries), (1, 200));
        sqlite.close().await;
    });
}
