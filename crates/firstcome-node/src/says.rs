//! Where a node says what an operator must see.

use std::sync::Arc;

/// Where a node says what an operator must see, a line or several at a time.
pub type Says = Arc<dyn Fn(&str) + Send + Sync>;

/// Says it on standard error.
pub fn on_stderr() -> Says {
    Arc::new(|text| eprintln!("{}", text.trim_end()))
}
