//! Programs that the tests run beside the code, and where they come from.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Names the programs that tests may do without, with commas; a test fails for want of any other.
const SKIP_MISSING: &str = "FIRSTCOME_SKIP_MISSING";

/// A program, the Debian package that has it, and what it is for.
type Need = (&'static str, &'static str, &'static str);

/// Programs without which the tests cannot be run.
///
/// Installing a server may start it on its usual port. The tests start their own on free ports, so it does not matter
/// whether that succeeds.
const NEEDS: [Need; 9] = [
    ("strace", "strace", "shows that every commit really reaches the disk"),
    ("redis-server", "redis-server", "locks and elections run on a real server"),
    ("redis-sentinel", "redis-sentinel", "locks follow a failover"),
    ("postgres", "postgresql", "results are settled in a real server"),
    ("psql", "postgresql-client", "looks into that server from beside"),
    ("pgbouncer", "pgbouncer", "locks work through a pooler in front of that server"),
    ("mariadbd", "mariadb-server", "locks and elections run on a real server"),
    ("chromium", "chromium-headless-shell", "pages are opened in a real browser"),
    ("faketime", "faketime", "the clock of the server that has the locks jumps"),
];

/// The names of the browser: the tests take the first one that is there.
const CHROMIUM: [&str; 4] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/// Those among them that servers keep their journal in; beside them there is NATS.
const STORES: [&str; 3] = ["redis-server", "postgres", "mariadbd"];

/// Programs without which `cargo xtask test` skips a part of the tests, loudly; not in CI, where they have to be here.
const OPTIONAL: [Need; 4] = [
    ("java", "openjdk-17-jdk-headless", "locks are shared with real Redisson and real ShedLock"),
    ("mvn", "maven", "brings Redisson and ShedLock"),
    ("python3", "python3", "stands between a client and the server, and fails as networks do"),
    ("npm", "npm", "brings axe-core, which reads pages as people with a screen reader do"),
];

/// The NATS server: Debian has an old one, and a Go that is too old for it, so Go builds it where Go is, and in CI has to.
/// Without Go its tests are skipped, loudly.
const NATS: Need =
    ("nats-server", "golang-go", "several servers share a journal in a real server or three");
/// What `go install` builds.
const NATS_SOURCE: &str = "github.com/nats-io/nats-server/v2@v2.15.2";

/// How often it is tried.
const GO_TRIES: usize = 3;

/// Programs that try the Debian package.
const PACKAGING: [Need; 6] = [
    ("adduser", "adduser", "the package makes the user of its service"),
    ("lintian", "lintian", "looks for mistakes in the package"),
    ("redis-server", "redis-server", "the program finds a server by its host name"),
    ("setpriv", "util-linux", "starts the service as its user"),
    ("strace", "strace", "shows what the service asks of the system and where it writes"),
    ("systemd-analyze", "systemd", "checks the unit"),
];

/// Programs that build the image of a container and run it.
const CONTAINERS: [Need; 3] = [
    ("buildah", "buildah", "builds the image"),
    ("podman", "podman", "runs it"),
    ("runc", "runc", "starts it"),
];

/// Says what is needed and what is here.
pub(crate) fn list() {
    let needs = NEEDS.iter().map(|need| (need, "missing"));
    let optional = OPTIONAL.iter().chain([&NATS]).map(|need| (need, "missing, optional"));
    let packaging = PACKAGING.iter().filter(|need| !NEEDS.contains(need));
    let packaging = packaging.map(|need| (need, "missing, for dist --check only"));
    let containers = CONTAINERS.iter().map(|need| (need, "missing, for container only"));
    let all = needs.chain(optional).chain(packaging).chain(containers);
    for (&(program, package, purpose), missing) in all {
        match find(program) {
            Some(path) => println!("{program}: {} ({purpose})", path.display()),
            None => println!("{program}: {missing}, Debian package {package} ({purpose})"),
        }
    }
}

/// Makes everything be here that the tests need: as root with apt, if it may; otherwise by saying exactly what to install.
pub(crate) fn provide(installs: bool) -> Result<(), String> {
    if installs {
        provide_all(&NEEDS, "the tests need")?;
        provide_nats();
        return Ok(());
    }
    match missing(&NEEDS) {
        missing if missing.is_empty() => Ok(()),
        missing => Err(to_install("the tests need", &missing)),
    }
}

/// Makes the stores be here; tests that need NATS say so where it is still missing.
pub(crate) fn provide_stores() -> Result<(), String> {
    let stores = NEEDS.into_iter().filter(|need| STORES.contains(&need.0));
    provide_all(&stores.collect::<Vec<_>>(), "pairs needs")?;
    provide_nats();
    Ok(())
}

fn provide_nats() {
    let missing = find(NATS.0).is_none();
    let Some(go) = find("go").filter(|_| missing) else { return };
    eprintln!("building what the tests need: {NATS_SOURCE}");
    // A registry may fail for a moment. Where it goes on failing, the tests say what is missing.
    let install = || run(Command::new(&go).args(["install", NATS_SOURCE]));
    (0..GO_TRIES).any(|_| install());
}

/// Makes everything be here that tries the Debian package.
pub(crate) fn provide_packaging() -> Result<(), String> {
    provide_all(&PACKAGING, "dist --check needs")
}

/// Makes everything be here that builds an image and runs it.
pub(crate) fn provide_containers() -> Result<(), String> {
    provide_all(&CONTAINERS, "container needs")
}

fn provide_all(needs: &[Need], who: &str) -> Result<(), String> {
    let mut missing = missing(needs);
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() || find("apt-get").is_none() {
        return Err(to_install(who, &missing));
    }
    eprintln!("installing what {who}: {}", missing.join(" "));
    if !install(&missing) {
        // The lists may be absent or old on a fresh machine: bring them only when they are needed.
        if !run(Command::new("apt-get").arg("update")) {
            return Err("apt-get update failed".to_owned());
        }
        install(&missing);
    }
    // What counts is whether the programs are here: a service that may not be started fails the installation.
    missing = self::missing(needs);
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("this failed; run it to see why:\n\n    {}\n", line(&missing)))
    }
}

/// Says what to install, and for what.
fn to_install(who: &str, missing: &[&str]) -> String {
    format!("{who} programs that are not here; as root:\n\n    {}\n", line(missing))
}

/// Returns the command that installs these packages.
fn line(packages: &[&str]) -> String {
    format!("apt-get install --yes --no-install-recommends {}", packages.join(" "))
}

/// Which programs may be missing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// What cannot be here, as in CI: what Go builds, where Go is not.
    WithoutGo,
    /// Only those that are optional.
    Optional,
    /// All of them.
    All,
}

/// Returns the programs that may be missing and are, and says what is not done for it.
pub(crate) fn missing_of(which: Which, done: &str) -> Vec<&'static str> {
    let required = NEEDS.iter().filter(|_| which == Which::All);
    let optional = OPTIONAL.iter().filter(|_| which != Which::WithoutGo);
    let nats = [&NATS].into_iter().filter(|_| which != Which::WithoutGo || find("go").is_none());
    let missing = required.chain(optional).chain(nats).filter(|need| find(need.0).is_none());
    let names = missing.map(|(program, package, purpose)| {
        eprintln!("not {done}, because {program} (Debian package {package}) is missing: {purpose}");
        *program
    });
    names.collect()
}

/// Lets a command skip what needs these programs.
///
/// What the caller's environment names already stays skipped.
pub(crate) fn skip(missing: &[&str], command: &mut Command) {
    let skipped = std::env::var(SKIP_MISSING).into_iter();
    let skipped: Vec<String> = skipped.chain(missing.iter().map(ToString::to_string)).collect();
    if !skipped.is_empty() {
        command.env(SKIP_MISSING, skipped.join(","));
    }
}

/// Returns the packages of the programs that are not here.
fn missing(needs: &[Need]) -> Vec<&'static str> {
    needs.iter().filter(|need| find(need.0).is_none()).map(|need| need.1).collect()
}

fn install(packages: &[&str]) -> bool {
    let mut apt = Command::new("apt-get");
    run(apt.args(["install", "--yes", "--no-install-recommends"]).args(packages))
}

fn run(command: &mut Command) -> bool {
    let command = command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Says whether this process is root's.
pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    // Debian keeps the programs of each version of PostgreSQL in a folder of its own.
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let places = places.chain(versions.map(|version| version.path().join("bin")));
    // Where Go installs itself, and where `go install` puts programs.
    let folder = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    let go = [
        folder("GOBIN"),
        folder("GOPATH").map(|path| path.join("bin")),
        folder("HOME").map(|path| path.join("go/bin")),
    ];
    let places = places.chain(go.into_iter().flatten()).chain([PathBuf::from("/usr/local/go/bin")]);
    let names = if program == "chromium" { &CHROMIUM[..] } else { &[program] };
    let mut paths = places.flat_map(|place| names.iter().map(move |name| place.join(name)));
    paths.find(|path| path.is_file())
}
