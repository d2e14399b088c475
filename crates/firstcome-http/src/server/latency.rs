//! How long requests take, by route and class of status.
//!
//! The table is made once, from the routes there are: a caller's path is never a label, and counting an answer is a
//! look-up and two atomic additions.

use axum::http::{Method, StatusCode};
use firstcome_node::Histogram;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The classes of status codes.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// The routes that the description does not have.
const PAGES: [&str; 5] = ["/", "/docs", "/docs/docs.css", "/docs/docs.js", "/problems/{outcome}"];
const CLAIMS: &str = "/v1/campaigns/{campaign}/claims";
const HOLDS: &str = "/v1/campaigns/{campaign}/holds";

/// The route of a request, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// A claim, answered beside the router.
    Claim,
    /// A hold, answered beside the router.
    Hold,
    /// Another one that is answered beside the router: its path with the names of its parameters.
    Beside(&'static str),
    /// What the router found: a path with the names of its parameters.
    Found(axum::extract::MatchedPath),
    /// None: there is no such route, or the request was answered before one was looked for.
    None,
}

impl Route {
    /// Returns the path with the names of its parameters, `none` without a route.
    pub(crate) fn template(&self) -> &str {
        match self {
            Self::Claim => CLAIMS,
            Self::Hold => HOLDS,
            Self::Beside(path) => path,
            Self::Found(path) => path.as_str(),
            Self::None => "none",
        }
    }
}

/// Histograms of one method of one route, one for each class of status.
#[derive(Clone, Debug)]
struct Classes([Histogram; 5]);

impl Classes {
    fn new() -> Self {
        Self(std::array::from_fn(|_| Histogram::of_times()))
    }
}

/// How long requests took until the head of their answer was ready.
#[derive(Clone, Debug)]
pub(crate) struct Latency(Arc<LatencyTable>);

#[derive(Debug)]
struct LatencyTable {
    routes: BTreeMap<Box<str>, BTreeMap<&'static str, Classes>>,
    claims: Classes,
    holds: Classes,
    none: Classes,
}

impl Latency {
    /// Makes the table of routes, paths and methods, and of the pages beside them.
    pub(crate) fn new(routes: Vec<(String, Vec<&'static str>)>) -> Self {
        let (claims, holds) = (Classes::new(), Classes::new());
        let mut table: BTreeMap<Box<str>, BTreeMap<&'static str, Classes>> = BTreeMap::new();
        for (path, methods) in routes {
            let classes = |method: &'static str| match (path.as_str(), method) {
                (CLAIMS, "POST") => (method, claims.clone()),
                (HOLDS, "POST") => (method, holds.clone()),
                _ => (method, Classes::new()),
            };
            let methods = methods.into_iter().map(classes).collect();
            table.insert(path.as_str().into(), methods);
        }
        for page in PAGES {
            table.insert(page.into(), BTreeMap::from([("GET", Classes::new())]));
        }
        Self(Arc::new(LatencyTable { routes: table, claims, holds, none: Classes::new() }))
    }

    /// Returns where a request of this method to this route is counted, if it ends with this status.
    pub(crate) fn of(&self, method: &Method, route: &Route, status: StatusCode) -> &Histogram {
        let table = &*self.0;
        // The router answers HEAD as it does GET.
        let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
        let of = |path: &str| {
            let found = table.routes.get(path).and_then(|found| found.get(method));
            found.unwrap_or(&table.none)
        };
        let Classes(classes) = match route {
            Route::Claim => &table.claims,
            Route::Hold => &table.holds,
            Route::Beside(path) => of(path),
            Route::Found(path) => of(path.as_str()),
            Route::None => &table.none,
        };
        match status.as_u16() / 100 {
            1 => &classes[0],
            2 => &classes[1],
            3 => &classes[2],
            4 => &classes[3],
            _ => &classes[4],
        }
    }
}

impl EncodeMetric for Latency {
    /// Writes what was counted at least once: most routes never end with most statuses.
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        let table = &*self.0;
        let found = table.routes.iter().flat_map(|(route, methods)| {
            methods.iter().map(move |(method, classes)| (&**route, *method, classes))
        });
        for (route, method, Classes(classes)) in found.chain([("none", "any", &table.none)]) {
            for (class, histogram) in CLASSES.into_iter().zip(classes) {
                if histogram.observations() > 0 {
                    let labels = [("route", route), ("method", method), ("status", class)];
                    histogram.encode(encoder.encode_family(&labels)?)?;
                }
            }
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}
