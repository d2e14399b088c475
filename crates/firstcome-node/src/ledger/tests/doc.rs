//! The page that documents the tables says what is so.

use super::*;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../../docs/reference/ledger.md");
/// Each column of the tables of layout 1: whether it may be null, and its type in SQLite, PostgreSQL and MariaDB.
const LAYOUT_1: &str = include_str!("golden/layout-1.txt");

on_each_database! {
    new_tables_are_those_of_layout_1,
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
    let winners = queries.iter().find(|sql| sql.contains("-- the winners")).unwrap();
    let page = winners.replace("ORDER BY", "AND rank BETWEEN 3 AND 9 ORDER BY");
    assert_eq!(stage.sql(&page), ["3 | eve | 2027-03-01T10:00:00.000004Z"]);
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
    assert_eq!(*found("-- how it stands"), ["7 | 1"]);
}

/// The checks on the page are worth running: they find what they are for.
async fn the_checks_on_the_page_find_what_is_wrong(stage: Stage) {
    fill(&stage).await;
    match stage.place {
        Place::Folder(_) => stage.sql("DROP TRIGGER results_are_never_deleted"),
        Place::Space(..) => stage.sql("DROP TRIGGER results_are_never_changed ON results"),
        Place::Database(..) => stage.sql("DROP TRIGGER results_are_never_deleted"),
        Place::Memory(_) => unreachable!("it has no triggers"),
    };
    stage.sql("DELETE FROM results WHERE number = 2");
    let find = |word: &str| queries().into_iter().find(|sql| sql.contains(word)).unwrap();
    assert_eq!(stage.sql(find("-- gaps in ranks")), ["spring | main | 2 | 3"]);
    assert_eq!(stage.sql(find("-- gaps in results")), ["6 | 7"]);
    let spring = claim(8, "spring", 4, "eve").campaign_number;
    stage.sql(&format!(
        "INSERT INTO results (number, campaign_number, pool_number, in_campaign, rank, kind_number, at, subject)
         VALUES (8, {spring}, 0, 8, 4, 1, 0, 'eve')"
    ));
    let twice = stage.sql(find("-- subjects with more than one"));
    assert_eq!(twice, ["spring | main | eve | 2"]);
}

/// The columns of a table of layout 1.
fn columns(table: &str) -> BTreeSet<&'static str> {
    let of = |line: &'static str| line.split(' ').next()?.strip_prefix(table)?.strip_prefix('.');
    LAYOUT_1.lines().filter_map(of).collect()
}

/// What is read from the tables; the others are tables.
const VIEWS: [&str; 3] = ["results_utc", "claims", "claims_utc"];

/// A list that differs belongs to another layout: `LAYOUT` goes up, so that no older build uses the tables.
async fn new_tables_are_those_of_layout_1(stage: Stage) {
    let catalogue = |kind: &str, schema: &str| {
        format!(
            "SELECT concat(table_name, '.', column_name), is_nullable, {kind} \
             FROM information_schema.columns WHERE table_schema = {schema}"
        )
    };
    let (place, sql) = match &stage.place {
        Place::Folder(_) => {
            let sql = "SELECT concat(t.name, '.', c.name), iif(c.\"notnull\" OR c.pk, 'NO', 'YES'), c.type \
                 FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type IN ('table', 'view')";
            (2, sql.to_owned())
        }
        Place::Space(..) => (3, catalogue("data_type", "current_schema()")),
        Place::Database(..) => (4, catalogue("column_type", "DATABASE()")),
        Place::Memory(_) => unreachable!("it has no tables"),
    };
    let is_view = |line: &String| VIEWS.iter().any(|view| line.starts_with(&format!("{view}.")));
    let (views, tables): (BTreeSet<String>, BTreeSet<String>) =
        stage.sql(&sql).into_iter().partition(is_view);
    let lines = LAYOUT_1.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let there = lines.filter(|cells| cells[place] != "-");
    let wanted = there.map(|cells| [cells[0], cells[1], cells[place]].join(" | "));
    assert_eq!(tables, wanted.collect());
    assert_eq!(stage.sql("SELECT layout FROM meta"), ["1"]);
    for view in VIEWS {
        let of = |line: &'_ String| {
            let (column, _) = line.strip_prefix(view)?.strip_prefix('.')?.split_once(' ')?;
            Some(column.to_owned())
        };
        let seen: BTreeSet<String> = views.iter().filter_map(of).collect();
        let named = documented(view).into_iter().map(str::to_owned).collect();
        assert_eq!(seen, named, "{view}");
    }
}

/// The columns that the page names for a table or a view. Those of a view with times for people are those of what it is made
/// from, and one more.
fn documented(table: &str) -> BTreeSet<&'static str> {
    if table == "claims_utc" {
        return documented("claims").into_iter().chain(["at_utc"]).collect();
    }
    let section = PAGE.split(&format!("\n### `{table}`: ")).nth(1).unwrap_or_default();
    let section = section.split("\n#").next().unwrap_or_default();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn the_page_has_the_columns_of_each_table_and_no_others() {
    for table in ["results", "details", "pools", "settled", "meta"] {
        assert_eq!(documented(table), columns(table), "{table}");
    }
}
