//! The key that a verb shows to a server, where it came from, and what to do when it is refused.

use std::sync::OnceLock;

use super::{FolderArgs, address_of_owner, is_same};
use crate::cli::complaint::Complaint;
use crate::cli::terminal::out;
use firstcome_api::key::Secret;
use firstcome_client::Server;

/// Where a key may stand in the environment, in this order.
const VARIABLES: [&str; 2] = ["FIRSTCOME_KEY", "FIRSTCOME_ADMIN_KEY"];

/// What came of looking for a key: a process looks once, and a refusal says how it went.
static LOOKED: OnceLock<KeyLookup> = OnceLock::new();

enum KeyLookup {
    /// There was one, and this is where it came from.
    Found(String),
    /// There was none: why the data folder has none.
    Missing(String),
}

pub(super) fn find<'a>(
    folder: &FolderArgs,
    servers: impl IntoIterator<Item = &'a Server>,
) -> Result<Option<Secret>, Complaint> {
    let (key, looked) = look(folder, servers)?;
    // Whoever looks again in one process looks at the same places.
    drop(LOOKED.set(looked));
    Ok(key)
}

fn look<'a>(
    folder: &FolderArgs,
    servers: impl IntoIterator<Item = &'a Server>,
) -> Result<(Option<Secret>, KeyLookup), Complaint> {
    for name in VARIABLES {
        if let Ok(key) = std::env::var(name) {
            let secret = Secret::new(&key);
            let secret = secret.map_err(|why| Complaint::usage(format!("{name} {why}")))?;
            return Ok((Some(secret), KeyLookup::Found(name.to_owned())));
        }
    }
    let path = folder.data.join("admin-key");
    let file = path.display();
    let own = address_of_owner(&folder.data).and_then(|address| Server::parse(&address).ok());
    let is_own = |server: &Server| own.as_ref().is_some_and(|own| is_same(own, server));
    match std::fs::read_to_string(&path) {
        Ok(_) if !servers.into_iter().all(is_own) => {
            out::talk(format!(
                "note: the key in {file} is only for the server of this folder, and not sent to another one; set \
                 FIRSTCOME_KEY to send a key"
            ));
            Ok((None, KeyLookup::Missing(format!("the key in {file} is for another server"))))
        }
        Ok(key) => {
            let wrong = |why| Complaint::usage(format!("the key in {file} {why}"));
            let secret = Secret::new(&key).map_err(wrong)?;
            Ok((Some(secret), KeyLookup::Found(file.to_string())))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok((None, KeyLookup::Missing(format!("there is no {file}"))))
        }
        Err(error) => {
            out::talk(format!("note: cannot read {file}: {error}; sending no key"));
            Ok((None, KeyLookup::Missing(format!("{file} cannot be read"))))
        }
    }
}

/// Why the server did not take the key, or that it wants one.
pub(in crate::cli) fn refused() -> &'static str {
    match LOOKED.get() {
        Some(KeyLookup::Found(_)) => "the server does not know this key",
        Some(KeyLookup::Missing(_)) | None => "the server needs a key, and none was sent",
    }
}

/// Where the key came from, or why there is none, and what to do.
pub(in crate::cli) fn advice() -> String {
    match LOOKED.get() {
        Some(KeyLookup::Found(place)) => {
            format!("the key is from {place}; set FIRSTCOME_KEY to a key of this server")
        }
        Some(KeyLookup::Missing(why)) => {
            format!("set FIRSTCOME_KEY to the FIRSTCOME_ADMIN_KEY of the server: {why}")
        }
        None => "set FIRSTCOME_KEY".to_owned(),
    }
}
