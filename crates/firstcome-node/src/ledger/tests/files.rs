//! What only a file can do wrong.

use super::*;

#[tokio::test]
async fn a_ledger_that_was_closed_is_one_file() {
    let stage = Stage::sqlite().await;
    let term = stage.ledger.mint_term().await.unwrap().term;
    stage.settle(term, 0, claims(1..=10)).await.unwrap();
    stage.ledger.close().await;
    let Place::Folder(folder) = &stage.place else { unreachable!() };
    assert!(!folder.path().join("ledger.sqlite-wal").exists());
}

#[tokio::test]
async fn a_reader_looks_beside_the_writer() {
    let stage = Stage::sqlite().await;
    let Place::Folder(folder) = &stage.place else { unreachable!() };
    let term = stage.ledger.mint_term().await.unwrap().term;
    stage.settle(term, 0, claims(1..=10)).await.unwrap();
    let reader = Reader::open(&file(folder), SPACE).unwrap();
    assert_eq!(reader.through().unwrap(), 10);
    assert_eq!(reader.results(0, 100).unwrap(), claims(1..=10));
    assert_eq!(reader.claim_counts("spring", "main").unwrap(), (10, 0));
}

#[tokio::test]
async fn a_file_that_is_no_ledger_of_ours_is_refused() {
    let stage = Stage::sqlite().await;
    let Place::Folder(folder) = &stage.place else { unreachable!() };
    stage.ledger.close().await;
    let (path, wanted) = (file(folder), SpaceId([1; 16]));
    let other = LedgerError::OtherSpace { found: SPACE, wanted };
    assert_eq!(Reader::open(&path, wanted).unwrap_err(), other);
    stage.sql("UPDATE meta SET layout = 2");
    assert_eq!(Reader::open(&path, SPACE).unwrap_err(), LedgerError::TooNew(2));
    std::fs::write(&path, "a text somebody left here, longer than a header would be").unwrap();
    let failure = Ledger::open_sqlite(&path, SPACE).await.unwrap_err();
    assert!(matches!(failure, LedgerError::Broken(_)), "{failure}");
    let missing = folder.path().join("nothing.sqlite");
    assert!(matches!(Reader::open(&missing, SPACE), Err(LedgerError::Unavailable(_))));
}

#[test]
fn servers_that_make_a_file_at_once_give_it_one_id() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder);
        let ids: Vec<_> = std::thread::scope(|threads| {
            let open = || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(async { open(&path).await.id().await.unwrap() })
            };
            let all = [(); 4].map(|()| threads.spawn(open));
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:x?}");
    }
}
