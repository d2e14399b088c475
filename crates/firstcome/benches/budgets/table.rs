//! The figures: printed for people, written for scripts.

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
    ratio: f64,
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
        ratio: f64,
        budget: Budget,
    ) {
        let row =
            Row { what: what.into(), ours: ours.into(), against: against.into(), ratio, budget };
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
                format!("{:.2}", row.ratio),
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

    pub(crate) fn write(&self, file: &str) -> Result<()> {
        let rows: Vec<Value> = self
            .0
            .iter()
            .map(|row| {
                json!({
                    "what": row.what, "ours": row.ours, "against": row.against,
                    "ratio": row.ratio, "budget": budget(row.budget), "kept": verdict(row) != "MISSED",
                })
            })
            .collect();
        std::fs::write(file, serde_json::to_string_pretty(&json!({"figures": rows}))?)?;
        Ok(())
    }
}

fn budget(budget: Budget) -> String {
    match budget {
        Budget::AtLeast(least) => format!(">= {least}"),
        Budget::AtMost(most) => format!("<= {most}"),
        Budget::None => "-".to_owned(),
    }
}

fn verdict(row: &Row) -> &'static str {
    match row.budget {
        Budget::AtLeast(least) if row.ratio < least => "MISSED",
        Budget::AtMost(most) if row.ratio > most => "MISSED",
        Budget::AtLeast(_) | Budget::AtMost(_) => "kept",
        Budget::None => "",
    }
}

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
