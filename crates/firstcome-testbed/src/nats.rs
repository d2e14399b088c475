use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::{Folder, Proxy, ProxyFault, free_port, programs};

/// The version that `go install` brings where the program is missing.
const INSTALL: &str = "run `go install github.com/nats-io/nats-server/v2@v2.15.2`";

/// Runs the server until standard input ends, which it does when the process that started it is gone, however it went.
const GUARD: &str = r#"
exec 2>&1
sh -c 'echo $$; exec "$@"' server "$@" & server=$!
cat >/dev/null
kill -CONT $server 2>/dev/null
kill -KILL $server 2>/dev/null
wait $server
if [ -n "$REMOVE" ]; then rm -rf "$REMOVE"; fi
"#;

/// The line that has it sync each write to the disk.
const SYNC_ALWAYS: &str = "sync_interval: always";

/// How long a server may take until it is ready.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// A real NATS server with JetStream, ended on drop and with the process that started it.
#[derive(Debug)]
pub struct Nats {
    program: PathBuf,
    folder: Folder,
    port: u16,
    monitor: u16,
    /// Lines of its configuration file beside those about ports and folders.
    settings: String,
    /// Those in the part of it about JetStream.
    jetstream: String,
    removed_by_guard: bool,
    running: Option<RunningNats>,
}

#[derive(Debug)]
struct RunningNats {
    guard: Child,
    server: u32,
}

impl Nats {
    /// Starts a server; `None` where NATS is not installed.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::with("", "")
    }

    /// Starts a server that syncs each write to the disk; `None` where NATS is not installed.
    #[must_use]
    pub fn syncing() -> Option<Self> {
        Self::with("", SYNC_ALWAYS)
    }

    /// Starts a server with further lines in its configuration, and in the part of it about JetStream; `None` where NATS
    /// is not installed.
    ///
    /// # Panics
    ///
    /// Panics where the server is installed but does not start.
    #[must_use]
    pub fn with(settings: &str, jetstream: &str) -> Option<Self> {
        let mut server = Self::prepared(settings, jetstream)?;
        server.restart();
        Some(server)
    }

    /// Makes a server that is not started yet.
    fn prepared(settings: &str, jetstream: &str) -> Option<Self> {
        let Some(program) = find() else {
            programs::missing("nats-server", INSTALL);
            return None;
        };
        let folder = Folder::new("nats");
        let (port, monitor) = (free_port(), free_port());
        Some(Self {
            program,
            folder,
            port,
            monitor,
            settings: settings.to_owned(),
            jetstream: jetstream.to_owned(),
            removed_by_guard: false,
            running: None,
        })
    }

    /// Returns a server that all tests of this process share; it ends with the process.
    ///
    /// Whoever uses it keeps to spaces of its own and does not stop it.
    #[must_use]
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Nats>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            let mut server = Self::prepared("", "")?;
            server.removed_by_guard = true;
            server.restart();
            Some(server)
        });
        if shared.is_none() {
            programs::missing("nats-server", INSTALL);
        }
        shared.as_ref()
    }

    /// Returns a name that no other test of this process uses for a space.
    #[must_use]
    pub fn new_space() -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        format!("space{}", NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Starts the server again on the same ports with what it had, after killing it where it still runs.
    ///
    /// # Panics
    ///
    /// Panics where the server ends or is not ready within 30 s.
    pub fn restart(&mut self) {
        self.begin();
        self.wait_until_ready();
    }

    /// Starts the server and does not wait until it is ready.
    fn begin(&mut self) {
        self.kill();
        let file = self.folder.path().join("nats.conf");
        let text = format!(
            "listen: \"127.0.0.1:{}\"\nhttp: \"127.0.0.1:{}\"\njetstream {{\n  store_dir: \"{}\"\n  {}\n}}\n{}\n",
            self.port,
            self.monitor,
            self.data().display(),
            self.jetstream,
            self.settings
        );
        std::fs::write(&file, text).expect("the folder can be written to");
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .arg(&self.program)
            .arg("--config")
            .arg(&file)
            .env("REMOVE", if self.removed_by_guard { self.folder.path() } else { Path::new("") })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let mut lines = BufReader::new(guard.stdout.take().expect("stdout is piped"));
        let mut first = String::new();
        lines.read_line(&mut first).expect("the guard says something");
        let server = first.trim().parse().expect("the number of a process");
        let log = self.folder.path().join("log");
        std::thread::spawn(move || {
            let mut log = std::fs::File::options().create(true).append(true).open(log).ok();
            for line in lines.lines().map_while(Result::ok) {
                if let Some(log) = &mut log {
                    writeln!(log, "{line}").ok();
                }
            }
        });
        self.running = Some(RunningNats { guard, server });
    }

    fn wait_until_ready(&self) {
        let end = Instant::now() + READY_WITHIN;
        while !self.is_ready() {
            assert!(Instant::now() < end, "not ready: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Says whether it takes requests to JetStream; in a cluster, whether that has a leader.
    fn is_ready(&self) -> bool {
        self.ask("/healthz").is_some_and(|answer| answer.contains("\"ok\""))
    }

    /// Says whether it leads a cluster of three in which the others are there: until then it puts no stream on them.
    fn leads_all(&self) -> bool {
        let Some(answer) = self.ask("/jsz") else { return false };
        let Some((_, cluster)) = answer.split_once("\"meta_cluster\"") else { return false };
        cluster.matches("\"current\": true").count() == 2 && !cluster.contains("\"offline\": true")
    }

    /// Asks the server by HTTP, and gives its answer; nothing where it has none.
    #[must_use]
    pub fn ask(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.monitor)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        stream.shutdown(Shutdown::Both).ok();
        Some(answer)
    }

    /// Returns what it wrote into its log.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Returns its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Returns the address of its monitoring.
    #[must_use]
    pub fn monitor(&self) -> String {
        format!("http://127.0.0.1:{}", self.monitor)
    }

    /// Returns its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the number of its process.
    ///
    /// # Panics
    ///
    /// Panics where it does not run.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.running.as_ref().expect("it runs").server
    }

    /// Returns the folder it keeps streams in.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Decides whether it syncs each write to the disk, from its next start on.
    pub fn sync_always(&mut self, always: bool) {
        self.jetstream = if always { SYNC_ALWAYS.to_owned() } else { String::new() };
    }

    /// Kills the server as `kill -9` does; [`Nats::restart`] brings it back.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            drop(running.guard.stdin.take());
            drop(running.guard.wait());
        }
    }

    /// Stops the server in the middle of what it does, until [`Nats::resume`].
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let running = self.running.as_ref().expect("it runs");
        let done = Command::new("kill").args([signal, &running.server.to_string()]).status();
        assert!(done.is_ok_and(|status| status.success()), "it can be sent a signal");
    }

    /// Copies its folder as it is now, as a disk has it that lost what came later.
    #[must_use]
    pub fn copy_of_data(&self) -> Folder {
        let copy = Folder::new("nats-copy");
        copy_folder(&self.data(), copy.path());
        copy
    }

    /// Cuts the last part off the files with messages of a stream; gives how many bytes. It must have been killed.
    #[must_use]
    pub fn cut_messages(&self, stream: &str, share: f64) -> u64 {
        assert!(self.running.is_none(), "it has been killed");
        let folder = self.data().join("jetstream/$G/streams").join(stream).join("msgs");
        let mut cut = 0;
        for entry in std::fs::read_dir(folder).expect("it has the stream").flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "blk") {
                let file =
                    std::fs::File::options().write(true).open(&path).expect("its file is ours");
                let length = file.metadata().expect("it is there").len();
                let kept = (length as f64 * (1.0 - share)) as u64;
                file.set_len(kept).expect("it can be cut");
                cut += length - kept;
            }
        }
        cut
    }

    /// Puts a copy of its folder in the place of what it has; it must have been killed.
    pub fn replace_data(&self, copy: &Folder) {
        assert!(self.running.is_none(), "it has been killed");
        std::fs::remove_dir_all(self.data()).expect("its folder is ours");
        std::fs::create_dir_all(self.data()).expect("its folder is ours");
        copy_folder(copy.path(), &self.data());
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Three NATS servers that are a cluster.
#[derive(Debug)]
pub struct NatsCluster {
    pub servers: [Nats; 3],
    /// The ways between them, where there are proxies: from which server to which.
    links: Vec<(usize, usize, Proxy)>,
}

impl NatsCluster {
    /// Starts three servers and waits until they are a cluster; `None` where NATS is not installed.
    ///
    /// # Panics
    ///
    /// Panics where the servers are installed but do not start.
    #[must_use]
    pub fn start() -> Option<Self> {
        let mut cluster = Self::prepared(three_ports(), Vec::new())?;
        cluster.restart();
        Some(cluster)
    }

    /// Starts three servers that reach each other by proxies, so that [`NatsCluster::part`] can part them; `None` where NATS
    /// is not installed.
    ///
    /// # Panics
    ///
    /// Panics where the servers are installed but do not start.
    pub async fn with_links() -> Option<Self> {
        let routes = three_ports();
        let mut links = Vec::new();
        for from in 0..3 {
            for to in (0..3).filter(|to| *to != from) {
                links.push((from, to, Proxy::start(routes[to]).await));
            }
        }
        tokio::task::block_in_place(|| {
            let mut cluster = Self::prepared(routes, links)?;
            cluster.restart();
            Some(cluster)
        })
    }

    /// Cuts all ways between one server and the other two, until [`NatsCluster::join`]. Clients reach all of them.
    pub fn part(&self, number: usize) {
        self.links_of(number).for_each(|link| link.set(ProxyFault::Refuse));
    }

    /// Opens the ways again that were cut.
    pub fn join(&self, number: usize) {
        self.links_of(number).for_each(|link| link.set(ProxyFault::None));
    }

    fn links_of(&self, number: usize) -> impl Iterator<Item = &Proxy> {
        let links = self.links.iter();
        links.filter(move |(from, to, _)| [from, to].contains(&&number)).map(|(.., link)| link)
    }

    /// Returns a cluster that all tests of this process share; it ends with the process.
    ///
    /// Whoever uses it keeps to spaces of its own and does not stop it.
    #[must_use]
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<NatsCluster>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            let mut cluster = Self::prepared(three_ports(), Vec::new())?;
            cluster.servers.iter_mut().for_each(|server| server.removed_by_guard = true);
            cluster.restart();
            Some(cluster)
        });
        if shared.is_none() {
            programs::missing("nats-server", INSTALL);
        }
        shared.as_ref()
    }

    fn prepared(routes: [u16; 3], links: Vec<(usize, usize, Proxy)>) -> Option<Self> {
        let mut servers = Vec::new();
        for (number, port) in routes.iter().enumerate() {
            let by_link = |to: usize| {
                let link = links.iter().find(|(from, of, _)| (*from, *of) == (number, to));
                link.map_or(routes[to], |(.., link)| link.port())
            };
            let known: Vec<String> = (0..3)
                .filter(|to| *to != number)
                .map(|to| format!("nats-route://127.0.0.1:{}", by_link(to)))
                .collect();
            let settings = format!(
                "server_name: s{number}\ncluster {{\n  name: tests\n  listen: \"127.0.0.1:{port}\"\n  routes: [{}]\n  \
                 no_advertise: true\n}}",
                known.join(", ")
            );
            servers.push(Nats::prepared(&settings, "")?);
        }
        Some(Self { servers: servers.try_into().expect("there are three"), links })
    }

    /// Starts all servers again and waits until they are a cluster.
    pub fn restart(&mut self) {
        self.servers.iter_mut().for_each(Nats::begin);
        self.servers.iter().for_each(Nats::wait_until_ready);
        let end = Instant::now() + READY_WITHIN;
        while !self.servers.iter().any(Nats::leads_all) {
            assert!(Instant::now() < end, "no leader of all: {}", self.servers[0].log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the addresses of all servers in one URL.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<String> =
            self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect();
        format!("nats://{}", hosts.join(","))
    }
}

fn three_ports() -> [u16; 3] {
    std::array::from_fn(|_| free_port())
}

/// Finds the program: on the search path, or where `go install` puts programs.
fn find() -> Option<PathBuf> {
    let installed = |variable: &str, below: &str| {
        let folder = std::env::var_os(variable)?;
        Some(Path::new(&folder).join(below)).filter(|file| file.is_file())
    };
    programs::find("nats-server")
        .or_else(|| installed("GOBIN", "nats-server"))
        .or_else(|| installed("GOPATH", "bin/nats-server"))
        .or_else(|| installed("HOME", "go/bin/nats-server"))
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("the folder is there").flatten() {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            std::fs::create_dir_all(&copy).expect("a folder can be made");
            copy_folder(&path, &copy);
        } else {
            // A file may go while the server runs, as it may before a power cut.
            drop(std::fs::copy(&path, &copy));
        }
    }
}
