//! The real program, started on a port of its own behind a proxy of its own, killed, paused, started again.

use crate::talk::Talk;
use firstcome_testbed::{Proxy, free_port};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// The admin key of every server here.
pub(crate) const KEY: &str = "the-key-of-the-tests";
/// How long a test waits for what must come before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// One server process; what is left of it is killed when it is dropped.
pub(crate) struct Server {
    child: Option<Child>,
    port: u16,
    /// Between it and the store.
    pub(crate) store: Proxy,
    /// The URL of the store through that; none of a server alone on a data folder.
    url: Option<String>,
    settings: Vec<(String, String)>,
    /// Whether it begins a new space in an empty store without looking for a while.
    pub(crate) may_begin: bool,
    errors: Arc<Mutex<String>>,
}

impl Server {
    /// Sets a server up that will find its store at a port, through a proxy whose port makes its URL; it does not run yet.
    pub(crate) async fn at(
        store: u16,
        url: impl FnOnce(u16) -> String,
        settings: &[(&str, &str)],
    ) -> Self {
        let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let store = Proxy::start(store).await;
        Self {
            child: None,
            port: free_port(),
            url: Some(url(store.port())),
            store,
            settings: settings.collect(),
            may_begin: true,
            errors: Arc::default(),
        }
    }

    /// Sets a server up that has a data folder and no store; it does not run yet.
    pub(crate) async fn alone(data: &str, settings: &[(&str, &str)]) -> Self {
        let settings = [&[("DATA", data)], settings].concat();
        // Nobody ever connects to its proxy.
        Self { url: None, ..Self::at(1, |_| String::new(), &settings).await }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
        command.arg("serve").env_clear();
        if let Some(url) = &self.url {
            command.env("FIRSTCOME_STORE", url);
        }
        if self.may_begin {
            command.arg("--new-space");
        }
        command.env("FIRSTCOME_LISTEN", format!("127.0.0.1:{}", self.port));
        command.env("FIRSTCOME_ADMIN_KEY", KEY).env("RUST_BACKTRACE", "0");
        command.env("FIRSTCOME_LEAVE_MS", "0");
        for (name, value) in &self.settings {
            command.env(format!("FIRSTCOME_{name}"), value);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        command
    }

    /// Starts the process and waits until it says where it listens.
    pub(crate) async fn start(&mut self) {
        assert!(self.child.is_none(), "it runs already");
        let mut child = self.command().spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
        let kept = Arc::clone(&self.errors);
        let port = self.port;
        tokio::spawn(async move {
            while let Ok(Some(line)) = errors.next_line().await {
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line);
                kept.push('\n');
                if std::env::var_os("FIRSTCOME_TALK").is_some() {
                    eprintln!("[{port}] {line}");
                }
            }
        });
        let first = timeout(PATIENCE, lines.next_line()).await;
        let listens = matches!(&first, Ok(Ok(Some(line))) if line.starts_with("listening on "));
        if !listens {
            sleep(Duration::from_millis(100)).await;
            panic!("it does not serve: {first:?} {}", self.errors());
        }
        // Read to its end, so that the server never writes to a pipe nobody reads.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        self.child = Some(child);
    }

    /// Starts the process where it must not serve; gives how it ended and what it said.
    pub(crate) async fn cannot_start(&self) -> (ExitStatus, String) {
        let mut child = self.command().spawn().unwrap();
        let mut errors = String::new();
        let mut pipe = child.stderr.take().unwrap();
        timeout(PATIENCE, pipe.read_to_string(&mut errors)).await.expect("it ends").unwrap();
        (child.wait().await.unwrap(), errors)
    }

    /// Says whether the process runs.
    pub(crate) fn runs(&self) -> bool {
        self.child.is_some()
    }

    /// Ends it with SIGKILL.
    pub(crate) async fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await.unwrap();
        }
    }

    /// Stops it as it stands: its connections stay, nothing is answered.
    pub(crate) fn pause(&self) {
        self.signal(rustix::process::Signal::STOP);
    }

    /// Lets it go on after [`Server::pause`].
    pub(crate) fn resume(&self) {
        self.signal(rustix::process::Signal::CONT);
    }

    /// Tells it to stop.
    pub(crate) fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    /// Tells it to stop, waits until it has, and gives how it ended.
    pub(crate) async fn ends(&mut self) -> ExitStatus {
        self.terminate();
        let mut child = self.child.take().unwrap();
        timeout(PATIENCE, child.wait()).await.expect("it ends when told to").unwrap()
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let id = self.child.as_ref().and_then(Child::id).expect("it runs");
        let pid = rustix::process::Pid::from_raw(id.cast_signed()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Returns everything its processes said on standard error.
    pub(crate) fn errors(&self) -> String {
        self.errors.lock().unwrap().clone()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn talk(&self) -> Talk {
        Talk::to(self.port)
    }

    /// Waits until it says that it is ready.
    pub(crate) async fn ready(&self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let said = self.talk().try_get("/readyz").await;
            if matches!(&said, Ok(said) if said["status"] == "ready") {
                return;
            }
            assert!(Instant::now() < end, "not ready: {said:?}\n{}", self.errors());
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until it says that it is not ready, and gives why.
    pub(crate) async fn not_ready(&self) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let said = self.talk().try_get("/readyz").await;
            if let Ok(said) = &said
                && said["status"] == "not_ready"
            {
                if std::env::var_os("FIRSTCOME_TALK").is_some() {
                    eprintln!("[{}] not ready: {said}", self.port);
                }
                return said["reasons"].to_string();
            }
            assert!(Instant::now() < end, "it is ready: {said:?}");
            sleep(Duration::from_millis(10)).await;
        }
    }
}
