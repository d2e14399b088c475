//! `claim --file`: the claims of a file, many in one request.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::signal::ctrl_c;
use tokio::time::sleep;

use super::super::complaint::{Complaint, Exit};
use super::super::terminal::progress::Status;
use super::super::terminal::{given, out};
use super::subjects::{self, SubjectLine, WrongSubject};
use firstcome_client::{Answer, Client, CommandLine, Commanded, Done, Error};
use firstcome_rush::terminal::thousands;

/// How often what has no answer is sent again without one more answer.
const RETRIES: u32 = 10;
/// The pause before that.
const PAUSE: Duration = Duration::from_secs(1);
/// Wrong lines that are said.
const WRONG_LINES: usize = 20;

/// Claims for every line of a file.
pub(super) async fn claim(
    client: Client,
    (campaign, pool): (&str, Option<&str>),
    file: &Path,
    json: bool,
) -> Result<Exit, Complaint> {
    let lines = read(file)?;
    let mut claims = Claims::new(&lines, json);
    let claimed = tokio::select! {
        claimed = claims.claim(&client, campaign, pool) => claimed,
        _ = ctrl_c() => Ok(Some(Exit::Interrupted)),
    };
    claims.status.end();
    let stopped = match claimed {
        Ok(stopped) => stopped,
        Err(complaint) if claims.answered == 0 => return Err(complaint),
        Err(complaint) => {
            out::talk(format!("error: {complaint}"));
            Some(Exit::Unchanged)
        }
    };
    Ok(claims.end(stopped))
}

fn read(file: &Path) -> Result<Vec<SubjectLine>, Complaint> {
    let name = file.display();
    let lines = subjects::read(&given::read(file)?).map_err(|wrong| {
        for WrongSubject { line, why } in wrong.iter().take(WRONG_LINES) {
            out::talk(format!("{name} line {line}: {why}"));
        }
        let count = wrong.len();
        let more = if count > WRONG_LINES { ", of which the first are shown" } else { "" };
        let lines = if count == 1 { "line is" } else { "lines are" };
        let sentence = format!("{name}: {count} {lines} wrong{more}; nothing was sent");
        Complaint::usage(sentence)
            .hint("a file has a header `subject[,pool][,ref]`, or a subject on each line")
    })?;
    if lines.is_empty() {
        return Err(Complaint::usage(format!("{name} has no subject")));
    }
    Ok(lines)
}

/// The claims of a file, as far as they are answered.
struct Claims<'a> {
    lines: &'a [SubjectLine],
    json: bool,
    status: Status,
    begun: Instant,
    /// Lines with an answer to rely on.
    answered: usize,
    outcomes: BTreeMap<String, usize>,
    refused: bool,
    /// Lines, by their place, that have no answer yet; and whether each may have happened.
    open: BTreeMap<usize, bool>,
}

impl<'a> Claims<'a> {
    fn new(lines: &'a [SubjectLine], json: bool) -> Self {
        if !json {
            out::data("line,ref,subject,pool,outcome,rank,at");
        }
        let open = (0..lines.len()).map(|place| (place, false)).collect();
        Self {
            lines,
            json,
            status: Status::of(lines.len() as u64),
            begun: Instant::now(),
            answered: 0,
            outcomes: BTreeMap::new(),
            refused: false,
            open,
        }
    }

    /// Claims until every line has its answer; gives how it was stopped before, if it was.
    async fn claim(
        &mut self,
        client: &Client,
        campaign: &str,
        pool: Option<&str>,
    ) -> Result<Option<Exit>, Complaint> {
        let mut retries = 0;
        loop {
            let places: Vec<usize> = self.open.keys().copied().collect();
            let lines: Vec<CommandLine> = places
                .iter()
                .map(|place| {
                    let line = &self.lines[*place];
                    let mut claim = CommandLine::claim(campaign, line.subject.as_str());
                    claim.pool = line.pool.clone().or_else(|| pool.map(str::to_owned));
                    claim.r#ref = line.reference.clone();
                    claim
                })
                .collect();
            let before = self.answered;
            let mut commands = client.commands(lines);
            let why = loop {
                match commands.next().await {
                    Ok(Some(done)) => {
                        let Some(place) = usize::try_from(done.number - 1)
                            .ok()
                            .and_then(|place| places.get(place))
                        else {
                            continue;
                        };
                        self.take(*place, done);
                    }
                    Ok(None) => break None,
                    Err(Error::Refused(problem)) => return Err((*problem).into()),
                    Err(error) => break Some(error.to_string()),
                }
            };
            if self.open.is_empty() {
                return Ok(None);
            }
            if self.answered > before {
                retries = 0;
            }
            retries += 1;
            if retries > RETRIES {
                let unknown = self.open.values().any(|unknown| *unknown);
                if let Some(why) = why {
                    self.status.say(format!("error: {why}"));
                }
                return Ok(Some(if unknown { Exit::Unknown } else { Exit::Unchanged }));
            }
            let open = thousands(self.open.len() as u64);
            let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
            self.status.say(format!("{open} lines have no answer{why}: they are sent again"));
            sleep(PAUSE).await;
        }
    }

    /// Takes what a line came to.
    fn take(&mut self, place: usize, done: Commanded) {
        let line = &self.lines[place];
        let (outcome, won) = match &done.answer {
            Ok(Answer::Yes(Done::Won(won))) => (won.outcome.to_string(), Some(won)),
            Ok(Answer::Yes(_)) => return,
            Ok(Answer::No(_, problem)) | Err(Error::Refused(problem)) => {
                self.refused = true;
                (problem.outcome.clone(), None)
            }
            Err(error) => {
                let unknown = error.may_have_happened();
                *self.open.entry(place).or_insert(unknown) |= unknown;
                return;
            }
        };
        self.open.remove(&place);
        self.answered += 1;
        if self.json {
            let mut document: Value = serde_json::from_slice(&done.text).unwrap_or_default();
            // That of the file, not that of the request.
            document["line"] = line.line.into();
            out::json(&document);
        } else {
            let pool = won.map(|won| won.pool.as_ref()).or(line.pool.as_deref());
            let rank = won.map(|won| won.rank.to_string());
            let cells = [
                line.line.to_string(),
                line.reference.clone().unwrap_or_default(),
                line.subject.clone(),
                pool.unwrap_or_default().to_owned(),
                outcome.clone(),
                rank.unwrap_or_default(),
                won.map(|won| won.at.to_string()).unwrap_or_default(),
            ];
            // As they stand in the file: a subject that begins with + must be found again.
            out::data(cells.map(|cell| super::super::terminal::lines::csv_cell(&cell)).join(","));
        }
        *self.outcomes.entry(outcome).or_default() += 1;
        let (answered, all) = (self.answered as u64, self.lines.len() as u64);
        self.status.show_at(answered, self.begun.elapsed(), || {
            format!("{} of {} answered", thousands(answered), thousands(all))
        });
    }

    /// Says how it went.
    fn end(self, stopped: Option<Exit>) -> Exit {
        let outcomes = self
            .outcomes
            .iter()
            .map(|(outcome, count)| format!("{outcome} {}", thousands(*count as u64)));
        let outcomes: Vec<String> = outcomes.collect();
        let all = thousands(self.lines.len() as u64);
        if let Some(exit) = stopped {
            let answered = thousands(self.answered as u64);
            let unknown = self.open.values().filter(|unknown| **unknown).count();
            let mut said =
                format!("{answered} of {all} lines were answered: {}", outcomes.join(", "));
            if unknown > 0 || exit == Exit::Interrupted {
                said.push_str("; some of the others may have happened");
            }
            out::talk(said);
            out::talk(
                "hint: run the same command again: it changes nothing twice, and prints the same ranks",
            );
            return exit;
        }
        let took = self.begun.elapsed().as_secs_f64();
        out::talk(format!("{all} lines in {took:.1} s: {}", outcomes.join(", ")));
        if self.refused { Exit::Refused } else { Exit::Yes }
    }
}
