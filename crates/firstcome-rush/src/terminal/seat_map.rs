//! A seat map in a terminal: a character for each seat, rows beneath each other, sections side by side where they fit.

use std::collections::BTreeMap;

use super::speaks_unicode;

/// One row of one section, a letter for each seat: `.` free, `-` not for sale, `h` held, `c` confirmed, `b` blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowOfSeats {
    /// The section; may be empty.
    pub section: String,
    /// The row; may be empty.
    pub row: String,
    /// The status of its seats, in their order.
    pub letters: String,
}

/// How a seat map is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Blocks and dots, or plain letters.
    pub unicode: bool,
    /// Colours as terminals know them.
    pub colour: bool,
    /// Characters in a line.
    pub width: usize,
}

impl Style {
    /// Unicode if the locale has it; colours only where asked for and not refused by `NO_COLOR`; `width` columns.
    pub fn of_terminal(colour: bool, width: usize) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { unicode: speaks_unicode(), colour: colour && !refused, width }
    }

    /// How a seat is drawn, and in which colour.
    fn seat(self, letter: char) -> (char, &'static str) {
        let (fine, plain, colour) = match letter {
            '.' => ('·', '.', "2"),
            'h' => ('▒', 'o', "33"),
            'c' => ('█', '#', "32"),
            'b' => ('x', 'x', "31"),
            _ => ('-', '-', "2"),
        };
        (if self.unicode { fine } else { plain }, colour)
    }

    /// Draws seats; neighbours of one colour share it.
    fn seats(self, letters: &str) -> String {
        let mut drawn = String::new();
        let mut now = "";
        for letter in letters.chars() {
            let (seat, colour) = self.seat(letter);
            if self.colour && colour != now {
                drawn.push_str(&format!("\u{1b}[0;{colour}m"));
                now = colour;
            }
            drawn.push(seat);
        }
        if !now.is_empty() {
            drawn.push_str("\u{1b}[0m");
        }
        drawn
    }
}

/// What the characters mean, in one line.
pub fn legend(style: Style) -> String {
    let words = [('.', "free"), ('h', "held"), ('c', "paid"), ('b', "blocked")];
    let drawn = words.map(|(letter, word)| format!("{} {word}", style.seats(&letter.to_string())));
    drawn.join("   ")
}

/// Draws rows in the order they are first named; those of one name in several sections stand in one line if that fits.
pub fn seat_map(rows: &[RowOfSeats], style: Style) -> Vec<String> {
    let sections = in_order(rows.iter().map(|row| &*row.section));
    let names = in_order(rows.iter().map(|row| &*row.row));
    let label = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut letters_of: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for row in rows {
        letters_of.entry((&row.section, &row.row)).or_default().push_str(&row.letters);
    }
    let width = |section: &str| {
        let own = letters_of.iter().filter(|((known, _), _)| *known == section);
        let widest = own.map(|(_, letters)| letters.len()).max().unwrap_or(0);
        widest.max(section.chars().count())
    };
    let widths: Vec<usize> = sections.iter().map(|section| width(section)).collect();
    let together = label + widths.iter().map(|width| width + 2).sum::<usize>() <= style.width;
    let all: Vec<usize> = (0..sections.len()).collect();
    let blocks: Vec<&[usize]> = if together { vec![&all] } else { all.chunks(1).collect() };

    let mut lines = Vec::new();
    for block in blocks {
        let heads = block.iter().map(|&index| format!("  {:^1$}", sections[index], widths[index]));
        let head = format!("{:label$}{}", "", heads.collect::<String>());
        if !head.trim().is_empty() {
            lines.push(head.trim_end().to_owned());
        }
        for name in &names {
            let drawn = |&index: &usize| {
                let letters = letters_of.get(&(sections[index], *name)).map_or("", String::as_str);
                let before = (widths[index] - letters.len().min(widths[index])) / 2;
                let after = widths[index].saturating_sub(before + letters.len());
                format!("  {}{}{}", " ".repeat(before), style.seats(letters), " ".repeat(after))
            };
            if block.iter().any(|&index| letters_of.contains_key(&(sections[index], *name))) {
                let seats: String = block.iter().map(drawn).collect();
                lines.push(format!("{name:>label$}{seats}").trim_end().to_owned());
            }
        }
    }
    lines
}

/// Every text once, in the order of the first of each.
fn in_order<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = std::collections::BTreeSet::new();
    texts.filter(|text| seen.insert(*text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(section: &str, row: &str, letters: &str) -> RowOfSeats {
        RowOfSeats { section: section.into(), row: row.into(), letters: letters.into() }
    }

    const PLAIN: Style = Style { unicode: false, colour: false, width: 40 };

    #[test]
    fn sections_stand_side_by_side_and_rows_beneath_each_other() {
        let rows =
            [row("L", "9", "..h"), row("R", "9", "cc"), row("L", "10", "b-."), row("R", "10", ".")];
        assert_eq!(seat_map(&rows, PLAIN), ["     L   R", " 9  ..o  ##", "10  x-.  ."]);
    }

    #[test]
    fn sections_that_do_not_fit_stand_beneath_each_other() {
        let wide = ".".repeat(30);
        let drawn = seat_map(&[row("L", "1", &wide), row("R", "1", &wide)], PLAIN);
        assert_eq!(drawn.len(), 4, "{drawn:?}");
        assert!(drawn[1].starts_with("1  ...") && drawn[3].starts_with("1  ..."), "{drawn:?}");
    }

    #[test]
    fn a_map_without_rows_and_sections_is_one_line() {
        assert_eq!(seat_map(&[row("", "", ".hcb")], PLAIN), ["  .o#x"]);
        assert_eq!(seat_map(&[], PLAIN), Vec::<String>::new());
    }

    #[test]
    fn neighbours_of_one_colour_share_it() {
        let style = Style { unicode: true, colour: true, width: 40 };
        assert_eq!(style.seats("cc."), "\u{1b}[0;32m██\u{1b}[0;2m·\u{1b}[0m");
        assert!(!legend(PLAIN).contains('\u{1b}'));
    }
}
