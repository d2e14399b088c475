//! A request as a handler takes it: what nearly every handler reads of it.

use crate::answer::problem::Problem;
use crate::app::App;
use crate::codes::Origin;
use crate::request::auth::Key;
use crate::request::{self, Query};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Path};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use firstcome_api::key::Role;
use serde::de::DeserializeOwned;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// A request without its body; `P` are the names in its path.
pub(crate) struct Call<P = ()> {
    pub(crate) app: Arc<App>,
    pub(crate) path: P,
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) origin: Origin,
}

impl<P: DeserializeOwned + Send> FromRequestParts<Arc<App>> for Call<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let Path(path) = Path::from_request_parts(parts, app).await.map_err(|why| {
            Problem::invalid(format!("the path cannot be read: {}", why.body_text()))
        })?;
        let query = parts.uri.query().map(str::to_owned);
        let origin = parts.extensions.get().copied();
        // Asked without a connection, as tests do.
        let origin = origin.unwrap_or(Origin(IpAddr::V4(Ipv4Addr::UNSPECIFIED)));
        Ok(Self { app: Arc::clone(app), path, query, headers: parts.headers.clone(), origin })
    }
}

impl<P> Call<P> {
    /// Accepts a request whose key has at least this role and is for this campaign, whose name is one that a campaign can
    /// have.
    pub(crate) fn key(&self, least: Role, campaign: &str) -> Result<Arc<Key>, Problem> {
        let key = self.app.keys.allow(&self.headers, least, campaign)?;
        request::campaign(campaign)?;
        Ok(key)
    }

    /// Reads the query, which may have these names, and `min_position`.
    pub(crate) fn query(&self, names: &[&str]) -> Result<Query, Problem> {
        Query::parse(self.query.as_deref(), names)
    }

    /// Waits until this node's state has reached `min_position`, which is all that the query may have.
    pub(crate) async fn reach(&self) -> Result<(), Problem> {
        self.app.reach(&self.query(&[])?).await
    }

    /// Reads a body that is JSON, within the configured size and time.
    pub(crate) async fn body(&self, body: Body) -> Result<Bytes, Problem> {
        request::body(&self.app.options, &self.headers, body).await
    }

    /// Reads a body of JSON, and what is in it.
    pub(crate) async fn json<T: DeserializeOwned>(&self, body: Body) -> Result<T, Problem> {
        request::json(&self.body(body).await?)
    }
}
