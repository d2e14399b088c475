//! What people in line for seats cost those who claim elsewhere.

use crate::embedded::Embedded;
use crate::processor;
use crate::spread::median;
use crate::table::{Budget, Table};
use anyhow::{Result, ensure};
use firstcome_core::Command;
use firstcome_core::command::{Expect, Order, Pick};
use firstcome_core::hall::{Chunk, SeatSettings};
use firstcome_core::settings::PoolSettings;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// As many as may wait at one server, in as many campaigns as that takes.
const WAITING: usize = 16_384;
const IN_CAMPAIGN: usize = 2_048;
/// Claims of one measurement, one after the other: each is an entry of its own.
const CLAIMS: usize = 10_000;
const ROUNDS: usize = 3;

pub(crate) fn run(table: &mut Table) -> Result<()> {
    eprintln!("claims beside {WAITING} in line");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let (with, without) = runtime.block_on(async {
        let embedded = Arc::new(Embedded::start(folder.path()).await?);
        embedded.open("bench", 50_000_000).await?;
        let halls: Vec<String> = (0..WAITING / IN_CAMPAIGN).map(|n| format!("hall-{n}")).collect();
        for hall in &halls {
            opens(&embedded, hall).await?;
        }
        let (mut with, mut without, mut first) = (vec![], vec![], 0);
        for _ in 0..ROUNDS {
            without.push(costs(&embedded, &mut first).await?);
            let mut line = JoinSet::new();
            for (hall, n) in halls.iter().flat_map(|hall| (0..IN_CAMPAIGN).map(move |n| (hall, n)))
            {
                let (embedded, hall, who) = (Arc::clone(&embedded), hall.clone(), format!("w{n}"));
                line.spawn(async move {
                    let hold = hold(&hall, &who);
                    drop(
                        embedded.node.intake.hold_in_line(&hold, Duration::from_secs(3_600)).await,
                    );
                });
            }
            while embedded.node.intake.in_line() < WAITING {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            with.push(costs(&embedded, &mut first).await?);
            line.shutdown().await;
            ensure!(embedded.node.intake.in_line() == 0, "all left");
        }
        Arc::into_inner(embedded).expect("nobody is in line").stop().await?;
        anyhow::Ok((median(with), median(without)))
    })?;
    table.add(
        format!("a claim beside {WAITING} in line"),
        format!("{with:.1} us CPU"),
        format!("{without:.1} us CPU with nobody in line"),
        with / without,
        Budget::AtMost(1.2),
    );
    Ok(())
}

/// Processor time of a claim, in microseconds.
async fn costs(embedded: &Embedded, first: &mut usize) -> Result<f64> {
    let before = processor::own()?;
    for _ in 0..CLAIMS {
        embedded.claim("bench", "s", *first, 1).await?;
        *first += 1;
    }
    Ok((processor::own()? - before) / CLAIMS as f64)
}

/// Opens a hall of one seat, which somebody has.
async fn opens(embedded: &Embedded, campaign: &str) -> Result<()> {
    let (order, pool) = (Order::default(), "main");
    let pools = vec![PoolSettings::seated(pool)];
    let settings = Embedded::settings(pools);
    let chunk = Chunk { seats: vec![SeatSettings::named("A1")], areas: Vec::new() };
    for command in [
        Command::Put { campaign, settings, expect: Expect::Anything, order },
        Command::Seats { campaign, pool, chunk, order },
        hold(campaign, "owner"),
    ] {
        let said = embedded.node.intake.decide(&command).await;
        let said = said.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
        ensure!(!said.outcome.is_refusal(), "{:?}", said.outcome);
    }
    Ok(())
}

fn hold<'a>(campaign: &'a str, who: &'a str) -> Command<'a> {
    Command::Hold {
        campaign,
        id: who,
        subject: who,
        picks: vec![Pick::units("main", vec!["A1"])],
        limit: None,
    }
}
