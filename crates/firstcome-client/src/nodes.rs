//! The servers themselves.

use crate::client::Client;
use crate::error::failure::Failure;
use crate::error::problem::Problem;
use crate::error::{Error, Failed, Unchanged};
use crate::routes::Ask;
use firstcome_api::node::{Nodes, Ready, Time};

impl Client {
    /// Reads the nodes of the space, who leads, and what the server knows of itself.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn nodes(&self) -> Result<Nodes, Error> {
        self.read(Ask::nodes()).await
    }

    /// Reads the server's clock, by which openings and deadlines are decided.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn time(&self) -> Result<Time, Error> {
        self.read(Ask::time()).await
    }

    /// Asks the server that is asked next whether it takes commands, once: for probes. Its `status` is `ready`, or
    /// `not_ready` with `reasons`.
    ///
    /// # Errors
    ///
    /// [`Error::Unchanged`] where it does not answer, [`Error::Refused`] where it has its probes at another address.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn ready(&self) -> Result<Ready, Error> {
        let unchanged = |server: String, reason: String| {
            let failed = Failed { server, reason, attempts: 1, problem: None };
            Error::Unchanged(Box::new(Unchanged::new(failed)))
        };
        let (server, answered) = match self.once(&Ask::get("/readyz")).await {
            Ok(answered) => answered,
            Err(
                Failure::Unchanged { server, reason, .. } | Failure::Unknown { server, reason, .. },
            ) => {
                return Err(unchanged(server, reason));
            }
        };
        let read = serde_json::from_slice(&answered.body);
        read.map_err(|_| {
            let problem = Problem::read(answered.status, &answered.body);
            match problem {
                Ok(problem) => Error::Refused(Box::new(problem)),
                Err(why) => unchanged(server.to_string(), format!("it cannot be read: {why}")),
            }
        })
    }
}
