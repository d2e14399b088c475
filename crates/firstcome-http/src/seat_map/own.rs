//! What a subject has in a campaign, as events of its streams: claims, live holds, places on waitlists and offers.

use super::{Seen, Watched};
use crate::app::App;
use crate::claims::get;
use crate::holds::view;
use crate::waitlist::place;
use axum::body::Bytes;
use firstcome_api::claim::Claim;
use firstcome_core::campaign::Campaign;
use firstcome_core::names::Position;
use firstcome_core::{State, pool};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The shortest time between two looks for one stream: a thousand of them take a few percent of a core.
const PAUSE: Duration = Duration::from_millis(250);

/// Claims of one event at most: an event with more to follow says so.
const CLAIMS: usize = 1_000;

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
    sent: ShownSeats,
}

/// What was sent.
#[derive(Clone, Debug, Default)]
struct ShownSeats {
    /// Of which branch of the journal and which campaign it is: of another one all is sent again.
    of: Option<(u64, u32)>,
    pools: BTreeMap<usize, SentClaims>,
    /// The holds and the places.
    rest: u64,
}

/// The claims of one pool that were sent.
#[derive(Clone, Debug, Default)]
struct SentClaims {
    /// Up to this rank all of them were sent as cancelled: none of these changes any more.
    done: u32,
    /// The unit of each live one, by rank.
    live: BTreeMap<u32, u64>,
    /// The other ranks above `done`.
    cancelled: BTreeSet<u32>,
}

impl SentClaims {
    /// Says whether a claim was not sent yet as it is.
    fn is_new(&self, claim: &pool::Claim<'_>, unit: Option<&str>) -> bool {
        match claim.cancel {
            Some(_) => !self.cancelled.contains(&claim.rank),
            None => self.live.get(&claim.rank) != Some(&hash(&unit)),
        }
    }

    /// Notes what is sent of a claim.
    fn note(&mut self, claim: &pool::Claim<'_>, unit: Option<&str>) {
        if claim.cancel.is_some() {
            self.live.remove(&claim.rank);
            self.cancelled.insert(claim.rank);
        } else {
            self.live.insert(claim.rank, hash(&unit));
        }
    }

    /// Forgets what changes no more, where all claims of the pool were sent.
    fn forget(&mut self) {
        let first_live = self.live.first_key_value().map(|(rank, _)| *rank);
        let later = first_live.map(|rank| self.cancelled.split_off(&rank)).unwrap_or_default();
        self.done = self.cancelled.last().copied().unwrap_or(self.done);
        self.cancelled = later;
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl Own {
    pub(super) fn new(app: Arc<App>, watched: &Watched, subject: Box<str>) -> Self {
        let campaign = watched.shared.campaign.clone();
        let seen = watched.shared.seen.subscribe();
        let (due, sent) = (Instant::now(), ShownSeats::default());
        Self { app, campaign, subject, seen, is_behind: true, due, sent }
    }

    /// Returns an event about what the subject has, first at once and then whenever it has changed: of its claims what was
    /// not sent yet.
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
            if let Some((sent, event, position)) = self.read() {
                if !self.app.node.intake.endures(position).await {
                    self.due = Instant::now() + PAUSE;
                    continue;
                }
                self.looked();
                self.sent = sent;
                self.is_behind = event["more"] == true;
                return format!("event: own\ndata: {event}\n\n").into();
            }
            self.looked();
        }
    }

    fn looked(&mut self) {
        self.is_behind = false;
        self.due = Instant::now() + PAUSE;
    }

    /// Reads what changed since the last event; nothing where nothing did, and where the campaign is gone or cannot be read.
    fn read(&mut self) -> Option<(ShownSeats, Value, Position)> {
        // Entries that come from now on wake it again.
        let branch = self.seen.borrow_and_update().branch;
        self.app.readable(&self.campaign).ok()?;
        self.app.node.replica.look(|state| {
            let campaign = state.campaign(&self.campaign).ok()?;
            let of = Some((branch, campaign.number()));
            let whole = self.sent.of != of;
            let mut sent =
                if whole { ShownSeats { of, ..ShownSeats::default() } } else { self.sent.clone() };
            let (claims, more) = changed(campaign, &self.subject, &mut sent);
            let rest = rest(state, campaign, &self.subject);
            let before = std::mem::replace(&mut sent.rest, hash(&rest.to_string()));
            if !whole && !more && claims.is_empty() && sent.rest == before {
                return None;
            }
            let mut event = rest;
            event["claims"] = json!(claims);
            event["whole"] = json!(whole);
            event["more"] = json!(more);
            event["position"] = json!(state.token().to_string());
            Some((sent, event, state.token()))
        })
    }
}

/// Returns the claims of a subject that were not sent as they are, and says whether there are more of them than one event has.
///
/// An address is seen by others: a stream never has a code.
fn changed(campaign: &Campaign, subject: &str, sent: &mut ShownSeats) -> (Vec<Claim>, bool) {
    let mut claims = Vec::new();
    for (index, pool) in campaign.pools().iter().enumerate() {
        let Some(latest) = pool.latest(subject) else { continue };
        let sent = sent.pools.entry(index).or_default();
        let done = sent.done;
        if latest == done {
            continue;
        }
        for claim in pool.claims_of(subject).take_while(|claim| claim.rank > done) {
            let unit = pool.unit_of(claim.rank).and_then(|unit| pool.unit_name(unit));
            if !sent.is_new(&claim, unit) {
                continue;
            }
            if claims.len() == CLAIMS {
                return (claims, true);
            }
            sent.note(&claim, unit);
            claims.push(get::view(pool, &claim));
        }
        sent.forget();
    }
    (claims, false)
}

/// Returns the live holds of a subject, and its places on waitlists.
fn rest(state: &State, campaign: &Campaign, subject: &str) -> Value {
    let holds: Vec<_> =
        campaign.holds_of(subject).map(|hold| view::hold(state, campaign, hold)).collect();
    let places = campaign.pools().iter().filter_map(|pool| {
        let found = campaign.waiting(Some(pool.name()), subject).ok()??;
        let mut place = json!(place::place(state, campaign, (pool.name(), subject), found));
        if let Some(members) = place.as_object_mut() {
            ["position", "stale", "durable"].iter().for_each(|name| {
                members.remove(*name);
            });
        }
        Some(place)
    });
    json!({"holds": holds, "places": places.collect::<Vec<_>>()})
}
