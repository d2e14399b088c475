//! The command `cargo xtask sim`: runs worlds until a promise breaks.

mod args;
mod batch;
mod ranks;
mod story;

use anyhow::bail;
use args::{Args, Asked};
use firstcome_sim::mistakes;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let asked = args::read(lexopt::Parser::from_env()).map_err(anyhow::Error::from);
    let done = asked.and_then(|asked| match asked {
        Asked::Run(args) => run(&args),
        Asked::Print(text) => {
            print!("{text}");
            Ok(true)
        }
    });
    match done {
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
    if args.order {
        ranks::print();
        return Ok(true);
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
        return batch::every_mistake(threads, args.seeds.max(4_000), args.check.as_deref());
    }
    if let Some(seed) = args.seed {
        return story::print(seed, args.steps.as_deref(), mistake);
    }
    let until = match args.minutes {
        Some(minutes) if minutes.is_finite() && minutes > 0.0 => {
            batch::Until::Over(Duration::from_secs_f64(minutes.min(1e6) * 60.0))
        }
        Some(minutes) => bail!("--minutes {minutes}: a positive number is needed"),
        None => batch::Until::Worlds(args.seeds),
    };
    let what = batch::What { from: args.from, until, open: args.open.clone() };
    Ok(batch::promises(&what, mistake, threads, args.keep_going))
}
