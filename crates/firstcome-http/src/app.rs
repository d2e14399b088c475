//! What every handler is given: the node, its leader and ledger, keys, guards and counts.

use crate::answer::problem::Problem;
use crate::bulk::requests::BulkRequests;
use crate::codes::missing_key::MissingKey;
use crate::guard::Guards;
use crate::metrics::Metrics;
use crate::openapi::Description;
use crate::options::HttpOptions;
use crate::request::Query;
use crate::request::auth::Keys;
use crate::seat_map::SeatMaps;
use axum::body::Bytes;
use axum::http::{HeaderMap, Response};
use firstcome_core::State;
use firstcome_node::leader::Leadership;
use firstcome_node::ledger::Ledger;
use firstcome_node::{CommandError, Condition, Decided, Node};
use firstcome_webhooks::Dispatcher;
use http_body_util::Full;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Everything a handler needs.
pub struct App {
    pub node: Node,
    /// The leader's tasks.
    pub leader: Leadership,
    /// The ledger, if there is one.
    pub ledger: Option<Ledger>,
    /// The webhooks, where there is a ledger.
    pub webhooks: Option<Arc<Dispatcher>>,
    pub keys: Keys,
    /// The checks before a command is written.
    pub guards: Guards,
    /// The requests of many commands that are under way.
    pub bulk: BulkRequests,
    /// The campaign whose codes this server has no key for, if there is one.
    pub missing_key: MissingKey,
    /// The seat maps that are watched.
    pub seat_maps: SeatMaps,
    /// The counts.
    pub metrics: Arc<Metrics>,
    /// The settings of the HTTP server.
    pub options: HttpOptions,
    /// The description of the routes.
    pub openapi: Description,
    /// Cancelled once the server is shutting down.
    pub draining: CancellationToken,
}

impl App {
    /// Counts a problem and gives its response, for a request that is answered without the router.
    pub(crate) fn problem(&self, problem: &Problem, table: HeaderMap) -> Response<Full<Bytes>> {
        self.metrics.answered(problem.outcome());
        problem.response(&self.options.rare.base_path, table)
    }

    /// Waits until this node's state has reached the query's `min_position`.
    pub(crate) async fn reach(&self, query: &Query) -> Result<(), Problem> {
        let min = query.min_position()?;
        self.node.intake.reach(min).await.map_err(|failure| Problem::failed(&failure))
    }

    /// Refuses to show codes that may not be durable: after a failover such a code may become somebody else's.
    pub(crate) fn may_show_codes(&self, durable: bool) -> Result<(), Problem> {
        if durable {
            return Ok(());
        }
        let why = "what issued these codes is not durable yet";
        Err(Problem::failed(&CommandError::Unavailable(why.into())))
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.node.intake.condition() != Condition::Fresh
    }

    /// Refuses to read the campaign this node is stuck in, and any other while the state is half changed.
    pub(crate) fn readable(&self, campaign: &str) -> Result<(), Problem> {
        match self.node.replica.stuck() {
            Some(stuck) if !stuck.is_whole || stuck.broke.campaign.as_deref() == Some(campaign) => {
                let why = stuck.to_string();
                let position = self.node.replica.look(State::token);
                Err(Problem::failed(&CommandError::Unavailable(why)).at(position, Decided::Replica))
            }
            _ => Ok(()),
        }
    }

    /// Refuses to read over all campaigns while the state is half changed.
    pub(crate) fn all_readable(&self) -> Result<(), Problem> {
        self.readable("")
    }
}
