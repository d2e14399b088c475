//! Connections: one address has a share of them, and operations are answered when all of them are taken.

use crate::process::{KEY, Server, serve};
use crate::wire::{Answer, Talk};
use serde_json::json;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

/// Connects from an address of loopback.
fn from(address: &str, server: SocketAddr) -> Talk {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let stream: TcpStream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
        socket.connect(server).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    Talk::over(stream, KEY).unwrap()
}

fn without_key(server: SocketAddr, path: &str) -> Answer {
    let mut talk = Talk::to(server, KEY).unwrap();
    talk.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).unwrap();
    talk.hear().unwrap()
}

#[test]
fn probes_are_answered_when_all_connections_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("CONNECTIONS", "4"), ("TRUSTED_PROXIES", "127.0.0.1")];
    let server = Server::with(folder.path(), &settings);
    let mut all: Vec<Talk> = (0..4).map(|_| server.talk()).collect();
    assert!(all.iter_mut().all(|talk| talk.get("/v1/time").status == 200));
    for _ in 0..40 {
        assert_eq!(without_key(server.address, "/livez").json(), json!({"status": "alive"}));
        assert_eq!(without_key(server.address, "/readyz").status, 200);
    }
    for path in ["/v1/time", "/metrics", "/docs"] {
        let mut talk = server.talk();
        talk.get(path).refuses("too_many_connections", "(connections)");
        assert!(talk.is_hung_up(), "a kept connection is for one request");
    }
    // Those that say nothing have the kept ones for a moment only.
    let silent: Vec<Talk> = (0..40).map(|_| server.talk()).collect();
    let begun = Instant::now();
    while Talk::to(server.address, KEY)
        .unwrap()
        .try_ask("GET", "/livez", None)
        .map(|a| a.status)
        .ok()
        != Some(200)
    {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "the kept connections are taken for good"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(silent);
    assert_eq!(all[0].get("/v1/time").status, 200);
    assert_eq!(all[0].metric("firstcome_connections "), 4);
}

#[test]
fn one_address_has_a_quarter_of_the_connections_unless_it_is_a_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(folder.path(), &[("CONNECTIONS", "8")]);
    let mut own: Vec<Talk> = (0..2).map(|_| server.talk()).collect();
    assert!(own.iter_mut().all(|talk| talk.get("/v1/time").status == 200));
    let refused = server.talk().get("/v1/time");
    refused.refuses("too_many_connections", "address 127.0.0.1 has 2 connections open");
    assert_eq!(server.talk().get("/livez").status, 200);
    // Everybody else has a share of their own, and who leaves gives a place back.
    assert_eq!(from("127.0.0.2", server.address).get("/v1/time").status, 200);
    own.pop();
    let begun = Instant::now();
    while server.talk().get("/v1/time").status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(10), "a place is never given back");
    }
    drop((own, server));
    let settings = [("CONNECTIONS", "8"), ("TRUSTED_PROXIES", "127.0.0.0/8")];
    let server = Server::with(folder.path(), &settings);
    let mut all: Vec<Talk> = (0..8).map(|_| server.talk()).collect();
    assert!(all.iter_mut().all(|talk| talk.get("/v1/time").status == 200));
}

#[test]
fn operations_have_an_address_of_their_own_where_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("OPS_LISTEN", "127.0.0.1:0"), ("CONNECTIONS", "1")];
    let server = Server::with(folder.path(), &settings);
    let line = server.said.lines().find_map(|line| line.strip_prefix("metrics http://"));
    let operations: SocketAddr = line.unwrap().strip_suffix("/metrics").unwrap().parse().unwrap();
    assert_ne!(operations, server.address);
    let mut talk = server.talk();
    for path in ["/livez", "/readyz", "/metrics"] {
        talk.get(path).refuses("no_such_route", "ops_listen");
        assert_eq!(without_key(operations, path).status, 200, "{path}");
    }
    assert!(without_key(operations, "/metrics").text().contains("firstcome_connections_limit 1"));
    for path in ["/v1/time", "/docs", "/v1/campaigns"] {
        Talk::to(operations, KEY).unwrap().get(path).refuses("no_such_route", "operations");
    }
    // Nothing is kept on the other address, and nothing has to be.
    server.talk().get("/livez").refuses("too_many_connections", "");
    server.terminate();
    let (ended, said) = server.ended();
    assert!(ended.success() && said.contains("stopped cleanly"), "{said}");
}

#[test]
fn counts_always_need_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(folder.path());
    without_key(server.address, "/metrics").refuses("unauthorized", "give a key");
    assert_eq!(server.talk().get("/metrics").status, 200);
    assert_eq!(without_key(server.address, "/livez").status, 200);
}

/// Serves with a hard limit of open files.
fn with_files(folder: &std::path::Path, files: u32, settings: &[(&str, &str)]) -> Server {
    let plain = serve(folder, settings);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {files}; exec \"$0\" serve")]).arg(plain.get_program());
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    Server::of(command)
}

#[test]
fn a_server_without_enough_files_says_so_and_answers_whom_it_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let trusted = [("TRUSTED_PROXIES", "127.0.0.1")];
    let server = with_files(folder.path(), 300, &trusted);
    let mut talk = server.talk();
    let limit = talk.metric("firstcome_connections_limit");
    assert!((16..200).contains(&limit), "{limit} connections with 300 files");
    let mut others: Vec<Talk> = (1..limit).map(|_| server.talk()).collect();
    assert!(others.iter_mut().all(|talk| talk.get("/v1/time").status == 200));
    for _ in 0..20 {
        server.talk().get("/v1/time").refuses("too_many_connections", "");
    }
    assert_eq!(without_key(server.address, "/livez").status, 200);
    assert_eq!(talk.metric("firstcome_accept_failures_total"), 0);
    server.terminate();
    let (_, said) = server.ended();
    assert!(said.contains("10000 connections need") && said.contains("300"), "{said}");
}

#[test]
fn a_server_that_runs_out_of_files_counts_it_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_files(folder.path(), 64, &[("TRUSTED_PROXIES", "127.0.0.1")]);
    let mut talk = server.talk();
    talk.open_campaign("drop", 9);
    let crowd: Vec<Talk> = (0..120).map(|_| server.talk()).collect();
    let begun = Instant::now();
    while talk.metric("firstcome_accept_failures_total") == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "it never ran out of files");
    }
    talk.claim("drop", "ann").says(201, "won");
    drop(crowd);
    let begun = Instant::now();
    while Talk::to(server.address, KEY).unwrap().try_ask("GET", "/livez", None).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it accepts nobody any more");
    }
    server.terminate();
    let (_, said) = server.ended();
    assert!(said.contains("cannot accept connections"), "{said}");
}

#[test]
fn the_soft_limit_of_files_is_raised() {
    let folder = tempfile::tempdir().unwrap();
    let plain = serve(folder.path(), &[]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -S -n 256; exec \"$0\" serve"]).arg(plain.get_program());
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let server = Server::of(command);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let soft: u64 = files.split_whitespace().next().unwrap().parse().unwrap();
    assert!(
        soft > 10_000 || files.split_whitespace().nth(1) == Some(&*soft.to_string()),
        "{files}"
    );
}
