//! Which server a verb talks to, and with which key.

mod again;
pub(super) mod key;

pub(super) use self::again::Again;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::complaint::Complaint;
use super::terminal::out;
use crate::config::duration_from_text;
use firstcome_api::key::Secret;
use firstcome_client::{Client, Exchange, Reply, Server};
use firstcome_node::ledger::choice::LedgerChoice;
use firstcome_rush::terminal;

/// Options of every verb that talks to a server.
#[derive(Debug, Args)]
pub(super) struct ServerArgs {
    /// The address of the server, http:// or https:// [default: the server of the data folder; without such a folder
    /// http://127.0.0.1:8080]. With https:// the authorities of the operating system are trusted, or those in the PEM
    /// file of [env: SSL_CERT_FILE]. Its key is read from [env: FIRSTCOME_KEY], otherwise [env: FIRSTCOME_ADMIN_KEY], never from
    /// the command line.
    #[arg(long, env = "FIRSTCOME_URL", value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    folder: FolderArgs,
    /// The longest wait for an answer.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = duration_from_text)]
    pub(super) timeout: Duration,
    /// Print each request to the server on stderr, with its status and duration.
    #[arg(short, long)]
    verbose: bool,
}

/// Where a server's data is: its address and first key are found there.
#[derive(Debug, Args)]
pub(super) struct FolderArgs {
    /// The data folder of the server; its admin key is used for that server, unless the environment has a key.
    #[arg(long, env = "FIRSTCOME_DATA", default_value = "./firstcome-data", value_name = "FOLDER")]
    pub(super) data: PathBuf,
}

/// Which ledger belongs to a data folder.
#[derive(Debug, Args)]
pub(super) struct LedgerArgs {
    /// The ledger of the server, as for `serve` [default: sqlite; none with a store]. Put a password into the environment.
    #[arg(long, env = "FIRSTCOME_LEDGER", hide_env_values = true, value_name = "KIND")]
    // Read later: what the parser of arguments refuses it repeats, and there may be a password in it.
    ledger: Option<String>,
    /// The name of the space, as for `serve`.
    #[arg(long, env = "FIRSTCOME_SPACE", default_value = "main", value_name = "NAME")]
    pub(super) space: String,
}

impl LedgerArgs {
    /// Says whether somebody named one, or said that there is none.
    pub(super) fn is_named(&self) -> bool {
        self.ledger.is_some()
    }

    /// The ledger; one that is not named is in the data folder, or nowhere with a shared store.
    pub(super) fn ledger(&self, shared: bool) -> Result<LedgerChoice, Complaint> {
        let otherwise = if shared { "none" } else { "sqlite" };
        self.ledger
            .as_deref()
            .unwrap_or(otherwise)
            .parse()
            .map_err(|why| Complaint::usage(format!("the ledger: it {why}")))
    }
}

impl ServerArgs {
    pub(super) fn client(&self) -> Result<Client, Complaint> {
        let server = match &self.url {
            Some(url) => Server::parse(url).map_err(Complaint::usage)?,
            None => self.folder.server()?,
        };
        let key = self.folder.key([&server])?;
        let client = Client::to(server, key, self.timeout);
        Ok(watched(client, self.verbose))
    }
}

/// Has each request of a client written on stderr where that is asked for.
pub(super) fn watched(client: Client, verbose: bool) -> Client {
    if verbose { client.watched_by(tell) } else { client }
}

impl FolderArgs {
    /// The server that holds the data folder; the default address where there is no such folder.
    ///
    /// If the server of a folder is gone, no other server is used: the one at the default address may belong to another folder.
    pub(super) fn server(&self) -> Result<Server, Complaint> {
        if let Some(address) = address_of_owner(&self.data) {
            return Server::parse(&address).map_err(Complaint::usage);
        }
        let folder = self.data.display();
        if let Some(why) = unseen(&self.data) {
            let complaint =
                Complaint::own(format!("cannot see whether {folder} has a server: {why}"));
            return Err(complaint.hint(
                "run this as the user of the server, or name a server with --url or FIRSTCOME_URL",
            ));
        }
        if !firstcome_journal::folder::is_a_servers(&self.data) {
            return Server::parse("http://127.0.0.1:8080").map_err(Complaint::usage);
        }
        let complaint = Complaint::own(match firstcome_journal::folder::owner(&self.data) {
            None => format!("the server of {folder} is not running"),
            Some(owner) if is_believed(&self.data) => {
                format!("the server of {folder} ({owner}) has not written its address yet")
            }
            Some(_) => {
                format!("another user may have written {folder}/lock: its address is not trusted")
            }
        });
        Err(complaint.hint(format!(
            "start it with `firstcome serve --data {folder}`, or name a server with --url or FIRSTCOME_URL"
        )))
    }

    /// The key for these servers: that of the environment, else the one generated into the data folder, else none.
    ///
    /// The key of the folder opens everything in its server. It is sent to no other server, because the receiver can read it.
    pub(super) fn key<'a>(
        &self,
        servers: impl IntoIterator<Item = &'a Server>,
    ) -> Result<Option<Secret>, Complaint> {
        key::find(self, servers)
    }
}

/// Says what was asked and answered.
fn tell(exchange: &Exchange<'_>) {
    let Exchange { server, method, path, status, took } = exchange;
    let took = terminal::short(*took);
    match status {
        Some(status) => out::talk(format!("{method} {server}{path}: {status} after {took}")),
        None => out::talk(format!("{method} {server}{path}: no answer after {took}")),
    }
}

/// Says whether two addresses on this machine are one.
fn is_same(one: &Server, other: &Server) -> bool {
    let plain = |server: &Server| server.authority().replace("localhost:", "127.0.0.1:");
    plain(one) == plain(other)
}

/// Why it cannot be seen whether a folder is a server's, where that is so.
fn unseen(folder: &Path) -> Option<std::io::Error> {
    let missing = |why: &std::io::Error| {
        matches!(why.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
    };
    std::fs::metadata(folder.join("lock")).err().filter(|why| !missing(why))
}

/// Says whether nobody but the user of this process, and the administrator, could have written what a folder's `lock` says.
fn is_believed(folder: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let own = |path: &Path| std::fs::metadata(path).ok().filter(|m| [0, user].contains(&m.uid()));
    let lock = own(&folder.join("lock"));
    own(folder).is_some() && lock.is_some_and(|lock| lock.mode() & 0o022 == 0)
}

/// The address of the server that has a folder right now, as it can be reached from here.
///
/// It is read from the folder's `lock`, and the key is sent to the address in it: a file of another user is not trusted.
fn address_of_owner(folder: &Path) -> Option<String> {
    if !is_believed(folder) {
        return None;
    }
    let address = firstcome_journal::folder::owner(folder)?.address?;
    Some(match address.strip_prefix("http://") {
        Some(listening) => format!("http://{}", from_here(listening)),
        None => address,
    })
}

/// Returns the address at which a server that listens there is reached from this machine.
///
/// Listening everywhere includes here, but "everywhere" is no address to connect to.
pub(super) fn from_here(listening: &str) -> String {
    let Ok(mut address) = listening.parse::<SocketAddr>() else { return listening.to_owned() };
    if address.ip().is_unspecified() {
        let v6 = address.is_ipv6();
        address.set_ip(if v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() });
    }
    address.to_string()
}

/// Turns a refusal into a complaint, and a yes into its two halves.
pub(super) fn yes<T>(reply: Reply<T>) -> Result<(T, Value), Complaint> {
    match reply {
        Reply::Yes(read, raw) => Ok((read, raw)),
        Reply::No(problem) => Err(problem.into()),
    }
}
