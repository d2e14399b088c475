//! The page that documents the tables says what is so.

use super::*;

const PAGE: &str = include_str!("../../../../../docs/reference/ledger.md");
const SCHEMAS: [&str; 3] = [
    include_str!("../sqlite/schema.sql"),
    include_str!("../postgres/schema.sql"),
    include_str!("../mysql/schema.sql"),
];

on_each_database! {
    every_query_on_the_page_runs_and_gives_what_it_says,
    the_checks_on_the_page_find_what_is_wrong,
}

/// The blocks of SQL on the page.
fn queries() -> Vec<&'static str> {
    PAGE.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// A ledger like the one on the page: three winners, one of them cancelled; a code that was redeemed; somebody unserved.
async fn fill(stage: &Stage) {
    let term = stage.ledger.mint_term().await.unwrap().term;
    let used = Details { reference: Some("order-1".into()), ..Details::default() };
    let wanted = Details { quantity: Some(2), ..Details::default() };
    let rows = vec![
        claim(1, "spring", 1, "ann"),
        claim(2, "spring", 2, "bob"),
        cancel(3, "spring", 1, "ann"),
        claim(4, "spring", 3, "eve"),
        claim(5, "coupons", 1, "kim"),
        Row {
            kind: Kind::Redeemed,
            details: Some(Box::new(used)),
            ..claim(6, "coupons", 1, "kim")
        },
        Row {
            kind: Kind::Unserved,
            reason: Some("ended".into()),
            details: Some(Box::new(wanted)),
            ..claim(7, "spring", 0, "ira")
        },
    ];
    stage.settle(term, 0, rows).await.unwrap();
}

async fn every_query_on_the_page_runs_and_gives_what_it_says(stage: Stage) {
    fill(&stage).await;
    let queries = queries();
    let answers: Vec<Vec<String>> = queries.iter().map(|sql| stage.sql(sql)).collect();
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
    assert_eq!(
        *found("-- redemptions"),
        ["order-1 | redeemed | 1 | kim |  | 2027-03-01T10:00:00.000006Z"]
    );
    assert_eq!(*found("-- unserved"), ["ira | 2 | ended | 2027-03-01T10:00:00.000007Z"]);
    assert_eq!(*found("-- gaps in ranks"), [""; 0]);
    assert_eq!(*found("-- gaps in results"), [""; 0]);
    assert_eq!(*found("-- subjects with more than one"), [""; 0]);
    assert_eq!(*found("-- one subject"), ["spring | main | 1 | 2027-03-01T10:00:00.000001Z | 1"]);
    assert_eq!(*found("-- how it stands"), ["0 | 7 | 1"]);
}

/// The checks on the page are worth running: they find what they are for.
async fn the_checks_on_the_page_find_what_is_wrong(stage: Stage) {
    fill(&stage).await;
    match stage.place {
        Place::Folder(_) => stage.sql("DROP TRIGGER results_are_never_deleted"),
        #[cfg(feature = "postgres")]
        Place::Space(..) => stage.sql("DROP TRIGGER results_are_never_changed ON results"),
        #[cfg(feature = "mysql")]
        Place::Database(..) => stage.sql("DROP TRIGGER results_are_never_deleted"),
        Place::Memory(_) => unreachable!("it has no triggers"),
    };
    stage.sql("DELETE FROM results WHERE number = 2");
    stage.sql("DELETE FROM claims WHERE rank = 2");
    let double = "INSERT INTO claims (campaign, pool, rank, subject, at, shard, result)
        VALUES ('spring', 'main', 4, 'eve', 0, 0, 5)";
    stage.sql(double);
    let find = |word: &str| queries().into_iter().find(|sql| sql.contains(word)).unwrap();
    assert_eq!(stage.sql(find("-- gaps in ranks")), ["spring | main | 3 | 4"]);
    assert_eq!(stage.sql(find("-- gaps in results")), ["0 | 6 | 7"]);
    let twice = stage.sql(find("-- subjects with more than one"));
    assert_eq!(twice, ["spring | main | eve | 2"]);
}

#[test]
fn every_column_is_on_the_page() {
    for line in SCHEMAS.iter().flat_map(|schema| schema.lines()) {
        let mut words = line.split_whitespace();
        let (Some(first), Some(second)) = (words.next(), words.next()) else { continue };
        let kinds = ["INTEGER", "TEXT", "BLOB", "BIGINT", "bigint", "integer", "text", "bytea"];
        let is_column =
            line.starts_with("    ") && (kinds.contains(&second) || second.starts_with("VARCHAR("));
        assert!(!is_column || PAGE.contains(&format!("`{first}`")), "{first} is not documented");
        if line.starts_with("CREATE ") && ["TABLE", "VIEW"].contains(&second) {
            let name = words.next().unwrap();
            assert!(PAGE.contains(&format!("`{name}`")), "{name} is not documented");
        }
    }
}
