//! On which line of a text a record begins, as an editor counts.

/// Returns the lines of records in a text, each behind the one before.
///
/// The reader of CSV has a count of its own, which is too low after a line end of Windows and after empty lines: it
/// takes the record to begin where the one before ends.
#[derive(Debug)]
pub struct LineNumbers<'a> {
    bytes: &'a [u8],
    counted: usize,
    line: usize,
}

impl<'a> LineNumbers<'a> {
    /// Begins at line 1 of a text.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, counted: 0, line: 1 }
    }

    /// Returns the line, counted from 1, of the first byte at or behind `offset` that ends no line.
    ///
    /// An offset before an earlier one has that one's line.
    pub fn of(&mut self, offset: usize) -> usize {
        let ends_line = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let behind = self.bytes.get(offset..).unwrap_or_default();
        let begin = offset + behind.iter().take_while(|byte| ends_line(byte)).count();
        let passed = self.bytes.get(self.counted..begin).unwrap_or_default();
        let next = passed.iter().skip(1).chain(self.bytes.get(begin));
        // A `\r\n` ends one line, at its `\n`.
        let ends = passed.iter().zip(next.map(Some).chain([None]));
        self.line += ends
            .filter(|(byte, next)| **byte == b'\n' || **byte == b'\r' && *next != Some(&b'\n'))
            .count();
        self.counted = self.counted.max(begin);
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_line_that_an_editor_shows() {
        let text = b"\r\nname\r\n\r\n\r\nA1\nA2\rA3\n";
        let at = |word: &[u8]| text.windows(word.len()).position(|part| part == word).unwrap();
        let mut lines = LineNumbers::new(text);
        // The reader of CSV says where the record before ended.
        assert_eq!(lines.of(0), 2);
        assert_eq!(lines.of(at(b"name") + 4), 5);
        assert_eq!(lines.of(at(b"A1")), 5);
        assert_eq!(lines.of(at(b"A2")), 6);
        assert_eq!(lines.of(at(b"A3")), 7);
        assert_eq!(lines.of(text.len() + 9), 7);
    }
}
