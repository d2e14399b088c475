//! `demo --seats`: the venue drawn as it fills, in place on a terminal, a few times elsewhere.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;

use crate::cli::complaint::{Complaint, Exit};
use crate::cli::terminal::out;
use crate::cli::terminal::screen::{cut, height, width};
use firstcome_rush::demo::CAMPAIGN;
use firstcome_rush::demo::seats::{self, Frame, Observer, Plan, Shown};
use firstcome_rush::terminal::{self, Style, thousands};

/// Draws the venue.
struct Painter {
    style: Style,
    /// Redraw in place; else a frame at a time.
    terminal: bool,
    silent: bool,
    drawn: Mutex<Drawn>,
}

#[derive(Default)]
struct Drawn {
    /// Lines to go up before the next frame.
    lines: usize,
    /// Quarters of the venue that were paid for at the last frame drawn, where frames stand beneath each other.
    quarters: Option<u64>,
}

impl Painter {
    /// On stdout; silent where that is for JSON.
    fn new(json: bool) -> Self {
        let terminal = std::io::stdout().is_terminal();
        Self {
            style: Style::of_terminal(terminal, width(std::io::stdout())),
            terminal,
            silent: json,
            drawn: Mutex::default(),
        }
    }

    fn draw(&self, now: &Frame, drawn: &mut Drawn) {
        let mut lines = picture(now, self.style);
        let mut text = String::new();
        if self.terminal {
            // The next picture goes up by as many lines as this one has, so none of them may wrap or scroll away.
            let (most, high) = (width(std::io::stdout()), height(std::io::stdout()));
            lines = lines.into_iter().map(|line| cut(&line, most)).collect();
            let beyond = high.map_or(0, |high| (lines.len() + 1).saturating_sub(high));
            lines.drain(..beyond.min(lines.len()));
        }
        if self.terminal && drawn.lines > 0 {
            write!(text, "\u{1b}[{}A", drawn.lines).expect("writing to memory cannot fail");
        }
        for line in &lines {
            let clear = if self.terminal { "\u{1b}[K" } else { "" };
            writeln!(text, "{line}{clear}").expect("writing to memory cannot fail");
        }
        if !self.terminal {
            text.push('\n');
        }
        drawn.lines = lines.len();
        // A reader who hangs up sees no more pictures; the proofs are the result.
        let mut out = std::io::stdout().lock();
        drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }
}

/// The map, what its characters mean, the counts, and the share of the seats for sale that is paid.
fn picture(now: &Frame, style: Style) -> Vec<String> {
    let counts = &now.counts;
    let mut lines = terminal::seat_map(&now.rows, style);
    lines.push(String::new());
    lines.push(terminal::legend(style));
    lines.push(format!(
        "{:>6}  {} free, {} held by {}, {} paid, {} guests",
        terminal::short(now.elapsed),
        counts.free,
        counts.held,
        now.holds,
        counts.confirmed,
        thousands(u64::from(now.guests))
    ));
    let share = counts.confirmed as f64 / counts.for_sale().max(1) as f64;
    // Not everything is paid until it is: 99.6 % is 99 %.
    let percent = (share * 100.0).floor();
    // The words stand behind the bar on narrow terminals, too.
    let bar = terminal::bar(share, style.width.saturating_sub(14).min(40));
    lines.push(format!("{bar} {percent:>3.0} % paid"));
    lines
}

impl Observer for Painter {
    fn say(&self, what: &str) {
        let mut drawn = self.drawn.lock().expect("drawing does not panic");
        // What is said stands above the next picture, which is drawn anew beneath it.
        drawn.lines = 0;
        out::talk(what);
    }

    fn frame(&self, now: &Frame) {
        if self.silent {
            return;
        }
        let mut drawn = self.drawn.lock().expect("drawing does not panic");
        let sold = now.counts.sold_out();
        let quarters =
            if sold { 4 } else { (now.counts.confirmed * 4 / now.counts.for_sale().max(1)).min(3) };
        if self.terminal || drawn.quarters != Some(quarters) {
            drawn.quarters = Some(quarters);
            self.draw(now, &mut drawn);
        }
    }
}

pub(super) async fn run(plan: &Plan, json: bool) -> Result<Exit, Complaint> {
    let shown = seats::run(plan, &Painter::new(json)).await?;
    if json {
        out::json(&shown.json());
    } else {
        print(&shown);
    }
    Ok(ended(&shown))
}

fn ended(shown: &Shown) -> Exit {
    if shown.kept() { Exit::Yes } else { Exit::Refused }
}

fn print(shown: &Shown) {
    let (report, totals) = (&shown.report, &shown.report.totals);
    out::line(format!(
        "\nsold out after {}: {} people came, {} left without a word,\n{} paid too late: {} of them have their seats, {} get their money back",
        terminal::short(shown.took),
        thousands(u64::from(report.people)),
        totals.abandoned,
        totals.late_with_seats + totals.late_with_refund,
        totals.late_with_seats,
        totals.late_with_refund
    ));
    let answers = report.answers.iter().map(|(answer, count)| format!("{answer} {count}"));
    out::list("answers: ", answers);
    super::proofs(&shown.proofs).into_iter().for_each(out::line);
    out::line(format!("\nseed {}", report.seed));
    if let Some(folder) = &shown.folder {
        let folder = folder.display();
        out::line("\ntry next");
        out::line(format!("  firstcome serve --data {folder}"));
        out::line(format!("  firstcome seats show {CAMPAIGN} main --data {folder}"));
        out::line(format!("  firstcome audit --data {folder}"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use firstcome_rush::demo::Proof;
    use firstcome_rush::seats::Report;

    #[test]
    fn the_share_that_is_paid_is_of_the_seats_for_sale() {
        let style = Style { unicode: false, colour: false, width: 80 };
        let counts = |free, confirmed, blocked| firstcome_rush::demo::seats::SeatCounts {
            free,
            held: 0,
            confirmed,
            blocked,
        };
        let sold = Frame { counts: counts(0, 296, 4), ..Frame::default() };
        assert!(picture(&sold, style).last().unwrap().ends_with(" 100 % paid"));
        let nearly = Frame { counts: counts(1, 295, 4), ..Frame::default() };
        assert!(picture(&nearly, style).last().unwrap().ends_with(" 99 % paid"));
    }

    fn shown(broken: Option<&'static str>) -> Shown {
        let names = ["sold_out", "counts", "repeats", "digest", "ledger"];
        let proofs = names.map(|name| {
            let evidence = (broken == Some(name)).then(|| format!("{name} is doctored"));
            Proof { name, words: format!("{name} holds"), kept: evidence.is_none(), evidence }
        });
        let (took, last, report) = (Duration::ZERO, Frame::default(), Report::default());
        Shown { took, last, report, proofs: proofs.into(), folder: None }
    }

    #[test]
    fn one_proof_that_does_not_hold_is_marked_and_ends_with_one() {
        assert_eq!(ended(&shown(None)), Exit::Yes);
        for broken in ["sold_out", "counts", "repeats", "digest", "ledger"] {
            let shown = shown(Some(broken));
            assert_eq!(ended(&shown), Exit::Refused);
            assert_eq!((Exit::Refused.code(), shown.json()["kept"].as_bool()), (1, Some(false)));
            let lines = super::super::proofs(&shown.proofs);
            let marked = format!("{} {broken} holds", terminal::mark(false));
            let at = lines.iter().position(|line| *line == marked).unwrap();
            assert_eq!(lines[at + 1], format!("    against it: {broken} is doctored"));
            let others = lines.iter().filter(|line| line.starts_with(terminal::mark(true)));
            assert_eq!(others.count(), 4);
        }
    }
}
