//! Where words go: results to stdout, talk to stderr.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicI32, Ordering};

use firstcome_api::unseen::seen;
use firstcome_rush::terminal::thousands;
use serde_json::Value;

use super::screen::{columns, width};

/// Writes a line of the result for people: characters that nobody sees are written as `\u{200b}`.
pub(crate) fn line(text: impl Display) {
    data(seen(&text.to_string()));
}

/// The exit code of a result that cannot be written.
static CANNOT_WRITE: AtomicI32 = AtomicI32::new(3);

/// Says that a result which cannot be written is that of a change: it may have happened.
pub(crate) fn after_a_change() {
    CANNOT_WRITE.store(4, Ordering::Relaxed);
}

/// Writes a line of the result for programs, as it is.
///
/// When nobody reads any more (`firstcome results | head`), the program ends quietly: there is no reader left. When it
/// cannot be written for another reason, such as a full disk, the program ends with that reason: half a result is none.
pub(crate) fn data(text: impl Display) {
    let written = writeln!(std::io::stdout(), "{text}");
    ended(written);
}

/// Ends the program where its result could not be written.
pub(crate) fn ended(written: io::Result<()>) {
    let Err(why) = written else { return };
    if why.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    talk(format!("error: cannot write the result: {why}"));
    std::process::exit(CANNOT_WRITE.load(Ordering::Relaxed));
}

/// Writes the document of bad news to stdout: the exit code stays that of the error, with or without a reader.
pub(crate) fn bad_news(document: &Value) {
    drop(writeln!(io::stdout(), "{document}"));
}

/// Writes a line of words that go on in the next line where the screen ends.
pub(crate) fn list(head: &str, words: impl IntoIterator<Item = String>) {
    let most = width(std::io::stdout());
    let (mut now, mut first) = (head.to_owned(), true);
    for word in words {
        let word = seen(&word).into_owned();
        let apart = if first { "" } else { ", " };
        if !first && columns(&now) + columns(apart) + columns(&word) + 1 > most {
            data(format!("{now},"));
            now = format!("  {word}");
        } else {
            now.push_str(apart);
            now.push_str(&word);
        }
        first = false;
    }
    data(now);
}

/// Writes words behind a head; where the screen ends they go on in the next line, indented as far as the head.
pub(crate) fn paragraph(head: &str, text: &str) {
    wrapped(head, text, width(io::stdout())).into_iter().for_each(data);
}

/// Returns the lines of words behind a head, none wider than `most` columns unless a word is; the later ones are indented
/// as far as the head.
pub(crate) fn wrapped(head: &str, text: &str, most: usize) -> Vec<String> {
    let indent = columns(head);
    let (text, mut now, mut lines) = (seen(text), head.to_owned(), Vec::new());
    for word in text.split_whitespace() {
        let is_first = columns(&now) == indent;
        if !is_first && columns(&now) + 1 + columns(word) > most {
            lines.push(std::mem::replace(&mut now, " ".repeat(indent)));
        } else if !is_first {
            now.push(' ');
        }
        now.push_str(word);
    }
    lines.push(now);
    lines
}

/// A number of things: `1 seat`, `2,000 seats`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    let more = if number == 1 { "" } else { "s" };
    format!("{} {thing}{more}", thousands(number))
}

/// Writes the result as one line of JSON.
pub(crate) fn json(value: &Value) {
    data(value);
}

/// Writes a line of talk; a closed stderr silences it.
pub(crate) fn talk(text: impl Display) {
    drop(writeln!(std::io::stderr(), "{text}"));
}

/// Writes words of talk behind a head; where the screen ends they go on in the next line, indented as far as the head.
pub(crate) fn talk_paragraph(head: &str, text: &str) {
    wrapped(head, text, width(io::stderr())).into_iter().for_each(talk);
}

/// Writes a line about skipped entries, each with its position and reason; none where there is none.
pub(crate) fn skipped<'a>(skips: impl ExactSizeIterator<Item = (u64, &'a str)>) {
    let count = match skips.len() {
        0 => return,
        1 => "1 entry skipped".to_owned(),
        more => format!("{more} entries skipped"),
    };
    let each: Vec<String> =
        skips.map(|(position, reason)| format!("{position}, {reason}")).collect();
    line(format!("- {count}: {}", each.join("; ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_on_below_the_first_of_them() {
        let lines = wrapped("ok ", "one two three", 10);
        assert_eq!(lines, ["ok one two", "   three"]);
        assert_eq!(wrapped("ok ", "incomprehensibilities", 10), ["ok incomprehensibilities"]);
        assert_eq!(wrapped("", "one two", 6), ["one", "two"]);
    }

    #[test]
    fn one_thing_is_not_several() {
        assert_eq!(
            [0, 1, 2_000].map(|number| count(number, "seat")),
            ["0 seats", "1 seat", "2,000 seats"]
        );
    }
}
