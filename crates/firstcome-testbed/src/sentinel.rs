use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::{Folder, RedisServer, RedisSettings, free_port, programs, redis::spawn_until};

/// A master, its replica, and three sentinels that agree by two on a failover.
#[derive(Debug)]
pub struct Sentinels {
    servers: Vec<RedisServer>,
    sentinels: Vec<(u16, Child)>,
    folders: Vec<Folder>,
}

impl Sentinels {
    /// The name under which the sentinels know the master.
    pub const MASTER: &'static str = "main";

    /// Starts all five and waits until the sentinels know the replica and each other.
    ///
    /// `None` where the programs are not installed.
    ///
    /// # Panics
    ///
    /// Panics where they do not come together within 20 s.
    #[must_use]
    pub fn start() -> Option<Self> {
        if programs::find("redis-sentinel").is_none() {
            programs::not_installed("redis-sentinel", "redis-sentinel");
            return None;
        }
        let master = RedisServer::start()?;
        let replica = RedisServer::with(RedisSettings {
            replica_of: Some(master.port()),
            ..RedisSettings::default()
        })?;
        let mut all =
            Self { servers: vec![master, replica], sentinels: Vec::new(), folders: Vec::new() };
        for _ in 0..3 {
            all.add_sentinel();
        }
        all.until("the sentinels know everybody", |all| {
            all.sentinels.iter().all(|(port, _)| {
                let said = ask(*port, &format!("SENTINEL MASTER {}", Self::MASTER));
                let number = |name: &str| field(&said, name).and_then(|n| n.parse::<u32>().ok());
                number("num-slaves") == Some(1) && number("num-other-sentinels") == Some(2)
            })
        });
        Some(all)
    }

    fn add_sentinel(&mut self) {
        let port = free_port();
        let folder = Folder::new("sentinel");
        let file = folder.path().join("sentinel.conf");
        let name = Self::MASTER;
        let master = self.servers[0].port();
        let text = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor {name} 127.0.0.1 {master} 2\n\
             sentinel down-after-milliseconds {name} 2000\nsentinel failover-timeout {name} 3000\n",
            folder.path().display(),
        );
        std::fs::write(&file, text).expect("the folder can be written to");
        let child = spawn_until(Command::new("redis-sentinel").arg(&file), "+monitor");
        self.sentinels.push((port, child));
        self.folders.push(folder);
    }

    /// Returns the URL that names all sentinels and the master.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<_> =
            self.sentinels.iter().map(|(port, _)| format!("127.0.0.1:{port}")).collect();
        format!("redis+sentinel://{}/{}", hosts.join(","), Self::MASTER)
    }

    /// Returns the port of the master as the sentinels see it now.
    #[must_use]
    pub fn master_port(&self) -> u16 {
        let said =
            ask(self.sentinels[0].0, &format!("SENTINEL GET-MASTER-ADDR-BY-NAME {}", Self::MASTER));
        said.lines().nth(4).and_then(|port| port.trim().parse().ok()).unwrap_or(0)
    }

    /// Returns the first master and the first replica, in this order, whatever their roles are now.
    #[must_use]
    pub fn servers(&self) -> &[RedisServer] {
        &self.servers
    }

    /// Kills the first master and waits until the sentinels name the other server.
    ///
    /// # Panics
    ///
    /// Panics where that takes more than 20 s.
    pub fn fail_over(&mut self) {
        let other = self.servers[1].port();
        self.servers[0].kill();
        self.until("the sentinels name the other server", |all| all.master_port() == other);
    }

    /// Cuts the replica off from its master, so that a failover loses what is written from now on.
    ///
    /// Connections there are already go on working; new ones to the master are denied.
    pub fn sever_replica(&self) {
        // Both on one connection: a new one would be denied by the first command.
        let said = self.servers[0].ask("CONFIG SET requirepass x\r\nCLIENT KILL TYPE replica");
        assert!(said.starts_with("+OK") && said.ends_with(":1"), "{said}");
    }

    fn until(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let end = Instant::now() + Duration::from_secs(20);
        // Sentinels offer no signal for this to a client that does not speak to them yet.
        while !done(self) {
            assert!(Instant::now() < end, "not within 20 s: {what}");
            std::thread::sleep(Duration::from_millis(25));
        }
    }
}

impl Drop for Sentinels {
    fn drop(&mut self) {
        for (_, child) in &mut self.sentinels {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn ask(port: u16, words: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_millis(100))).expect("a time-out can be set");
    write!(stream, "{words}\r\n").expect("it reads");
    let mut said = Vec::new();
    let mut part = [0; 8192];
    // A sentinel has no QUIT: what came until it falls silent is the answer.
    while let Ok(count @ 1..) = stream.read(&mut part) {
        said.extend_from_slice(&part[..count]);
    }
    String::from_utf8_lossy(&said).into_owned()
}

fn field<'a>(said: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = said.lines();
    lines.find(|line| *line == name)?;
    lines.nth(1)
}
