//! One promise of the server, and whether it was kept.

use serde_json::{Value, json};

/// One promise, compared with everything seen.
#[derive(Debug, Clone)]
pub struct Promise {
    /// A stable name for machines.
    pub name: &'static str,
    /// The promise in words, with the numbers that show it.
    pub words: String,
    /// How often it was broken.
    pub broken: u64,
    /// The first evidence against it.
    pub evidence: Option<String>,
}

impl Promise {
    /// Whether it was kept.
    pub fn kept(&self) -> bool {
        self.broken == 0
    }

    pub(crate) fn json(&self) -> Value {
        json!({"name": self.name, "kept": self.kept(), "words": self.words, "broken": self.broken, "evidence": self.evidence})
    }
}
