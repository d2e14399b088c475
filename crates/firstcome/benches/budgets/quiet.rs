//! Whether the machine is quiet: whether anything but the benchmark works on it, and whether it runs evenly.
//!
//! The own share is looked at in two ways. Before and after the run the benchmark does a fixed piece of work many times,
//! and forces small writes to the disk. Over the whole run it compares what all processors did with what it and its
//! servers used.

use crate::processor::{self, Machine};
use anyhow::Result;
use serde_json::{Value, json};
use std::io::{Seek, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The most that other processes may use, as a share of all processors.
const OTHERS: f64 = 0.05;
/// The most that other virtual machines may take.
const STOLEN: f64 = 0.01;
/// The 95th percentile of the fixed loop, as a multiple of its fastest run.
const LOOP: f64 = 1.15;
/// The 95th percentile of forced writes, as a multiple of their median.
const WRITE: f64 = 4.0;

/// How often the loop runs, and how many steps it has: about 4 ms.
const LOOPS: usize = 200;
const STEPS: u64 = 4_000_000;
const WRITES: usize = 200;
/// For how long the processors are looked at while the benchmark does nothing.
const IDLE: Duration = Duration::from_secs(2);

/// How even the machine was at a moment.
#[derive(Clone, Copy, Debug)]
struct Evenness {
    loop_ratio: f64,
    write_ratio: f64,
    write_ms: f64,
}

/// What was measured, to be judged.
#[derive(Clone, Debug)]
pub(crate) struct Quiet {
    others: f64,
    stolen: f64,
    evenness: Evenness,
}

/// A look at the whole of a run.
pub(crate) struct Watch {
    before: Evenness,
    others: f64,
    stolen: f64,
    begun: Usage,
}

impl Watch {
    /// Measures the machine before anything else runs, for about four seconds.
    pub(crate) fn begin() -> Result<Self> {
        let begun = Usage::now()?;
        std::thread::sleep(IDLE);
        let (others, stolen) = begun.shares()?;
        Ok(Self { before: Evenness::measure()?, others, stolen, begun: Usage::now()? })
    }

    /// Measures it again after the run; the worse of the figures counts.
    pub(crate) fn end(self) -> Result<Quiet> {
        let (others, stolen) = self.begun.shares()?;
        let after = Evenness::measure()?;
        Ok(Quiet {
            others: others.max(self.others),
            stolen: stolen.max(self.stolen),
            evenness: self.before.worse(after),
        })
    }
}

/// Measures the machine, says what it found, and exits with 1 if it is not quiet.
pub(crate) fn check_alone() -> Result<ExitCode> {
    let watch = Watch::begin()?;
    let quiet = Quiet { others: watch.others, stolen: watch.stolen, evenness: watch.before };
    println!("{}", quiet.line());
    Ok(if quiet.troubles().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Quiet {
    /// Returns the sentences on what was not quiet.
    fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        if self.others > OTHERS {
            troubles.push(format!("other processes used more than {:.0} %", OTHERS * 1e2));
        }
        if self.stolen > STOLEN {
            troubles.push(format!("other machines took more than {:.0} %", STOLEN * 1e2));
        }
        if self.evenness.loop_ratio > LOOP {
            troubles.push(format!("the loop's ratio is above {LOOP}"));
        }
        if self.evenness.write_ratio > WRITE {
            troubles.push(format!("the writes' ratio is above {WRITE}"));
        }
        troubles
    }

    /// Returns the verdict and the figures in one line.
    pub(crate) fn line(&self) -> String {
        let Self { others, stolen, evenness } = self;
        let figures = format!(
            "other processes {:.1} % of the processors, steal {:.1} %, fixed loop p95 {:.2} of its fastest, \
             forced write p50 {:.2} ms with p95 {:.1} of it",
            others * 1e2,
            stolen * 1e2,
            evenness.loop_ratio,
            evenness.write_ms,
            evenness.write_ratio,
        );
        let troubles = self.troubles();
        if troubles.is_empty() {
            format!("the machine was quiet: {figures}")
        } else {
            format!("THE MACHINE WAS NOT QUIET, {}: {figures}", troubles.join(", "))
        }
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "is_quiet": self.troubles().is_empty(),
            "others_share": self.others,
            "steal_share": self.stolen,
            "loop_p95_to_fastest": self.evenness.loop_ratio,
            "write_p50_ms": self.evenness.write_ms,
            "write_p95_to_p50": self.evenness.write_ratio,
        })
    }
}

/// What all processors, and this process with the servers it had, used up to a moment.
#[derive(Clone, Copy)]
struct Usage {
    at: Instant,
    machine: Machine,
    own: f64,
}

impl Usage {
    fn now() -> Result<Self> {
        let own = processor::own_with_ended()?;
        Ok(Self { at: Instant::now(), machine: processor::machine()?, own })
    }

    /// Returns the shares of all processors that others, and other machines, had since this moment.
    fn shares(&self) -> Result<(f64, f64)> {
        let now = Self::now()?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let whole = (now.at - self.at).as_micros() as f64 * processors;
        let others = now.machine.busy - self.machine.busy - (now.own - self.own);
        Ok((others.max(0.0) / whole, (now.machine.stolen - self.machine.stolen) / whole))
    }
}

impl Evenness {
    fn measure() -> Result<Self> {
        let loops = sorted((0..LOOPS).map(|_| timed(fixed_loop)));
        // In the same temporary folder as the servers' files.
        let mut file = tempfile::tempfile()?;
        let mut writes = Vec::with_capacity(WRITES);
        for _ in 0..WRITES {
            let begun = Instant::now();
            file.write_all(&[7; 4096])?;
            file.sync_data()?;
            writes.push(begun.elapsed());
            if writes.len() % 50 == 0 {
                file.rewind()?;
            }
        }
        let writes = sorted(writes.into_iter());
        let part = |times: &[Duration], part: usize| times[(times.len() - 1) * part / 100];
        let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64().max(1e-9);
        Ok(Self {
            loop_ratio: ratio(part(&loops, 95), loops[0]),
            write_ratio: ratio(part(&writes, 95), part(&writes, 50)),
            write_ms: part(&writes, 50).as_secs_f64() * 1e3,
        })
    }

    fn worse(self, other: Self) -> Self {
        Self {
            loop_ratio: self.loop_ratio.max(other.loop_ratio),
            write_ratio: self.write_ratio.max(other.write_ratio),
            write_ms: self.write_ms.max(other.write_ms),
        }
    }
}

fn fixed_loop() {
    let mut number = 1_u64;
    for step in 0..STEPS {
        number = std::hint::black_box(number.wrapping_mul(6_364_136_223_846_793_005) ^ step);
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn sorted(times: impl Iterator<Item = Duration>) -> Vec<Duration> {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times
}
