//! The description of the routes, OpenAPI 3.1.
//!
//! Handlers describe what they take and the bodies of a yes. The rest is added here from tables: who may ask, the statuses
//! of a yes and every refusal with their outcomes, and the schemas that no type of ours has. It is kept flat, for generators of
//! clients: no `oneOf`, no `allOf`, one enumeration of outcomes.

mod examples;
mod flat;
mod operations;
mod refusals;
mod schemas;

use crate::server::base_path::BasePath;
use axum::body::Bytes;
use serde_json::{Value, json};
use std::sync::OnceLock;
use utoipa::openapi::OpenApi;

/// The description of the routes.
#[derive(Debug)]
pub struct Description {
    pub document: Value,
    /// The document as JSON.
    pub text: Bytes,
    /// The page for people, after the first request.
    pub(crate) page: OnceLock<Bytes>,
}

impl Description {
    /// Names the path under which a proxy shows the server.
    #[must_use]
    pub fn under(mut self, base: &BasePath) -> Self {
        if *base != BasePath::default() {
            self.document["servers"] = json!([{ "url": base.as_str() }]);
            self.text = self.document.to_string().into();
        }
        self
    }
}

/// Completes what the handlers say of themselves.
pub(crate) fn complete(handlers: &OpenApi) -> Description {
    let mut document = serde_json::to_value(handlers).expect("the description is JSON");
    operations::add(&mut document);
    schemas::add(&mut document);
    flat::flatten(&mut document);
    examples::add(&mut document);
    let text = document.to_string().into();
    Description { document, text, page: OnceLock::new() }
}
