//! Builds all tests at once and runs the programs side by side: most of the time they wait for a server, a lease or a deadline.

use crate::commands::{cargo, finish_with, run};
use crate::worlds;
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Test programs that start servers, in the order in which they begin: what they weigh. The others weigh one, and so do those
/// that wait nearly all of their time: for leases, or for a peer.
const FIRST: [(&str, usize); 14] = [
    ("firstcome nodes", 2),
    ("firstcome-lock it", 1),
    ("firstcome-shedlock it", 1),
    ("firstcome cli", 2),
    ("firstcome-lock neighbours", 1),
    ("firstcome locks", 1),
    ("firstcome-journal it", 2),
    ("firstcome server", 2),
    ("firstcome-node it", 1),
    ("firstcome pages", 2),
    ("firstcome-client peers", 1),
    ("firstcome client", 1),
    ("firstcome hostile", 1),
    ("firstcome-store it", 1),
];
/// The simulation, as [`Program::name`] has it.
const SIMULATION: &str = "firstcome-sim firstcome-sim";
/// How many tests of a program run at once for each core.
const THREADS_PER_CORE: usize = 2;
/// The environment variable for that.
const THREADS: &str = "RUST_TEST_THREADS";
/// A test that takes longer is named.
const SLOW: Duration = Duration::from_secs(10);
/// A program of which no test ends for so long hangs, and is killed.
const HANGS: Duration = Duration::from_secs(300);
/// So long what a program printed last is waited for once it has ended.
const LAST_LINES: Duration = Duration::from_secs(1);
/// So many tests that failed are run once more, by themselves: of the programs above, which wait for real servers and clocks.
const ONCE_MORE: usize = 8;

/// A test program.
struct Program {
    name: String,
    path: PathBuf,
    /// Where it runs: the folder of its package.
    folder: PathBuf,
    is_test: bool,
}

impl Program {
    fn weight(&self) -> usize {
        self.place().map_or(1, |place| FIRST[place].1)
    }

    fn place(&self) -> Option<usize> {
        FIRST.iter().position(|(name, _)| *name == self.name)
    }
}

/// How a test program ended.
struct Ended {
    program: usize,
    passed: bool,
    took: Duration,
    /// The line that counts its tests.
    summary: String,
    output: String,
    /// Its slow tests, with how long they took.
    slow: Vec<(Duration, String)>,
    /// Its tests that failed.
    failed: Vec<String>,
}

/// Builds all tests, runs them, the examples in the documentation and beside them simulated worlds; `prepare` may change a
/// command's environment. Returns the exit code.
pub(crate) fn all(prepare: &dyn Fn(&mut Command)) -> u8 {
    let (programs, simulation) = match built() {
        Ok(built) => built,
        Err(why) => {
            eprintln!("{why}");
            return 1;
        }
    };
    let worlds = thread::spawn(move || worlds::of_tests(&simulation));
    let passed = side_by_side(&programs, prepare);
    let examples = || {
        let mut cargo = cargo(&["test", "--workspace", "--locked", "--doc", "--quiet"]);
        prepare(&mut cargo);
        run(cargo)
    };
    let code = finish_with([&|| u8::from(!passed), &examples]);
    let of_worlds = worlds.join().unwrap_or(1);
    if code == 0 { of_worlds } else { code }
}

/// Returns the test programs of the workspace, the longest first, and the simulation.
fn built() -> Result<(Vec<Program>, PathBuf), String> {
    let mut cargo = cargo(&["test", "--workspace", "--locked", "--no-run"]);
    cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = cargo.output().map_err(|why| format!("cannot run {cargo:?}: {why}"))?;
    if !output.status.success() {
        return Err(format!("{cargo:?} failed: {}", output.status));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let built = messages.lines().filter_map(|message| serde_json::from_str(message).ok());
    let (tests, programs): (Vec<Program>, Vec<Program>) =
        built.filter_map(|message| program(&message)).partition(|program| program.is_test);
    let mut tests = tests;
    tests.sort_by_key(|program| program.place().unwrap_or(FIRST.len()));
    let simulation = programs.into_iter().find(|program| program.name == SIMULATION);
    let simulation = simulation.ok_or_else(|| format!("{cargo:?} did not name {SIMULATION}"))?;
    Ok((tests, simulation.path))
}

/// Returns the program that a message of cargo is about, if it is about one.
fn program(message: &Value) -> Option<Program> {
    let path = PathBuf::from(message["executable"].as_str()?);
    let is_test = message["profile"]["test"].as_bool()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = folder.file_name()?.to_str()?;
    let name = format!("{package} {}", message["target"]["name"].as_str()?);
    Some(Program { name, path, folder, is_test })
}

/// Runs programs, as many at once as the machine bears; says how each ended, and all that one printed that failed.
fn side_by_side(programs: &[Program], prepare: &dyn Fn(&mut Command)) -> bool {
    let cores = thread::available_parallelism().map_or(2, usize::from);
    // On two cores a program that starts servers, and two that do not or that wait.
    let (most, mut weight) = (2 * cores, 0);
    let (sender, receiver) = mpsc::channel();
    let mut waiting: Vec<usize> = (0..programs.len()).rev().collect();
    let (mut running, mut failed, mut slow) = (0, Vec::new(), Vec::new());
    let libraries = libraries();
    loop {
        while let Some(next) =
            waiting.iter().rposition(|next| weight + programs[*next].weight() <= most)
        {
            let place = waiting.remove(next);
            let mut command = command_of(&programs[place], &libraries);
            if std::env::var_os(THREADS).is_none() {
                command.env(THREADS, (cores * THREADS_PER_CORE).to_string());
            }
            prepare(&mut command);
            // Should it hang, this is the line that says which one.
            println!("          {} begins", programs[place].name);
            (running, weight) = (running + 1, weight + programs[place].weight());
            let sender = sender.clone();
            thread::spawn(move || drop(sender.send(ended(place, command, HANGS))));
        }
        if running == 0 {
            break;
        }
        let Ok(ended) = receiver.recv() else { break };
        let program = &programs[ended.program];
        (running, weight) = (running - 1, weight - program.weight());
        let summary = &ended.summary;
        println!("{:>6.1} s  {}: {summary}", ended.took.as_secs_f64(), program.name);
        if !ended.passed {
            println!("{}", ended.output);
            failed.push((ended.program, ended.failed));
        }
        let of = |(took, test)| (took, format!("{} {test}", program.name));
        slow.extend(ended.slow.into_iter().map(of));
    }
    slow.sort_by(|one, other| other.cmp(one));
    if !slow.is_empty() {
        println!("\ntests that took longer than {} s:", SLOW.as_secs());
    }
    for (took, test) in slow {
        println!("{:>6.1} s  {test}", took.as_secs_f64());
    }
    let once_more = |program: &Program, tests: &[String]| {
        let mut command = command_of(program, &libraries);
        command.args(["--exact", "--test-threads=1"]).args(tests);
        prepare(&mut command);
        let ended = ended(0, command, HANGS);
        println!("{}", ended.output);
        ended.passed
    };
    failed.is_empty() || pass_once_more(programs, &failed, once_more)
}

/// Runs the tests that failed once more, by themselves: where the disk of the machine stood still for a moment, leases of a
/// second are over. What fails again has failed; what does not is named, for somebody to find out why it did.
fn pass_once_more(
    programs: &[Program],
    failed: &[(usize, Vec<String>)],
    once_more: impl Fn(&Program, &[String]) -> bool,
) -> bool {
    let few = failed.iter().map(|(_, tests)| tests.len()).sum::<usize>() <= ONCE_MORE;
    let (mut again, mut passed) = (Vec::new(), Vec::new());
    for (place, tests) in failed {
        let program = &programs[*place];
        // One that named none was killed, or did not start. The others draw at random, or always do the same.
        let may = few && !tests.is_empty() && program.place().is_some();
        if may && once_more(program, tests) {
            passed.extend(tests.iter().map(|test| format!("{} {test}", program.name)));
        } else {
            again.push(&*program.name);
        }
    }
    if !passed.is_empty() {
        println!("\nfailed beside others and passed by themselves: {}", passed.join(", "));
    }
    if !again.is_empty() {
        println!("\nfailed: {}", again.join(", "));
    }
    again.is_empty()
}

fn command_of(program: &Program, libraries: &OsString) -> Command {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).env("LD_LIBRARY_PATH", libraries);
    command
}

/// Returns where the tests of a procedural macro find the standard library.
fn libraries() -> OsString {
    let rustc = Command::new("rustc").args(["--print", "target-libdir"]).output();
    rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().into()).unwrap_or_default()
}

/// Runs a test program to its end, or until no test of it has ended for so long.
fn ended(program: usize, mut command: Command, hangs: Duration) -> Ended {
    let began = Instant::now();
    let mut ended = Ended {
        program,
        passed: false,
        took: Duration::ZERO,
        summary: "it did not run".to_owned(),
        output: String::new(),
        slow: Vec::new(),
        failed: Vec::new(),
    };
    let mut clock = Clock::of(&command);
    // Both go into one pipe, so that what a failed test printed stands where it belongs.
    let pipe = std::io::pipe();
    let started = pipe.and_then(|(reader, writer)| {
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        Ok((reader, command.spawn()?))
    });
    let (reader, mut child) = match started {
        Ok(started) => started,
        Err(why) => {
            ended.output = format!("cannot run {command:?}: {why}");
            return ended;
        }
    };
    drop(command);
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(reader).split(b'\n').map_while(Result::ok);
        for line in lines {
            drop(sender.send((Instant::now(), line)));
        }
    });
    let (mut heard, mut over) = (began, None);
    // What a test left running may still have the pipe.
    while over.is_none_or(|over: Instant| over.elapsed() < LAST_LINES) {
        match lines.recv_timeout(Duration::from_millis(100)) {
            Ok((at, line)) => {
                heard = at;
                ended.hears(at, &line, &mut clock);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if over.is_none() && heard.elapsed() > hangs {
            ended.hangs(&clock, hangs);
            drop(child.kill().and_then(|()| child.wait()));
        }
        if over.is_none() && !matches!(child.try_wait(), Ok(None)) {
            (over, ended.took) = (Some(Instant::now()), began.elapsed());
        }
    }
    // It is not asked for again once it is known.
    ended.passed = child.wait().is_ok_and(|status| status.success());
    if over.is_none() {
        ended.took = began.elapsed();
    }
    ended
}

impl Ended {
    fn hears(&mut self, at: Instant, line: &[u8], clock: &mut Clock) {
        let line = String::from_utf8_lossy(line);
        if let Some(summary) = line.strip_prefix("test result: ") {
            summary.clone_into(&mut self.summary);
        }
        self.slow.extend(clock.finds_slow(at, &line));
        let failed = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED"));
        self.failed.extend(failed.map(|name| name.trim_end_matches(" - should panic").to_owned()));
        self.output.push_str(&line);
        self.output.push('\n');
    }

    /// Notes which tests did not end: as if they had failed.
    fn hangs(&mut self, clock: &Clock, hangs: Duration) {
        let mut running: Vec<String> = clock.running.keys().cloned().collect();
        running.sort();
        let running_on = running.join(", ");
        self.summary =
            format!("killed: no test ended for {} s; what ran on: {running_on}", hangs.as_secs());
        self.failed.extend(running);
    }
}

/// Tells how long each test took from the lines about those that ended: a program begins its tests in the order in which it
/// lists them, each when another one has ended.
struct Clock {
    /// Those that have not begun, the first of them last.
    waiting: Vec<String>,
    running: HashMap<String, Instant>,
}

impl Clock {
    fn of(command: &Command) -> Self {
        let mut list = Command::new(command.get_program());
        let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        list.args(["--list", "--format", "terse"]).envs(set);
        let output = list.stdin(Stdio::null()).output().map(|output| output.stdout);
        let listed = String::from_utf8_lossy(&output.unwrap_or_default()).into_owned();
        let names = listed.lines().rev().filter_map(|line| line.strip_suffix(": test"));
        let threads = command.get_envs().find(|(name, _)| *name == THREADS);
        let threads = threads.and_then(|(_, threads)| threads?.to_str()?.parse().ok());
        let threads = threads.or_else(|| std::env::var(THREADS).ok()?.parse().ok());
        let mut clock =
            Self { waiting: names.map(str::to_owned).collect(), running: HashMap::new() };
        (0..threads.unwrap_or(1)).for_each(|_| clock.begin(Instant::now()));
        clock
    }

    fn begin(&mut self, at: Instant) {
        if let Some(name) = self.waiting.pop() {
            self.running.insert(name, at);
        }
    }

    /// Reads a line; returns the test that ended, if it took long.
    fn finds_slow(&mut self, at: Instant, line: &str) -> Option<(Duration, String)> {
        let (name, _) = line.strip_prefix("test ")?.split_once(" ... ")?;
        let name = name.trim_end_matches(" - should panic");
        let took = at - self.running.remove(name)?;
        self.begin(at);
        (took > SLOW).then(|| (took, name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, ONCE_MORE, Program, SLOW, THREADS, ended, pass_once_more};
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_test_begins_when_another_one_ends() {
        let began = Instant::now();
        let mut clock = Clock {
            waiting: ["c", "b::x"].map(str::to_owned).to_vec(),
            running: HashMap::from([("a".to_owned(), began)]),
        };
        let at = |seconds| began + Duration::from_secs(seconds);
        assert_eq!(clock.finds_slow(at(1), "running 3 tests"), None);
        assert_eq!(clock.finds_slow(at(3), "test a ... ok"), None);
        assert_eq!(clock.finds_slow(at(4), "test other ... ok"), None);
        let slow = clock.finds_slow(at(4 + SLOW.as_secs()), "test b::x - should panic ... ok");
        assert_eq!(slow, Some((SLOW + Duration::from_secs(1), "b::x".to_owned())));
        assert_eq!(clock.finds_slow(at(20), "test c ... FAILED"), None);
        assert!(clock.waiting.is_empty() && clock.running.is_empty());
    }

    #[test]
    fn what_failed_beside_others_counts_as_passed_only_if_it_passes_by_itself() {
        let named = |name: &str| Program {
            name: name.to_owned(),
            path: "p".into(),
            folder: ".".into(),
            is_test: true,
        };
        let programs = [named("firstcome nodes"), named("firstcome-lock it"), named("two it")];
        let asked = RefCell::new(Vec::new());
        let again = |works: bool, failed: &[(usize, Vec<String>)]| {
            pass_once_more(&programs, failed, |program, tests| {
                asked.borrow_mut().push((program.name.clone(), tests.to_vec()));
                works
            })
        };
        let tests = |count| (0..count).map(|test| test.to_string()).collect::<Vec<_>>();
        assert!(again(true, &[(1, tests(2))]));
        assert_eq!(asked.take(), [("firstcome-lock it".to_owned(), tests(2))]);
        assert!(!again(true, &[(2, tests(1))]), "it waits for no server");
        assert!(asked.take().is_empty());
        assert!(!again(false, &[(1, tests(2))]));
        assert!(!again(true, &[(0, tests(1)), (1, Vec::new())]), "one was killed");
        asked.take();
        assert!(!again(true, &[(0, tests(ONCE_MORE)), (1, tests(1))]), "too many");
        assert!(asked.take().is_empty());
    }

    #[test]
    fn the_tests_that_failed_are_those_whose_lines_say_so() {
        let said = "test a::b ... FAILED\ntest c ... ok\ntest d - should panic ... FAILED\n\
                    test result: FAILED. 1 passed; 2 failed";
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo '{said}'; exit 101")]);
        let ended = ended(0, command, SLOW);
        assert_eq!(ended.failed, ["a::b", "d"]);
        assert_eq!((ended.passed, &*ended.summary), (false, "FAILED. 1 passed; 2 failed"));
    }

    #[test]
    fn a_program_of_which_no_test_ends_is_killed_and_names_those_that_ran() {
        let script = "#!/bin/sh\n\
                      if [ $# -gt 0 ]; then printf 'a: test\\nb: test\\nc: test\\n'; exit; fi\n\
                      echo 'test a ... ok'\n\
                      exec sleep 60\n";
        let path = std::env::temp_dir().join(format!("firstcome-hangs-{}", std::process::id()));
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let mut command = Command::new(&path);
        command.env(THREADS, "1");
        let ended = ended(0, command, Duration::from_secs(1));
        fs::remove_file(&path).unwrap();
        assert_eq!((ended.passed, ended.failed), (false, vec!["b".to_owned()]));
        assert_eq!(ended.summary, "killed: no test ended for 1 s; what ran on: b");
        assert!(ended.took < SLOW, "{:?}", ended.took);
    }
}
