//! `cargo xtask sim`: lives through worlds until a promise breaks.

mod hunt;
mod tale;

use anyhow::bail;
use clap::Parser;
use firstcome_sim::mistakes;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Lives through worlds, each drawn from a number, until a promise breaks.
///
/// A world has one to five nodes, the code that runs in production, over a store, a ledger and a
/// network that fail in the ways real ones do. An independent judge looks at what people asked and
/// were told. The same number is the same world, on every machine.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask sim", version)]
struct Args {
    /// How many worlds.
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with_all = ["seed", "minutes"])]
    seeds: u64,
    /// For how long, instead of how many worlds.
    #[arg(long, value_name = "M", conflicts_with = "seed")]
    minutes: Option<f64>,
    /// The first world.
    #[arg(long, value_name = "S", default_value_t = 0, conflicts_with = "seed")]
    from: u64,
    /// One world, with its story: who asked, who appended, what broke.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Of that world only these of its steps, as a shortened history names them: 3,17,20-24.
    #[arg(long, value_name = "STEPS", requires = "seed")]
    steps: Option<String>,
    /// Make a mistake on purpose; `--mistakes` lists them.
    #[arg(long, value_name = "NAME")]
    mistake: Option<String>,
    /// Make every mistake in turn, and say how many worlds it takes to notice.
    #[arg(long, conflicts_with_all = ["seed", "minutes", "mistake", "from"])]
    mistakes: bool,
    /// Also compare the table with the one in this file, as the tests do with docs/SIMULATION.md.
    #[arg(long, value_name = "FILE", requires = "mistakes")]
    check: Option<PathBuf>,
    /// Go on when a promise broke: a line for each world that failed.
    #[arg(long, conflicts_with_all = ["seed", "mistakes"])]
    keep_going: bool,
    /// Worlds at a time; as many as there are processors, if not said.
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> anyhow::Result<bool> {
    if cfg!(not(tokio_unstable)) {
        bail!(
            "this was built without `--cfg tokio_unstable`, so that no world could be repeated: \
             if RUSTFLAGS is set, add it there; .cargo/config.toml has it"
        );
    }
    let mistake = match &args.mistake {
        None => None,
        Some(name) => match mistakes::named(name) {
            Some(mistake) => Some(mistake),
            None => bail!("there is no mistake {name:?}: `cargo xtask sim --mistakes` lists them"),
        },
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.unwrap_or(processors).max(1);
    if args.mistakes {
        return hunt::every_mistake(threads, args.seeds.max(4_000), args.check.as_deref());
    }
    if let Some(seed) = args.seed {
        return tale::tell(seed, args.steps.as_deref(), mistake);
    }
    let until = match args.minutes {
        Some(minutes) if minutes.is_finite() && minutes > 0.0 => {
            hunt::Until::Over(Duration::from_secs_f64(minutes.min(1e6) * 60.0))
        }
        Some(minutes) => bail!("--minutes {minutes}: a positive number is needed"),
        None => hunt::Until::Worlds(args.seeds),
    };
    Ok(hunt::promises(args.from, until, mistake, threads, args.keep_going))
}
