//! A server that cannot start says why and touches nothing.

use crate::process::{Server, cannot_serve, serve};
use std::os::unix::process::CommandExt;

#[test]
fn a_second_server_on_a_folder_names_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::on(folder.path());
    let (address, data) = (first.address, folder.path().display());
    let lines = format!(
        "listening on http://{address}\ndata folder {data}\npage http://{address}/docs\n\
         metrics http://{address}/metrics\n"
    );
    assert!(first.said.starts_with(&lines), "{}", first.said);
    first.talk().open_campaign("drop", 1);
    let why = cannot_serve(serve(folder.path(), &[]));
    let owner = format!("is in use by process {} at http://{}", first.pid(), first.address);
    assert!(why.contains(&owner), "{why}");
    first.talk().claim("drop", "ann").says(201, "won");
    // Killed, it lets go of the folder at once.
    first.kill();
    let second = Server::on(folder.path());
    second.talk().claim("drop", "ann").says(200, "already_won");
}

#[test]
fn an_address_in_use_is_named_with_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let why = cannot_serve(serve(folder.path(), &[("LISTEN", &address)]));
    assert!(why.contains(&format!("{address} is in use by another program")), "{why}");
    assert!(why.contains("port 0"), "{why}");
    // The folder is free again, and nothing was put into it that stands in the way.
    Server::on(folder.path()).talk().open_campaign("drop", 1);
}

#[test]
fn a_folder_of_a_newer_level_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    Server::on(folder.path()).talk().open_campaign("drop", 1);
    let file = folder.path().join("journal.sqlite");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute("UPDATE head SET level = 99", []).unwrap();
    drop(connection);
    let why = cannot_serve(serve(folder.path(), &[]));
    assert!(why.contains("is of level 99, this build reads up to level"), "{why}");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute("UPDATE head SET level = 1", []).unwrap();
    drop(connection);
    Server::on(folder.path()).talk().claim("drop", "ann").says(201, "won");
}

#[test]
fn a_folder_that_may_only_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    Server::on(folder.path()).talk().open_campaign("drop", 1);
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o555);
    std::fs::set_permissions(folder.path(), rights).unwrap();
    let mut command = serve(folder.path(), &[]);
    if rustix::process::geteuid().is_root() {
        // Nobody's rights end where root's do not.
        command.uid(65_534).gid(65_534);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(why) => {
            let remedy = format!("let root start a process of another user, which failed: {why}");
            return firstcome_testbed::missing("setuid", &remedy);
        }
    };
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "it served");
    assert!(why.contains(&folder.path().display().to_string()), "{why}");
    assert!(why.contains("ermission denied") || why.contains("cannot be written"), "{why}");
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), rights).unwrap();
    Server::on(folder.path()).talk().claim("drop", "ann").says(201, "won");
}

#[test]
fn settings_that_cannot_be_are_named_before_anything_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for (name, value, said) in [
        ("QUEUE", "0", "whole number from 1 to 1000000"),
        ("COMMAND_WAIT_MS", "soon", "COMMAND_WAIT_MS"),
        ("LEDGER", "postgres", "LEDGER"),
        ("STORE", "mongodb://127.0.0.1", "STORE"),
        ("DURABILITY", "copies=0", "copies=N"),
        ("LEADER_LEASE_MS", "1", "from 500 to 600000"),
        ("ADVERTISE", "here", "ADVERTISE"),
        ("SPACE", "Main", "SPACE"),
        ("LISTEN", "here", "LISTEN"),
    ] {
        let why = cannot_serve(serve(&data, &[(name, value)]));
        assert!(why.contains(said), "{name}={value}: {why}");
        assert!(!data.exists(), "{name}={value}");
    }
}
