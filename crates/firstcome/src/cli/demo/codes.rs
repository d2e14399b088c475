//! `demo --codes`: how the codes go, in a line, and the proofs.

use std::sync::Mutex;

use crate::cli::complaint::{Complaint, Exit};
use crate::cli::rush::line_of_codes;
use crate::cli::terminal::out;
use crate::cli::terminal::progress::Status;
use firstcome_rush::codes::Progress;
use firstcome_rush::demo::CAMPAIGN;
use firstcome_rush::demo::codes::{self, Observer, Plan, Shown};
use firstcome_rush::terminal::{self, thousands};

struct Printer {
    status: Mutex<Status>,
}

impl Observer for Printer {
    fn say(&self, what: &str) {
        self.status.lock().expect("printing does not panic").say(what);
    }

    fn progress(&self, now: &Progress) {
        let mut status = self.status.lock().expect("printing does not panic");
        status.show(now.elapsed, || line_of_codes(now));
    }
}

pub(super) async fn run(plan: &Plan, json: bool) -> Result<Exit, Complaint> {
    let printer = Printer { status: Mutex::new(Status::new()) };
    let shown = codes::run(plan, &printer).await;
    printer.status.lock().expect("printing does not panic").end();
    let shown = shown?;
    if json {
        out::json(&shown.json());
    } else {
        print(&shown);
    }
    Ok(if shown.kept() { Exit::Yes } else { Exit::Refused })
}

fn print(shown: &Shown) {
    let (report, totals) = (&shown.report, &shown.report.totals);
    let words = format!(
        "{} people came within {}: {} codes were issued, {} of them given up and issued to others; {} redemptions, {} \
         rolled back",
        thousands(u64::from(report.people)),
        terminal::short(report.elapsed),
        thousands(totals.issued),
        thousands(totals.cancelled),
        thousands(totals.redeemed),
        thousands(totals.rolled_back)
    );
    out::line("");
    out::paragraph("", &words);
    let answers =
        report.answers.iter().map(|(answer, count)| format!("{answer} {}", thousands(*count)));
    out::list("answers: ", answers);
    super::proofs(&shown.proofs).into_iter().for_each(out::line);
    out::line(format!("\nseed {}", report.seed));
    if let Some(folder) = &shown.folder {
        let folder = folder.display();
        out::line("\ntry next");
        out::line(format!("  firstcome serve --data {folder}"));
        out::line(format!("  firstcome codes export {CAMPAIGN} --data {folder}"));
        out::line(format!("  firstcome audit --data {folder}"));
    }
}
