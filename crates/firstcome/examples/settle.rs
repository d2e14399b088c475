//! Shows what settling a result costs: time and processor time of this process, per row.
//!
//! `cargo run --release -p firstcome --example settle [FOLDER]`

use firstcome_core::results::Kind;
use firstcome_core::{SpaceId, Timestamp};
use firstcome_node::ledger::{Batch, Ledger, Row};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const ROWS: u64 = 1_000_000;

fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    println!("rows per batch    µs per row    processor µs per row    bytes per row");
    for rows in [100, 1_000, 4_096, 16_384] {
        let path = folder.join(format!("firstcome-settle-{}-{rows}.sqlite", std::process::id()));
        let (elapsed, processor) = runtime.block_on(settle(&path, rows))?;
        let bytes = std::fs::metadata(&path)?.len();
        std::fs::remove_file(&path)?;
        println!(
            "{rows:>14} {:>13.2} {:>23.2} {:>16.0}",
            elapsed.as_secs_f64() * 1e6 / ROWS as f64,
            processor.as_secs_f64() * 1e6 / ROWS as f64,
            bytes as f64 / ROWS as f64
        );
    }
    Ok(())
}

async fn settle(path: &std::path::Path, per_batch: u64) -> anyhow::Result<(Duration, Duration)> {
    let ledger = Ledger::open_sqlite(path, SpaceId([1; 16])).await?;
    let term = ledger.mint_term().await?.term;
    let (mut elapsed, mut processor) = (Duration::ZERO, Duration::ZERO);
    let mut after = 0;
    while after < ROWS {
        let rows: Vec<Row> = (after + 1..=ROWS.min(after + per_batch)).map(row).collect();
        let through = after + rows.len() as u64;
        let (began, used) = (Instant::now(), processor_time()?);
        ledger.settle(Batch { after, term, rows }).await?;
        elapsed += began.elapsed();
        processor += processor_time()? - used;
        after = through;
    }
    ledger.close().await;
    Ok((elapsed, processor))
}

fn row(number: u64) -> Row {
    Row {
        number,
        in_campaign: number as u32,
        kind: Kind::Claim,
        campaign: "spring-2027".into(),
        campaign_number: 1,
        pool: "main".into(),
        pool_number: 0,
        rank: number as u32,
        subject: format!("user-{:08x}", number.wrapping_mul(2_654_435_761) as u32).into(),
        at: Timestamp::from_micros(1_803_895_200_000_000 + number as i64),
        by: None,
        reason: None,
        who: None,
        unit: None,
        hold: None,
        moved_from: None,
        details: None,
    }
}

/// What this process has used of the processors so far, in steps of 10 ms.
fn processor_time() -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    Ok(Duration::from_millis(ticks * 10))
}
