//! A campaign's minute: how it went second by second, for people who watch.

pub(crate) mod here;

use crate::answer::problem::{HandlerResult, Problem};
use crate::answer::respond::json;
use crate::request::call::Call;
use axum::http::StatusCode;
use firstcome_api::key::Role;
use firstcome_api::minute::{MinutePage, MinuteSecond};
use firstcome_core::State;
use firstcome_node::Decided;
use firstcome_node::minutes::SECONDS;
use std::collections::BTreeMap;

/// Returns how a campaign went in the last 15 minutes, by second: claims, places left, and what this server answered.
///
/// Claims and places come from the journal. Refusals and latencies are those of the server that answers, and say so.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/minute", tag = "campaigns", operation_id = "show_minute",
    params(("from" = Option<i64>, Query, description = "The first second wanted, counted since 1970; 15 minutes ago if left out")),
    responses((status = "2XX", body = MinutePage)))]
pub(crate) async fn show(call: Call<String>) -> HandlerResult {
    let Call { app, path: campaign, .. } = &call;
    call.key(Role::Operator, campaign)?;
    let query = call.query(&["from"])?;
    let from = query.number::<i64>("from")?;
    app.reach(&query).await?;
    app.readable(campaign)?;
    let (number, position) = app.node.replica.look(|state: &State| {
        let position = state.token();
        let problem = |refusal| Problem::refused(refusal, campaign).at(position, Decided::Replica);
        let found = state.campaign(campaign).map_err(problem)?;
        Ok::<_, Problem>((found.number(), position))
    })?;
    let now_second = app.node.intake.now().as_micros().div_euclid(1_000_000);
    let earliest = now_second - SECONDS + 1;
    let from = from.unwrap_or(earliest).clamp(earliest, now_second);
    let mut seconds: BTreeMap<i64, MinuteSecond> = BTreeMap::new();
    let of_entries = app.node.replica.minutes.of(number, from);
    let counted = of_entries.is_some();
    for known in of_entries.unwrap_or_default() {
        let second = at(&mut seconds, known.second);
        second.claims = known.given;
        second.left = Some(known.left);
        second.held = Some(known.held);
        second.waiting = Some(known.waiting);
    }
    app.metrics.minute.each(campaign, from, |second, cell| {
        cell.tell(at(&mut seconds, second));
    });
    let page = MinutePage {
        campaign: campaign.clone(),
        now_second,
        from,
        next: now_second,
        node: app.node.id.to_string(),
        counted,
        seconds: seconds.into_values().collect(),
        position: position.to_string(),
    };
    Ok(json(StatusCode::OK, &page))
}

fn at(seconds: &mut BTreeMap<i64, MinuteSecond>, second: i64) -> &mut MinuteSecond {
    seconds.entry(second).or_insert_with(|| MinuteSecond {
        second,
        claims: 0,
        left: None,
        held: None,
        waiting: None,
        here_successes: 0,
        here_refusals: Vec::new(),
        here_p50_us: None,
        here_p90_us: None,
        here_p99_us: None,
    })
}
