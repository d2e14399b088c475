//! Every route, and their description.

use crate::app::App;
use crate::problem::Problem;
use crate::{
    campaigns, claims, forks, halls, holds, pages, results, seats, settling, status, subjects,
    tokens,
};
use axum::Router;
use axum::http::{Method, Uri};
use axum::routing::get;
use firstcome_api::answer::Code;
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

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
