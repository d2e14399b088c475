//! The routes a client uses, one request each.

use firstcome_api::bar::BarRequest;
use firstcome_api::claim::ClaimRequest;
use firstcome_api::hold::{HoldRequest, PickRequest};
use firstcome_api::seat::SeatChangeRequest;
use firstcome_api::token::TokenRequest;
use firstcome_api::waitlist::Wish;
use serde::Serialize;
use serde_json::Value;

use crate::client::address::encode_segment;

/// One request, before it is written down for the wire.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The HTTP method.
    pub method: &'static str,
    /// Path and query.
    pub path: String,
    /// The JSON body, where there is one.
    pub body: Option<Value>,
    /// Headers beyond those every request has.
    pub headers: Vec<(&'static str, String)>,
    repeatable: bool,
    /// Whether it changes nothing though it is no GET.
    looks: bool,
}

impl Ask {
    /// A request that only reads.
    pub fn get(path: impl Into<String>) -> Self {
        Self::change("GET", path).repeatable()
    }

    /// A request that may change something, and more if it is sent twice.
    pub fn change(method: &'static str, path: impl Into<String>) -> Self {
        let (body, headers) = (None, Vec::new());
        Self { method, path: path.into(), body, headers, repeatable: false, looks: false }
    }

    /// Says that this request changes nothing more when it is sent again: its content says what it is, as with a claim, or
    /// a header `idempotency-key` does.
    #[must_use]
    pub fn repeatable(self) -> Self {
        Self { repeatable: true, ..self }
    }

    /// Wants an answer at or past a position.
    pub(crate) fn past(mut self, position: &str) -> Self {
        let sign = if self.path.contains('?') { '&' } else { '?' };
        self.path.push_str(&format!("{sign}min_position={}", encode_segment(position)));
        self
    }

    pub(crate) fn is_repeatable(&self) -> bool {
        self.repeatable || self.headers.iter().any(|(name, _)| *name == "idempotency-key")
    }

    pub(crate) fn only_reads(&self) -> bool {
        self.method == "GET" || self.looks
    }
}

/// What a PUT expects to find.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Match {
    /// Whatever is there.
    Anything,
    /// No campaign of that name.
    Nothing,
    /// This version of it.
    Version(u32),
}

/// A cancel as asked for.
#[derive(Debug, Clone)]
pub struct CancelAsk {
    /// The campaign.
    pub campaign: String,
    /// Whose claim.
    pub subject: String,
    /// The pool, where there are several.
    pub pool: Option<String>,
    /// The claim's rank, so that a repeated cancel cannot hit a newer claim.
    pub rank: u32,
    /// Why; required of an operator.
    pub reason: Option<String>,
    /// Whether an operator passes on the subject's own wish.
    pub by_subject: bool,
}

/// Which results.
#[derive(Debug, Clone, Copy)]
pub struct ResultRange {
    /// Results with a greater number, or winners with a greater rank.
    pub after: u64,
    /// At most so many.
    pub limit: u64,
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFormat {
    /// One document.
    Json,
    /// A document a line.
    Ndjson,
    /// RFC 4180.
    Csv,
}

fn campaign_path(campaign: &str) -> String {
    format!("/v1/campaigns/{}", encode_segment(campaign))
}

fn hold_path(campaign: &str, hold: &str) -> String {
    format!("{}/holds/{}", campaign_path(campaign), encode_segment(hold))
}

fn pool_path(campaign: &str, pool: &str) -> String {
    format!("{}/pools/{}", campaign_path(campaign), encode_segment(pool))
}

fn place_path(campaign: &str, subject: &str, pool: Option<&str>) -> String {
    let path = format!("{}/waitlist/{}", campaign_path(campaign), encode_segment(subject));
    path + &pool_query('?', pool)
}

fn pool_query(sign: char, pool: Option<&str>) -> String {
    pool.map(|pool| format!("{sign}pool={}", encode_segment(pool))).unwrap_or_default()
}

/// Writes the body of a request.
fn written(body: &impl Serialize) -> Option<Value> {
    Some(serde_json::to_value(body).expect("a request can be written as JSON"))
}

impl Ask {
    /// Reads a campaign.
    pub fn campaign(campaign: &str) -> Self {
        Self::get(campaign_path(campaign))
    }

    /// Reads campaigns, those whose names come after one.
    pub fn campaigns(after: &str) -> Self {
        Self::get(format!("/v1/campaigns?after={}&limit=1000", encode_segment(after)))
    }

    /// Creates or changes a campaign.
    pub fn put_campaign(campaign: &str, settings: Value, expect: Match, id: &str) -> Self {
        let mut ask = Self::change("PUT", campaign_path(campaign));
        ask.body = Some(settings);
        ask.headers.push(("idempotency-key", id.to_owned()));
        ask.headers.extend(match expect {
            Match::Anything => None,
            Match::Nothing => Some(("if-none-match", "*".to_owned())),
            Match::Version(version) => Some(("if-match", format!("\"{version}\""))),
        });
        ask
    }

    /// Pauses, resumes, closes or archives a campaign.
    pub fn operate(campaign: &str, verb: &str, body: Option<Value>, id: &str) -> Self {
        let mut ask = Self::change("POST", format!("{}/{verb}", campaign_path(campaign)));
        ask.body = body;
        ask.headers.push(("idempotency-key", id.to_owned()));
        ask
    }

    /// Removes a campaign that has no result.
    pub fn delete_campaign(campaign: &str, id: &str) -> Self {
        let mut ask = Self::change("DELETE", campaign_path(campaign));
        ask.headers.push(("idempotency-key", id.to_owned()));
        ask
    }

    /// Keeps a subject from having anything more of a campaign.
    pub fn bar(campaign: &str, subject: &str, reason: &str, id: &str) -> Self {
        let mut ask = Self::change("POST", format!("{}/bars", campaign_path(campaign)));
        ask.body = written(&BarRequest { subject: subject.into(), reason: reason.into() });
        ask.headers.push(("idempotency-key", id.to_owned()));
        ask
    }

    /// Takes a bar back.
    pub fn unbar(campaign: &str, subject: &str, id: &str) -> Self {
        let path = format!("{}/bars/{}", campaign_path(campaign), encode_segment(subject));
        let mut ask = Self::change("DELETE", path);
        ask.headers.push(("idempotency-key", id.to_owned()));
        ask
    }

    /// Reads who is barred, beyond a number.
    pub fn bars(campaign: &str, range: ResultRange) -> Self {
        let path = campaign_path(campaign);
        Self::get(format!("{path}/bars?after={}&limit={}", range.after, range.limit))
    }

    /// Changes up to 4,000 seats of a seated pool.
    pub fn change_seats(campaign: &str, pool: &str, seats: &[SeatChangeRequest], id: &str) -> Self {
        let mut ask = Self::change("PATCH", format!("{}/seats", pool_path(campaign, pool)));
        ask.body = written(&seats);
        ask.headers.push(("idempotency-key", id.to_owned()));
        ask
    }

    /// Claims a unit for a subject.
    pub fn claim(campaign: &str, subject: &str, pool: Option<&str>) -> Self {
        let mut ask =
            Self::change("POST", format!("{}/claims", campaign_path(campaign))).repeatable();
        let (subject, pool) = (Some(subject.into()), pool.map(Into::into));
        ask.body = written(&ClaimRequest { subject, pool, ..ClaimRequest::default() });
        ask
    }

    /// Claims units for a subject, and joins the waitlist if they are not free.
    pub fn join(campaign: &str, subject: &str, pool: Option<&str>, wish: &Wish) -> Self {
        let mut ask =
            Self::change("POST", format!("{}/claims", campaign_path(campaign))).repeatable();
        ask.body = written(&ClaimRequest {
            subject: Some(subject.into()),
            pool: pool.map(Into::into),
            wait: true,
            quantity: wish.quantity,
            grade: wish.grade.as_deref().map(Into::into),
            channel: wish.channel.as_deref().map(Into::into),
            area: wish.area.as_deref().map(Into::into),
            adjacent: wish.adjacent,
        });
        ask
    }

    /// Reads where a subject stands with the waitlist of a pool.
    pub fn place(campaign: &str, subject: &str, pool: Option<&str>) -> Self {
        Self::get(place_path(campaign, subject, pool))
    }

    /// Takes a subject off the waitlist of a pool.
    pub fn leave(campaign: &str, subject: &str, pool: Option<&str>) -> Self {
        Self::change("DELETE", place_path(campaign, subject, pool)).repeatable()
    }

    /// Reads who waits for units of a pool, beyond a ticket.
    pub fn waitlist(campaign: &str, pool: Option<&str>, range: ResultRange) -> Self {
        let path = campaign_path(campaign);
        let path = format!("{path}/waitlist?after={}&limit={}", range.after, range.limit);
        Self::get(path + &pool_query('&', pool))
    }

    /// Reads the claims of a subject, beyond a page that said so.
    pub fn claims_of(campaign: &str, subject: &str, after: u64) -> Self {
        let path = format!("{}/claims/{}", campaign_path(campaign), encode_segment(subject));
        Self::get(format!("{path}?after={after}&limit=10000"))
    }

    /// Undoes a claim.
    pub fn cancel(cancel: &CancelAsk) -> Self {
        let path = campaign_path(&cancel.campaign);
        let mut path =
            format!("{path}/claims/{}?rank={}", encode_segment(&cancel.subject), cancel.rank);
        if let Some(pool) = &cancel.pool {
            path.push_str(&format!("&pool={}", encode_segment(pool)));
        }
        if let Some(reason) = &cancel.reason {
            path.push_str(&format!("&reason={}", encode_segment(reason)));
        }
        // Never left to the role of the key: it would do another thing than was asked.
        path.push_str(if cancel.by_subject { "&by=subject" } else { "&by=operator" });
        Self::change("DELETE", path).repeatable()
    }

    /// Sets units aside.
    pub fn hold(
        campaign: &str,
        id: &str,
        subject: &str,
        picks: Vec<PickRequest>,
        wait_ms: u64,
    ) -> Self {
        let mut ask =
            Self::change("POST", format!("{}/holds", campaign_path(campaign))).repeatable();
        ask.body = written(&HoldRequest {
            id: Some(id.to_owned()),
            subject: Some(subject.to_owned()),
            picks,
            wait_ms: (wait_ms > 0).then_some(wait_ms),
        });
        ask
    }

    /// Reads a hold.
    pub fn hold_of(campaign: &str, hold: &str, subject: Option<&str>) -> Self {
        let mut path = hold_path(campaign, hold);
        if let Some(subject) = subject {
            path.push_str(&format!("?subject={}", encode_segment(subject)));
        }
        Self::get(path)
    }

    /// Takes a step on a hold: `add`, `drop`, `extend`, `confirm` or `release`, with a body that names its subject.
    ///
    /// With an id of its own a step that names quantities is the same when it is sent again.
    pub fn hold_step(
        campaign: &str,
        hold: &str,
        verb: &str,
        body: impl Serialize,
        id: Option<&str>,
    ) -> Self {
        let mut ask = Self::change("POST", format!("{}/{verb}", hold_path(campaign, hold)));
        ask.body = written(&body);
        ask.headers.extend(id.map(|id| ("idempotency-key", id.to_owned())));
        ask
    }

    /// Adds up to 4,000 seats and areas, a JSON array of them, to a seated pool.
    pub fn import_seats(campaign: &str, pool: &str, seats: Value) -> Self {
        // Identical seats are skipped.
        let mut ask =
            Self::change("POST", format!("{}/seats", pool_path(campaign, pool))).repeatable();
        ask.body = Some(seats);
        ask
    }

    /// Blocks or unblocks units (`block`, `unblock`), or moves somebody (`move`).
    pub fn operate_seats(
        campaign: &str,
        pool: &str,
        verb: &str,
        body: impl Serialize,
        id: &str,
    ) -> Self {
        let mut ask = Self::change("POST", format!("{}/{verb}", pool_path(campaign, pool)));
        ask.body = written(&body);
        ask.headers.push(("idempotency-key", id.to_owned()));
        ask
    }

    /// Reads the map of a seated pool, or only the status of its seats.
    pub fn seats(campaign: &str, pool: &str, status_only: bool) -> Self {
        let query = if status_only { "?standing=1" } else { "" };
        Self::get(format!("{}/seats{query}", pool_path(campaign, pool)))
    }

    /// Reads the holds and claims of a subject over all campaigns, beyond a page that said so.
    pub fn subject(subject: &str, after: u64) -> Self {
        Self::get(format!("/v1/subjects/{}?after={after}", encode_segment(subject)))
    }

    /// Reads results.
    pub fn results(campaign: &str, range: ResultRange, format: ResultFormat) -> Self {
        let path = campaign_path(campaign);
        let mut ask =
            Self::get(format!("{path}/results?after={}&limit={}", range.after, range.limit));
        let accept = match format {
            ResultFormat::Json => "application/json",
            ResultFormat::Ndjson => "application/x-ndjson",
            ResultFormat::Csv => "text/csv",
        };
        ask.headers.push(("accept", accept.to_owned()));
        ask
    }

    /// Reads who has what now in a pool, beyond a rank; the pool may be left out where there is one.
    pub fn winners(campaign: &str, pool: Option<&str>, range: ResultRange) -> Self {
        let path = campaign_path(campaign);
        let mut path = format!("{path}/winners?after={}&limit={}", range.after, range.limit);
        if let Some(pool) = pool {
            path.push_str(&format!("&pool={}", encode_segment(pool)));
        }
        Self::get(path)
    }

    /// As [`Ask::winners`], with the code of each: the deliberate export of a coded pool.
    pub fn winners_with_codes(campaign: &str, pool: Option<&str>, range: ResultRange) -> Self {
        let mut ask = Self::winners(campaign, pool, range);
        ask.path.push_str("&with_codes=true");
        ask
    }

    /// Takes a step on a code (`reserve`, `redeem`, `roll-back`, `release`) or looks one up (`look-up`): the body has the code.
    pub fn code_step(campaign: &str, verb: &str, body: impl Serialize) -> Self {
        let path = format!("{}/codes/{verb}", campaign_path(campaign));
        let mut ask = Self::change("POST", path).repeatable();
        ask.body = written(&body);
        ask.looks = verb == "look-up";
        ask
    }

    /// Revokes, suspends, restores or reissues codes.
    pub fn operate_codes(campaign: &str, verb: &str, body: impl Serialize, id: &str) -> Self {
        let mut ask = Self::change("POST", format!("{}/codes/{verb}", campaign_path(campaign)));
        ask.body = written(&body);
        ask.headers.push(("idempotency-key", id.to_owned()));
        ask
    }

    /// Begins an import of codes.
    pub fn code_import(campaign: &str, body: impl Serialize) -> Self {
        let path = format!("{}/codes/imports", campaign_path(campaign));
        let mut ask = Self::change("POST", path).repeatable();
        ask.body = written(&body);
        ask.looks = true;
        ask
    }

    /// Brings lines of an import (`lines`), or ends it (`commit`).
    pub fn code_import_step(
        campaign: &str,
        import: &str,
        verb: &str,
        body: impl Serialize,
    ) -> Self {
        let (path, import) = (campaign_path(campaign), encode_segment(import));
        let path = format!("{path}/codes/imports/{import}/{verb}");
        let mut ask = Self::change("POST", path).repeatable();
        ask.body = written(&body);
        ask
    }

    /// Returns an import up. Sent again, it finds none.
    pub fn discard_code_import(campaign: &str, import: &str, pool: Option<&str>) -> Self {
        let (path, import) = (campaign_path(campaign), encode_segment(import));
        let path = format!("{path}/codes/imports/{import}{}", pool_query('?', pool));
        Self::change("DELETE", path).repeatable()
    }

    /// Reads the imports of a pool.
    pub fn code_imports(campaign: &str, pool: Option<&str>) -> Self {
        Self::get(format!("{}/codes/imports{}", campaign_path(campaign), pool_query('?', pool)))
    }

    /// Has a subject token minted.
    pub fn mint(campaign: &str, subject: &str, expires_in_s: u32, cancel: bool) -> Self {
        // Another token is another signature: nothing is stored.
        let mut ask = Self::change("POST", "/v1/tokens").repeatable();
        let (subject, campaign) = (subject.into(), campaign.into());
        ask.body = written(&TokenRequest { subject, campaign, expires_in_s, cancel });
        ask
    }

    /// Has a ticket minted for the bearer of a subject token.
    pub fn ticket() -> Self {
        Self::change("POST", "/v1/tickets").repeatable()
    }

    /// Reads the server's clock.
    pub fn time() -> Self {
        Self::get("/v1/time")
    }

    /// Reads the nodes of the space.
    pub fn nodes() -> Self {
        Self::get("/v1/nodes")
    }

    /// Raises the space to the newest level the server reads.
    pub fn raise_level() -> Self {
        Self::change("POST", "/v1/level").repeatable()
    }

    /// Has the server write its state into a store that has nothing of the space any more.
    pub fn reseed() -> Self {
        Self::change("POST", "/v1/reseed")
    }
}
