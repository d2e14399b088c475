//! Where a node says what an operator must see.

use std::fmt;
use std::sync::Arc;

/// Where a node says what an operator must see, a line or several at a time.
pub type Says = Arc<dyn Fn(&str) + Send + Sync>;

/// Says it on standard error.
pub fn on_stderr() -> Says {
    Arc::new(|text| eprintln!("{}", text.trim_end()))
}

/// Where a part of a node says it, in a form that can be shown.
#[derive(Clone)]
pub(crate) struct Speaker(pub(crate) Says);

impl Speaker {
    pub(crate) fn say(&self, text: &str) {
        (self.0)(text);
    }
}

impl fmt::Debug for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Speaker")
    }
}
