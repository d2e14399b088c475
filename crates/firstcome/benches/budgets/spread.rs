//! A figure of several rounds: the median, and how far the rounds lie apart.

use serde_json::{Value, json};

/// The same figure of all rounds, in order of size; at least one.
#[derive(Clone, Debug)]
pub(crate) struct Spread(Vec<f64>);

impl From<Vec<f64>> for Spread {
    fn from(mut rounds: Vec<f64>) -> Self {
        assert!(!rounds.is_empty(), "a figure has at least one round");
        rounds.sort_by(f64::total_cmp);
        Self(rounds)
    }
}

impl From<f64> for Spread {
    fn from(figure: f64) -> Self {
        Self(vec![figure])
    }
}

impl Spread {
    /// Returns the spread of figures in thousands.
    pub(crate) fn thousands(rounds: Vec<f64>) -> Self {
        Self::from(rounds.into_iter().map(|figure| figure / 1e3).collect::<Vec<_>>())
    }

    pub(crate) fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }

    /// Returns `median (least–most)` with so many digits behind the point; only the median of a single round.
    pub(crate) fn text(&self, digits: usize) -> String {
        let median = format!("{:.digits$}", self.median());
        let (least, most) = (self.0[0], self.0[self.0.len() - 1]);
        if self.0.len() == 1 {
            return median;
        }
        format!("{median} ({least:.digits$}–{most:.digits$})")
    }

    /// Returns the figure as it is written into `bench.json`.
    pub(crate) fn json(&self) -> Value {
        json!({
            "median": self.median(),
            "least": self.0[0],
            "most": self.0[self.0.len() - 1],
            "rounds": self.0.len(),
        })
    }
}

/// Returns the median of figures that need no spread.
pub(crate) fn median(figures: Vec<f64>) -> f64 {
    Spread::from(figures).median()
}
