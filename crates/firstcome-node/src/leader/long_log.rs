//! Says when the write-ahead log of the embedded journal grows and is not written into its file.

use crate::event::log;
use firstcome_journal::sqlite::WriteAheadLog;

/// Bytes of the log from which on it is said: four times as long as it should become.
const LONG: u64 = 64 << 20;

/// What was said of the log last.
#[derive(Debug, Default)]
pub(super) struct LongLog {
    /// Its bytes then; 0 while it is short.
    said: u64,
}

/// What there is to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    Long,
    Short,
}

impl LongLog {
    /// Says it in the log of the server, once each time the length has doubled.
    pub(super) fn look(&mut self, found: &WriteAheadLog) {
        let mib = found.bytes >> 20;
        let why = found.trouble.as_deref().unwrap_or("some program reads the file for long");
        match self.news(found.bytes) {
            Some(News::Long) => log!(
                JournalLogLong,
                mib,
                "the journal's write-ahead log has {mib} MiB and is not written into its file: {why}"
            ),
            Some(News::Short) => log!(
                JournalLogShort,
                mib,
                "the journal's write-ahead log is written into its file again"
            ),
            None => {}
        }
    }

    fn news(&mut self, bytes: u64) -> Option<News> {
        if bytes < LONG {
            return (std::mem::take(&mut self.said) > 0).then_some(News::Short);
        }
        if bytes < self.said * 2 {
            return None;
        }
        self.said = bytes;
        Some(News::Long)
    }
}

#[cfg(test)]
mod tests {
    use super::{LongLog, News};

    #[test]
    fn it_is_said_once_each_time_the_log_doubles_and_when_it_is_short_again() {
        let mut long = LongLog::default();
        let said =
            [20, 63, 64, 100, 127, 128, 200, 256, 10, 10, 70].map(|mib| long.news(mib << 20));
        let (long, short) = (Some(News::Long), Some(News::Short));
        assert_eq!(said, [None, None, long, None, None, long, None, long, short, None, long]);
    }
}
