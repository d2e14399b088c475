//! Claims in process for everybody who arrives.

use super::Lane;
use anyhow::Result;
use firstcome_core::Outcome;
use futures_util::FutureExt;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Claims for each arrival, by its number, and waits for nobody; `claim` gives the outcome and its position.
pub(crate) async fn serve<C, F>(lane: Arc<Lane>, claim: C) -> Result<()>
where
    C: Fn(u64) -> F,
    F: Future<Output = Result<(Outcome, u64)>>,
{
    let claim = &claim;
    let mut open = FuturesUnordered::new();
    let (mut arriving, mut last) = (true, 0);
    while arriving || !open.is_empty() {
        tokio::select! {
            arrivals = lane.arrivals(), if arriving => match arrivals {
                Some(arrivals) => for arrival in arrivals {
                    open.push(async move {
                        // Now it is at its server: the claim enters the intake with the next step.
                        let arrived = Instant::now();
                        (arrival.at, arrived, claim(arrival.number).await)
                    });
                },
                None => arriving = false,
            },
            Some(first) = open.next(), if !open.is_empty() => {
                // Those answered together are noted together.
                let mut answered = vec![first];
                while let Some(Some(more)) = open.next().now_or_never() {
                    answered.push(more);
                }
                let mut times = Vec::with_capacity(answered.len());
                for (at, arrived, answer) in answered {
                    let (outcome, position) = answer?;
                    let Outcome::Won { rank, .. } = outcome else {
                        lane.others.fetch_add(1, Ordering::Relaxed);
                        continue;
                    };
                    lane.ranked(rank, arrived);
                    times.push(at);
                    if position != last {
                        last = position;
                        lane.appends.fetch_add(1, Ordering::Relaxed);
                    }
                }
                lane.answered(times.into_iter());
            }
        }
    }
    Ok(())
}
