//! A ledger that does not fit its journal is not written to, and the commands that are named mend it.

use crate::process::{Server, verb};
use crate::settling::settled;
use crate::wire::Talk;
use firstcome_testbed::Postgres;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A data folder, its ledger, and copies of both.
struct Scene {
    folder: TempDir,
    copies: TempDir,
    ledger: Ledger,
}

enum Ledger {
    File,
    /// A database of its own, by name, and its URL.
    Database(&'static Postgres, String, String),
}

fn copy(from: &Path, to: &Path) {
    std::fs::remove_dir_all(to).unwrap_or_default();
    let copied = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success());
}

impl Scene {
    fn on_file() -> Self {
        let (folder, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        Self { folder, copies, ledger: Ledger::File }
    }

    fn on_database(name: &str) -> Option<Self> {
        let server = Postgres::shared()?;
        server.sql("postgres", &format!("CREATE DATABASE {name}"));
        let url = server.url().replace("/ledger", &format!("/{name}"));
        Some(Self { ledger: Ledger::Database(server, name.to_owned(), url), ..Self::on_file() })
    }

    fn settings(&self) -> Vec<(&str, &str)> {
        match &self.ledger {
            Ledger::File => vec![("SETTLE_INTERVAL_MS", "1")],
            Ledger::Database(_, _, url) => vec![("SETTLE_INTERVAL_MS", "1"), ("LEDGER", url)],
        }
    }

    fn serve(&self) -> Server {
        Server::with(self.folder.path(), &self.settings())
    }

    /// Claims for these subjects, has all settled, and stops.
    fn claim(&self, subjects: &str) {
        let server = self.serve();
        let mut talk = server.talk();
        claim(&mut talk, subjects);
        settled(&mut talk);
        server.terminate();
        let (ended, said) = server.ended();
        assert!(ended.success(), "{said}");
    }

    /// Serves until settling says what is wrong, asks how it stands, and stops.
    fn trouble(&self) -> String {
        let server = self.serve();
        let mut talk = server.talk();
        let end = Instant::now() + Duration::from_secs(60);
        let trouble = loop {
            if let Some(trouble) = talk.get("/readyz").json()["settle_trouble"].as_str() {
                break trouble.to_owned();
            }
            assert!(Instant::now() < end, "nothing is wrong with the ledger");
        };
        assert_eq!(talk.get("/readyz").status, 200, "a ledger that does not fit stops no sale");
        let (code, said, _) = verb(self.folder.path(), &[], &["settle", "status", "--json"]);
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((code, said["trouble"].as_str()), (1, Some(&*trouble)));
        server.terminate();
        server.ended();
        trouble
    }

    fn verb(&self, args: &[&str]) -> (i32, String, String) {
        verb(self.folder.path(), &self.settings(), args)
    }

    /// Serves and audits: everything is settled and as the journal says.
    fn is_whole(&self, results: u64) {
        let server = self.serve();
        let mut talk = server.talk();
        assert_eq!(settled(&mut talk), results);
        let (code, said, _) = verb(self.folder.path(), &[], &["settle", "status"]);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains(&format!("settled  {results} of {results} results")), "{said}");
        drop(server);
        let (code, said, why) = self.verb(&["audit", "--json"]);
        assert_eq!(code, 0, "{said}{why}");
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(
            (&said["ledger_equal"], &said["ledger_through"]),
            (&true.into(), &results.into())
        );
    }

    fn keep_folder(&self) {
        copy(self.folder.path(), &self.copies.path().join("folder"));
    }

    /// Puts the kept folder back; a ledger in it stays as it is now.
    fn restore_folder(&self) {
        let (folder, kept) = (self.folder.path(), self.copies.path().join("folder"));
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name();
            if name != "ledger.sqlite" {
                std::fs::remove_dir_all(entry.path())
                    .or_else(|_| std::fs::remove_file(entry.path()))
                    .unwrap();
                if kept.join(&name).exists() {
                    copy(&kept.join(&name), &entry.path());
                }
            }
        }
    }

    fn keep_ledger(&self) {
        match &self.ledger {
            Ledger::File => {
                let from = self.folder.path().join("ledger.sqlite");
                copy(&from, &self.copies.path().join("ledger.sqlite"));
            }
            Ledger::Database(server, name, _) => {
                server.sql("postgres", &format!("CREATE DATABASE {name}_kept TEMPLATE {name}"));
            }
        }
    }

    fn restore_ledger(&self) {
        match &self.ledger {
            Ledger::File => {
                let to = self.folder.path().join("ledger.sqlite");
                copy(&self.copies.path().join("ledger.sqlite"), &to);
            }
            Ledger::Database(server, name, _) => {
                server.sql("postgres", &format!("DROP DATABASE {name}"));
                server.sql("postgres", &format!("ALTER DATABASE {name}_kept RENAME TO {name}"));
            }
        }
    }

    /// Yesterday's ledger beside today's journal.
    fn lags_behind(&self) {
        self.claim("abc");
        self.keep_ledger();
        self.claim("defgh");
        self.restore_ledger();
        let trouble = self.trouble();
        assert!(trouble.starts_with("ledger_behind: "), "{trouble}");
        assert!(trouble.contains("`firstcome settle rebuild`"), "{trouble}");
        let (code, said, why) = self.verb(&["settle", "rebuild", "--json"]);
        assert_eq!(code, 0, "{why}");
        let said: Value = serde_json::from_str(&said).unwrap();
        let [before, written, through] = ["before", "written", "through"].map(|at| &said[at]);
        assert_eq!((before, written, through), (&3.into(), &5.into(), &8.into()));
        self.is_whole(8);
    }

    /// Yesterday's journal beside today's ledger; then another today on top of it.
    fn is_ahead_and_then_another(&self) {
        self.claim("abc");
        self.keep_folder();
        self.claim("defgh");
        self.restore_folder();
        let trouble = self.trouble();
        assert!(trouble.starts_with("ledger_ahead: "), "{trouble}");
        for command in ["settle set-aside", "settle rebuild"] {
            assert!(trouble.contains(&format!("`firstcome {command}`")), "{trouble}");
        }
        let (code, _, why) = self.verb(&["settle", "rebuild"]);
        assert!(code == 1 && why.contains("settle set-aside"), "{code} {why}");
        {
            let server = Server::with(self.folder.path(), &[("LEDGER", "none")]);
            claim(&mut server.talk(), "uvwxyz");
        }
        let trouble = self.trouble();
        assert!(trouble.starts_with("ledger_other: "), "{trouble}");
        let (code, _, why) = self.verb(&["settle", "rebuild"]);
        assert!(code == 1 && why.contains("another history"), "{code} {why}");
        let (code, said, _) = self.verb(&["settle", "set-aside"]);
        assert!(code == 0 && said.contains("set-aside-1") | said.contains("set_aside_1"), "{said}");
        let (code, said, why) = self.verb(&["settle", "rebuild"]);
        assert!(code == 0 && said.contains("9 were written"), "{said}{why}");
        self.is_whole(9);
        let (code, ..) = self.verb(&["settle", "set-aside"]);
        assert_eq!(code, 0, "a second one gets another name");
    }
}

impl Scene {
    /// A ledger of another journal that is as long as what was settled.
    fn is_as_long_and_another(&self) {
        self.claim("");
        self.keep_folder();
        self.claim("abc");
        self.keep_ledger();
        self.restore_folder();
        let (code, said, _) = self.verb(&["settle", "set-aside"]);
        assert_eq!(code, 0, "{said}");
        // As far as the state knows it has nothing to write: its results are settled, and it has none of them any more.
        self.claim("xyz");
        self.restore_ledger();
        let trouble = self.trouble();
        assert!(trouble.starts_with("ledger_other: result 3 "), "{trouble}");
    }
}

fn claim(talk: &mut Talk, subjects: &str) {
    if talk.get("/v1/campaigns/drop").status == 404 {
        talk.open_campaign("drop", 100);
    }
    for subject in subjects.chars() {
        talk.claim("drop", &subject.to_string()).says(201, "won");
    }
}

#[test]
fn a_file_restored_from_yesterday_is_brought_up_to_the_journal() {
    Scene::on_file().lags_behind();
}

#[test]
fn a_file_of_a_longer_journal_is_set_aside_and_written_anew() {
    Scene::on_file().is_ahead_and_then_another();
}

#[test]
fn a_database_restored_from_yesterday_is_brought_up_to_the_journal() {
    if let Some(scene) = Scene::on_database("behind") {
        scene.lags_behind();
    }
}

#[test]
fn a_database_of_a_longer_journal_is_set_aside_and_written_anew() {
    if let Some(scene) = Scene::on_database("ahead") {
        scene.is_ahead_and_then_another();
    }
}

#[test]
fn a_ledger_of_another_journal_that_is_as_long_as_what_was_settled_is_noticed() {
    Scene::on_file().is_as_long_and_another();
    if let Some(scene) = Scene::on_database("as_long") {
        scene.is_as_long_and_another();
    }
}

#[test]
fn nothing_is_mended_under_a_running_server() {
    let scene = Scene::on_file();
    let server = scene.serve();
    for command in ["rebuild", "set-aside"] {
        let (code, _, why) = scene.verb(&["settle", command]);
        assert!(code == 3 && why.contains("in use"), "{code} {why}");
    }
    drop(server);
    let (code, _, why) = scene.verb(&["settle", "rebuild", "--ledger", "postgres://a:hunter2@/x"]);
    assert!(code == 2 && why.contains("names no host") && !why.contains("hunter2"), "{why}");
}
