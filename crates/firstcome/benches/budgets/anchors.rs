//! What Firstcome is compared with: bare servers that answer a constant, and the few lines that a team writes by hand.
//!
//! Each is a server in a process of its own: this program, started with `--serve NAME`. Those with a store have it in a
//! file of the same process or in a real server of its own.

mod bare;
mod lua;
mod mariadb;
mod nats;
mod per_core;
mod postgres;
mod postgres_codes;
mod sqlite;

use crate::processor;
use crate::server::Server;
use anyhow::{Context, Result, bail};
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use serde::Deserialize;
use std::path::Path;

pub(crate) use lua::CLAIM;

/// A server to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// axum that parses the JSON and answers a constant.
    Bare,
    /// hyper that does the same, with a current-thread runtime for each core.
    PerCore,
    /// axum and SQLite, with group commit.
    Sqlite,
    /// axum and a Lua script in Redis for each claim.
    Lua,
    /// axum and a row in PostgreSQL.
    Postgres,
    /// axum and a row in PostgreSQL for each coupon code.
    PostgresCodes,
}

impl Anchor {
    /// Those that claims are compared with.
    pub(crate) const ALL: &[Self] =
        &[Self::Bare, Self::PerCore, Self::Sqlite, Self::Lua, Self::Postgres];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare axum",
            Self::PerCore => "bare hyper, a runtime per core",
            Self::Sqlite => "axum + SQLite by hand",
            Self::Lua => "axum + Lua script by hand",
            Self::Postgres | Self::PostgresCodes => "axum + PostgreSQL by hand",
        }
    }

    /// Says whether it is many times slower than the others.
    pub(crate) fn is_slow(self) -> bool {
        match self {
            Self::Postgres | Self::PostgresCodes => true,
            Self::Lua => false,
            Self::Bare | Self::PerCore | Self::Sqlite => false,
        }
    }

    /// Starts the server, and its store; `folder` is for its files. None if a program it needs is not installed.
    pub(crate) fn start(self, folder: &Path) -> Result<Option<Running>> {
        let file = folder.join("by-hand.sqlite");
        let (server, store) = match self {
            Self::Bare => (Server::bare()?, Store::None),
            Self::PerCore => (Server::of_this_program(&["--serve", "per-core"])?, Store::None),
            Self::Sqlite => {
                let file = file.to_str().context("the folder's name is UTF-8")?;
                (Server::of_this_program(&["--serve", "sqlite", file])?, Store::None)
            }
            Self::Lua => {
                let Some(store) = crate::redis_server::Store::start() else { return Ok(None) };
                let server = Server::of_this_program(&["--serve", "lua", &store.url()])?;
                (server, Store::Redis(store))
            }
            Self::Postgres | Self::PostgresCodes => {
                use firstcome_testbed::{Postgres, PostgresSettings};
                let settings = PostgresSettings { fsync: true, ..PostgresSettings::default() };
                let Some(store) = Postgres::with(settings) else { return Ok(None) };
                let name = if self == Self::Postgres { "postgres" } else { "postgres-codes" };
                let server = Server::of_this_program(&["--serve", name, &store.url()])?;
                let first_line = "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)";
                let pid = store.sql("postgres", first_line).trim().parse()?;
                (server, Store::Postgres { pid, server: store })
            }
        };
        Ok(Some(Running { server, store }))
    }
}

/// A server that runs, and its store if that is a server too.
pub(crate) struct Running {
    pub(crate) server: Server,
    store: Store,
}

enum Store {
    /// None, or a file of the server's own process.
    None,
    Redis(crate::redis_server::Store),
    Postgres {
        pid: u32,
        #[expect(dead_code, reason = "it runs until it is dropped")]
        server: firstcome_testbed::Postgres,
    },
}

impl Running {
    /// A server without a store of its own process.
    pub(crate) fn alone(server: Server) -> Self {
        Self { server, store: Store::None }
    }

    /// Returns the processor time that the store's processes used so far, in microseconds, if it has some.
    pub(crate) fn store_cpu_us(&self) -> Result<Option<f64>> {
        Ok(match &self.store {
            Store::None => None,
            Store::Redis(store) => Some(store.work()?.cpu_us),
            Store::Postgres { pid, .. } => Some(processor::of_family(*pid)?),
        })
    }
}

/// Is the server of this name, until it is killed; `store` says where its store is.
pub(crate) fn serve(name: &str, store: Option<&str>) -> Result<()> {
    if name == "per-core" {
        return per_core::serve();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let router = match (name, store) {
            ("bare", _) => bare::router(),
            ("sqlite", Some(file)) => sqlite::router(Path::new(file))?,
            ("lua", Some(url)) => lua::router(url).await?,
            ("mariadb", Some(url)) => mariadb::router(url).await?,
            ("nats", Some(url)) => nats::router(url).await?,
            ("postgres", Some(url)) => postgres::router(url).await?,
            ("postgres-codes", Some(url)) => postgres_codes::router(url).await?,
            (name, store) => bail!("there is no server {name} on {store:?}"),
        };
        listen(router).await
    })
}

async fn listen(router: Router) -> Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    let listener = listener.tap_io(|stream| {
        stream.set_nodelay(true).expect("a TCP stream takes TCP_NODELAY");
    });
    Ok(axum::serve(listener, router).await?)
}

/// The path that everybody is asked on.
const CLAIMS: &str = "/v1/campaigns/{campaign}/claims";

/// More than anybody claims while it is measured.
const CAPACITY: i64 = 100_000_000;

#[derive(Deserialize)]
struct Claim {
    subject: String,
}

/// What became of a claim of the servers written by hand.
enum Outcome {
    Won(i64),
    AlreadyWon(i64),
    SoldOut,
}

impl IntoResponse for Outcome {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::Won(rank) => {
                (StatusCode::CREATED, format!(r#"{{"outcome":"won","rank":{rank}}}"#))
            }
            Self::AlreadyWon(rank) => {
                (StatusCode::OK, format!(r#"{{"outcome":"already_won","rank":{rank}}}"#))
            }
            Self::SoldOut => (StatusCode::CONFLICT, r#"{"outcome":"sold_out"}"#.to_owned()),
        };
        (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
    }
}
