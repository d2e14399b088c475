//! The forms in which a page of lines is given: JSON, NDJSON and CSV.

use crate::answer::Code;
use crate::answer::problem::Problem;
use crate::request::Query;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, header};
use firstcome_api::result::without_formula;
use serde::Serialize;

/// How lines are written.
#[derive(Clone, Copy)]
pub(crate) enum Format {
    Json,
    Ndjson,
    Csv {
        /// Cells as they are, those that a spreadsheet would take for a formula too.
        raw: bool,
    },
}

impl Format {
    fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Csv { .. } => "text/csv; charset=utf-8",
        }
    }

    /// Reads `?format=` or, without it, the first type in `Accept` that can be given.
    pub(crate) fn of(query: &Query, headers: &HeaderMap) -> Result<Self, Problem> {
        let csv = Self::Csv { raw: query.get("raw").is_some_and(|value| value != "0") };
        match query.get("format") {
            Some("json") => return Ok(Self::Json),
            Some("ndjson") => return Ok(Self::Ndjson),
            Some("csv") => return Ok(csv),
            Some(other) => {
                return Err(Problem::invalid(format!("format={other}: it is json, ndjson or csv")));
            }
            None => {}
        }
        let Some(accept) = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()) else {
            return Ok(Self::Json);
        };
        let wanted = |part: &str| match part.split(';').next().unwrap_or("").trim() {
            "application/json" | "application/*" | "*/*" => Some(Self::Json),
            "application/x-ndjson" => Some(Self::Ndjson),
            "text/csv" | "text/*" => Some(csv),
            _ => None,
        };
        accept.split(',').find_map(wanted).ok_or_else(|| {
            let detail = "accept application/json, application/x-ndjson or text/csv";
            Problem::new(Code::NotAcceptable, detail)
        })
    }

    /// Returns the response of a page: `next` is where to go on, if there is more.
    pub(crate) fn response(
        self,
        body: Vec<u8>,
        next: Option<u64>,
        durable: bool,
    ) -> Response<Body> {
        let mut response = Response::new(Body::from(body));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type()));
        if !durable {
            headers.insert("firstcome-durable", HeaderValue::from_static("false"));
        }
        if let Some(next) = next {
            headers.insert("firstcome-next", HeaderValue::from(next));
        }
        response
    }
}

/// Writes one document a line.
pub(crate) fn ndjson(lines: &[impl Serialize]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut out, line).expect("writing to memory does not fail");
        out.push(b'\n');
    }
    out
}

/// Writes a table with its header, RFC 4180; unless `raw`, without a cell that a spreadsheet takes for a formula.
pub(crate) fn csv<const N: usize>(
    columns: &[&str; N],
    rows: impl Iterator<Item = [String; N]>,
    raw: bool,
) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(columns).expect("writing to memory does not fail");
    for row in rows {
        let row = row.map(|cell| if raw { cell } else { without_formula(cell) });
        out.write_record(row).expect("writing to memory does not fail");
    }
    out.into_inner().expect("writing to memory does not fail")
}
