//! The store that the servers of a story share.

use firstcome_testbed::{Folder, MariaDb, Nats, NatsCluster, Postgres, RedisCluster, RedisServer};
use serde_json::Value;

/// The store that the servers share.
pub(crate) enum Primary {
    Redis(RedisServer),
    /// It is reached without a proxy: its servers say where they are.
    Cluster(Box<RedisCluster>),
    Postgres(Postgres),
    /// And the name of the database.
    MariaDb(MariaDb, String),
    Nats(Nats),
    NatsCluster(Box<NatsCluster>),
}

impl Primary {
    pub(crate) fn port(&self) -> u16 {
        match self {
            Self::Redis(redis) => redis.port(),
            Self::Cluster(cluster) => cluster.server(0).port(),
            Self::Postgres(postgres) => postgres.port(),
            Self::MariaDb(mariadb, _) => mariadb.port(),
            Self::Nats(nats) => nats.port(),
            Self::NatsCluster(cluster) => cluster.servers[0].port(),
        }
    }

    /// Returns the URL of the store, behind a proxy at a port.
    pub(crate) fn url_through(&self, port: u16) -> String {
        match self {
            Self::Redis(_) => format!("redis://127.0.0.1:{port}"),
            Self::Cluster(cluster) => cluster.url(),
            Self::Postgres(postgres) => postgres.url_through(port),
            Self::MariaDb(mariadb, database) => mariadb.url_through(port, database),
            Self::Nats(_) => format!("nats://127.0.0.1:{port}"),
            Self::NatsCluster(cluster) => {
                let [_, second, third] = &cluster.servers;
                let (second, third) = (second.port(), third.port());
                format!("nats://127.0.0.1:{port},127.0.0.1:{second},127.0.0.1:{third}")
            }
        }
    }

    /// Returns the position of the journal's head; none where there is no journal.
    pub(crate) fn position(&self) -> Option<u64> {
        match self {
            Self::Redis(redis) => {
                redis.ask("HGET fc:{main}:head position").lines().nth(1)?.parse().ok()
            }
            Self::Postgres(postgres) => {
                let sql = "SELECT max(position) FROM fc_journal_main.entries";
                postgres.try_sql("ledger", sql).ok()?.parse().ok()
            }
            Self::MariaDb(mariadb, database) => {
                let sql = format!("SELECT last_position FROM {database}.fc_journal_main_head");
                mariadb.try_sql(&sql).ok()?.parse().ok()
            }
            Self::Cluster(_) | Self::Nats(_) | Self::NatsCluster(_) => {
                panic!("no story has a replica of it")
            }
        }
    }

    /// Kills it and starts it again with what it had on its disk.
    pub(crate) fn restart(&mut self) {
        match self {
            Self::Redis(redis) => redis.restart(),
            Self::Cluster(_) => panic!("no story restarts a whole cluster"),
            Self::Postgres(postgres) => postgres.restart(),
            Self::MariaDb(mariadb, _) => mariadb.restart(),
            Self::Nats(nats) => nats.restart(),
            Self::NatsCluster(cluster) => cluster.restart(),
        }
    }

    /// Has it come back with nothing of the space.
    pub(crate) fn come_back_empty(&mut self) {
        match self {
            // It keeps nothing on a disk.
            Self::Redis(redis) => redis.restart(),
            Self::Postgres(postgres) => drop(postgres.sql("ledger", DROP_SCHEMA)),
            Self::MariaDb(mariadb, database) => drop_tables(mariadb, database),
            Self::Nats(nats) => {
                nats.kill();
                nats.replace_data(&Folder::new("nats-empty"));
                nats.restart();
            }
            Self::Cluster(_) | Self::NatsCluster(_) => panic!("no story empties a cluster"),
        }
    }

    /// Removes all of the space, while it runs.
    pub(crate) async fn empty(&self) {
        match self {
            Self::Redis(redis) => drop(redis.ask("FLUSHALL")),
            Self::Cluster(_) => panic!("no story empties a cluster"),
            Self::Postgres(postgres) => drop(postgres.sql("ledger", DROP_SCHEMA)),
            Self::MariaDb(mariadb, database) => drop_tables(mariadb, database),
            Self::Nats(_) | Self::NatsCluster(_) => {
                self.delete("fc_journal_main").await;
                self.delete("fc_log_main").await;
            }
        }
    }

    /// Deletes a stream of NATS.
    pub(crate) async fn delete(&self, stream: &str) {
        let (Self::Nats(nats), name) = (self, stream) else { panic!("this story is about NATS") };
        let options = firstcome_store::nats::NatsOptions::new(nats.url());
        let nats = firstcome_store::nats::NatsConnection::connect(options).await.unwrap();
        nats.ask(&format!("STREAM.DELETE.{name}"), &Value::Null).await.unwrap();
        nats.close().await;
    }

    /// Stops a database as it stands: connections stay open and nothing is answered.
    pub(crate) fn pause(&self) {
        match self {
            Self::Redis(_) | Self::Cluster(_) => panic!("this story is about databases"),
            Self::Postgres(postgres) => postgres.pause(),
            Self::MariaDb(mariadb, _) => mariadb.pause(),
            Self::Nats(nats) => nats.pause(),
            Self::NatsCluster(cluster) => cluster.servers.iter().for_each(Nats::pause),
        }
    }

    /// Lets a paused database go on.
    pub(crate) fn resume(&self) {
        match self {
            Self::Redis(_) | Self::Cluster(_) => panic!("this story is about databases"),
            Self::Postgres(postgres) => postgres.resume(),
            Self::MariaDb(mariadb, _) => mariadb.resume(),
            Self::Nats(nats) => nats.resume(),
            Self::NatsCluster(cluster) => cluster.servers.iter().for_each(Nats::resume),
        }
    }
}

const DROP_SCHEMA: &str = "DROP SCHEMA fc_journal_main CASCADE";

/// Returns the tables of the space in a MariaDB.
fn tables(mariadb: &MariaDb, database: &str) -> Vec<String> {
    let sql = format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{database}' \
         AND table_name LIKE 'fc\\_journal\\_%'"
    );
    mariadb.sql(&sql).lines().map(str::to_owned).collect()
}

fn drop_tables(mariadb: &MariaDb, database: &str) {
    let named: Vec<_> =
        tables(mariadb, database).into_iter().map(|name| format!("{database}.{name}")).collect();
    mariadb.sql(&format!("DROP TABLE {}", named.join(", ")));
}
