//! What is counted and logged of every request, once its answer is ready.

use crate::answer::problem::ToCount;
use crate::app::App;
use crate::minute::here::campaign_of;
use crate::request::id::RequestId;
use crate::server::latency::Route;
use axum::http::{Method, Request, Response, Uri};
use firstcome_core::State;
use firstcome_node::log;
use std::net::IpAddr;
use std::time::Instant;

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Observed {
    begun: Instant,
    id: RequestId,
    method: Method,
    /// Where it went. A clone shares the bytes of the request's head: nothing is allocated.
    uri: Uri,
    /// Its route, where it is answered beside the router.
    pub(crate) route: Route,
    /// The outcome of the problem it was answered with beside the router.
    pub(crate) outcome: Option<&'static str>,
}

impl Observed {
    pub(crate) fn new<B>(request: &Request<B>) -> Self {
        Self {
            begun: Instant::now(),
            id: RequestId::of(request.headers()),
            method: request.method().clone(),
            uri: request.uri().clone(),
            route: Route::None,
            outcome: None,
        }
    }

    /// Counts the request, says so in the log if that is wanted, and gives its id back.
    pub(crate) fn answered<B>(mut self, app: &App, peer: IpAddr, answer: &mut Response<B>) {
        if let Some(found) = answer.extensions_mut().remove() {
            self.route = Route::Found(found);
        }
        if let Some(ToCount { outcome, .. }) = answer.extensions().get() {
            self.outcome = Some(outcome);
        }
        let (took, status) = (self.begun.elapsed(), answer.status());
        app.metrics.latency.of(&self.method, &self.route, status).took(took);
        if let Some(campaign) = campaign_of(&self.method, self.uri.path()) {
            let is_there = || {
                let look = |state: &State| state.campaign(campaign).is_ok();
                app.node.replica.look_whole(look).unwrap_or_default()
            };
            app.metrics.minute.answered(campaign, self.outcome, took, is_there);
        }
        if let Some("unauthorized" | "forbidden") = self.outcome {
            app.metrics.key_refused(peer, self.id.clone());
        }
        log!(
            Request,
            request_id = %self.id,
            method = self.method.as_str(),
            route = self.route.template(),
            status = status.as_u16(),
            outcome = self.outcome,
            took_us = took.as_micros() as u64,
            "answered"
        );
        self.id.write(answer.headers_mut());
    }
}
