//! What `rush --seats` and `rush --codes` share: they show how it goes, print what was found, and end with it.

use std::ops::ControlFlow;

use firstcome_client::Client;

use super::interrupt::Interrupt;
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::terminal::out;
use crate::cli::terminal::progress::Status;
use firstcome_rush::error::LoadError;
use firstcome_rush::people::{Observer, Progress, Report};
use firstcome_rush::terminal::{self, thousands};
use serde_json::Value;

/// Runs a load test to its end, puts a campaign away that was made for it, and prints the report.
pub(super) async fn run<D: Clone + Send, T>(
    load: impl AsyncFnOnce(&mut Observer<'_, D>) -> Result<Report<T>, LoadError>,
    (client, made): (&mut Client, Option<String>),
    line: fn(&Progress<D>) -> String,
    json: Option<impl FnOnce(&Report<T>) -> Value>,
) -> Result<Exit, Complaint> {
    let mut interrupt = Interrupt::listen()?;
    let stopped = interrupt.heard();
    let mut status = Status::new();
    let (mut outage, mut last) = (None, None);
    let mut observer = |now: &Progress<D>| {
        if let (Some(length), None) = (outage, now.outage) {
            status.say(format!("server back after {}", terminal::short(length)));
        }
        outage = now.outage;
        status.show(now.elapsed, || line(now));
        last = Some(now.clone());
        match stopped.is_cancelled() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let report = interrupt.during(load(&mut observer), || {}).await;
    status.end();
    if let Some(made) = made {
        super::put_away(client, &made).await;
    }
    let Some(report) = report else {
        out::line(last.as_ref().map(line).unwrap_or_default());
        return Ok(Exit::Interrupted);
    };
    let report = report?;
    match json {
        Some(json) => out::json(&json(&report)),
        None => print(&report),
    }
    Ok(interrupt.exit(report.kept() && report.cut_short.is_none()))
}

/// Returns what a line says first while no server can be reached.
pub(super) fn away<D>(now: &Progress<D>) -> String {
    now.outage.map_or_else(String::new, |length| {
        format!("server away for {:.1} s, ", length.as_secs_f64())
    })
}

/// Prints a report for people.
pub(in crate::cli) fn print<T>(report: &Report<T>) {
    let seconds = report.elapsed.as_secs_f64().max(1e-9);
    let answers =
        report.answers.iter().map(|(answer, count)| format!("{answer} {}", thousands(*count)));
    let head = format!(
        "{} people, {} requests answered in {:.1} s, {}/s: ",
        thousands(u64::from(report.people)),
        thousands(report.answered()),
        seconds,
        thousands((report.answered() as f64 / seconds) as u64),
    );
    out::list(&head, answers);
    if !report.again.is_empty() {
        let again = report.again.iter().map(|(why, count)| format!("{} {why}", thousands(*count)));
        out::list("sent again until answered: ", again);
    }
    super::print_waiting(&report.outages, &report.latency);
    out::line("");
    super::print_promises(&report.promises, report.cut_short.as_deref());
}
