//! MariaDB (MySQL untested): a small pool of connections, and single statements whose time zone and isolation are said, never
//! inherited.
//!
//! Statements are text with their values in it, so that one that changes something and one that looks at it travel
//! together; [`text`] and [`bytes`] write values that cannot be anything else.

mod options;
mod pool;
mod work;

pub use mysql_async::Row;
pub use mysql_async::prelude::FromValue;

pub use self::options::MySqlOptions;
pub use self::pool::MySqlPool;
pub use self::work::Work;
use crate::error::StoreError;

/// Writes text as a value in a statement.
#[must_use]
pub fn text(value: &str) -> String {
    format!("_utf8mb4 {}", bytes(value.as_bytes()))
}

/// Writes bytes as a value in a statement.
#[must_use]
pub fn bytes(value: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut written = String::with_capacity(3 + 2 * value.len());
    written.push_str("x'");
    for byte in value {
        // Writing to a string cannot fail.
        write!(written, "{byte:02x}").ok();
    }
    written.push('\'');
    written
}

/// Reads a column of a row.
///
/// # Errors
///
/// [`StoreError::Unexpected`] where it is not there, or of another type.
pub fn cell<T: FromValue>(row: &Row, index: usize) -> Result<T, StoreError> {
    let wrong =
        || StoreError::Unexpected { detail: format!("column {index} is not what was asked for") };
    row.get_opt(index).ok_or_else(wrong)?.map_err(|_| wrong())
}
