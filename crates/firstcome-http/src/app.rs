//! What every handler is given: the node, its leader and ledger, keys, guards and counts.

use crate::auth::Keys;
use crate::guard::Guards;
use crate::halls::Halls;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::request;
use axum::body::Body;
use axum::http::Response;
use axum::response::IntoResponse;
use firstcome_core::State;
use firstcome_node::leader::Leader;
use firstcome_node::ledger::Ledger;
use firstcome_node::{Condition, Decided, Failure, Node};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// What the HTTP face is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections that may be open.
    pub connections: usize,
    /// Bytes a request body may have.
    pub body_bytes: usize,
    /// How long a request's head may take, from the first byte waited for.
    pub header_time: Duration,
    /// How long a request's body may take.
    pub body_time: Duration,
    /// How long a connection may be idle between requests.
    pub idle_time: Duration,
    /// How long a hold may wait at most for seats that somebody has.
    pub hold_wait: Duration,
    /// Whether `/metrics` needs no key.
    pub metrics_public: bool,
    /// What an answer that left is safe against, in a sentence.
    pub durability: String,
}

/// Everything a handler needs.
pub struct App {
    /// The node.
    pub node: Node,
    /// The leader's tasks.
    pub leader: Leader,
    /// The ledger, if there is one.
    pub ledger: Option<Ledger>,
    /// The keys.
    pub keys: Keys,
    /// What stands before the rules.
    pub guards: Guards,
    /// Whose halls are watched.
    pub halls: Halls,
    /// The counts.
    pub metrics: Arc<Metrics>,
    /// What the HTTP face is told.
    pub options: Options,
    /// The description of the routes.
    pub openapi: utoipa::openapi::OpenApi,
    /// Whether the server is shutting down.
    pub draining: watch::Receiver<bool>,
}

impl App {
    /// Counts a problem and sends it.
    pub(crate) fn problem(&self, problem: Problem) -> Response<Body> {
        self.metrics.answered(problem.outcome());
        problem.into_response()
    }

    pub(crate) async fn reach(&self, query: &request::Query) -> Result<(), Problem> {
        let min = query.min_position()?;
        self.node.intake.reach(min).await.map_err(|failure| Problem::failed(&failure))
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.node.intake.condition() != Condition::Fresh
    }

    /// Refuses to read the campaign this node is stuck in: its state may be half changed.
    pub(crate) fn readable(&self, campaign: &str) -> Result<(), Problem> {
        match self.node.replica.stuck() {
            Some(stuck) if stuck.campaign.as_deref() == Some(campaign) => {
                let why = format!("this node is stuck at entry {} of it", stuck.position);
                let position = self.node.replica.look(State::token);
                Err(Problem::failed(&Failure::Unavailable(why)).at(position, Decided::Replica))
            }
            _ => Ok(()),
        }
    }
}
