//! The header `Forwarded` (RFC 7239), section 4: elements by commas, pairs by semicolons, values that may be quoted.

use std::net::IpAddr;

/// Reads a line; gives the `for` of each element from the left, nothing where the line breaks the grammar.
///
/// It has to be read from the left: only so is it known which `,` and `;` stand in quotes. A client that
/// begins a quote in its own part of a line leaves one open at the end, and the line is refused as a whole.
pub(super) fn senders(line: &str) -> Option<Vec<Option<IpAddr>>> {
    let mut senders = Vec::new();
    let mut sender = None;
    let mut rest = line.trim_ascii_start();
    loop {
        // A pair may be left out: `for=10.0.0.1;;proto=http`.
        if !rest.is_empty() && !rest.starts_with([',', ';']) {
            let (name, value, behind) = pair(rest)?;
            rest = behind.trim_ascii_start();
            // Twice in an element: one of them is somebody else's.
            if name.eq_ignore_ascii_case("for") && sender.replace(value).is_some() {
                return None;
            }
        }
        let element_ends = match rest.bytes().next() {
            None | Some(b',') => true,
            Some(b';') => false,
            Some(_) => return None,
        };
        if element_ends {
            senders.push(sender.take().and_then(|node| super::address(&node)));
        }
        match rest.get(1..) {
            None => return Some(senders),
            Some(behind) => rest = behind.trim_ascii_start(),
        }
    }
}

/// Reads `name=value` or `name="value"`; gives what stands behind it, too.
fn pair(text: &str) -> Option<(&str, String, &str)> {
    let (name, rest) = text.split_once('=')?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter);
    if name.is_empty() || !name.chars().all(plain) {
        return None;
    }
    if let Some(quoted) = rest.strip_prefix('"') {
        let (value, behind) = unquoted(quoted)?;
        return Some((name, value, behind));
    }
    // By the grammar an address with a port is quoted; not every proxy does that.
    let end = rest.find(|letter| !plain(letter) && !":[]".contains(letter)).unwrap_or(rest.len());
    let (value, behind) = rest.split_at(end);
    Some((name, value.to_owned(), behind))
}

/// Reads to the closing quote.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(letters.next()?.1),
            other => value.push(other),
        }
    }
    None
}
