//! What a subject has in a campaign, as events of its streams: claims, live holds, places on waitlists and offers.

use super::{Seen, Watched};
use crate::app::App;
use crate::claims::get::claims_of;
use crate::holds::view;
use crate::waitlist::place;
use axum::body::Bytes;
use firstcome_core::names::Position;
use serde_json::{Value, json};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The shortest time between two looks for one stream: a thousand of them take a few percent of a core.
const PAUSE: Duration = Duration::from_millis(250);

/// What one stream knows of its subject.
pub(super) struct Own {
    app: Arc<App>,
    campaign: String,
    subject: Box<str>,
    seen: watch::Receiver<Arc<Seen>>,
    /// Whether there are entries that were not looked at.
    is_behind: bool,
    /// When it may look again.
    due: Instant,
    /// What was sent last.
    sent: Value,
}

impl Own {
    pub(super) fn new(app: Arc<App>, watched: &Watched, subject: Box<str>) -> Self {
        let campaign = watched.shared.campaign.clone();
        let seen = watched.shared.seen.subscribe();
        let due = Instant::now();
        Self { app, campaign, subject, seen, is_behind: true, due, sent: Value::Null }
    }

    /// Returns an event with all that the subject has, first at once and then whenever it has changed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: what was seen and not sent is looked at again.
    pub(super) async fn next(&mut self) -> Bytes {
        loop {
            if !self.is_behind {
                if self.seen.changed().await.is_err() {
                    // Its stream ends by itself.
                    pending::<()>().await;
                }
                self.is_behind = true;
            }
            sleep_until(self.due).await;
            let read = self.read();
            if let Some((has, position)) = read
                && has != self.sent
            {
                if !self.app.node.intake.endures(position).await {
                    self.due = Instant::now() + PAUSE;
                    continue;
                }
                self.looked();
                let mut data = has.clone();
                self.sent = has;
                data["position"] = json!(position.to_string());
                return format!("event: own\ndata: {data}\n\n").into();
            }
            self.looked();
        }
    }

    fn looked(&mut self) {
        self.is_behind = false;
        self.due = Instant::now() + PAUSE;
    }

    /// Reads what the subject has; nothing where the campaign is gone or cannot be read.
    fn read(&mut self) -> Option<(Value, Position)> {
        // Entries that come from now on wake it again.
        self.seen.borrow_and_update();
        self.app.readable(&self.campaign).ok()?;
        self.app.node.replica.look(|state| {
            let campaign = state.campaign(&self.campaign).ok()?;
            let holds: Vec<_> = campaign
                .holds_of(&self.subject)
                .map(|hold| view::hold(state, campaign, hold))
                .collect();
            // An address is seen by others: a stream never has a code.
            let claims = claims_of(&self.app, state, campaign, (&self.subject, false)).ok()?;
            let places: Vec<Value> = campaign
                .pools()
                .iter()
                .filter_map(|pool| {
                    let found = campaign.waiting(Some(pool.name()), &self.subject).ok()??;
                    let who = (pool.name(), &*self.subject);
                    let mut place = json!(place::place(state, campaign, who, found));
                    if let Some(members) = place.as_object_mut() {
                        ["position", "stale", "durable"].iter().for_each(|name| {
                            members.remove(*name);
                        });
                    }
                    Some(place)
                })
                .collect();
            let has = json!({"holds": holds, "claims": claims, "places": places});
            Some((has, state.token()))
        })
    }
}
