//! The routes of a server for tests, which move its clock.

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::app::App;
use crate::clock_text;
use crate::request::call::Call;
use axum::body::Body;
use axum::http::StatusCode;
use firstcome_api::key::Role;
use firstcome_core::limits::SERVICE_STEP_US;
use firstcome_core::{State, Timestamp};
use serde::{Deserialize, Serialize};

/// The furthest that one request moves the clock: 31 days.
const FURTHEST_US: i64 = 31 * 24 * 3_600 * 1_000_000;

/// How far to move the clock: one of the two.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveClock {
    forward_ms: Option<u64>,
    to: Option<String>,
}

#[derive(Serialize)]
struct Moved {
    now: String,
    position: String,
    /// The entries that were appended for it.
    ticks: u64,
}

impl Moved {
    fn of(app: &App, ticks: u64) -> Self {
        let position = app.node.replica.look(State::token).to_string();
        Self { now: clock_text::rfc3339(app.node.intake.now()), position, ticks }
    }
}

/// Returns the time of the clock that decides.
pub(crate) async fn show(call: Call) -> HandlerResult {
    call.app.keys.know_for_all(&call.headers, Role::Read)?;
    Ok(json(StatusCode::OK, &Moved::of(&call.app, 0)))
}

/// Moves the clock forward. All that ends by then has ended when it answers.
///
/// Service time, in which holds and reservations last, counts at most 15 s between two entries: so it goes in steps that are
/// shorter, with an entry after each. A request that is cut off leaves the clock between where it was and where it should go.
pub(crate) async fn move_clock(call: Call, body: Body) -> HandlerResult {
    let app = &call.app;
    app.keys.know_for_all(&call.headers, Role::Admin)?;
    let ask: MoveClock = call.json(body).await?;
    let Some(clock) = &app.options.rare.dev_clock else {
        return Err(Problem::invalid("this server's clock cannot be moved"));
    };
    let _alone = clock.alone().await;
    let begun = app.node.intake.now();
    let left = distance(&ask, begun).map_err(Problem::invalid)?;
    let target = begun.plus_micros(left);
    let mut ticks = 0;
    loop {
        let left = target.micros_since(app.node.intake.now());
        if left > 0 {
            let step = left.min(SERVICE_STEP_US - 1_000_000);
            clock.forward(step);
        }
        app.node.intake.tick().await.map_err(|failure| Problem::failed(&failure))?;
        ticks += 1;
        if left <= 0 {
            return Ok(json(StatusCode::OK, &Moved::of(app, ticks)));
        }
    }
}

/// Returns how far to go, in microseconds.
fn distance(ask: &MoveClock, now: Timestamp) -> Result<i64, String> {
    let left = match (ask.forward_ms, &ask.to) {
        (Some(ms), None) => i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000),
        (None, Some(to)) => {
            let left = clock_text::parse(to)?.micros_since(now);
            if left < 0 {
                let now = clock_text::rfc3339(now);
                return Err(format!("it is {now} already: the clock only goes forward"));
            }
            left
        }
        (Some(_), Some(_)) | (None, None) => {
            return Err("give one of forward_ms and to".to_owned());
        }
    };
    if left > FURTHEST_US {
        return Err("a request moves the clock by 31 days at most: send several".to_owned());
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_forward_by_one_of_two_and_not_far_at_once() {
        let now = Timestamp::from_micros(1_800_000_000_000_000);
        let ask = |forward_ms, to: Option<&str>| {
            distance(&MoveClock { forward_ms, to: to.map(str::to_owned) }, now)
        };
        assert_eq!(ask(Some(1_500), None), Ok(1_500_000));
        assert_eq!(ask(Some(0), None), Ok(0));
        assert_eq!(ask(None, Some("2027-01-15T08:00:01Z")), Ok(1_000_000));
        let refused = |it: Result<i64, String>| it.unwrap_err();
        assert!(refused(ask(None, Some("2027-01-15T07:59:59Z"))).contains("only goes forward"));
        assert!(refused(ask(None, Some("tomorrow"))).contains("tomorrow"));
        assert!(refused(ask(None, None)).contains("one of"));
        assert!(refused(ask(Some(1), Some("2027-01-15T08:00:01Z"))).contains("one of"));
        assert_eq!(ask(Some(31 * 24 * 3_600_000), None), Ok(FURTHEST_US));
        assert!(refused(ask(Some(31 * 24 * 3_600_000 + 1), None)).contains("31 days"));
        assert!(refused(ask(Some(u64::MAX), None)).contains("31 days"));
    }
}
