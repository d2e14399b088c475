//! The figures: printed for people, written for scripts.

use crate::quiet::Quiet;
use crate::spread::Spread;
use anyhow::Result;
use serde_json::{Value, json};

/// Which way a ratio must lie.
#[derive(Clone, Copy)]
pub(crate) enum Budget {
    AtLeast(f64),
    AtMost(f64),
    /// Shown beside the others, without a budget of its own.
    None,
}

struct Row {
    what: String,
    ours: String,
    against: String,
    ratio: Spread,
    budget: Budget,
}

#[derive(Default)]
pub(crate) struct Table(Vec<Row>);

impl Table {
    pub(crate) fn add(
        &mut self,
        what: impl Into<String>,
        ours: impl Into<String>,
        against: impl Into<String>,
        ratio: impl Into<Spread>,
        budget: Budget,
    ) {
        let (what, ours, against) = (what.into(), ours.into(), against.into());
        let row = Row { what, ours, against, ratio: ratio.into(), budget };
        eprintln!("  {}: {} against {}", row.what, row.ours, row.against);
        self.0.push(row);
    }

    pub(crate) fn print(&self) {
        let head = ["what", "ours", "against", "figure", "budget", ""].map(str::to_owned);
        let rows = self.0.iter().map(|row| {
            [
                row.what.clone(),
                row.ours.clone(),
                row.against.clone(),
                row.ratio.text(2),
                budget(row.budget),
                verdict(row).to_owned(),
            ]
        });
        let rows: Vec<[String; 6]> = std::iter::once(head).chain(rows).collect();
        let widths: Vec<usize> = (0..6)
            .map(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0))
            .collect();
        for row in rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
    }

    pub(crate) fn write(&self, file: &str, quiet: &Quiet) -> Result<()> {
        let rows: Vec<Value> = self
            .0
            .iter()
            .map(|row| {
                json!({
                    "what": row.what, "ours": row.ours, "against": row.against,
                    "ratio": row.ratio.json(), "budget": budget(row.budget), "kept": verdict(row) != "MISSED",
                })
            })
            .collect();
        let all = json!({"machine": quiet.json(), "figures": rows});
        std::fs::write(file, serde_json::to_string_pretty(&all)?)?;
        Ok(())
    }
}

fn budget(budget: Budget) -> String {
    match budget {
        Budget::AtLeast(least) => format!(">= {}", thousandths(least)),
        Budget::AtMost(most) => format!("<= {}", thousandths(most)),
        Budget::None => "-".to_owned(),
    }
}

fn thousandths(figure: f64) -> f64 {
    (figure * 1e3).round() / 1e3
}

fn verdict(row: &Row) -> &'static str {
    match row.budget {
        Budget::AtLeast(least) if row.ratio.median() < least => "MISSED",
        Budget::AtMost(most) if row.ratio.median() > most => "MISSED",
        Budget::AtLeast(_) | Budget::AtMost(_) => "kept",
        Budget::None => "",
    }
}
