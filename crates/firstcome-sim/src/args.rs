//! The command line of `cargo xtask sim`.

use lexopt::{Arg, Parser, ValueExt as _};
use std::path::PathBuf;

const HELP: &str = "\
Runs simulations until a promise breaks. Each run, a \"world\", has its own random seed.

A world has one to five nodes, which run the production code, over a store, a ledger and a network
that fail in realistic ways. An independent checker, the \"judge\", reads all requests and answers.
The same seed gives the same world, on every machine.

Usage: cargo xtask sim [OPTIONS]

Options:
      --seeds <N>       The number of worlds [default: 1000]
      --minutes <M>     The time to run, instead of a number of worlds
      --from <S>        The first seed [default: 0]
      --seed <S>        Run one world, and print its story: who asked, who appended, what broke
      --steps <STEPS>   Run only these steps of that world, as the report of a failure lists them:
                        3,17,20-24
      --mistake <NAME>  Inject this bug; `--mistakes` lists them
      --mistakes        Inject every bug in turn, and print how many worlds it takes to notice it
      --check <FILE>    Also compare the table with the one in this file, and look for each bug in the world that
                        the file names first, as the tests do with docs/SIMULATION.md
      --keep-going      Continue after a broken promise, with a line for each failed world
      --open <S,S>      Worlds that break a promise by a fault that is known and not mended: their line is printed,
                        and they do not count as failed; one that breaks none any more does
      --order           Without faults, with 10 and 20 nodes: print how far ranks follow the order in which
                        claims arrived at the nodes
      --threads <T>     The number of worlds at the same time [default: the number of processors]
  -h, --help            Print help
  -V, --version         Print version
";

/// Options that cannot be given together.
const CONFLICTS: [(&str, &str); 12] = [
    ("seeds", "seed"),
    ("seeds", "minutes"),
    ("minutes", "seed"),
    ("from", "seed"),
    ("mistakes", "seed"),
    ("mistakes", "minutes"),
    ("mistakes", "mistake"),
    ("mistakes", "from"),
    ("keep-going", "seed"),
    ("keep-going", "mistakes"),
    ("open", "seed"),
    ("open", "mistakes"),
];

/// Options that mean something only together with another.
const REQUIREMENTS: [(&str, &str); 2] = [("steps", "seed"), ("check", "mistakes")];

/// The options, as given or with their defaults.
#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) seeds: u64,
    pub(crate) minutes: Option<f64>,
    pub(crate) from: u64,
    pub(crate) seed: Option<u64>,
    pub(crate) steps: Option<String>,
    pub(crate) mistake: Option<String>,
    pub(crate) mistakes: bool,
    pub(crate) check: Option<PathBuf>,
    pub(crate) keep_going: bool,
    /// Seeds of worlds that break a promise by a known fault.
    pub(crate) open: Vec<u64>,
    pub(crate) order: bool,
    pub(crate) threads: Option<usize>,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            seeds: 1_000,
            minutes: None,
            from: 0,
            seed: None,
            steps: None,
            mistake: None,
            mistakes: false,
            check: None,
            keep_going: false,
            open: Vec::new(),
            order: false,
            threads: None,
        }
    }
}

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Asked {
    Run(Args),
    /// Print this text and end.
    Print(String),
}

/// Reads a command line.
pub(crate) fn read(mut parser: Parser) -> Result<Asked, lexopt::Error> {
    let (mut args, mut given) = (Args::default(), Vec::new());
    while let Some(arg) = parser.next()? {
        let name = match arg {
            Arg::Short('h') | Arg::Long("help") => return Ok(Asked::Print(HELP.to_owned())),
            Arg::Short('V') | Arg::Long("version") => {
                let version = env!("CARGO_PKG_VERSION");
                return Ok(Asked::Print(format!("cargo xtask sim {version}\n")));
            }
            Arg::Long(name) => name.to_owned(),
            Arg::Short(_) | Arg::Value(_) => return Err(arg.unexpected()),
        };
        match name.as_str() {
            "seeds" => args.seeds = parser.value()?.parse()?,
            "minutes" => args.minutes = Some(parser.value()?.parse()?),
            "from" => args.from = parser.value()?.parse()?,
            "seed" => args.seed = Some(parser.value()?.parse()?),
            "steps" => args.steps = Some(parser.value()?.string()?),
            "mistake" => args.mistake = Some(parser.value()?.string()?),
            "mistakes" => args.mistakes = true,
            "check" => args.check = Some(parser.value()?.into()),
            "keep-going" => args.keep_going = true,
            "open" => {
                let seeds = parser.value()?.string()?;
                let read = seeds.split(',').map(str::parse).collect::<Result<_, _>>();
                args.open = read.map_err(|why| format!("--open {seeds:?}: {why}"))?;
            }
            "order" => args.order = true,
            "threads" => args.threads = Some(parser.value()?.parse()?),
            _ => return Err(Arg::Long(&name).unexpected()),
        }
        if given.contains(&name) {
            return Err(format!("--{name} cannot be used multiple times").into());
        }
        given.push(name);
    }
    let has = |name: &str| given.iter().any(|given| given == name);
    if let Some((a, b)) = CONFLICTS.iter().find(|(a, b)| has(a) && has(b)) {
        return Err(format!("--{a} cannot be used with --{b}").into());
    }
    if args.order && given.len() > 1 {
        return Err("--order cannot be used with other options".into());
    }
    if let Some((a, b)) = REQUIREMENTS.iter().find(|(a, b)| has(a) && !has(b)) {
        return Err(format!("--{a} needs --{b}").into());
    }
    Ok(Asked::Run(args))
}

#[cfg(test)]
mod tests {
    use super::{Args, Asked, read};

    fn args(line: &str) -> Result<Args, String> {
        let words = std::iter::once("sim").chain(line.split_whitespace());
        match read(lexopt::Parser::from_iter(words)).map_err(|why| why.to_string())? {
            Asked::Run(args) => Ok(args),
            Asked::Print(text) => Err(text),
        }
    }

    #[test]
    fn options_are_read_with_their_defaults() {
        let plain = args("").unwrap();
        assert_eq!((plain.seeds, plain.from, plain.threads), (1_000, 0, None));
        let one = args("--seed 37 --steps 3,33 --mistake copies_run_twice").unwrap();
        assert_eq!((one.seed, one.steps.as_deref()), (Some(37), Some("3,33")));
        assert_eq!(one.mistake.as_deref(), Some("copies_run_twice"));
        let long = args("--minutes 1.5 --from=7 --keep-going --threads 2").unwrap();
        assert_eq!((long.minutes, long.from, long.threads), (Some(1.5), 7, Some(2)));
        assert!(long.keep_going && !long.mistakes);
        assert!(args("--order").unwrap().order);
        let table = args("--mistakes --check docs/SIMULATION.md --seeds 4000").unwrap();
        assert!(table.mistakes && table.check.is_some() && table.seeds == 4_000);
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (line, said) in [
            ("--seeds 2 --open x", "--open \"x\": invalid digit found in string"),
            ("--seed 1 --seeds 2", "--seeds cannot be used with --seed"),
            ("--seed 1 --keep-going", "--keep-going cannot be used with --seed"),
            ("--mistakes --mistake copies_run_twice", "--mistakes cannot be used with --mistake"),
            ("--order --seed 1", "--order cannot be used with other options"),
            ("--steps 1", "--steps needs --seed"),
            ("--check FILE", "--check needs --mistakes"),
            ("--seed 1 --seed 2", "--seed cannot be used multiple times"),
            ("--seed", "missing argument"),
            ("--seed x", "cannot parse"),
            ("--worlds 1", "invalid option '--worlds'"),
            ("12", "unexpected argument"),
        ] {
            let why = args(line).unwrap_err();
            assert!(why.contains(said), "{line}: {why}");
        }
        assert!(args("--help").unwrap_err().contains("--keep-going"));
    }
}
