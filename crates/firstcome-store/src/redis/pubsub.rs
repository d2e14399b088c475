//! The two ways in which Redis passes messages on.

use super::Redis;
use super::command::Command;
use crate::error::StoreError;

/// By which commands a message is published and heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PubSub {
    /// `PUBLISH` and `SUBSCRIBE`: a cluster passes the message on to all of its servers.
    Plain,
    /// `SPUBLISH` and `SSUBSCRIBE`: it stays with the servers of a cluster that have the slot of the channel. Since Redis 7.0.
    Sharded,
}

/// Which of them is used in a cluster. Elsewhere it is always [`PubSub::Plain`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Auto,
    Of(&'static [PubSub]),
}

impl Mode {
    /// Reads the value of the parameter `pubsub`.
    pub(super) fn read(value: &str) -> Option<Self> {
        Some(match value {
            "auto" => Self::Auto,
            "plain" => Self::Of(&[PubSub::Plain]),
            "sharded" => Self::Of(&[PubSub::Sharded]),
            "both" => Self::Of(&[PubSub::Plain, PubSub::Sharded]),
            _ => return None,
        })
    }
}

impl Redis {
    /// Returns by which commands messages are published and heard here: in a cluster those that its URL names, and by default what
    /// Redisson uses, [`PubSub::Sharded`] where the servers have it.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooOld`] where the URL asks for what the servers do not have; [`StoreError::Denied`] where the user may not
    /// ask whether they do; otherwise see [`StoreError`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn pubsub(&self) -> Result<&'static [PubSub], StoreError> {
        const PLAIN: &[PubSub] = &[PubSub::Plain];
        let Some(mode) = self.pubsub_mode().filter(|mode| *mode != Mode::Of(PLAIN)) else {
            return Ok(PLAIN);
        };
        let asked = self.send(&Command::new("PUBSUB").arg("SHARDNUMSUB").arg("0")).await;
        match (asked, mode) {
            (Ok(_), Mode::Auto) => Ok(&[PubSub::Sharded]),
            (Ok(_), Mode::Of(all)) => Ok(all),
            // An unknown subcommand.
            (Err(StoreError::Refused { code, .. }), Mode::Auto) if code == "ERR" => Ok(PLAIN),
            (Err(StoreError::Refused { code, .. }), Mode::Of(_)) if code == "ERR" => {
                let (version, feature) = ("below 7.0".to_owned(), "sharded pub/sub (SPUBLISH)");
                Err(StoreError::TooOld { version, needed: "7.0", feature })
            }
            (Err(failure), _) => Err(failure),
        }
    }
}
