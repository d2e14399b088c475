//! How wide and how high the screen is, and lines cut to it.

use std::os::fd::AsFd;

use firstcome_rush::terminal::speaks_unicode;
use unicode_width::UnicodeWidthChar as _;

/// Columns where no terminal says how many it has.
pub(crate) const WIDTH: usize = 80;

/// The columns and lines of a terminal; `None` where it is none, or one of no size.
fn size(terminal: impl AsFd) -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then(|| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// The columns a line may have: those of the terminal, else of the variable COLUMNS, else 80.
pub(crate) fn width(terminal: impl AsFd) -> usize {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    size(terminal).map(|(columns, _)| columns).or_else(said).unwrap_or(WIDTH)
}

/// The lines of a terminal; `None` where it is none.
pub(crate) fn height(terminal: impl AsFd) -> Option<usize> {
    size(terminal).map(|(_, lines)| lines).filter(|lines| *lines > 0)
}

/// What stands for the end of a text that is cut.
fn mark() -> char {
    if speaks_unicode() { '…' } else { '~' }
}

/// The columns that a text takes; colours take none.
pub(crate) fn columns(text: &str) -> usize {
    pieces(text).map(|(_, columns)| columns).sum()
}

/// Cuts a text so that it takes at most so many columns; the last of them says that it was cut.
///
/// Colours are kept, and switched off at the end of a text that had any.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 0);
    for (piece, columns) in pieces(text) {
        if used + columns >= most && columns > 0 {
            break;
        }
        used += columns;
        kept.push_str(piece);
    }
    if most > 0 {
        kept.push(mark());
    }
    if kept.contains('\u{1b}') {
        kept.push_str("\u{1b}[0m");
    }
    kept
}

/// A text in characters and colours (`ESC [ … m`), each with the columns it takes.
fn pieces(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let colour = rest.strip_prefix("\u{1b}[").and_then(|after| after.find('m'));
        let (bytes, columns) = match colour {
            Some(end) => (end + 3, 0),
            None => (first.len_utf8(), first.width().unwrap_or(0)),
        };
        let (piece, after) = rest.split_at(bytes);
        rest = after;
        Some((piece, columns))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_its_columns_and_colours_take_none() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(columns(&cut("abcdefg", 6)), 6);
        // A Korean syllable takes two columns.
        assert_eq!((columns("가나다"), columns(&cut("가나다라", 6))), (6, 5));
        let green = "\u{1b}[0;32m##########\u{1b}[0m";
        assert_eq!(columns(green), 10);
        let short = cut(green, 4);
        assert_eq!(columns(&short), 4);
        assert!(short.starts_with("\u{1b}[0;32m###") && short.ends_with("\u{1b}[0m"), "{short:?}");
        assert_eq!(cut("abc", 0), "");
    }
}
