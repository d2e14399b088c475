//! Pages of lines, as `results` and `winners` have them, in the shape the next program wants.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::out;
use super::table::{Column, Table, TableArgs};
use firstcome_api::result::without_formula;

/// How lines are printed.
#[derive(Debug, Args)]
pub(crate) struct ShapeArgs {
    /// The format; --json is short for json.
    #[arg(long, value_enum, default_value_t = LineShape::Table)]
    format: LineShape,
    /// In CSV, do not change cells that begin with = + - @ tab or CR: a spreadsheet runs them as formulas.
    #[arg(long)]
    raw: bool,
}

impl ShapeArgs {
    /// The shape of lines that never end: one document has no end, so it is one document a line.
    pub(crate) fn following(&self, json: bool) -> Self {
        let one = self.format == LineShape::Json || (json && self.format == LineShape::Table);
        Self { format: if one { LineShape::Ndjson } else { self.format }, raw: self.raw }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LineShape {
    /// For people.
    Table,
    /// With a header line, RFC 4180.
    Csv,
    /// One document.
    Json,
    /// One document a line.
    Ndjson,
}

/// Prints lines as they come; only the table and the one document wait for the end.
pub(crate) struct Paper<const N: usize> {
    shape: LineShape,
    raw: bool,
    /// What the one document calls its lines.
    name: &'static str,
    /// Which columns the table for people has.
    shown: [bool; N],
    /// The column of moments, which the table shows to the second.
    at: Option<usize>,
    table: Table,
    documents: Vec<Value>,
}

impl<const N: usize> Paper<N> {
    /// Begins to print: CSV has the columns `names`, the table for people those of `columns` that are there.
    pub(crate) fn new(
        (args, json, table): (&ShapeArgs, bool, TableArgs),
        name: &'static str,
        names: &[&str; N],
        columns: &[Option<Column>; N],
    ) -> Self {
        let shape =
            if json && args.format == LineShape::Table { LineShape::Json } else { args.format };
        if shape == LineShape::Csv {
            out::data(names.join(","));
        }
        let shown = columns.map(|column| column.is_some());
        let columns: Vec<Column> = columns.iter().flatten().copied().collect();
        let (table, at) =
            (Table::new(table, &columns), names.iter().position(|name| *name == "at"));
        Self { shape, raw: args.raw, name, shown, at, table, documents: Vec::new() }
    }

    pub(crate) fn put(&mut self, mut cells: [String; N], document: Value) {
        match self.shape {
            LineShape::Table => {
                if let Some(at) = self.at {
                    cells[at] = self.table.time(&cells[at]);
                }
                let shown = cells.into_iter().zip(self.shown);
                self.table.row(shown.filter_map(|(cell, shown)| shown.then_some(cell)));
            }
            LineShape::Csv => {
                let cell = |cell| if self.raw { cell } else { without_formula(cell) };
                out::data(cells.map(|text| csv_cell(&cell(text))).join(","));
            }
            LineShape::Json => self.documents.push(document),
            LineShape::Ndjson => out::json(&document),
        }
    }

    /// Prints the rows of the table that came until now, where it is one.
    pub(crate) fn print_so_far(&mut self) {
        if self.shape == LineShape::Table {
            self.table.print_so_far();
        }
    }

    pub(crate) fn end(self, next: Option<u64>) {
        match self.shape {
            LineShape::Table => self.table.print(),
            LineShape::Json => out::json(&json!({self.name: self.documents, "next": next})),
            LineShape::Csv | LineShape::Ndjson => {}
        }
    }
}

pub(crate) fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
