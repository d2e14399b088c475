//! `results`: who won, in order, in the shape the next program wants.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, yes};
use super::out;
use super::table::{Column, Table, TableArgs};
use firstcome_api::result::without_formula;
use firstcome_client::{Ask, ResultFormat, ResultLine, ResultPage, ResultRange};

/// Options of `results`.
#[derive(Debug, Args)]
#[command(after_help = "\
What happened in a campaign, in order: claims, and also cancels, moves and refunds. \
Results are ordered by number. Numbers run over all campaigns of a server, so one campaign's own have gaps; \
ranks have none.

Examples:
  firstcome results spring
  firstcome results spring --all --format csv > results.csv
  firstcome results spring --after 1000 --limit 100 --json")]
pub(super) struct ResultsArgs {
    /// The campaign.
    campaign: String,
    /// Only results with a greater number.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,
    /// At most so many, up to 10000.
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    limit: u64,
    /// All of them, page by page.
    #[arg(long)]
    all: bool,
    /// How to print them; --json is short for json.
    #[arg(long, value_enum, default_value_t = Shape::Table)]
    format: Shape,
    /// In CSV, cells that begin with = + - @ tab or CR as they are: a spreadsheet takes them for formulas.
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    server: ServerArgs,
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

pub(super) async fn run(args: ResultsArgs, json: bool) -> Result<Exit, Complaint> {
    let shape = if json && args.format == Shape::Table { Shape::Json } else { args.format };
    let mut client = args.server.client()?;
    let mut after = args.after;
    let mut paper = Paper::new(shape, args.raw, args.table);
    let limit = if args.all { 10_000 } else { args.limit };
    let next = loop {
        let ask = Ask::results(&args.campaign, ResultRange { after, limit }, ResultFormat::Json);
        let (page, raw) = yes(client.ask::<ResultPage>(ask).await?)?;
        let lines = raw["results"].as_array().cloned().unwrap_or_default();
        for (line, raw) in page.results.iter().zip(lines) {
            paper.put(line, raw);
        }
        match page.next {
            Some(next) if args.all && next > after => after = next,
            next => break next,
        }
    };
    paper.end(next);
    if let Some(next) = next {
        out::talk(format!("there are more: --after {next}, or --all"));
    }
    Ok(Exit::Yes)
}

/// Prints results as they come; only the table and the one document wait for the end.
struct Paper {
    shape: Shape,
    raw: bool,
    table: Table,
    documents: Vec<Value>,
}

const COLUMNS: [&str; 10] =
    ["number", "kind", "pool", "rank", "subject", "at", "by", "reason", "unit", "hold"];

/// The same columns as people read them: what is missing most of the time stands last.
const TABLE: [Column; 10] = [
    Column::number("number"),
    Column::new("kind"),
    Column::new("pool").least(6).spare(3),
    Column::number("rank"),
    Column::new("subject").least(10),
    Column::new("at").spare(2),
    Column::new("by").spare(5),
    Column::new("reason").least(8).spare(4),
    Column::new("unit").least(6).spare(1),
    Column::new("hold").least(8).spare(6),
];

impl Paper {
    fn new(shape: Shape, raw: bool, table: TableArgs) -> Self {
        if shape == Shape::Csv {
            out::data(COLUMNS.join(","));
        }
        Self { shape, raw, table: Table::new(table, &TABLE), documents: Vec::new() }
    }

    fn put(&mut self, line: &ResultLine, raw: Value) {
        match self.shape {
            Shape::Table => {
                let mut cells = cells(line);
                cells[5] = self.table.time(&cells[5]);
                self.table.row(cells);
            }
            Shape::Csv => {
                let cell = |cell| if self.raw { cell } else { without_formula(cell) };
                out::data(cells(line).map(|text| csv_cell(&cell(text))).join(","));
            }
            Shape::Json => self.documents.push(raw),
            Shape::Ndjson => out::json(&raw),
        }
    }

    fn end(self, next: Option<u64>) {
        match self.shape {
            Shape::Table => self.table.print(),
            Shape::Json => out::json(&json!({"results": self.documents, "next": next})),
            Shape::Csv | Shape::Ndjson => {}
        }
    }
}

fn cells(line: &ResultLine) -> [String; 10] {
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    [
        line.number.to_string(),
        line.kind.to_string(),
        line.pool.clone(),
        line.rank.to_string(),
        line.subject.clone(),
        line.at.clone(),
        line.by.as_deref().unwrap_or_default().to_owned(),
        optional(&line.reason),
        optional(&line.unit),
        optional(&line.hold),
    ]
}

fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
