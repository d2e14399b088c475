//! The HTTP face: routes under `/v1`, problem documents, health and counts.
//!
//! Limits, keys and counts of the claim route sit in the accept loop and in the handlers, not in
//! layers around them.

pub mod auth;
mod campaigns;
mod claims;
pub mod clock_text;
mod eligible;
mod forks;
mod guarded;
mod halls;
mod holds;
mod pages;
mod patience;
mod problem;
mod request;
mod results;
mod seats;
pub mod server;
mod settling;
mod status;
mod subjects;
mod tokens;

pub use crate::config::Role;
pub use auth::{Key, Keys};
pub use halls::Halls;

use crate::answer::{Code, Failure};
use crate::guard::Guards;
use crate::leader::Leader;
use crate::ledger::Ledger;
use crate::metrics::Metrics;
use crate::node::{Condition, Node};
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Response, Uri};
use axum::response::IntoResponse;
use axum::routing::get;
use firstcome_core::State;
use problem::Problem;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

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

#[derive(OpenApi)]
#[openapi(info(
    title = "Firstcome",
    description = "Decides who was first: exact ranks, nothing given twice. \
        Every answer that is not a yes is a problem document (RFC 9457) with its outcome, \
        whether to retry, and whether anything may have changed."
))]
struct Description;

fn routes_and_description() -> (Router<Arc<App>>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(campaigns::standing::list))
        .routes(routes!(campaigns::put, campaigns::standing::show))
        .routes(routes!(campaigns::pause))
        .routes(routes!(campaigns::resume))
        .routes(routes!(campaigns::close))
        .routes(routes!(campaigns::archive))
        .routes(routes!(claims::claim))
        .routes(routes!(claims::look_up, claims::cancel))
        .routes(routes!(holds::hold))
        .routes(routes!(holds::view::show))
        .routes(routes!(holds::steps::add))
        .routes(routes!(holds::steps::drop))
        .routes(routes!(holds::steps::extend))
        .routes(routes!(holds::steps::confirm))
        .routes(routes!(holds::steps::release))
        .routes(routes!(seats::import, halls::map::show))
        .routes(routes!(halls::events::events))
        .routes(routes!(subjects::show))
        .routes(routes!(seats::operate::block))
        .routes(routes!(seats::operate::unblock))
        .routes(routes!(seats::operate::move_seat))
        .routes(routes!(results::results))
        .routes(routes!(tokens::mint))
        .routes(routes!(status::time))
        .routes(routes!(status::nodes))
        .routes(routes!(status::reseed))
        .routes(routes!(forks::forks))
        .routes(routes!(status::audit))
        .routes(routes!(settling::settling))
        .routes(routes!(status::live))
        .routes(routes!(status::ready))
        .routes(routes!(status::metrics))
        .split_for_parts()
}

/// Gives the description of the routes, OpenAPI 3.1.
pub fn openapi() -> utoipa::openapi::OpenApi {
    routes_and_description().1
}

type Extract = axum::extract::State<Arc<App>>;

/// Gives the routes, ready to serve.
pub fn router(app: Arc<App>) -> Router {
    let (routes, openapi) = routes_and_description();
    let document = openapi.to_json().expect("the description can be written as JSON");
    let openapi_json = get(move || async move {
        ([(axum::http::header::CONTENT_TYPE, "application/json")], document)
    });
    routes
        .route("/openapi.json", openapi_json)
        .route("/docs", get(pages::docs))
        .route("/problems/{outcome}", get(pages::problem))
        .method_not_allowed_fallback(|app: Extract, method: Method, uri: Uri| async move {
            let detail = format!("{} does not take {method}", uri.path());
            app.problem(Problem::new(Code::MethodNotAllowed, detail))
        })
        .fallback(|app: Extract, uri: Uri| async move {
            let detail = format!("there is no route {}; see /docs", uri.path());
            app.problem(Problem::new(Code::NoSuchRoute, detail))
        })
        .with_state(app)
}

impl App {
    /// Counts a problem and sends it.
    fn problem(&self, problem: Problem) -> Response<Body> {
        self.metrics.answered(problem.outcome());
        problem.into_response()
    }

    async fn reach(&self, query: &request::Query) -> Result<(), Problem> {
        let min = query.min_position()?;
        self.node.intake.reach(min).await.map_err(|failure| Problem::failed(&failure))
    }

    fn is_stale(&self) -> bool {
        self.node.intake.condition() != Condition::Fresh
    }

    /// Refuses to read the campaign this node is stuck in: its state may be half changed.
    fn readable(&self, campaign: &str) -> Result<(), Problem> {
        match self.node.replica.stuck() {
            Some(stuck) if stuck.campaign.as_deref() == Some(campaign) => {
                let why = format!("this node is stuck at entry {} of it", stuck.position);
                let position = self.node.replica.look(State::token);
                Err(Problem::failed(&Failure::Unavailable(why))
                    .at(position, crate::node::Decided::Replica))
            }
            _ => Ok(()),
        }
    }
}
