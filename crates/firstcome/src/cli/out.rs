//! Where words go: results to stdout, talk to stderr.

use std::fmt::Display;
use std::io::Write as _;

use serde_json::Value;

/// Writes a line of the result.
///
/// When nobody reads any more (`firstcome results | head`), the program ends: there is no one left to tell.
pub(super) fn line(text: impl Display) {
    if writeln!(std::io::stdout(), "{text}").is_err() {
        std::process::exit(0);
    }
}

/// Writes the result as one line of JSON.
pub(super) fn json(value: &Value) {
    line(value);
}

/// Writes a line of talk; a closed stderr silences it.
pub(super) fn talk(text: impl Display) {
    drop(writeln!(std::io::stderr(), "{text}"));
}
