//! Figures of this process, as Linux has them: processor time, memory, open files, threads, start.
//!
//! They have the names that Prometheus clients of all languages share, without a prefix.
//! <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use std::fs::{read_dir, read_to_string};

/// Ticks of a second in `/proc`: USER_HZ, 100 on every architecture that this runs on.
const TICKS: f64 = 100.0;

/// Returns a registry of the figures of this process.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::with_prefix("process");
    registry.register_collector(Box::new(Process));
    registry
}

/// Reads them when they are asked for; what cannot be read is left out.
#[derive(Debug)]
struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let stat = read_to_string("/proc/self/stat").unwrap_or_default();
        let mut gauge = |name: &str, help: &str, unit: Option<&Unit>, value: Option<f64>| {
            let Some(value) = value else { return Ok(()) };
            let gauge = ConstGauge::new(value);
            let kind = gauge.metric_type();
            gauge.encode(encoder.encode_descriptor(name, help, unit, kind)?)
        };
        let (bytes, seconds) = (Some(&Unit::Bytes), Some(&Unit::Seconds));
        let status = read_to_string("/proc/self/status").unwrap_or_default();
        let kib = |name| number_behind(&status, name).map(|kib| kib * 1_024.0);
        gauge("resident_memory", "Memory in use", bytes, kib("VmRSS:"))?;
        gauge("virtual_memory", "Memory that is mapped", bytes, kib("VmSize:"))?;
        // One of them is open to count them.
        let open = read_dir("/proc/self/fd").ok().map(|all| all.count().saturating_sub(1) as f64);
        gauge("open_fds", "Open files and connections", None, open)?;
        let limits = read_to_string("/proc/self/limits").unwrap_or_default();
        let most = number_behind(&limits, "Max open files");
        gauge("max_fds", "Files and connections that may be open", None, most)?;
        gauge("threads", "Threads", None, stat_field(&stat, 20))?;
        let boot = read_to_string("/proc/stat").unwrap_or_default();
        let boot = number_behind(&boot, "btime");
        let start = stat_field(&stat, 22).zip(boot).map(|(ticks, boot)| boot + ticks / TICKS);
        gauge("start_time", "When the process started, since 1970", seconds, start)?;
        let cpu = stat_field(&stat, 14).zip(stat_field(&stat, 15));
        let Some((user, system)) = cpu else { return Ok(()) };
        let counter = ConstCounter::new((user + system) / TICKS);
        let help = "Processor time, in user and system mode";
        let kind = counter.metric_type();
        counter.encode(encoder.encode_descriptor("cpu", help, seconds, kind)?)
    }
}

/// Returns the number that stands behind a word at the beginning of a line.
fn number_behind(text: &str, word: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(word))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns a field of `/proc/self/stat`, counted from 1; the second may have spaces in it.
fn stat_field(stat: &str, number: usize) -> Option<f64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_knows_its_figures() {
        let mut text = String::new();
        encode(&mut text, &registry()).unwrap();
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name}: {text}")).trim().parse().unwrap()
        };
        assert!(value("process_resident_memory_bytes ") > 1e6, "{text}");
        assert!(value("process_virtual_memory_bytes ") > 1e6, "{text}");
        assert!((3.0..=value("process_max_fds ")).contains(&value("process_open_fds ")), "{text}");
        assert!(value("process_threads ") >= 1.0, "{text}");
        assert!(value("process_cpu_seconds_total ") >= 0.0, "{text}");
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        let age = since - value("process_start_time_seconds ");
        assert!((-2.0..3_600.0).contains(&age), "{age}: {text}");
    }

    #[test]
    fn a_program_may_have_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 0 0 0 0 0 150 50 0 0 20 0 4 0 99";
        assert_eq!(stat_field(stat, 14), Some(150.0));
        assert_eq!(stat_field(stat, 20), Some(4.0));
        assert_eq!(stat_field(stat, 22), Some(99.0));
        assert_eq!(stat_field("", 22), None);
    }
}
