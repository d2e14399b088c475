//! A campaign's minute: how it went second by second.

use serde::{Deserialize, Serialize};

/// How often something was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RefusalCount {
    /// The outcome; `other` for what came beyond eight kinds in one second.
    pub outcome: String,
    /// How often.
    pub count: u32,
}

/// One second of a campaign.
///
/// Fields that begin with `here_` are what the answering server saw itself; the others come from the entries of the
/// journal, so that they are the same on all servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MinuteSecond {
    /// Which second, counted since 1970-01-01T00:00:00Z: of the time of the journal, and for `here_` of this server's clock.
    pub second: i64,
    /// Units given for good in it: claims and confirmed holds.
    pub claims: u64,
    /// Units left at its end; null if no entry in it was about the campaign.
    pub left: Option<u64>,
    /// Units held at its end; null likewise.
    pub held: Option<u64>,
    /// How many wait on its waitlists at its end; null likewise.
    pub waiting: Option<u64>,
    /// Requests on claims, holds, waitlists and codes that this server answered in it with a success.
    pub here_successes: u32,
    /// Those that it answered otherwise, by outcome.
    pub here_refusals: Vec<RefusalCount>,
    /// Half of the answers took at most so long, in microseconds; null without an answer. The steps are a factor of about 1.4.
    pub here_p50_us: Option<u64>,
    /// The same of nine in ten.
    pub here_p90_us: Option<u64>,
    /// The same of 99 in 100.
    pub here_p99_us: Option<u64>,
}

/// How a campaign went in the last 15 minutes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = MinuteView))]
pub struct MinutePage {
    /// The campaign.
    pub campaign: String,
    /// The second it is now, by the time of the journal.
    pub now_second: i64,
    /// From which second on: at most 15 minutes before now.
    pub from: i64,
    /// The `from` to ask with next: the second that was still going on.
    pub next: i64,
    /// The server that answers: what begins with `here_` is its own.
    pub node: String,
    /// Whether entries are counted: a server counts for 64 campaigns, those that changed last.
    pub counted: bool,
    /// The seconds in which something happened, in order.
    pub seconds: Vec<MinuteSecond>,
    /// The position to which this answer belongs.
    pub position: String,
}
