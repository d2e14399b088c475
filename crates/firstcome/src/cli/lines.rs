//! Pages of lines, as `results` and `winners` have them, in the shape the next program wants.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::connect::table;
use super::out;
use firstcome_api::result::without_formula;

/// How lines are printed.
#[derive(Debug, Args)]
pub(super) struct ShapeArgs {
    /// How to print them; --json is short for json.
    #[arg(long, value_enum, default_value_t = Shape::Table)]
    format: Shape,
    /// In CSV, cells that begin with = + - @ tab or CR as they are: a spreadsheet takes them for formulas.
    #[arg(long)]
    raw: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shape {
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
pub(super) struct Paper<const N: usize> {
    shape: Shape,
    raw: bool,
    /// What the one document calls its lines.
    name: &'static str,
    /// Which columns the table for people has.
    shown: [bool; N],
    table: comfy_table::Table,
    documents: Vec<Value>,
}

impl<const N: usize> Paper<N> {
    /// Begins to print; people are not shown the columns of `hidden`.
    pub(super) fn new(
        args: &ShapeArgs,
        json: bool,
        name: &'static str,
        columns: &[&str; N],
        hidden: &[&str],
    ) -> Self {
        let shape = if json && args.format == Shape::Table { Shape::Json } else { args.format };
        if shape == Shape::Csv {
            out::data(columns.join(","));
        }
        let shown = columns.map(|column| !hidden.contains(&column));
        let header: Vec<&str> = only(*columns, shown).collect();
        let table = table(&header);
        Self { shape, raw: args.raw, name, shown, table, documents: Vec::new() }
    }

    pub(super) fn put(&mut self, cells: [String; N], document: Value) {
        match self.shape {
            Shape::Table => drop(self.table.add_row(only(cells, self.shown))),
            Shape::Csv => {
                let cell = |cell| if self.raw { cell } else { without_formula(cell) };
                out::data(cells.map(|text| csv_cell(&cell(text))).join(","));
            }
            Shape::Json => self.documents.push(document),
            Shape::Ndjson => out::json(&document),
        }
    }

    pub(super) fn end(self, next: Option<u64>) {
        match self.shape {
            Shape::Table => out::line(self.table),
            Shape::Json => out::json(&json!({self.name: self.documents, "next": next})),
            Shape::Csv | Shape::Ndjson => {}
        }
    }
}

fn only<T, const N: usize>(cells: [T; N], shown: [bool; N]) -> impl Iterator<Item = T> {
    cells.into_iter().zip(shown).filter_map(|(cell, shown)| shown.then_some(cell))
}

fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
