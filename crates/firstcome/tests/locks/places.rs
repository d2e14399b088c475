//! The same commands on stores behind Sentinel and TLS, with a user and a database of their own.

use std::process::Command;

use firstcome_testbed::{Certificates, RedisServer, RedisSettings, Sentinels};
use rustix::process::Signal;

use crate::scene::{Said, Shell, program, said};

/// A user who may do everything, as a server's option.
const USER: [&str; 7] = ["--user", "ann", "on", ">p@ss", "~*", "&*", "+@all"];

/// A store as it is reached by somebody.
pub(crate) struct Place {
    pub(crate) url: String,
    pub(crate) authorities: Option<std::path::PathBuf>,
}

impl Place {
    pub(crate) fn program(&self, args: &[&str]) -> Command {
        let mut command = program(args);
        command.env("FIRSTCOME_STORE", &self.url);
        if let Some(file) = &self.authorities {
            command.env("SSL_CERT_FILE", file);
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        said(&self.program(args).output().unwrap())
    }

    /// Uses every verb once.
    pub(crate) fn can_do_everything(&self) {
        let stay = "echo $FIRSTCOME_FENCE; exec sleep 600";
        let mut holder = Shell::of(&mut self.program(&["lock", "a", "--", "sh", "-c", stay]));
        let fence: u64 = holder.line().parse().unwrap();
        self.run(&["lock", "a", "--wait", "0s", "--", "true"]).ends(120);
        let seen = self.run(&["locks", "inspect", "a", "--json"]).json();
        assert_eq!(seen["fence"], fence);
        assert_eq!(self.run(&["locks", "list", "--json"]).json()["locks"][0]["name"], "a");
        let waiting = ["lock", "a", "--", "sh", "-c", "echo $FIRSTCOME_FENCE"];
        let mut waiter = Shell::of(&mut self.program(&waiting));
        holder.tell(Signal::TERM);
        holder.end().ends(128 + 15);
        assert!(waiter.line().parse::<u64>().unwrap() > fence);
        waiter.end().ends(0);
        let term = self.run(&["elect", "boss", "--", "sh", "-c", "echo $FIRSTCOME_TERM"]).ends(0);
        assert!(term.parse::<u64>().unwrap() > fence);
        self.run(&["locks", "release", "a"]).ends(1);
    }
}

#[test]
fn behind_sentinels_with_a_user_and_a_database() {
    let Some(mut sentinels) = Sentinels::start() else { return };
    for server in sentinels.servers() {
        assert_eq!(server.ask("ACL SETUSER ann on >p@ss ~* &* +@all"), "+OK");
    }
    let url = sentinels.url().replace("redis+sentinel://", "redis+sentinel://ann:p%40ss@");
    let place = Place { url: format!("{url}/3"), authorities: None };
    place.can_do_everything();
    assert!(sentinels.servers()[0].ask("INFO keyspace").contains("db3:"));

    // A command goes on through a failover that keeps its lock.
    let script = "echo in; read word; echo $word";
    let mut command = place.program(&["lock", "kept", "--", "sh", "-c", script]);
    let mut shell = Shell::of(command.stdin(std::process::Stdio::piped()));
    assert_eq!(shell.line(), "in");
    while !sentinels.servers()[1].ask("INFO keyspace").contains("db3:") {
        std::thread::yield_now();
    }
    // A write after the lock that has arrived shows that the lock has, too.
    let wait = sentinels.servers()[0].ask("SET mark 1\r\nWAIT 1 5000");
    assert!(wait.ends_with(":1"), "{wait}");
    sentinels.fail_over();
    // The new master has it, too, for others.
    place.run(&["lock", "kept", "--wait", "0s", "--", "true"]).ends(120);
    std::io::Write::write_all(&mut shell.input(), b"done\n").unwrap();
    assert_eq!(shell.line(), "done");
    shell.end().ends(0);
    place.run(&["locks", "inspect", "kept"]).ends(1);
}

#[test]
fn over_tls_with_a_user_and_a_database() {
    let more = USER.map(str::to_owned).to_vec();
    let settings =
        RedisSettings { tls: Some(Certificates::new()), more, ..RedisSettings::default() };
    let Some(redis) = RedisServer::with(settings) else { return };
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("authority.pem");
    std::fs::write(&authority, redis.authority().unwrap()).unwrap();
    let url = redis.url().replace("rediss://", "rediss://ann:p%40ss@");
    let mut place = Place { url: format!("{url}/3"), authorities: Some(authority) };
    place.can_do_everything();

    // Another password, and an authority that is not known.
    let right = std::mem::take(&mut place.url);
    place.url = right.replace("p%40ss", "wrong");
    place.run(&["lock", "a", "--", "true"]).complains(125, "the store denies access", "password");
    place.url = right;
    place.authorities = None;
    let said = place.run(&["lock", "a", "--", "echo", "ran"]);
    assert_eq!(said.out, "");
    said.complains(125, "no TLS connection to 127.0.0.1", "SSL_CERT_FILE");
    place.run(&["locks", "list"]).complains(3, "no TLS connection to 127.0.0.1", "SSL_CERT_FILE");
}
