//! The same commands on databases.

use std::time::Instant;

use firstcome_testbed::{Folder, MariaDb, PgBouncer, Postgres, shift_clock};
use rustix::process::Signal;

use crate::places::Place;
use crate::scene::Shell;

fn at(url: String) -> Place {
    Place { url, authorities: None }
}

fn postgres() -> Option<Place> {
    Some(at(Postgres::shared()?.new_database()))
}

fn mariadb() -> Option<Place> {
    Some(at(MariaDb::shared()?.new_database()))
}

fn sqlite(folder: &Folder) -> Place {
    at(format!("sqlite://{}/locks.db", folder.path().display()))
}

#[test]
fn every_verb_on_postgres() {
    if let Some(place) = postgres() {
        place.can_do_everything();
    }
}

#[test]
fn every_verb_on_mariadb() {
    if let Some(place) = mariadb() {
        place.can_do_everything();
    }
}

#[test]
fn every_verb_on_a_sqlite_file() {
    let folder = Folder::new("locks");
    sqlite(&folder).can_do_everything();
}

/// Elected and asked for the term at each second, as in the article this is for.
const NIGHTLY: [&str; 9] = ["elect", "nightly", "--every", "1s", "--lease", "5s", "--", "sh", "-c"];

fn nightly(place: &Place) -> Shell {
    let args = [&NIGHTLY[..], &["echo $FIRSTCOME_TERM"]].concat();
    Shell::of(&mut place.program(&args))
}

/// One of two is killed, then one of two is told to end: each time the other one goes on, under a higher term.
fn a_leader_goes_and_the_next_one_comes(place: &Place) {
    let mut first = nightly(place);
    let term_of_first: u64 = first.line().parse().unwrap();
    let mut second = nightly(place);
    // It has been told for a while that somebody else leads.
    let _: u64 = first.line().parse().unwrap();
    let _: u64 = first.line().parse().unwrap();
    let killed = Instant::now();
    first.tell(Signal::KILL);
    let term_of_second: u64 = second.line().parse().unwrap();
    eprintln!("killed: the next one ran after {:?}", killed.elapsed());
    assert!(term_of_second > term_of_first);

    let mut third = nightly(place);
    assert_eq!(second.line().parse::<u64>().unwrap(), term_of_second);
    assert_eq!(second.line().parse::<u64>().unwrap(), term_of_second);
    let told = Instant::now();
    second.tell(Signal::INT);
    let term_of_third: u64 = third.line().parse().unwrap();
    eprintln!("told to end: the next one ran after {:?}", told.elapsed());
    assert!(term_of_third > term_of_second);
    // Whether a command was running just then or not: its own code, or that of the signal.
    let ended = second.end();
    assert!([0, 128 + 2].contains(&ended.code), "{ended:?}");
}

#[test]
fn leaders_come_and_go_on_postgres() {
    if let Some(place) = postgres() {
        a_leader_goes_and_the_next_one_comes(&place);
    }
}

#[test]
fn leaders_come_and_go_on_mariadb() {
    if let Some(place) = mariadb() {
        a_leader_goes_and_the_next_one_comes(&place);
    }
}

#[test]
fn leaders_come_and_go_on_a_sqlite_file() {
    let folder = Folder::new("locks");
    a_leader_goes_and_the_next_one_comes(&sqlite(&folder));
}

#[test]
fn a_pooler_is_noticed_said_and_lived_with() {
    let Some(server) = Postgres::shared() else { return };
    let Some(pooler) = PgBouncer::start(server, 5) else { return };
    let direct = server.new_database();
    let port = |port: u16| format!("127.0.0.1:{port}/");
    let place = at(direct.replace(&port(server.port()), &port(pooler.port())));
    let said = place.run(&["lock", "x", "--", "true"]);
    assert!(said.code == 0 && said.talk.contains("a pooler in front of the database"), "{said:?}");
    assert!(!at(direct).run(&["lock", "x", "--", "true"]).talk.contains("pooler"));
    place.can_do_everything();
    a_leader_goes_and_the_next_one_comes(&place);
}

/// A clock that is an hour off, on either side, neither keeps a lock longer nor gives it away.
fn a_wrong_clock_changes_nothing(place: &Place) {
    for seconds in [3600, -3600] {
        let stay = ["lock", "x", "--lease", "60s", "--", "sh", "-c", "echo $FIRSTCOME_FENCE; cat"];
        let mut right = Shell::of(place.program(&stay).stdin(std::process::Stdio::piped()));
        let fence: u64 = right.line().parse().unwrap();
        let mut wrong = place.program(&["lock", "x", "--wait", "0s", "--", "true"]);
        if !shift_clock(&mut wrong, seconds) {
            return;
        }
        crate::scene::said(&wrong.output().unwrap()).ends(120);
        drop(right.input());
        right.end().ends(0);

        let mut wrong = place.program(&stay);
        assert!(shift_clock(wrong.stdin(std::process::Stdio::piped()), seconds));
        let mut wrong = Shell::of(&mut wrong);
        let next: u64 = wrong.line().parse().unwrap();
        assert!(next > fence && next < fence + 600_000_000, "by the database's clock");
        let seen = place.run(&["locks", "inspect", "x", "--json"]).json();
        assert!(seen["remaining_ms"].as_u64().unwrap() <= 60_000, "{seen}");
        place.run(&["lock", "x", "--wait", "0s", "--", "true"]).ends(120);
        drop(wrong.input());
        wrong.end().ends(0);
    }
}

#[test]
fn a_clients_clock_an_hour_off_changes_nothing_on_postgres() {
    if let Some(place) = postgres() {
        a_wrong_clock_changes_nothing(&place);
    }
}

#[test]
fn a_clients_clock_an_hour_off_changes_nothing_on_mariadb() {
    if let Some(place) = mariadb() {
        a_wrong_clock_changes_nothing(&place);
    }
}

#[test]
fn the_tables_can_be_made_by_hand() {
    let ddl = |kind: &str| at(String::new()).run(&["locks", "ddl", "--kind", kind]).ends(0);
    assert!(ddl("sqlite").contains("CREATE TABLE IF NOT EXISTS firstcome_locks"));
    if let Some(server) = Postgres::shared() {
        let url = server.new_database();
        let database = url.rsplit('/').next().unwrap().split('?').next().unwrap();
        server.sql(database, &ddl("postgres"));
        // Somebody who may use the tables, and make none.
        server.sql(
            database,
            "CREATE ROLE small LOGIN PASSWORD 'x'; REVOKE CREATE ON SCHEMA public FROM public; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON firstcome_locks, firstcome_guards, firstcome_permits \
             TO small",
        );
        let small = url.replacen("firstcome:secret-of-the-tests@", "small:x@", 1);
        at(small).can_do_everything();
    }
    if let Some(server) = MariaDb::shared() {
        let url = server.new_database();
        let database = url.rsplit('/').next().unwrap();
        server.sql(&format!("USE {database}; {}", ddl("mysql")));
        server.sql(&format!(
            "CREATE USER small@'127.0.0.1' IDENTIFIED BY 'x'; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON {database}.* TO small@'127.0.0.1'"
        ));
        let small = url.replacen("firstcome:secret-of-the-tests@", "small:x@", 1);
        at(small).can_do_everything();
    }
}

#[test]
fn what_cannot_be_used_is_said() {
    let folder = Folder::new("locks");
    let place = sqlite(&folder);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let refused = place.run(&["elect", "x", "--node", host.trim(), "--", "true"]);
    refused.complains(125, "", "add what only this process has");
    at("oracle://x".to_owned()).run(&["lock", "x", "--", "true"]).complains(
        125,
        "this build keeps no locks in `oracle://` stores",
        "use one of redis://",
    );
    at("sqlite://".to_owned()).run(&["lock", "x", "--", "true"]).complains(
        125,
        "the store's address is not usable: it names no file",
        "sqlite://FILE",
    );
    at("sqlite:///no/such/folder/x".to_owned()).run(&["lock", "x", "--", "true"]).complains(
        125,
        "the store at /no/such/folder/x has no such database",
        "",
    );
}
