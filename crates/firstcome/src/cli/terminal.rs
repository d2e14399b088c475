//! The terminal: what is asked there, how wide it is, and what is printed.

use crate::cli::complaint::Complaint;
use std::io::{IsTerminal as _, Write as _};

pub(super) mod given;
pub(super) mod lines;
pub(super) mod out;
pub(super) mod progress;
pub(super) mod screen;
pub(super) mod table;

/// Waits for a `yes`; where nobody is there to type it, --yes is needed.
pub(crate) fn confirmed() -> Result<bool, Complaint> {
    if !std::io::stdin().is_terminal() {
        let complaint = Complaint::usage("it needs a confirmation, and there is no terminal");
        return Err(complaint.hint("use --yes to do it without asking"));
    }
    drop(write!(std::io::stderr(), "Type yes to continue: "));
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.map_err(|why| Complaint::own(format!("cannot read the answer: {why}")))?;
    Ok(answer.trim() == "yes")
}
