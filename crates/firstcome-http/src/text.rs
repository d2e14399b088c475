//! Short texts that need no allocation: a time, a position, an id.

use std::fmt;
use std::ops::Deref;

/// A text of at most `N` bytes, on the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    /// Writes what a value looks like, as much of it as there is room for.
    pub(crate) fn of(value: &impl fmt::Display) -> Self {
        let mut text = Self::default();
        // It fails where there is no room left, and then the rest is left out.
        fmt::Write::write_fmt(&mut text, format_args!("{value}")).ok();
        text
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self { bytes: [0; N], len: 0 }
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let end = self.len + more.len();
        let room = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        room.copy_from_slice(more.as_bytes());
        self.len = end;
        Ok(())
    }
}

impl<const N: usize> Deref for Text<N> {
    type Target = str;

    fn deref(&self) -> &str {
        // Whole strings were written, so it is UTF-8.
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_room_is_written_whole_and_what_has_none_is_left_out() {
        assert_eq!(&*Text::<4>::of(&1234), "1234");
        assert_eq!(&*Text::<4>::of(&"é1"), "é1");
        assert_eq!(&*Text::<4>::of(&12345), "");
        assert_eq!(&*Text::<4>::of(&""), "");
    }
}
