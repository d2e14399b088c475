//! Where a node says what an operator must see and a test must hear.

use crate::event::Event;
use std::fmt;
use std::sync::Arc;

/// Where a node says what an operator must see, a line or several at a time.
pub type Says = Arc<dyn Fn(Event, &str) + Send + Sync>;

/// Says it in the log.
pub fn in_log() -> Says {
    Arc::new(|event, text| event.write(text.trim_end()))
}

/// Where a part of a node says it, in a form that can be shown.
#[derive(Clone)]
pub(crate) struct Speaker(pub(crate) Says);

impl Speaker {
    pub(crate) fn say(&self, event: Event, text: &str) {
        (self.0)(event, text);
    }
}

impl fmt::Debug for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Speaker")
    }
}
