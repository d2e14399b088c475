//! What a team writes by hand: axum and Redis. One Lua script for each claim, all on one connection that multiplexes.

use super::{CAPACITY, CLAIMS, Claim, Outcome};
use anyhow::Result;
use axum::routing::post;
use axum::{Json, Router};
use redis::Script;
use std::sync::Arc;

/// Returns the rank; the negative one to who had it already; 0 when all are gone.
///
/// Three calls for whoever wins. It knows no time and keeps no order to replay.
pub(crate) const CLAIM: &str = "\
local rank = redis.call('HGET', KEYS[1], ARGV[1])
if rank then return -rank end
rank = redis.call('INCR', KEYS[2])
if rank > tonumber(ARGV[2]) then redis.call('DECR', KEYS[2]) return 0 end
redis.call('HSET', KEYS[1], ARGV[1], rank)
return rank";

pub(super) async fn router(url: &str) -> Result<Router> {
    let connection = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    let script = Arc::new(Script::new(CLAIM));
    let claim = move |Json(Claim { subject }): Json<Claim>| async move {
        let (mut connection, script) = (connection.clone(), Arc::clone(&script));
        let mut claim = script.key("{bench}winner");
        claim.key("{bench}count").arg(subject).arg(CAPACITY);
        let rank: i64 = claim.invoke_async(&mut connection).await.expect("Redis answers");
        match rank {
            0 => Outcome::SoldOut,
            1.. => Outcome::Won(rank),
            _ => Outcome::AlreadyWon(-rank),
        }
    };
    Ok(Router::new().route(CLAIMS, post(claim)))
}
