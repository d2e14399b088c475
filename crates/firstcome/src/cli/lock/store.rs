//! Which store the locks are in.

use clap::Args;
use firstcome_lock::{Effect, Failure, Locks};
use firstcome_store::{Options, Redis};

use super::super::complaint::{Complaint, Exit};

const KNOWN: [&str; 4] = ["redis", "rediss", "redis+sentinel", "rediss+sentinel"];

/// Options of every verb that uses a store.
#[derive(Debug, Args)]
pub(in crate::cli) struct StoreArgs {
    /// The store the locks are in.
    ///
    /// `redis://USER:PASSWORD@HOST:PORT/DATABASE` (all but the host may be left out), `rediss://…` for TLS,
    /// `redis+sentinel://HOST,HOST/MASTER`. Set it as FIRSTCOME_STORE where it has a password: a command line can be
    /// read by everybody on the machine.
    #[arg(long, env = "FIRSTCOME_STORE", hide_env_values = true, value_name = "URL")]
    store: Option<String>,
}

impl StoreArgs {
    /// Connects, or says what is in the way.
    pub(super) async fn locks(&self) -> Result<Locks, Complaint> {
        Ok(Locks::connect(self.url()?).await?)
    }

    /// Connects to look at keys.
    pub(super) async fn keys(&self) -> Result<Redis, Complaint> {
        Redis::connect(Options::new(self.url()?))
            .await
            .map_err(|failure| Failure::from(failure).into())
    }

    fn url(&self) -> Result<&str, Complaint> {
        let Some(url) = self.store.as_deref().filter(|url| !url.is_empty()) else {
            let complaint =
                Complaint::usage("no store is given, so there is nowhere to keep a lock");
            return Err(complaint.hint(
                "name one with --store redis://127.0.0.1:6379, or in the environment as FIRSTCOME_STORE",
            ));
        };
        match url.split_once("://") {
            Some((scheme, _)) if !KNOWN.contains(&scheme) => {
                let complaint = Complaint::usage(format!(
                    "locks are not kept in `{scheme}://` stores: this build knows Redis and Valkey only"
                ));
                Err(complaint
                    .hint("use redis://, rediss:// (TLS), redis+sentinel:// or rediss+sentinel://"))
            }
            Some(_) | None => Ok(url),
        }
    }
}

impl From<Failure> for Complaint {
    fn from(failure: Failure) -> Self {
        let wrong_words = matches!(
            failure,
            Failure::Name { .. }
                | Failure::OutOfRange { .. }
                | Failure::Store(firstcome_store::Failure::Address { .. })
        );
        let exit = match failure.effect() {
            Effect::None if wrong_words => Exit::Usage,
            Effect::None => Exit::Unchanged,
            Effect::Unknown => Exit::Unknown,
        };
        let complaint = Self::new(exit, failure.to_string());
        match failure.hint() {
            Some(hint) => complaint.hint(hint),
            None => complaint,
        }
    }
}
