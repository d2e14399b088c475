//! Ledgers that the first build made: brought to the layout of this one, and used by both.

use super::*;

on_each_database!(an_id_is_drawn_once_and_each_ledger_has_its_own);
on_each_store!(what_results_say_of_codes_and_waitlists_is_kept);

/// A result about a code, with what else it says.
fn detailed(row: Row, kind: Kind, details: Details) -> Row {
    Row { kind, details: Some(Box::new(details)), ..row }
}

/// Results of each kind that has columns of its own, behind a claim.
fn detailed_rows(after: u64) -> Vec<Row> {
    let row = |nth, rank| claim(after + nth, "coupons", rank, "ann");
    let used = Details { reference: Some("order-17".into()), ..Details::default() };
    let by_bob = Details { used_by: Some("bob".into()), ..used.clone() };
    let undone = Details { verdict: Some("expired".into()), ..used };
    let replaced =
        Details { verdict: Some("reissue".into()), issue: Some(u16::MAX), ..Details::default() };
    let import = Details {
        verdict: Some("revoke".into()),
        import: Some("i-1".into()),
        ..Details::default()
    };
    let wanted = Details { quantity: Some(10), ..Details::default() };
    vec![
        row(1, 1),
        detailed(row(2, 1), Kind::Redeemed, by_bob),
        detailed(row(3, 1), Kind::RolledBack, undone),
        detailed(row(4, 1), Kind::CodeMarked, replaced),
        detailed(row(5, 0), Kind::CodeMarked, import),
        detailed(Row { reason: Some("ended".into()), ..row(6, 0) }, Kind::Unserved, wanted),
    ]
}

async fn what_results_say_of_codes_and_waitlists_is_kept(stage: Stage) {
    let term = stage.ledger.mint_term().await.unwrap().term;
    let rows = detailed_rows(0);
    stage.settle(term, 0, rows.clone()).await.unwrap();
    assert_eq!(stage.ledger.results(0, 9, None).await.unwrap(), rows);
    assert_eq!(stage.ledger.results(2, 3, Some("coupons")).await.unwrap(), rows[2..5]);
    for row in &rows[1..] {
        let mut other = row.clone();
        other.details = None;
        assert!(!other.is_same_result(row), "{other}");
    }
}

async fn an_id_is_drawn_once_and_each_ledger_has_its_own(mut stage: Stage) {
    let id = stage.ledger.id().await.unwrap().unwrap();
    stage.restart().await;
    assert_eq!(stage.ledger.id().await.unwrap(), Some(id));
    assert_eq!(stage.open(SPACE, 1).await.unwrap().id().await.unwrap(), Some(id), "another shard");
    let other = Stage::sqlite().await;
    assert_ne!(other.ledger.id().await.unwrap(), Some(id));
    assert_eq!(stage.sql("SELECT version, layout FROM meta"), ["1 | 3"]);
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
    let sql = "INSERT INTO meta (one, version, space, retried) VALUES (1, 1, ?1, 0)";
    older_file(include_str!("golden/sqlite-layout-1.sql"), sql)
}

/// Makes a file as builds did that knew the id, but neither codes nor waitlists.
fn second_layout() -> TempDir {
    let sql = "INSERT INTO meta (one, version, space, retried, id, layout) VALUES (1, 1, ?1, 0, randomblob(16), 2)";
    older_file(include_str!("golden/sqlite-layout-2.sql"), sql)
}

fn older_file(schema: &str, meta: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let older = Connection::open(file(&folder)).unwrap();
    older.execute_batch(schema).unwrap();
    older.execute_batch(OLDER_WRITES).unwrap();
    older.execute(meta, [SPACE.0]).unwrap();
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

#[tokio::test]
async fn older_files_get_the_columns_of_codes_and_waitlists_and_are_read_before_without_them() {
    for folder in [first_layout(), second_layout()] {
        // An audit reads the file before any server of this build opened it; it changes nothing.
        let before = Reader::open(&file(&folder), SPACE, 0).unwrap();
        assert_eq!(before.results(0, 9).unwrap(), claims(1..=1));
        assert_eq!(before.results_of("spring", 0, 9).unwrap(), claims(1..=1));
        drop(before);
        let has = "SELECT count(*) FROM pragma_table_info('results') WHERE name = 'reference'";
        assert_eq!(lines(&Connection::open(file(&folder)).unwrap(), has).unwrap(), ["0"]);
        let place = Place::Folder(folder);
        let ledger = place.open(SPACE, 0).await.unwrap();
        let stage = Stage { place, ledger };
        let term = stage.ledger.mint_term().await.unwrap().term;
        let rows = detailed_rows(1);
        stage.settle(term, 1, rows.clone()).await.unwrap();
        assert_eq!(stage.ledger.results(1, 9, None).await.unwrap(), rows);
        assert_eq!(stage.sql("SELECT layout FROM meta"), ["3"]);
        let seen = "SELECT reference, at_utc FROM results_utc WHERE kind = 'redeemed'";
        assert_eq!(stage.sql(seen), ["order-17 | 2027-03-01T10:00:00.000003Z"]);
        // What a build of the older layout writes still goes in.
        stage.sql(
            "INSERT INTO results (shard, number, kind, campaign, pool, rank, subject, at, cancelled_by, reason, who, \
             settled_at, unit, hold, moved_from) \
             VALUES (0, 8, 'claim', 'spring', 'main', 2, 'eve', 1803895200000008, NULL, NULL, NULL, 0, NULL, NULL, NULL)",
        );
        assert_eq!(stage.ledger.results(7, 9, None).await.unwrap(), [claim(8, "spring", 2, "eve")]);
    }
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

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_in_postgres_get_the_columns_of_codes_and_waitlists_if_that_is_allowed() {
    let Some(server) = Postgres::shared() else { return };
    for golden in
        [include_str!("golden/postgres-layout-1.sql"), include_str!("golden/postgres-layout-2.sql")]
    {
        let name = fresh_space();
        let schema =
            format!("CREATE SCHEMA firstcome_{name}; SET search_path TO firstcome_{name};");
        let space = "07".repeat(16);
        let meta = format!(
            "INSERT INTO meta (one, version, space) VALUES (1, 1, decode('{space}', 'hex'));"
        );
        let view = "CREATE VIEW mine AS SELECT subject, at_utc FROM results_utc;";
        server
            .try_sql("ledger", &format!("{schema}\n{golden}\n{OLDER_WRITES}\n{meta}\n{view}"))
            .unwrap();
        let place = Place::Space(server, name);
        let ledger = place.open(SPACE, 0).await.unwrap();
        let stage = Stage { place, ledger };
        let term = stage.ledger.mint_term().await.unwrap().term;
        let rows = detailed_rows(1);
        stage.settle(term, 1, rows.clone()).await.unwrap();
        assert_eq!(stage.ledger.results(1, 9, None).await.unwrap(), rows);
        let seen = "SELECT reference, at_utc FROM results_utc WHERE kind = 'redeemed'";
        assert_eq!(stage.sql(seen), ["order-17 | 2027-03-01T10:00:00.000003Z"]);
        assert_eq!(stage.sql("SELECT layout FROM meta"), ["3"]);
        assert_eq!(stage.sql("SELECT count(*) FROM mine"), ["7"], "views on the view stay");
    }
    let stage = Stage::postgres().await.unwrap();
    let term = stage.ledger.mint_term().await.unwrap().term;
    // As if the columns could not be added: claims are settled all the same, and read.
    stage.sql("DROP VIEW results_utc; ALTER TABLE results DROP COLUMN reference; SELECT 1");
    stage.settle(term, 0, claims(1..=2)).await.unwrap();
    assert_eq!(stage.ledger.results(0, 9, None).await.unwrap(), claims(1..=2));
    let refused = stage.settle(term, 2, detailed_rows(2)).await.unwrap_err();
    assert!(
        matches!(&refused, LedgerFailure::Denied(why) if why.contains("need columns")),
        "{refused}"
    );
    assert_eq!(stage.numbers(), [1, 2]);
}
