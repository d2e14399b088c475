//! The log of a server: lines on standard error, as text or JSON.
//!
//! Which lines there are is the list [`firstcome_node::Event`]. What libraries would say is left out: nobody has looked
//! through it for names of subjects.

mod writer;

use crate::config::{LogFormat, LogLevel};
use firstcome_core::state::is_applying;
use firstcome_node::log;
use std::io::IsTerminal;
use std::panic::PanicHookInfo;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Registry, reload};
use writer::Lines;

/// The log while it is written; dropped, it waits a moment until what was said has left.
pub(crate) struct Logging {
    lines: Lines,
    pub(crate) levels: LogLevels,
}

/// Changes which lines are written.
#[derive(Clone, Debug)]
pub(crate) struct LogLevels(reload::Handle<Targets, Registry>);

impl LogLevels {
    /// Writes lines from this level on.
    pub(crate) fn set(&self, level: LogLevel) {
        // It fails in a process that had a log of its own before, as a test may.
        drop(self.0.reload(targets(level)));
    }
}

fn targets(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    // What the lock of the leader tells is logged by the node, in the words of its page.
    Targets::new().with_target("firstcome", level).with_target("firstcome_lock", LevelFilter::OFF)
}

/// Begins to write the log of this process, by default as text on a terminal and as JSON elsewhere.
///
/// A panic is a line of it from now on, except for a rule that breaks: the caller reports that in a sentence.
pub(crate) fn start(format: Option<LogFormat>, level: LogLevel) -> Logging {
    let is_terminal = std::io::stderr().is_terminal();
    let format = format.unwrap_or(if is_terminal { LogFormat::Text } else { LogFormat::Json });
    let lines = Lines::to_stderr();
    let of_lines = lines.clone();
    let layer = layer().with_ansi(false).with_target(false).with_writer(move || of_lines.clone());
    let (targets, levels) = reload::Layer::new(targets(level));
    let only_ours = tracing_subscriber::registry().with(targets);
    // In a process that has one already, as a test may, that one stays.
    drop(match format {
        LogFormat::Text => tracing::subscriber::set_global_default(only_ours.with(layer)),
        LogFormat::Json => {
            let layer = layer.json().flatten_event(true);
            let layer = layer.with_current_span(false).with_span_list(false);
            tracing::subscriber::set_global_default(only_ours.with(layer))
        }
    });
    let before = std::panic::take_hook();
    let wants_backtrace = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
    std::panic::set_hook(Box::new(move |panic| {
        if is_applying() {
            return before(panic);
        }
        say(panic);
        if wants_backtrace {
            before(panic);
        }
    }));
    Logging { lines, levels: LogLevels(levels) }
}

fn say(panic: &PanicHookInfo<'_>) {
    let why = panic.payload_as_str().unwrap_or("a panic without a sentence");
    let at = panic.location().map(ToString::to_string).unwrap_or_default();
    log!(Panicked, at, "{why}");
}

impl Drop for Logging {
    fn drop(&mut self) {
        self.lines.flush();
    }
}
