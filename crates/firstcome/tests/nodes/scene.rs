//! A store, perhaps a replica of it, and servers that share it.

use crate::primary::Primary;
use crate::server::{PATIENCE, Server};
use firstcome_testbed::{
    Folder, MariaDb, Nats, NatsCluster, Postgres, PostgresSettings, Proxy, ProxyFault,
    RedisCluster, RedisServer, RedisSettings,
};
use serde_json::Value;
use std::time::Duration;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep};

/// What a scene is made of.
#[derive(Default)]
pub(crate) struct Setup<'a> {
    pub(crate) redis: RedisSettings,
    /// A Redis Cluster in the place of the Redis.
    pub(crate) cluster: bool,
    /// A PostgreSQL with these settings in the place of the Redis.
    pub(crate) postgres: Option<PostgresSettings>,
    /// A MariaDB with these settings in the place of the Redis.
    pub(crate) mariadb: Option<Vec<&'a str>>,
    /// A NATS server in the place of the Redis, or so many that are a cluster: 1 or 3.
    pub(crate) nats: usize,
    /// Whether the servers of such a cluster reach each other by proxies.
    pub(crate) nats_links: bool,
    /// Whether the store has a replica, behind a proxy of its own.
    pub(crate) replica: bool,
    /// Whether the servers reach the store itself, without a proxy: no fault is possible, and this process is not in their way.
    pub(crate) direct: bool,
    /// Settings of every server, without their prefix.
    pub(crate) settings: &'a [(&'a str, &'a str)],
}

impl Setup<'_> {
    /// Servers on a PostgreSQL that forces its commits to the disk.
    pub(crate) fn on_postgres() -> Self {
        let settings = PostgresSettings { fsync: true, ..PostgresSettings::default() };
        Self { postgres: Some(settings), ..Self::default() }
    }

    /// Servers on a MariaDB that forces its commits to the disk.
    pub(crate) fn on_mariadb() -> Self {
        let settings = vec!["--innodb-flush-log-at-trx-commit=1"];
        Self { mariadb: Some(settings), ..Self::default() }
    }

    /// Servers on a NATS server.
    pub(crate) fn on_nats() -> Self {
        Self { nats: 1, ..Self::default() }
    }

    /// Servers on three NATS servers that are a cluster.
    pub(crate) fn on_nats_cluster() -> Self {
        Self { nats: 3, ..Self::default() }
    }

    /// The same, where the NATS servers can be parted.
    pub(crate) fn on_nats_with_links() -> Self {
        Self { nats: 3, nats_links: true, ..Self::default() }
    }
}

/// A store and three servers.
pub(crate) struct Scene {
    pub(crate) primary: Primary,
    /// A replica, and the proxy through which it hears from its master.
    pub(crate) replica: Option<(Primary, Proxy)>,
    pub(crate) nodes: Vec<Server>,
    pub(crate) seed: u64,
    direct: bool,
    settings: Vec<(String, String)>,
    /// What a NATS server had when it was kept.
    copy: Option<Folder>,
}

/// What all servers said alike.
#[derive(Debug)]
pub(crate) struct Agreed {
    pub(crate) position: String,
    pub(crate) results: Vec<Value>,
}

impl Agreed {
    /// Returns the rank of a subject's last claim.
    pub(crate) fn rank(&self, who: &str) -> Option<u64> {
        let mut lines = self.results.iter().rev();
        lines.find(|line| line["subject"] == who && line["kind"] == "claim")?["rank"].as_u64()
    }

    /// Returns the epoch of the position.
    pub(crate) fn epoch(&self) -> u32 {
        self.position.split_once('.').unwrap().0.parse().unwrap()
    }
}

impl Scene {
    /// Sets the scene, or `None` where the store is not installed.
    pub(crate) async fn set(setup: Setup<'_>) -> Option<Self> {
        let mut scene = Self::without_nodes(setup).await?;
        for _ in 0..3 {
            scene.add().await;
        }
        scene.all_ready().await;
        Some(scene)
    }

    /// Sets the scene with no server in it.
    pub(crate) async fn without_nodes(setup: Setup<'_>) -> Option<Self> {
        let given = std::env::var("FIRSTCOME_SEED").ok();
        let seed = given.map_or_else(|| fastrand::u64(..1_000_000), |seed| seed.parse().unwrap());
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        eprintln!("seed {seed} {test}");
        let primary = match (setup.postgres, setup.mariadb) {
            _ if setup.cluster => Primary::Cluster(Box::new(block_in_place(RedisCluster::start)?)),
            _ if setup.nats == 1 => Primary::Nats(Nats::start()?),
            _ if setup.nats_links => {
                Primary::NatsCluster(Box::new(NatsCluster::with_links().await?))
            }
            _ if setup.nats == 3 => Primary::NatsCluster(Box::new(NatsCluster::start()?)),
            (Some(settings), _) => Primary::Postgres(Postgres::with(settings)?),
            (None, Some(settings)) => {
                let mariadb = MariaDb::with(&settings)?;
                let url = mariadb.new_database();
                let (_, database) = url.rsplit_once('/').unwrap();
                Primary::MariaDb(mariadb, database.to_owned())
            }
            (None, None) => Primary::Redis(RedisServer::with(setup.redis)?),
        };
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings = setup.settings.iter().map(own).collect();
        let (replica, nodes, copy) = (None, Vec::new(), None);
        let mut scene =
            Self { primary, replica, nodes, seed, direct: setup.direct, settings, copy };
        if setup.replica {
            scene.add_replica().await;
        }
        Some(scene)
    }

    /// Returns the port of the store.
    pub(crate) fn port(&self) -> u16 {
        self.primary.port()
    }

    /// Returns the URL of the store.
    pub(crate) fn url(&self) -> String {
        self.url_through(self.port())
    }

    /// Returns the URL of the store, behind a proxy at a port.
    pub(crate) fn url_through(&self, port: u16) -> String {
        self.primary.url_through(port)
    }

    /// Returns the Redis that the servers share.
    ///
    /// # Panics
    ///
    /// The story is told on another store.
    pub(crate) fn redis(&self) -> &RedisServer {
        match &self.primary {
            Primary::Redis(redis) => redis,
            Primary::Cluster(_)
            | Primary::Postgres(_)
            | Primary::MariaDb(..)
            | Primary::Nats(_)
            | Primary::NatsCluster(_) => panic!("this story is about Redis"),
        }
    }

    /// Returns the store a new replica.
    pub(crate) async fn add_replica(&mut self) {
        let link = Proxy::start(self.primary.port()).await;
        let replica = match &self.primary {
            Primary::Redis(_) => {
                let settings =
                    RedisSettings { replica_of: Some(link.port()), ..RedisSettings::default() };
                Primary::Redis(RedisServer::with(settings).expect("it was there before"))
            }
            Primary::Postgres(postgres) => {
                let standby = tokio::task::block_in_place(|| postgres.standby(link.port()));
                Primary::Postgres(standby)
            }
            Primary::Cluster(_)
            | Primary::MariaDb(..)
            | Primary::Nats(_)
            | Primary::NatsCluster(_) => {
                panic!("no story has a replica of it")
            }
        };
        self.replica = Some((replica, link));
        self.until_replicating().await;
    }

    /// Waits until the replica has what the primary has.
    async fn until_replicating(&self) {
        let end = Instant::now() + PATIENCE;
        let replicates = || match &self.primary {
            Primary::Redis(redis) => redis.ask("INFO replication").contains("state=online"),
            Primary::Postgres(postgres) => {
                let sql = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
                postgres.sql("postgres", sql) == "1"
            }
            Primary::Cluster(_)
            | Primary::MariaDb(..)
            | Primary::Nats(_)
            | Primary::NatsCluster(_) => {
                panic!("no story has a replica of it")
            }
        };
        // A replica offers no signal for this.
        while !replicates() {
            assert!(Instant::now() < end, "the replica does not come");
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until the replica has applied all that the primary has now.
    pub(crate) async fn until_copied(&self) {
        let wanted = self.primary.position();
        let end = Instant::now() + PATIENCE;
        while self.replica.as_ref().unwrap().0.position() < wanted {
            assert!(Instant::now() < end, "the replica does not follow");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Changes a setting of servers that are added from now on.
    pub(crate) fn change(&mut self, name: &str, value: &str) {
        self.settings.retain(|(known, _)| known != name);
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    /// Starts one more server.
    pub(crate) async fn add(&mut self) -> &mut Server {
        let settings: Vec<_> =
            self.settings.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        let store = self.primary.port();
        let url = |proxy| self.primary.url_through(if self.direct { store } else { proxy });
        let mut server = Server::at(store, url, &settings).await;
        server.start().await;
        self.nodes.push(server);
        self.nodes.last_mut().unwrap()
    }

    pub(crate) async fn all_ready(&self) {
        for node in &self.nodes {
            node.ready().await;
        }
    }

    /// Keeps back what the replica should hear from now on; what there is now it has.
    pub(crate) async fn stall_replica(&self) {
        self.until_copied().await;
        self.replica.as_ref().unwrap().1.set(ProxyFault::StallReplies);
    }

    /// Keeps the store's state as of now, to which [`Scene::go_back`] goes back.
    pub(crate) async fn keep_state(&mut self) {
        if self.replica.is_some() {
            return self.stall_replica().await;
        }
        block_in_place(|| match &mut self.primary {
            Primary::MariaDb(mariadb, _) => mariadb.keep_copy(),
            Primary::Nats(nats) => {
                nats.kill();
                self.copy = Some(nats.copy_of_data());
                nats.restart();
            }
            Primary::Redis(_)
            | Primary::Cluster(_)
            | Primary::Postgres(_)
            | Primary::NatsCluster(_) => {
                panic!("it needs a replica")
            }
        });
        self.all_ready().await;
    }

    /// Has the store go back to the state that was kept: a replica that lacks the rest takes over, or a copy.
    pub(crate) fn go_back(&mut self) {
        if self.replica.is_some() {
            return self.fail_over();
        }
        match &mut self.primary {
            Primary::MariaDb(mariadb, _) => mariadb.go_back_to_copy(),
            Primary::Nats(nats) => {
                nats.kill();
                nats.replace_data(self.copy.as_ref().expect("it was kept"));
                nats.restart();
            }
            Primary::Redis(_)
            | Primary::Cluster(_)
            | Primary::Postgres(_)
            | Primary::NatsCluster(_) => {
                panic!("it needs a replica")
            }
        }
    }

    /// Kills the primary and puts the replica in its place, under the address the servers know.
    pub(crate) fn fail_over(&mut self) {
        let (replica, link) = self.replica.take().unwrap();
        match &mut self.primary {
            Primary::Redis(redis) => redis.kill(),
            Primary::Postgres(postgres) => postgres.kill(),
            Primary::MariaDb(mariadb, _) => mariadb.kill(),
            Primary::Cluster(_) | Primary::Nats(_) | Primary::NatsCluster(_) => {
                panic!("no story has a replica of it")
            }
        }
        // What was kept back is lost with the connection.
        link.cut();
        match &replica {
            Primary::Redis(redis) => assert_eq!(redis.ask("REPLICAOF NO ONE"), "+OK"),
            Primary::Postgres(postgres) => postgres.promote(),
            Primary::Cluster(_)
            | Primary::MariaDb(..)
            | Primary::Nats(_)
            | Primary::NatsCluster(_) => {
                panic!("no story has a replica of it")
            }
        }
        self.primary = replica;
        for node in &self.nodes {
            node.store.lead_to(self.primary.port());
        }
    }

    /// Returns the number of the server that leads, once there is one that runs.
    pub(crate) async fn leader(&self) -> usize {
        let end = Instant::now() + PATIENCE;
        loop {
            for node in self.nodes.iter().filter(|node| node.runs()) {
                if let Ok(said) = node.talk().try_get("/v1/nodes").await
                    && let Some(leader) = self.leader_in(&said)
                {
                    return leader;
                }
            }
            assert!(Instant::now() < end, "nobody leads");
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Returns the number of the server that leads by what one of them said.
    pub(crate) fn leader_in(&self, said: &Value) -> Option<usize> {
        let nodes = said["nodes"].as_array()?;
        let leads = nodes.iter().find(|node| node["leader"] == true)?;
        let address = leads["address"].as_str()?;
        self.nodes.iter().position(|node| address.ends_with(&format!(":{}", node.port())))
    }

    /// Waits until all servers that run have the same state, and holds it against what is promised:
    /// ranks without a gap, nobody twice, results numbered once each, the same on every server, and
    /// on one that knows nothing but the store.
    pub(crate) async fn agrees(&mut self, campaign: &str) -> Agreed {
        let agreed = self.says_the_same(campaign).await;
        check_results(&agreed.results);
        agreed
    }

    /// Waits until all servers that run have the same state, and one that knows nothing but the store has it too.
    pub(crate) async fn says_the_same(&mut self, campaign: &str) -> Agreed {
        let newcomer = self.add().await;
        newcomer.ready().await;
        // What was on its way when the last one who asked gave up may still come in.
        let (position, results) = loop {
            let before = self.same_state().await;
            let mut said = Vec::new();
            for node in self.nodes.iter().filter(|node| node.runs()) {
                said.push(node.talk().results(campaign).await);
            }
            if before == self.same_state().await {
                assert!(said.windows(2).all(|pair| pair[0] == pair[1]), "results differ");
                break (before.0, said.remove(0));
            }
        };
        self.nodes.last_mut().unwrap().kill().await;
        self.nodes.pop();
        Agreed { position, results }
    }

    async fn same_state(&self) -> (String, String) {
        let end = Instant::now() + PATIENCE;
        loop {
            let mut said = Vec::new();
            for node in self.nodes.iter().filter(|node| node.runs()) {
                let view = node.talk().get("/v1/nodes").await;
                let text = |name: &str| view[name].as_str().unwrap_or_default().to_owned();
                said.push((text("position"), text("digest")));
            }
            if said.windows(2).all(|pair| pair[0] == pair[1]) {
                return said.remove(0);
            }
            if Instant::now() >= end {
                let talk: String = self.nodes.iter().map(|node| node.errors()).collect();
                panic!("the servers do not come to agree: {said:?}\n{talk}");
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Holds results against what is promised of them.
fn check_results(results: &[Value]) {
    let (mut rank, mut number) = (0, 0);
    let mut live = std::collections::BTreeMap::new();
    for line in results {
        let found = line["number"].as_u64().unwrap();
        assert!(found > number, "result {found} comes after {number}");
        number = found;
        let subject = line["subject"].as_str().unwrap();
        if line["kind"] == "cancel" {
            assert!(live.remove(subject).is_some(), "cancelled twice: {line}");
            continue;
        }
        rank += 1;
        assert_eq!(line["rank"], rank, "{line}");
        let before = live.insert(subject, rank);
        assert_eq!(before, None, "{subject} won twice: {line}");
    }
}
