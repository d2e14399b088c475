//! Tables for people: columns without frames that fit the terminal.

use clap::Args;
use firstcome_api::unseen::seen;

use super::out;
use super::screen::{columns, cut, width};

/// Options of every verb that prints a table.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TableArgs {
    /// Print the whole table, in any width; otherwise it fits the terminal, or 80 columns.
    #[arg(long)]
    pub(crate) wide: bool,
}

/// One column of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    name: &'static str,
    /// Numbers stand at the right.
    right: bool,
    /// The least columns of the screen it may be cut to; never cut where there is none.
    least: Option<usize>,
    /// The column with the highest number is left out first if there is no space for all; 0 is never left out. Those that may
    /// be left out are also left out where no row has anything in them.
    spare: u8,
}

impl Column {
    /// A column of words, always whole.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, right: false, least: None, spare: 0 }
    }

    /// A column of numbers, always whole.
    pub(crate) const fn number(name: &'static str) -> Self {
        Self { right: true, ..Self::new(name) }
    }

    /// May be cut to so many columns of the screen.
    pub(crate) const fn least(self, least: usize) -> Self {
        Self { least: Some(least), ..self }
    }

    /// May be left out, before every column with a lower number.
    pub(crate) const fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
    }

    /// The fewest columns of the screen that it needs where its longest text takes so many.
    fn needs(&self, longest: usize) -> usize {
        self.least.map_or(longest, |least| longest.min(least.max(columns(self.name))))
    }
}

/// A table that is printed when it is complete.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    wide: bool,
    /// Whether the head stands above rows that were printed.
    headed: bool,
}

/// Columns of the screen between two columns of a table.
const GAP: usize = 2;

impl Table {
    pub(crate) fn new(args: TableArgs, columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new(), wide: args.wide, headed: false }
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<_> = cells.into_iter().map(|cell| seen(&cell).into_owned()).collect();
        assert_eq!(row.len(), self.columns.len(), "a row has a cell for each column");
        self.rows.push(row);
    }

    /// A moment as the table shows it: to the second, unless it is wide.
    pub(crate) fn time(&self, at: &str) -> String {
        if self.wide { at.to_owned() } else { seconds(at) }
    }

    /// A random id as the table shows it: its first eight characters, unless it is wide.
    pub(crate) fn id(&self, id: &str) -> String {
        if self.wide { id.to_owned() } else { id.chars().take(8).collect() }
    }

    /// Prints it, and names the columns without space.
    pub(crate) fn print(self) {
        let most = if self.wide { usize::MAX } else { width(std::io::stdout()) };
        let (lines, missing) = self.lines(most);
        lines.into_iter().for_each(out::line);
        if !missing.is_empty() {
            let missing = missing.join(", ");
            out::talk(format!("note: no room for {missing}: --wide shows everything"));
        }
    }

    /// Prints the rows there are, if there are any, and goes on with none.
    pub(crate) fn print_so_far(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        let most = if self.wide { usize::MAX } else { width(std::io::stdout()) };
        let (lines, _) = self.lines(most);
        // The head stands above the first rows only.
        let heads = usize::from(std::mem::replace(&mut self.headed, true));
        lines.into_iter().skip(heads).for_each(out::line);
        self.rows.clear();
    }

    /// The lines of at most so many columns of the screen, and the names of columns without space.
    fn lines(&self, most: usize) -> (Vec<String>, Vec<&'static str>) {
        let longest: Vec<usize> = (0..self.columns.len()).map(|at| self.longest(at)).collect();
        let is_empty = |at: usize| self.rows.iter().all(|row| row[at].is_empty());
        let all = 0..self.columns.len();
        let mut shown: Vec<usize> =
            all.filter(|&at| self.columns[at].spare == 0 || !is_empty(at)).collect();
        let gaps = |shown: &[usize]| GAP * shown.len().saturating_sub(1);
        let needs = |shown: &[usize]| {
            shown.iter().map(|&at| self.columns[at].needs(longest[at])).sum::<usize>() + gaps(shown)
        };
        let mut missing = Vec::new();
        while needs(&shown) > most {
            // The last of those with the same number goes first.
            let spare = shown.iter().enumerate().max_by_key(|(_, at)| self.columns[**at].spare);
            match spare {
                Some((place, &at)) if self.columns[at].spare > 0 => {
                    missing.push(self.columns[at].name);
                    shown.remove(place);
                }
                Some(_) | None => break,
            }
        }
        missing.reverse();
        let mut widths: Vec<usize> = shown.iter().map(|&at| longest[at]).collect();
        while widths.iter().sum::<usize>() + gaps(&shown) > most {
            let can_shrink = |(place, &at): (usize, &usize)| {
                let least = self.columns[at].needs(longest[at]);
                (widths[place] > least).then_some((widths[place], place))
            };
            match shown.iter().enumerate().filter_map(can_shrink).max() {
                Some((_, place)) => widths[place] -= 1,
                None => break,
            }
        }
        let line = |cells: &dyn Fn(usize) -> String| {
            let mut line = String::new();
            for (place, &at) in shown.iter().enumerate() {
                let cell = cut(&cells(at), widths[place]);
                let space = " ".repeat(widths[place].saturating_sub(columns(&cell)));
                let gap = if place == 0 { "" } else { "  " };
                line.push_str(gap);
                if self.columns[at].right {
                    line.push_str(&space);
                }
                line.push_str(&cell);
                if !self.columns[at].right {
                    line.push_str(&space);
                }
            }
            // A screen narrower than every column that must be there cuts the line.
            cut(line.trim_end(), most)
        };
        let head = line(&|at| self.columns[at].name.to_owned());
        let rows = self.rows.iter().map(|row| line(&|at| row[at].clone()));
        (std::iter::once(head).chain(rows).collect(), missing)
    }

    fn longest(&self, at: usize) -> usize {
        let cells = self.rows.iter().map(|row| columns(&row[at]));
        cells.max().unwrap_or(0).max(columns(self.columns[at].name))
    }
}

/// A moment to the second: the fraction of `2027-03-01T01:00:00.000001Z` is left out.
pub(crate) fn seconds(at: &str) -> String {
    match at.split_once('.') {
        Some((whole, rest)) => {
            let zone = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
            format!("{whole}{zone}")
        }
        None => at.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 5] = [
        Column::number("number"),
        Column::new("subject").least(8),
        Column::new("at"),
        Column::new("reason").least(6).spare(1),
        Column::new("hold").least(6).spare(2),
    ];

    fn table(rows: &[[&str; 5]]) -> Table {
        let mut table = Table::new(TableArgs { wide: false }, &COLUMNS);
        for row in rows {
            table.row(row.map(str::to_owned));
        }
        table
    }

    #[test]
    fn what_fits_is_whole_and_an_empty_spare_column_is_left_out() {
        let table = table(&[["1", "ann", "now", "", ""], ["20", "bob", "then", "asked", ""]]);
        let (lines, missing) = table.lines(80);
        assert_eq!(
            lines,
            [
                "number  subject  at    reason",
                "     1  ann      now",
                "    20  bob      then  asked"
            ]
        );
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn long_words_are_cut_then_columns_are_left_out_and_no_line_is_too_long() {
        let long = "x".repeat(60);
        let table = table(&[["1", &long, "2027-03-01T01:00:00Z", &long, &long]]);
        for most in [10, 20, 37, 40, 47, 60, 80, 150, 300] {
            let (lines, missing) = table.lines(most);
            assert!(lines.iter().all(|line| columns(line) <= most), "{most}: {lines:?}");
            let whole = lines[1].contains(&format!("{long}  "));
            assert_eq!(whole, most >= 222, "{most}: {lines:?}");
            let gone: &[&str] = match most {
                0..46 => &["reason", "hold"],
                46..54 => &["hold"],
                _ => &[],
            };
            assert_eq!(missing, gone, "{most}: {lines:?}");
        }
    }

    #[test]
    fn a_moment_loses_its_fraction_and_keeps_its_zone() {
        assert_eq!(seconds("2027-03-01T01:00:00.000001Z"), "2027-03-01T01:00:00Z");
        assert_eq!(seconds("2027-03-01T01:00:00.5+09:00"), "2027-03-01T01:00:00+09:00");
        assert_eq!(seconds("2027-03-01T01:00:00Z"), "2027-03-01T01:00:00Z");
    }
}
