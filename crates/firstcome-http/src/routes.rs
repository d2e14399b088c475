//! Every route, and their description.

use crate::answer::Code;
use crate::answer::problem::{Problem, ToCount, Unwritten};
use crate::app::App;
use crate::campaigns::{acts, bars, results, subjects, winners};
use crate::campaigns::{put, show, steer};
use crate::codes::{imports, look_up, operate, steps};
use crate::openapi::{Description, complete};
use crate::request::tokens;
use crate::status::{nodes, webhooks};
use crate::{bulk, claims, holds, minute, pages, seat_map, seats, status, waitlist};
use axum::Router;
use axum::body::Body;
use axum::extract::MatchedPath;
use axum::handler::Handler;
use axum::http::{Method, Request, Response, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::{MethodRouter, get};
use std::pin::Pin;
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa::openapi::{PathItem, Paths};
use utoipa_axum::PathItemExt;
use utoipa_axum::router::OpenApiRouter;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Firstcome",
        description = "Decides who was first: exact ranks, nothing given twice. \
            Every answer that is not a yes is a problem document (RFC 9457) with its outcome, \
            whether to retry, and whether anything may have changed."
    ),
    tags(
        (name = "campaigns", description = "Campaigns: opening and closing times, pools and limits."),
        (name = "claims", description = "A subject claims a unit of a counted pool: the first request wins."),
        (name = "waitlists", description = "What comes free goes to who is next: places, offers, and the list."),
        (name = "bars", description = "An operator excludes subjects from a campaign."),
        (name = "codes", description = "Coupon codes: a claim of a coded pool gives one, and it is reserved, redeemed and rolled back."),
        (name = "holds", description = "Units are reserved until a deadline, and confirmed after the payment."),
        (name = "seats", description = "Seat maps: seats are added, shown, followed, blocked and moved."),
        (name = "bulk", description = "Many commands of a back end in one request, one on each line."),
        (name = "tokens", description = "Browsers send a subject token instead of a key."),
        (name = "webhooks", description = "Results are delivered to other services, in order."),
        (name = "results", description = "All results, in order, for other systems; and the winners."),
        (name = "operation", description = "Health, metrics, servers and the ledger, for operators.")
    ),
)]
struct Handlers;

type Reply = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

/// A handler whose type is not seen, so that the compiler makes what stands around handlers once and not for each.
#[derive(Clone)]
struct Erased(Arc<dyn Fn(Request<Body>, Arc<App>) -> Reply + Send + Sync>);

impl Erased {
    fn new<T>(handler: impl Handler<T, Arc<App>, Future = Reply>) -> Self {
        Self(Arc::new(move |request, app| handler.clone().call(request, app)))
    }
}

impl Handler<(), Arc<App>> for Erased {
    type Future = Reply;

    fn call(self, request: Request<Body>, app: Arc<App>) -> Reply {
        (self.0)(request, app)
    }
}

/// The handlers of one path, with their description.
macro_rules! routes {
    ($($handler:path),+) => {{
        let (mut schemas, mut paths, mut methods) = (Vec::new(), Paths::new(), MethodRouter::new());
        $(
            let (path, operation, of) = utoipa_axum::routes!(@resolve_types $handler : schemas);
            for method in &of {
                methods = methods.on(method.to_method_filter(), Erased::new($handler));
            }
            paths.add_path_operation(path, of, operation);
        )+
        (schemas, paths, methods)
    }};
}

fn routes_and_handlers() -> (Router<Arc<App>>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(Handlers::openapi())
        .routes(routes!(show::list))
        .routes(routes!(put::put, show::show, steer::delete))
        .routes(routes!(steer::pause))
        .routes(routes!(steer::resume))
        .routes(routes!(steer::close))
        .routes(routes!(steer::archive))
        .routes(routes!(claims::post::claim))
        .routes(routes!(claims::get::look_up, claims::delete::cancel))
        .routes(routes!(waitlist::list::list))
        .routes(routes!(waitlist::place::show, waitlist::place::leave))
        .routes(routes!(acts::list))
        .routes(routes!(minute::show))
        .routes(routes!(bars::bar, bars::list))
        .routes(routes!(bars::unbar))
        .routes(routes!(holds::hold))
        .routes(routes!(holds::view::show))
        .routes(routes!(holds::steps::add))
        .routes(routes!(holds::steps::drop))
        .routes(routes!(holds::steps::extend))
        .routes(routes!(holds::steps::confirm))
        .routes(routes!(holds::steps::release))
        .routes(routes!(seats::import, seat_map::show::show, seats::change::change))
        .routes(routes!(seat_map::events::events))
        .routes(routes!(subjects::show))
        .routes(routes!(seats::operate::block))
        .routes(routes!(seats::operate::unblock))
        .routes(routes!(seats::operate::move_seat))
        .routes(routes!(steps::reserve))
        .routes(routes!(steps::redeem))
        .routes(routes!(steps::roll_back))
        .routes(routes!(steps::release))
        .routes(routes!(look_up::look_up))
        .routes(routes!(operate::revoke))
        .routes(routes!(operate::suspend))
        .routes(routes!(operate::restore))
        .routes(routes!(operate::reissue))
        .routes(routes!(imports::begin, imports::list))
        .routes(routes!(imports::discard))
        .routes(routes!(imports::lines))
        .routes(routes!(imports::commit))
        .routes(routes!(bulk::commands))
        .routes(routes!(results::results))
        .routes(routes!(winners::winners))
        .routes(routes!(tokens::mint))
        .routes(routes!(tokens::mint_ticket))
        .routes(routes!(status::key))
        .routes(routes!(status::time))
        .routes(routes!(nodes::nodes))
        .routes(routes!(nodes::raise_level))
        .routes(routes!(nodes::reseed))
        .routes(routes!(nodes::forks))
        .routes(routes!(webhooks::list, webhooks::add))
        .routes(routes!(webhooks::show, webhooks::remove))
        .routes(routes!(webhooks::rotate))
        .routes(routes!(webhooks::disable))
        .routes(routes!(webhooks::enable))
        .routes(routes!(webhooks::test))
        .routes(routes!(webhooks::parked))
        .routes(routes!(webhooks::resend))
        .routes(routes!(status::audit))
        .routes(routes!(status::settling))
        .routes(routes!(status::live))
        .routes(routes!(status::ready))
        .routes(routes!(status::metrics))
        .routes(routes!(pages::openapi))
        .split_for_parts()
}

/// Returns the description of the routes, OpenAPI 3.1.
pub fn openapi() -> Description {
    Description::new(|| complete(&routes_and_handlers().1))
}

/// Returns the routes: the path of each, with the names of its parameters, and its methods.
pub fn paths_and_methods() -> Vec<(String, Vec<&'static str>)> {
    let (_, description) = routes_and_handlers();
    let methods = |item: &PathItem| {
        let all = [
            ("GET", &item.get),
            ("PUT", &item.put),
            ("POST", &item.post),
            ("DELETE", &item.delete),
            ("PATCH", &item.patch),
        ];
        all.into_iter().filter_map(|(method, has)| has.as_ref().map(|_| method)).collect()
    };
    description.paths.paths.iter().map(|(path, item)| (path.clone(), methods(item))).collect()
}

type InState = axum::extract::State<Arc<App>>;

/// Returns the routes, ready to serve.
pub fn router(app: Arc<App>) -> Router {
    let (mut routes, _) = routes_and_handlers();
    if app.options.rare.dev_clock.is_some() {
        routes = routes.route("/dev/clock", get(status::dev::show).post(status::dev::move_clock));
    }
    routes
        .route("/", get(pages::root))
        .route("/docs", get(pages::docs))
        .route("/docs/docs.css", get(pages::style))
        .route("/docs/docs.js", get(pages::script))
        .route("/problems/{outcome}", get(pages::problem))
        .route("/c/{campaign}", get(pages::campaign::page))
        .route("/console", get(pages::console::page))
        .route("/c/-/{file}", get(pages::campaign::file))
        .method_not_allowed_fallback(|method: Method, uri: Uri| async move {
            let detail = format!("{} does not take {method}", uri.path());
            Problem::new(Code::MethodNotAllowed, detail)
        })
        .fallback(|app: InState, uri: Uri| async move {
            let base = &app.options.rare.base_path;
            let detail = format!("there is no route {}; see {base}/docs", uri.path());
            Problem::new(Code::NoSuchRoute, detail)
        })
        .layer(from_fn_with_state(Arc::clone(&app), count))
        .with_state(app)
}

/// Writes and counts the problem that a handler gave, if it gave one, and notes the route in the response.
async fn count(app: InState, request: Request<Body>, next: Next) -> Response<Body> {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    if let Some(Unwritten(problem)) = response.extensions_mut().remove() {
        let table = std::mem::take(response.headers_mut());
        let written = problem.response(&app.options.rare.base_path, table).map(Body::new);
        let noted = std::mem::take(response.extensions_mut());
        response = written;
        *response.extensions_mut() = noted;
    }
    if let Some(route) = route {
        response.extensions_mut().insert(route);
    }
    if let Some(ToCount { outcome, .. }) = response.extensions().get() {
        app.metrics.answered(outcome);
    }
    response
}
