//! What a team writes by hand for a coupon: `UPDATE … WHERE used < most`, with axum and PostgreSQL.

use crate::anchors::Anchor;
use crate::http::{CONNECTIONS, Figures};
use crate::loader;
use anyhow::{Result, ensure};

/// Measures redemptions of the codes that `code` gives for each turn; no figure if a program it needs is not installed.
pub(super) fn measure(
    requests: usize,
    code: impl Fn(usize) -> String + 'static,
    figures: &mut Figures,
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let Some(running) = Anchor::PostgresCodes.start(folder.path())? else { return Ok(()) };
    let server = &running.server;
    let (before, of_store) = (server.cpu_us()?, running.store_cpu_us()?);
    let redeem = move |turn| vec![super::step("codes", "redeem", &code(turn), turn)];
    let phase = loader::turns(&[&server.address], CONNECTIONS, requests, redeem)?;
    ensure!(phase.statuses.get(&200) == Some(&requests), "{:?}", phase.statuses);
    let each = |used: f64| used / requests as f64;
    let of_store = match (running.store_cpu_us()?, of_store) {
        (Some(now), Some(before)) => Some(each(now - before)),
        _ => None,
    };
    figures.add(&phase, each(server.cpu_us()? - before), of_store);
    Ok(())
}
