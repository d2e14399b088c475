//! `codes import`: a file in chunks, none of it in stock before the last one.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use data_encoding::HEXLOWER;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::sleep;

use super::PoolArgs;
use super::file::{self, CodeFile, Shape, WrongLine, repeats};
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::ServerArgs;
use crate::cli::terminal::progress::Status;
use crate::cli::terminal::{given, out};
use firstcome_client::Hidden;
use firstcome_client::{
    Ask, Client, CodeImport, CommitCodesRequest, ImportCodesRequest, ImportLinesRequest, Problem,
    Reply,
};
use firstcome_core::limits::CODES_TOGETHER;
use firstcome_rush::terminal::thousands;

/// Options of `codes import`.
#[derive(Debug, Args)]
#[command(after_help = "\
CSV has a header with a column `code`; other columns are not sent. NDJSON has on each line an object with `code`, or a \
string. A text file has a code on each line. A code has up to 64 bytes.

A code is the same in capitals or without, in full-width letters, with another dash or with white space; with --exact only as it \
is spelled. Two such codes in a file are wrong, and so are letters of two alphabets that look alike, and what a spreadsheet \
made of a code; --exact takes them.

The whole file is read first: if lines are wrong, they are printed with their numbers and nothing is sent. Codes that \
the pool has already, or that the file has twice, are printed with their lines and left out.

The codes are sent in chunks, and come into stock together with the last one. A command that was interrupted is run \
again: it goes on where it was, within an hour. The same file again changes nothing.

Create the pool with `firstcome campaign create bring --coded-import`.

Examples:
  firstcome codes import bring codes.csv
  make-codes | firstcome codes import bring - --format lines --json")]
pub(in crate::cli) struct ImportArgs {
    /// The campaign.
    campaign: String,
    /// The file; `-` reads stdin.
    file: PathBuf,
    /// The format [default: by the end of the file name: .csv, .ndjson, .jsonl, .txt].
    #[arg(long, value_enum)]
    format: Option<Shape>,
    /// Take the codes as they are: each counts only as it is spelled.
    #[arg(long)]
    exact: bool,
    #[command(flatten)]
    pool: PoolArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// The most lines that are printed.
const SHOWN: usize = 20;
/// How often a request without an answer is sent again.
const RETRIES: u32 = 10;
/// The pause before that.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run(args: ImportArgs, json: bool) -> Result<Exit, Complaint> {
    let name = args.file.display().to_string();
    let Some(shape) = args.format.or_else(|| Shape::of(&name)) else {
        let known = "known endings are .csv, .ndjson, .jsonl and .txt";
        let complaint = Complaint::usage(format!(
            "the name {name} does not show the format of the file: {known}"
        ));
        return Err(complaint.hint("give it with --format csv, ndjson or lines"));
    };
    let file = file::read(&given::read(&args.file)?, shape, args.exact)
        .map_err(|wrong| wrong_lines(&name, &wrong, "nothing was sent"))?;
    if file.codes.is_empty() {
        return Err(Complaint::usage(format!("there is no code in {name}")));
    }
    let client = args.server.client()?;
    let (campaign, pool) = (args.campaign, args.pool.pool);
    let (exact, status) = (args.exact, Status::of(file.codes.len() as u64));
    let mut import = Import { client, campaign, pool, file: &file, exact, status };
    let done = import.run(&name).await;
    import.status.end();
    let Done { import, before } = done?;
    report(&name, &file, &import, before, json);
    Ok(Exit::Yes)
}

/// A file on its way.
struct Import<'a> {
    client: Client,
    campaign: String,
    pool: Option<String>,
    file: &'a CodeFile,
    exact: bool,
    status: Status,
}

/// What an import came to.
struct Done {
    import: CodeImport,
    /// Whether the whole file had been imported before.
    before: bool,
}

impl Import<'_> {
    async fn run(&mut self, name: &str) -> Result<Done, Complaint> {
        let lines = u32::try_from(self.file.codes.len()).unwrap_or(u32::MAX);
        let pool = self.pool.clone();
        let exact = self.exact;
        let begin = ImportCodesRequest { pool: pool.clone(), digest: self.digest(), lines, exact };
        let begun = Instant::now();
        let mut at: CodeImport = self.yes(name, Ask::code_import(&self.campaign, &begin)).await?;
        if at.outcome == "codes_imported" {
            return Ok(Done { import: at, before: true });
        }
        let id = at.import.clone();
        if let Some(next) = at.next.filter(|next| *next > 0) {
            let (sent, all) = (thousands(next.into()), thousands(lines.into()));
            self.status.say(format!("an earlier import goes on: {sent} of {all} codes are sent"));
        }
        while let Some(next) = at.next.filter(|next| *next < lines) {
            let rest = self.file.codes.get(next as usize..).unwrap_or_default();
            let codes = rest.iter().take(CODES_TOGETHER).map(|code| code.as_str().into());
            let pool = pool.as_deref().map(Into::into);
            let codes = Hidden(codes.collect());
            let body = ImportLinesRequest { pool, first: next, codes };
            let ask = Ask::code_import_step(&self.campaign, &id, "lines", &body);
            at = match self.ask(ask).await? {
                Reply::Yes(staged, _) => staged,
                // The server lost a chunk that it had, after a failover: it goes on from there.
                Reply::No(problem) => match missing_chunk(&problem).filter(|from| *from < next) {
                    Some(from) => CodeImport { next: Some(from), ..at },
                    None => return Err(self.refused(name, problem)),
                },
            };
            let sent = u64::from(at.next.unwrap_or(lines));
            self.status.show_at(sent, begun.elapsed(), || {
                format!("{} of {} codes sent", thousands(sent), thousands(lines.into()))
            });
        }
        let commit = CommitCodesRequest { pool, lines };
        let ask = Ask::code_import_step(&self.campaign, &id, "commit", &commit);
        Ok(Done { import: self.yes(name, ask).await?, before: false })
    }

    /// What says that a file is the same: its codes in their order, however they are written down.
    fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for code in &self.file.codes {
            digest.update(code.as_bytes());
            digest.update(b"\n");
        }
        HEXLOWER.encode(&digest.finalize())
    }

    async fn yes<T: DeserializeOwned>(&self, name: &str, ask: Ask) -> Result<T, Complaint> {
        match self.ask(ask).await? {
            Reply::Yes(answer, _) => Ok(answer),
            Reply::No(problem) => Err(self.refused(name, problem)),
        }
    }

    /// Sends a request, and again where there was no answer: each of them changes nothing twice.
    async fn ask<T: DeserializeOwned>(&self, ask: Ask) -> Result<Reply<T>, Complaint> {
        let mut retries = 0;
        loop {
            let failure = match self.client.ask::<T>(ask.clone()).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            retries += 1;
            if retries > RETRIES {
                return Err(failure.into());
            }
            if retries == 1 {
                self.status.say(format!("no answer ({}): it is sent again", failure.reason()));
            }
            sleep(PAUSE).await;
        }
    }

    /// Names the lines that the server found wrong, where it says so.
    fn refused(&self, name: &str, problem: Problem) -> Complaint {
        let errors = problem.raw["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        let wrong = errors.iter().filter_map(|error| {
            // The server counts codes, from 1.
            let at = usize::try_from(error["line"].as_u64()?).ok()?.checked_sub(1)?;
            let why = error["why"].as_str().unwrap_or(&problem.detail).to_owned();
            Some(WrongLine { line: *self.file.lines.get(at)?, why })
        });
        let wrong: Vec<WrongLine> = wrong.collect();
        match wrong.is_empty() {
            true => problem.into(),
            false => wrong_lines(name, &wrong, "nothing was imported"),
        }
    }
}

/// From where to go on, where a server says that a chunk is missing.
fn missing_chunk(problem: &Problem) -> Option<u32> {
    let next = problem.raw["next"].as_u64().filter(|_| problem.outcome == "chunk_missing")?;
    u32::try_from(next).ok()
}

/// Every wrong line, the first of them in the sentence.
fn wrong_lines(name: &str, wrong: &[WrongLine], rest: &str) -> Complaint {
    show(name, wrong.iter().map(|WrongLine { line, why }| (*line, why.clone())), wrong.len());
    let lines = if wrong.len() == 1 { "line is" } else { "lines are" };
    let sentence = format!("{} {lines} wrong in {name}; {rest}", wrong.len());
    let errors: Vec<Value> =
        wrong.iter().map(|wrong| json!({"line": wrong.line, "why": wrong.why})).collect();
    let document = json!({"error": sentence, "hint": null, "changed": "no", "errors": errors});
    Complaint::usage(sentence).document(document)
}

/// Prints lines of the file with what is to say of them: the first twenty.
fn show(name: &str, lines: impl Iterator<Item = (u64, String)>, all: usize) {
    for (line, why) in lines.take(SHOWN) {
        out::talk(format!("{name}:{line}: {why}"));
    }
    if all > SHOWN {
        out::talk(format!("… and {} more", thousands((all - SHOWN) as u64)));
    }
}

/// Says what was imported, and which lines were there before.
fn report(name: &str, file: &CodeFile, import: &CodeImport, before: bool, json: bool) {
    let lines = import.lines.unwrap_or(0);
    let (added, named) = (import.added.unwrap_or(0), import.duplicates.as_deref().unwrap_or(&[]));
    // The server names the first of them; those of the file itself are known here.
    let mut duplicates: std::collections::BTreeMap<u64, String> =
        file.repeated.iter().map(|(line, first)| (*line, repeats(*first))).collect();
    for number in named {
        if let Some(line) = file.lines.get((*number as usize).wrapping_sub(1)) {
            let known = || "the pool had this code before".to_owned();
            duplicates.entry(*line).or_insert_with(known);
        }
    }
    let (campaign, pool) = (&import.campaign, &import.pool);
    if json {
        let duplicates: Vec<u64> = duplicates.into_keys().collect();
        return out::json(&json!({
            "outcome": import.outcome, "campaign": campaign, "pool": pool, "import": import.import,
            "lines": lines, "added": added, "duplicates": duplicates, "imported_before": before,
        }));
    }
    let left_out = (lines - added.min(lines)) as usize;
    show(name, duplicates.into_iter(), left_out);
    let there = match left_out {
        0 => String::new(),
        left_out => format!("; {} were there before", thousands(left_out as u64)),
    };
    let codes = out::count(added.into(), "code");
    out::line(match before {
        true => format!(
            "{name} was imported into {campaign}/{pool} before, with {codes}: nothing changed"
        ),
        false => {
            format!("imported {codes} into {campaign}/{pool}{there}: import {}", import.import)
        }
    });
}
