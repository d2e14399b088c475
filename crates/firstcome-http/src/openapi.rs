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

/// The description of the routes, made at the first request for it: most servers are never asked, and it takes as long as all
/// else that a server does when it starts.
#[derive(Debug)]
pub struct Description {
    make: fn() -> Value,
    made: OnceLock<Rendered>,
    /// The page for people.
    page: OnceLock<Bytes>,
}

#[derive(Debug)]
struct Rendered {
    document: Value,
    /// The document as JSON.
    text: Bytes,
}

impl Description {
    pub(crate) fn new(make: fn() -> Value) -> Self {
        Self { make, made: OnceLock::new(), page: OnceLock::new() }
    }

    /// Returns the document of a server that has no base path.
    pub fn document(&self) -> &Value {
        &self.made(&BasePath::default()).document
    }

    /// Returns the document as JSON; it names the path under which a proxy shows the server.
    pub(crate) fn text(&self, base: &BasePath) -> Bytes {
        self.made(base).text.clone()
    }

    /// Returns the page for people.
    pub(crate) fn page(&self, base: &BasePath, make: impl FnOnce(&Value) -> Bytes) -> Bytes {
        self.page.get_or_init(|| make(&self.made(base).document)).clone()
    }

    fn made(&self, base: &BasePath) -> &Rendered {
        self.made.get_or_init(|| {
            let mut document = (self.make)();
            if *base != BasePath::default() {
                document["servers"] = json!([{ "url": base.as_str() }]);
            }
            let text = document.to_string().into();
            Rendered { document, text }
        })
    }
}

/// Completes what the handlers say of themselves.
pub(crate) fn complete(handlers: &OpenApi) -> Value {
    let mut document = serde_json::to_value(handlers).expect("the description is JSON");
    operations::add(&mut document);
    schemas::add(&mut document);
    flat::flatten(&mut document);
    examples::add(&mut document);
    document
}
