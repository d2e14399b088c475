//! Live progress on stderr: a line that moves on a terminal, a line every second elsewhere.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::out;
use firstcome_rush::claims::{ClaimsProgress, Kind};
use firstcome_rush::terminal::{self, thousands};

/// One line that says how far something is: it moves on a terminal, cut to its width, and is said every second elsewhere.
pub(crate) struct Status {
    meter: Option<ProgressBar>,
    said: Duration,
}

impl Status {
    pub(crate) fn new() -> Self {
        let meter = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{wide_msg}");
            ProgressBar::no_length()
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { meter, said: Duration::ZERO }
    }

    /// As [`Self::new`], with a bar of so many steps.
    pub(crate) fn of(total: u64) -> Self {
        let meter = std::io::stderr().is_terminal().then(|| bar(total));
        Self { meter, said: Duration::ZERO }
    }

    /// Shows a line and how many steps were made.
    pub(crate) fn show_at(&mut self, steps: u64, elapsed: Duration, line: impl FnOnce() -> String) {
        // A terminal is drawn a few times a second, however often this is called.
        if let Some(meter) = &self.meter {
            meter.set_position(steps);
        }
        if elapsed >= self.said + SHOWN_EVERY {
            if self.meter.is_some() {
                self.said = elapsed;
            }
            self.show(elapsed, line);
        }
    }

    /// Shows a line, so long after the beginning.
    pub(crate) fn show(&mut self, elapsed: Duration, line: impl FnOnce() -> String) {
        let timed = || format!("{:>5.1} s  {}", elapsed.as_secs_f64(), line());
        match &self.meter {
            Some(meter) => meter.set_message(timed()),
            None if elapsed >= self.said + Duration::from_secs(1) => {
                self.said = elapsed;
                out::talk(timed());
            }
            None => {}
        }
    }

    /// A line of its own, above what moves.
    pub(crate) fn say(&self, text: impl std::fmt::Display) {
        match &self.meter {
            Some(meter) => meter.println(text.to_string()),
            None => out::talk(text),
        }
    }

    pub(crate) fn end(&self) {
        if let Some(meter) = &self.meter {
            meter.finish_and_clear();
        }
    }
}

/// How often a line with a bar is written anew.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

fn bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {wide_msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let plain = !terminal::speaks_unicode();
    let style = if plain { style.progress_chars("##.") } else { style };
    ProgressBar::new(total).with_style(style)
}

/// Shows how a load test is going.
pub(crate) struct LoadProgress {
    meter: Option<ProgressBar>,
    total: u64,
    places: Option<u64>,
    said: Instant,
    last: (Duration, u64),
    per_second: f64,
    was_out: Option<Duration>,
}

impl LoadProgress {
    /// For this number of requests; with the number of places it shows how many are left.
    pub(crate) fn new(total: u64, places: Option<u64>) -> Self {
        let meter = std::io::stderr().is_terminal().then(|| bar(total));
        let last = (Duration::ZERO, 0);
        Self { meter, total, places, said: Instant::now(), last, per_second: 0.0, was_out: None }
    }

    pub(crate) fn show(&mut self, now: &ClaimsProgress) {
        let span = now.elapsed.saturating_sub(self.last.0);
        if span >= Duration::from_millis(400) {
            self.per_second =
                (now.answered.saturating_sub(self.last.1)) as f64 / span.as_secs_f64();
            self.last = (now.elapsed, now.answered);
        }
        if let (Some(length), None) = (self.was_out, now.outage) {
            self.say(format!("server back after {:.1} s", length.as_secs_f64()));
        }
        self.was_out = now.outage;
        let line = self.line(now);
        match &self.meter {
            Some(meter) => {
                meter.set_position(now.answered);
                meter.set_message(line);
            }
            None if self.said.elapsed() >= Duration::from_secs(1) => {
                self.said = Instant::now();
                out::talk(format!("{:>5.1} s  {line}", now.elapsed.as_secs_f64()));
            }
            None => {}
        }
    }

    /// A line of its own, above what moves.
    pub(crate) fn say(&self, text: impl std::fmt::Display) {
        match &self.meter {
            Some(meter) => meter.println(text.to_string()),
            None => out::talk(text),
        }
    }

    pub(crate) fn end(&self) {
        if let Some(meter) = &self.meter {
            meter.finish_and_clear();
        }
    }

    fn line(&self, now: &ClaimsProgress) -> String {
        let mut parts = Vec::new();
        if let Some(length) = now.outage {
            parts.push(format!("server away for {:.1} s", length.as_secs_f64()));
        }
        if let Some(places) = self.places {
            parts.push(format!(
                "{} places left",
                thousands(places.saturating_sub(now.acknowledged))
            ));
        }
        parts.push(format!("{} of {} answered", thousands(now.answered), thousands(self.total)));
        parts.push(format!("{}/s", thousands(self.per_second as u64)));
        for kind in Kind::ALL {
            if now.of(kind) > 0 {
                parts.push(format!("{} {}", kind.as_str(), thousands(now.of(kind))));
            }
        }
        parts.join(", ")
    }
}

/// A meter over bytes; hidden where nobody looks at a terminal.
pub(crate) fn bytes() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{bar:24} {bytes} of {total_bytes}, {eta} left";
    let style = ProgressStyle::with_template(template);
    ProgressBar::no_length().with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
