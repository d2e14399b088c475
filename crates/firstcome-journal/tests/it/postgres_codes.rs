//! A PostgreSQL that refuses for a while: each refusal is known by its SQLSTATE, nothing of it is stored, and it passes.

use crate::postgres_opening::{Own, SCHEMA};
use crate::world::{Player, all};
use firstcome_journal::JournalError;

/// Has each insertion fail with a code, and looks what an append gives; then goes on without it.
async fn refused(code: &str, is: impl Fn(&JournalError) -> bool) {
    let Some(own) = Own::start().await else { return };
    let mut ann = Player::new(b'a');
    ann.claims(&own.journal, "ann").await.unwrap();
    own.sql(&format!(
        "CREATE FUNCTION {SCHEMA}.refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$; \
         CREATE TRIGGER refuse BEFORE INSERT ON {SCHEMA}.entries EXECUTE FUNCTION {SCHEMA}.refuse()"
    ));
    let append = ann.next("bob");
    let failure = own.journal.append(append.clone()).await.unwrap_err();
    assert!(is(&failure), "{failure:?}");
    assert_eq!(own.journal.read(0).await.unwrap().entries.len(), 1, "reading goes on");
    own.sql(&format!("DROP TRIGGER refuse ON {SCHEMA}.entries"));
    assert_eq!(all(&own.journal, 0).await.len(), 1, "nothing of it was stored");
    assert_eq!(own.journal.append(append).await.unwrap().entries.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_without_room_is_full() {
    refused("53100", |failure| matches!(failure, JournalError::Full(_))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_takes_no_writes_is_unavailable() {
    refused("25006", |failure| matches!(failure, JournalError::Unavailable(_))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_took_too_long_was_undone() {
    refused("57014", |failure| matches!(failure, JournalError::Unavailable(_))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_ended_leaves_it_unknown() {
    refused("57P01", |failure| matches!(failure, JournalError::Unknown(_))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_is_missing_is_named_with_the_page_that_lists_them() {
    let is = |failure: &JournalError| matches!(failure, JournalError::Unfit { fix, .. } if fix.contains("in-postgresql.md"));
    refused("42501", is).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_that_nobody_knows_changed_nothing() {
    let is = |failure: &JournalError| matches!(failure, JournalError::Unavailable(why) if why.contains("ZZ999"));
    refused("ZZ999", is).await;
}
