use super::*;

const PAGE: &str = include_str!("../../../../docs/reference/store-errors.md");

/// Returns the lines of the page below a heading that have codes.
fn rows(heading: &str) -> Vec<&'static str> {
    let (_, section) = PAGE.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let section = section.split("\n## ").next().unwrap_or_default();
    section.lines().filter(|line| line.starts_with("- `")).collect()
}

#[test]
fn the_page_lists_every_code_with_its_meaning_and_reason() {
    for (store, heading) in [
        (Store::Redis, "Redis and Valkey"),
        (Store::PostgreSql, "PostgreSQL"),
        (Store::MySql, "MariaDB and MySQL"),
        (Store::Nats, "NATS JetStream"),
        (Store::Sqlite, "SQLite"),
    ] {
        // Codes with one meaning and one reason share a line.
        let mut lines: Vec<(Vec<String>, &str, &str)> = Vec::new();
        for error in store.errors() {
            let (code, meaning) = (format!("`{}`", error.code), error.meaning.as_str());
            match lines.iter_mut().find(|(_, of, why)| (*of, *why) == (meaning, error.why)) {
                Some((codes, ..)) => codes.push(code),
                None => lines.push((vec![code], meaning, error.why)),
            }
        }
        let expected: Vec<String> = lines
            .into_iter()
            .map(|(codes, meaning, why)| format!("- {}: {meaning}; {why}", codes.join(", ")))
            .collect();
        assert_eq!(rows(heading), expected, "{heading}:\n{}", expected.join("\n"));
    }
}

#[test]
fn no_code_is_listed_twice() {
    for store in Store::ALL {
        let mut codes: Vec<&str> = store.errors().iter().map(|error| error.code).collect();
        codes.sort_unstable();
        let listed = codes.len();
        codes.dedup();
        assert_eq!(codes.len(), listed, "{store:?}");
    }
}

#[test]
fn a_code_counts_before_its_class_and_classes_are_for_postgres_alone() {
    assert_eq!(Store::PostgreSql.meaning("53100"), Some(Meaning::NoRoom));
    assert_eq!(Store::PostgreSql.meaning("53300"), Some(Meaning::NotReady));
    assert_eq!(Store::PostgreSql.meaning("53999"), Some(Meaning::NoRoom));
    assert_eq!(Store::PostgreSql.meaning("57P05"), Some(Meaning::NotReady));
    assert_eq!(Store::PostgreSql.meaning("42P01"), None);
    assert_eq!(Store::MySql.meaning("5310"), None);
    for code in ["", "E", "ERR", "\u{fc}\u{fc}"] {
        assert!(Store::ALL.iter().all(|store| store.meaning(code).is_none()), "{code}");
    }
}
