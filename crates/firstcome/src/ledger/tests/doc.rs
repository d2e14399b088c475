//! The page that documents the tables says what is so.

use super::*;

const PAGE: &str = include_str!("../../../../../docs/reference/ledger.md");
const SCHEMA: &str = include_str!("../sqlite/schema.sql");

/// The blocks of SQL on the page.
fn queries() -> Vec<&'static str> {
    PAGE.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// What a query gives, a line for each row.
fn run(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{error} in\n{sql}"));
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let cells = (0..columns).map(|column| row.get::<_, rusqlite::types::Value>(column));
        cells.collect::<Result<Vec<_>, _>>()
    });
    let text = |cell: &rusqlite::types::Value| match cell {
        rusqlite::types::Value::Null => "null".to_owned(),
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Real(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text.clone(),
        rusqlite::types::Value::Blob(bytes) => format!("{} bytes", bytes.len()),
    };
    let line = |row: Vec<_>| row.iter().map(text).collect::<Vec<_>>().join(" | ");
    rows.unwrap().map(|row| line(row.unwrap())).collect()
}

/// A ledger like the one on the page: three winners, one of them cancelled.
async fn example() -> Stage {
    let stage = Stage::new().await;
    let term = stage.ledger.mint_term().await.unwrap().term;
    let rows = vec![
        claim(1, "spring", 1, "ann"),
        claim(2, "spring", 2, "bob"),
        cancel(3, "spring", 1, "ann"),
        claim(4, "spring", 3, "eve"),
    ];
    stage.settle(term, 0, rows).await.unwrap();
    stage
}

#[tokio::test]
async fn every_query_on_the_page_runs_and_gives_what_it_says() {
    let stage = example().await;
    let connection = Connection::open(stage.path()).unwrap();
    let queries = queries();
    let answers: Vec<Vec<String>> = queries.iter().map(|sql| run(&connection, sql)).collect();
    let found = |word: &str| {
        let place = queries.iter().position(|sql| sql.contains(word));
        &answers[place.unwrap_or_else(|| panic!("no query with {word}"))]
    };
    assert_eq!(
        *found("-- the winners"),
        ["2 | bob | 2027-03-01T10:00:00.000002Z", "3 | eve | 2027-03-01T10:00:00.000004Z",]
    );
    assert_eq!(
        *found("-- cancelled claims"),
        ["1 | ann | 2027-03-01T10:00:00.000003Z | operator | paid twice | desk"]
    );
    assert_eq!(*found("-- gaps in ranks"), [""; 0]);
    assert_eq!(*found("-- gaps in results"), [""; 0]);
    assert_eq!(*found("-- subjects with more than one"), [""; 0]);
    assert_eq!(*found("-- one subject"), ["spring | main | 1 | 2027-03-01T10:00:00.000001Z | 1"]);
    assert_eq!(*found("-- how it stands"), ["0 | 4 | 1"]);
}

/// The checks on the page are worth running: they find what they are for.
#[tokio::test]
async fn the_checks_on_the_page_find_what_is_wrong() {
    let stage = example().await;
    let connection = Connection::open(stage.path()).unwrap();
    connection.execute_batch("DROP TRIGGER results_are_never_deleted").unwrap();
    connection.execute_batch("DELETE FROM results WHERE number = 2").unwrap();
    connection.execute_batch("DELETE FROM claims WHERE rank = 2").unwrap();
    let double = "INSERT INTO claims (campaign, pool, rank, subject, at, shard, result)
        VALUES ('spring', 'main', 4, 'eve', 0, 0, 5)";
    connection.execute_batch(double).unwrap();
    let find = |word: &str| queries().into_iter().find(|sql| sql.contains(word)).unwrap();
    assert_eq!(run(&connection, find("-- gaps in ranks")), ["spring | main | 3 | 4"]);
    assert_eq!(run(&connection, find("-- gaps in results")), ["0 | 3 | 4"]);
    let twice = run(&connection, find("-- subjects with more than one"));
    assert_eq!(twice, ["spring | main | eve | 2"]);
}

#[test]
fn every_column_is_on_the_page() {
    for line in SCHEMA.lines() {
        let mut words = line.split_whitespace();
        let (Some(first), Some(second)) = (words.next(), words.next()) else { continue };
        let is_column = line.starts_with("    ") && ["INTEGER", "TEXT", "BLOB"].contains(&second);
        assert!(!is_column || PAGE.contains(&format!("`{first}`")), "{first} is not documented");
        if line.starts_with("CREATE ") && second != "TRIGGER" {
            let name = words.next().unwrap();
            assert!(PAGE.contains(&format!("`{name}`")), "{name} is not documented");
        }
    }
}
