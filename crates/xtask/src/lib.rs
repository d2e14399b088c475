//! The project's own tasks: `cargo xtask test`, `cargo xtask sim`, `cargo xtask bench`, `cargo xtask neighbours`,
//! `cargo xtask pairs`, `cargo xtask api-fuzz`, `cargo xtask api-clients`, `cargo xtask chain`, `cargo xtask packages`,
//! `cargo xtask dist`, `cargo xtask container`, `cargo xtask around`, `cargo xtask nightly`.

mod api_clients;
mod api_fuzz;
mod around;
mod chain;
mod commands;
mod container;
mod dist;
mod needs;
mod packages;
mod programs;
mod python;
mod shipped;
mod worlds;

use commands::{cargo, run, sim};
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "\
usage: cargo xtask TASK

  test [--no-install] [ARGS…]
                  install what the tests need (as root, with apt), or say what to install,
                  then run `cargo test --workspace` with ARGS; without any, its test programs side by
                  side, beside them 3,000 simulated worlds, 1,000 of them with seeds from the commit,
                  and every mistake they must notice
  sim [ARGS…]     live through simulated worlds until a promise breaks; `--help` says more
  bench [ARGS…]   run the benchmark: one table, and bench.json
  neighbours [SECONDS [SEED]]
                  let processes of Java, with Redisson, and of Rust share one lock while they are
                  killed and paused at random, and locks of every kind on a Redis Cluster whose masters
                  are killed, a minute each by default; two tables
  pairs [PAIRS]   give something at one server and use it at another one at once, 100,000 times on
                  each store by default: what was acknowledged must be known there; in release builds
                  on servers of Redis, PostgreSQL, MariaDB and NATS
  api-fuzz [ARGS…]
                  send a server requests that schemathesis generates from the description of the
                  routes, 100 of each operation unless ARGS say otherwise; needs python3
  api-clients [LANGUAGE…]
                  have generators make clients from the description of the routes, and compile them:
                  python (needs python3), typescript (java, mvn, npm), java (java, javac, mvn),
                  kotlin (java, mvn)
  chain           check the licences, sources and duplicates of all dependencies, and with
                  cargo-deny, where it is installed, what is known against them
  packages        check that cargo can package the crates which are published, that a URL which needs
                  a feature that is off is refused with its name, and that each set of features
                  compiles without a warning
  dist [--check]  make what users install, in target/dist-out: a static program, its symbols, an
                  archive, a Debian package and checksums; with --check also install the package,
                  run its service, take a claim, stop it, and purge it (as root, on a machine
                  without Firstcome)
  container [--check]
                  build the image of a container around the static program, with buildah, twice, with
                  the same layers; with --check also run it with podman: claims, a full stop within
                  leave_ms + drain_ms, a start that has everything, its memory (as root)
  around [NAME…]  check what stands around the program, against a debug build of it: the clients (python;
                  typescript, needs node and npm; java, needs mvn), examples (spring-shop, needs
                  mvn; moving-in, needs mvn, npm, python3 and the servers), receivers of webhooks
                  (webhooks, needs npm and python3), watch (rules and dashboards, needs
                  prometheus), chart (needs go and python3), site (needs python3)
  nightly [PART…] what CI leaves out because it takes long or asks registries, or only these of its parts:
                  worlds (100,000 simulated ones that were never run before), demo (on the release
                  build that is shipped), examples (those of the help that are loads), pairs,
                  webhooks (100,000 results), neighbours, packages, api-clients (in every language), api-fuzz, around, dist (with --check), container
                  (with --check); one that fails keeps no other from running
  needs           say what the tests need and whether it is here
";

/// Runs the task that the arguments of the process name.
pub fn run_task() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let task = args.next();
    let rest: Vec<String> = args.collect();
    match task.as_deref() {
        Some("test") => test(&rest),
        Some("sim") => finish(sim(rest.iter().map(String::as_str))),
        Some("bench") => bench(&rest),
        Some("neighbours") => ExitCode::from(neighbours(&rest)),
        Some("pairs") => ExitCode::from(pairs(&rest)),
        Some("api-fuzz") => ExitCode::from(api_fuzz::fuzz(&rest)),
        Some("api-clients") => ExitCode::from(api_clients::check(&rest)),
        Some("chain") => ExitCode::from(chain::check()),
        Some("packages") => ExitCode::from(packages::check()),
        Some("dist") => ExitCode::from(dist::dist(&rest)),
        Some("around") => ExitCode::from(around::check(&rest)),
        Some("container") => ExitCode::from(container::container(&rest)),
        Some("nightly") => nightly(&rest),
        Some("needs") => {
            needs::list();
            ExitCode::SUCCESS
        }
        Some("help" | "--help" | "-h") => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Some(other) => {
            eprint!("there is no task {other:?}\n\n{USAGE}");
            ExitCode::from(2)
        }
        None => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Runs the tests: all that the test command promises, or what ARGS of `cargo test` say.
fn test(rest: &[String]) -> ExitCode {
    let installs = rest.first().is_none_or(|arg| arg != "--no-install");
    let rest = if installs { rest } else { &rest[1..] };
    if let Err(why) = needs::provide(installs) {
        eprintln!("{why}");
        return ExitCode::FAILURE;
    }
    let in_ci = std::env::var_os("CI").is_some();
    let which = if in_ci { needs::Which::WithoutGo } else { needs::Which::Optional };
    let missing = needs::missing_of(which, "tested");
    if !rest.is_empty() {
        let mut cargo = cargo(&["test", "--workspace", "--locked"]);
        needs::skip(&missing, cargo.args(rest));
        return finish(cargo);
    }
    ExitCode::from(programs::all(&|command| needs::skip(&missing, command)))
}

/// Runs what takes long or asks registries, or only the parts that are named. One that fails keeps no other from running.
fn nightly(named: &[String]) -> ExitCode {
    let parts: [(&str, &dyn Fn() -> u8); 12] = [
        ("worlds", &worlds::of_night),
        ("demo", &shipped::demo),
        ("examples", &examples),
        ("pairs", &|| pairs(&[])),
        ("webhooks", &webhooks),
        ("neighbours", &|| neighbours(&[])),
        ("packages", &packages::check),
        ("api-clients", &|| api_clients::check(&[])),
        ("api-fuzz", &|| api_fuzz::fuzz(&[])),
        ("around", &|| around::check(&[])),
        ("dist", &|| dist::dist(&["--check".to_owned()])),
        ("container", &|| container::container(&["--check".to_owned()])),
    ];
    if let Some(unknown) = named.iter().find(|name| parts.iter().all(|(part, _)| part != name)) {
        eprintln!(
            "nightly has no part {unknown:?}; it has {}",
            parts.map(|(part, _)| part).join(", ")
        );
        return ExitCode::from(2);
    }
    let mut failed = Vec::new();
    for (part, run) in parts {
        if named.is_empty() || named.iter().any(|name| name == part) {
            let begun = Instant::now();
            println!("== {part}");
            let code = run();
            println!("== {part} ended with {code} after {} s", begun.elapsed().as_secs());
            if code != 0 {
                failed.push(part);
            }
        }
    }
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("failed: {}", failed.join(", "));
    ExitCode::FAILURE
}

fn bench(rest: &[String]) -> ExitCode {
    // What is measured is built as what is installed.
    let mut cargo = cargo(&["bench", "--profile", "dist", "--locked", "--package", "firstcome"]);
    cargo.args(["--bench", "budgets", "--"]);
    cargo.args(rest);
    needs::skip(&needs::missing_of(needs::Which::All, "measured"), &mut cargo);
    finish(cargo)
}

/// Runs the test of that name for longer, and the one of a fleet on a cluster, and shows what they saw.
fn neighbours(rest: &[String]) -> u8 {
    let mut cargo = cargo(&[
        "test",
        "--quiet",
        "--locked",
        "--package",
        "firstcome-lock",
        "--test",
        "neighbours",
    ]);
    cargo.args(["--test", "it", "--", "--nocapture", "--include-ignored"]);
    cargo.args(["java_and_rust", "a_fleet_of_both"]);
    cargo.env("FIRSTCOME_NEIGHBOURS_SECONDS", rest.first().map_or("60", String::as_str));
    if let Some(seed) = rest.get(1) {
        cargo.env("FIRSTCOME_NEIGHBOURS_SEED", seed);
    }
    run(cargo)
}

/// Types the examples of the help which are loads that the test command leaves out.
fn examples() -> u8 {
    let mut cargo = cargo(&["test", "--workspace", "--locked", "--test", "cli"]);
    cargo.args(["--", "--ignored", "examples::"]);
    run(cargo)
}

/// Delivers 100,000 results to endpoints of which some are dead.
fn webhooks() -> u8 {
    let mut cargo = cargo(&["test", "--workspace", "--locked", "--test", "server"]);
    cargo.args(["--", "--ignored", "--nocapture", "of_many_results"]);
    run(cargo)
}

/// How many pairs there are on each store, unless it is said.
const PAIRS: &str = "100000";

/// Runs the tests of what one server acknowledged and another one knows with many more pairs, one store after the other, and
/// shows how many there were.
fn pairs(rest: &[String]) -> u8 {
    if let Err(why) = needs::provide_stores() {
        eprintln!("{why}");
        return 1;
    }
    let mut cargo =
        cargo(&["test", "--release", "--locked", "--package", "firstcome", "--test", "nodes"]);
    cargo.args(["--", "--nocapture", "--test-threads=1", "pairs::"]);
    cargo.env("FIRSTCOME_PAIRS", rest.first().map_or(PAIRS, String::as_str));
    run(cargo)
}

fn finish(command: Command) -> ExitCode {
    ExitCode::from(run(command))
}
