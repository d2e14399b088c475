//! A Redis Cluster of six servers.

use std::time::{Duration, Instant};

use crate::{Certificates, RedisServer, RedisSettings, free_port};

/// How many slots a cluster has.
const SLOTS: u32 = 16_384;
/// The option that names the port with TLS.
const TLS_PORT: &str = "--tls-port";
/// How many masters there are, each with a replica.
const MASTERS: usize = 3;

/// Three masters and a replica of each, which take over 1 s after a master is silent.
#[derive(Debug)]
pub struct RedisCluster {
    /// The masters, then the replicas in the same order, whatever their roles are now.
    servers: Vec<RedisServer>,
}

impl RedisCluster {
    /// Starts all six and waits until every slot has an owner, and every replica its data.
    ///
    /// `None` where the program is not installed.
    ///
    /// # Panics
    ///
    /// Panics where they do not come together within 30 s.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::with(&[])
    }

    /// The same with further words for the command line of each.
    ///
    /// # Panics
    ///
    /// As [`RedisCluster::start`].
    #[must_use]
    pub fn with(more: &[&str]) -> Option<Self> {
        Self::each_with(|| words(more))
    }

    /// The same with TLS, for clients and between the servers; tests ask them without.
    ///
    /// # Panics
    ///
    /// As [`RedisCluster::start`].
    #[must_use]
    pub fn with_tls(certificates: &Certificates) -> Option<Self> {
        let [authority, server, key] =
            ["ca.pem", "server.pem", "server.key"].map(|name| certificates.file(name));
        Self::each_with(|| {
            let more = [
                (TLS_PORT, &*free_port().to_string()),
                ("--tls-ca-cert-file", &authority.to_string_lossy()),
                ("--tls-cert-file", &server.to_string_lossy()),
                ("--tls-key-file", &key.to_string_lossy()),
                ("--tls-auth-clients", "no"),
                ("--tls-replication", "yes"),
                ("--tls-cluster", "yes"),
            ];
            words(&more.map(|(option, value)| [option, value]).concat())
        })
    }

    fn each_with(more: impl Fn() -> Vec<String>) -> Option<Self> {
        let mut servers = Vec::new();
        for _ in 0..2 * MASTERS {
            servers.push(RedisServer::with(RedisSettings { more: more(), ..Default::default() })?);
        }
        let all = Self { servers };
        for server in &all.servers[1..] {
            let bus = server.more_of("--cluster-port").expect("it was given");
            let meet = format!("CLUSTER MEET 127.0.0.1 {} {bus}", server.port());
            assert_eq!(all.servers[0].ask(&meet), "+OK");
        }
        for place in 0..MASTERS {
            let share = |place: usize| place as u32 * SLOTS / MASTERS as u32;
            let (first, last) = (share(place), share(place + 1) - 1);
            let said = all.servers[place].ask(&format!("CLUSTER ADDSLOTSRANGE {first} {last}"));
            assert_eq!(said, "+OK");
        }
        let everybody = |server: &RedisServer| {
            server.ask("CLUSTER INFO").contains(&format!("cluster_known_nodes:{}", 2 * MASTERS))
        };
        all.until("they know each other", |all| all.servers.iter().all(everybody));
        for place in 0..MASTERS {
            let master = all.id(place);
            let replicate = format!("CLUSTER REPLICATE {master}");
            all.until("a replica follows", |all| {
                all.servers[MASTERS + place].ask(&replicate) == "+OK"
            });
        }
        all.until("it serves", |all| {
            all.servers.iter().all(|server| server.ask("CLUSTER INFO").contains("cluster_state:ok"))
                && all.servers[MASTERS..]
                    .iter()
                    .all(|server| server.ask("INFO replication").contains("master_link_status:up"))
        });
        Some(all)
    }

    /// Starts one server that has all slots, with further words for its command line.
    #[must_use]
    pub fn lone(more: &[&str]) -> Option<RedisServer> {
        let server = RedisServer::with(RedisSettings { more: words(more), ..Default::default() })?;
        assert_eq!(server.ask(&format!("CLUSTER ADDSLOTSRANGE 0 {}", SLOTS - 1)), "+OK");
        Some(server)
    }

    /// Returns the URL that names two of its servers.
    #[must_use]
    pub fn url(&self) -> String {
        let tls = |server: &RedisServer| server.more_of(TLS_PORT).map(str::to_owned);
        let port = |server: &RedisServer| tls(server).unwrap_or_else(|| server.port().to_string());
        let hosts = [&self.servers[1], &self.servers[2]].map(port);
        let scheme = tls(&self.servers[1]).map_or("redis", |_| "rediss");
        format!("{scheme}+cluster://127.0.0.1:{},127.0.0.1:{}", hosts[0], hosts[1])
    }

    /// Returns a server by its place: the first three began as masters, and the others as their replicas.
    #[must_use]
    pub fn server(&self, place: usize) -> &RedisServer {
        &self.servers[place]
    }

    /// Returns the place of the server that has the slot of a key, as most of those that run see it.
    ///
    /// # Panics
    ///
    /// Panics where no server has it.
    #[must_use]
    pub fn owner(&self, key: &str) -> usize {
        self.find_owner(key).expect("the slot has an owner")
    }

    fn find_owner(&self, key: &str) -> Option<usize> {
        self.running().find(|place| {
            // Whoever has the slot answers, and others say who does.
            self.servers[*place].ask(&format!("EXISTS {key}")).starts_with(':')
        })
    }

    fn running(&self) -> impl Iterator<Item = usize> {
        (0..self.servers.len()).filter(|place| self.servers[*place].is_running())
    }

    /// Kills the server that has the slot of a key, and waits until another one has it.
    ///
    /// # Panics
    ///
    /// Panics where that takes more than 30 s.
    pub fn fail_over(&mut self, key: &str) {
        let owner = self.owner(key);
        self.servers[owner].kill();
        self.until("another server has the slot", |all| all.find_owner(key).is_some());
    }

    /// Starts those again that were killed, and waits until they follow; gives how many.
    ///
    /// # Panics
    ///
    /// Panics where that takes more than 30 s.
    pub fn restart_killed(&mut self) -> usize {
        let killed: Vec<_> =
            (0..self.servers.len()).filter(|place| !self.servers[*place].is_running()).collect();
        for place in &killed {
            self.servers[*place].restart();
            self.until("it follows", |all| {
                all.servers[*place].ask("INFO replication").contains("master_link_status:up")
            });
        }
        killed.len()
    }

    /// Moves the slot of a key, with its keys, to another master: `between` is called with both servers when the slot is being
    /// moved, and its keys are still at the old one.
    ///
    /// # Panics
    ///
    /// Panics where a server refuses.
    pub fn move_slot(&self, key: &str, to: usize, between: impl FnOnce(usize, usize)) {
        let from = self.owner(key);
        let slot = self.servers[from].ask(&format!("CLUSTER KEYSLOT {key}"));
        let slot = slot.trim_start_matches(':').to_owned();
        let (old, new) = (self.id(from), self.id(to));
        let ok = |place: usize, words: &str| {
            let said = self.servers[place].ask(words);
            assert!(said == "+OK" || said == "+NOKEY", "{words}: {said}");
        };
        ok(to, &format!("CLUSTER SETSLOT {slot} IMPORTING {old}"));
        ok(from, &format!("CLUSTER SETSLOT {slot} MIGRATING {new}"));
        between(from, to);
        loop {
            let keys = self.servers[from].ask(&format!("CLUSTER GETKEYSINSLOT {slot} 10"));
            let keys: Vec<&str> =
                keys.lines().filter(|line| !line.starts_with(['*', '$'])).collect();
            if keys.is_empty() {
                break;
            }
            for key in keys {
                let port = self.servers[to].port();
                ok(from, &format!("MIGRATE 127.0.0.1 {port} {key} 0 5000"));
            }
        }
        ok(to, &format!("CLUSTER SETSLOT {slot} NODE {new}"));
        ok(from, &format!("CLUSTER SETSLOT {slot} NODE {new}"));
        for other in self.running().filter(|place| ![from, to].contains(place)) {
            // A replica refuses: it hears of it.
            drop(self.servers[other].ask(&format!("CLUSTER SETSLOT {slot} NODE {new}")));
        }
    }

    fn id(&self, place: usize) -> String {
        let said = self.servers[place].ask("CLUSTER MYID");
        said.lines().nth(1).expect("an id").to_owned()
    }

    fn until(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let end = Instant::now() + Duration::from_secs(30);
        while !done(self) {
            assert!(Instant::now() < end, "not within 30 s: {what}");
            std::thread::sleep(Duration::from_millis(25));
        }
    }
}

/// The words of a server's command line: a port for the others is taken beside its own.
fn words(more: &[&str]) -> Vec<String> {
    let bus = free_port().to_string();
    let ours =
        ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-port", &bus];
    ours.iter().chain(more).map(|word| (*word).to_owned()).collect()
}
