//! Ledgers that the first build made: brought to the layout of this one, and used by both.

use super::*;

on_each_database!(an_id_is_drawn_once_and_each_ledger_has_its_own);

async fn an_id_is_drawn_once_and_each_ledger_has_its_own(mut stage: Stage) {
    let id = stage.ledger.id().await.unwrap().unwrap();
    stage.restart().await;
    assert_eq!(stage.ledger.id().await.unwrap(), Some(id));
    assert_eq!(stage.open(SPACE, 1).await.unwrap().id().await.unwrap(), Some(id), "another shard");
    let other = Stage::sqlite().await;
    assert_ne!(other.ledger.id().await.unwrap(), Some(id));
    assert_eq!(stage.sql("SELECT version, layout FROM meta"), ["1 | 2"]);
}

/// What the first build did at its start and when it settled, with rows of then.
const OLDER_WRITES: &str = "INSERT INTO settled (shard, through, term) VALUES (0, 1, 3);
    INSERT INTO results (shard, number, kind, campaign, pool, rank, subject, at, settled_at)
    VALUES (0, 1, 'claim', 'spring', 'main', 1, 'subject-1', 1803895200000001, 0);
    INSERT INTO claims (campaign, pool, rank, subject, at, shard, result)
    VALUES ('spring', 'main', 1, 'subject-1', 1803895200000001, 0, 1);
    INSERT INTO campaigns (campaign, shard, first_result, last_result, claims, cancels)
    VALUES ('spring', 0, 1, 1, 1, 0);";

/// Settles behind what the first build wrote.
async fn goes_on(stage: &Stage) {
    let Standing { through, term } = stage.ledger.mint_term().await.unwrap();
    assert_eq!((through, term), (1, 4));
    assert_eq!(stage.ledger.results(0, 9, None).await.unwrap(), claims(1..=1));
    stage.settle(4, 1, claims(2..=3)).await.unwrap();
    assert_eq!(stage.numbers(), [1, 2, 3]);
    assert!(stage.ledger.id().await.unwrap().is_some());
}

/// Makes a file as the first build did.
fn first_layout() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let older = Connection::open(file(&folder)).unwrap();
    older.execute_batch(include_str!("golden/sqlite-layout-1.sql")).unwrap();
    older.execute_batch(OLDER_WRITES).unwrap();
    let sql = "INSERT INTO meta (one, version, space, retried) VALUES (1, 1, ?1, 0)";
    older.execute(sql, [SPACE.0]).unwrap();
    older.pragma_update(None, "application_id", i32::from_be_bytes(*b"FClg")).unwrap();
    folder
}

#[tokio::test]
async fn a_file_of_the_first_build_is_brought_to_this_layout_and_that_build_goes_on_with_it() {
    let place = Place::Folder(first_layout());
    let ledger = place.open(SPACE, 0).await.unwrap();
    let stage = Stage { place, ledger };
    goes_on(&stage).await;
    // What the first build asks before it uses a file, and what it writes there.
    assert_eq!(stage.sql("SELECT version FROM meta"), ["1"], "it knows version 1");
    stage.sql("UPDATE meta SET retried = retried + 1");
    stage.sql("UPDATE settled SET through = 4 WHERE shard = 0 AND through = 3 AND term = 4");
    assert_eq!(stage.ledger.standing().await.unwrap(), Standing { through: 4, term: 4 });
}

#[test]
fn servers_that_open_a_file_of_the_first_build_at_once_give_it_one_id() {
    for _ in 0..20 {
        let folder = first_layout();
        let path = file(&folder);
        let ids: Vec<_> = std::thread::scope(|threads| {
            let open = || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(async { open(&path).await.id().await.unwrap().unwrap() })
            };
            let all = [(); 4].map(|()| threads.spawn(open));
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:x?}");
    }
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_the_first_build_in_postgres_are_brought_to_this_layout_and_it_goes_on() {
    let Some(server) = Postgres::shared() else { return };
    let name = fresh_space();
    let schema = format!("CREATE SCHEMA firstcome_{name}; SET search_path TO firstcome_{name};");
    let golden = include_str!("golden/postgres-layout-1.sql");
    let space = "07".repeat(16);
    let meta =
        format!("INSERT INTO meta (one, version, space) VALUES (1, 1, decode('{space}', 'hex'));");
    let make = format!("{schema}\n{golden}\n{OLDER_WRITES}\n{meta}");
    server.try_sql("ledger", &make).unwrap();
    let place = Place::Space(server, name);
    let ledger = place.open(SPACE, 0).await.unwrap();
    let stage = Stage { place, ledger };
    goes_on(&stage).await;
    // What the first build asks: its version, and that `meta` has its three columns.
    assert_eq!(stage.sql("SELECT version FROM meta"), ["1"]);
    let columns = "SELECT count(*) FROM pg_catalog.pg_attribute \
         WHERE attrelid = 'meta'::regclass AND attname IN ('one', 'version', 'space')";
    assert_eq!(stage.sql(columns), ["3"]);
    // A server that may not change tables goes without an id.
    stage.sql("ALTER TABLE meta DROP COLUMN id; SELECT 1");
    assert_eq!(stage.ledger.id().await.unwrap(), None);
}
