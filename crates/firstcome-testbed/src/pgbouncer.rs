use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Folder, Postgres, free_port, programs};

/// Where Debian puts it, which is not on everybody's search path.
const SYSTEM: &str = "/usr/sbin";

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// A real PgBouncer in front of a [`Postgres`], pooling transactions; ended on drop.
#[derive(Debug)]
pub struct PgBouncer {
    child: Child,
    port: u16,
    _folder: Folder,
}

impl PgBouncer {
    /// Starts one in front of `server`, with at most `connections` to each database; `None` where it is
    /// not installed.
    ///
    /// # Panics
    ///
    /// Panics where it is installed but does not start.
    #[must_use]
    pub fn start(server: &Postgres, connections: usize) -> Option<Self> {
        let program =
            programs::find("pgbouncer").unwrap_or_else(|| Path::new(SYSTEM).join("pgbouncer"));
        if !program.is_file() {
            programs::not_installed("pgbouncer", "pgbouncer");
            return None;
        }
        let (folder, port) = (Folder::new("pgbouncer"), free_port());
        let identity = crate::postgres::unprivileged(&["postgres", "nobody"]);
        let users = folder.path().join("users");
        let (user, password) = crate::postgres::login();
        let file = folder.path().join("pgbouncer.ini");
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={} user={user} password={password}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = plain\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = {connections}\nmax_client_conn = 500\n",
            server.port(),
            users.display(),
        );
        std::fs::write(&users, format!("\"{user}\" \"{password}\"\n")).expect("it can be written");
        std::fs::write(&file, settings).expect("the folder can be written to");
        let mut command = Command::new(program);
        if let Some((user, group)) = identity {
            let give = |path: &PathBuf| {
                std::os::unix::fs::chown(path, Some(user), Some(group))
                    .expect("root may give files");
            };
            [folder.path().to_owned(), users, file.clone()].iter().for_each(give);
            command.uid(user).gid(group);
        }
        let null = || Stdio::null();
        let child = command.arg(&file).stdin(null()).stdout(null()).stderr(null()).spawn();
        let mut child = child.expect("an installed program starts");
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = child.try_wait().expect("our own child can be asked for");
            assert!(ended.is_none() && begun.elapsed() < PATIENCE, "it does not start: {ended:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(Self { child, port, _folder: folder })
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        // It is gone already where this fails.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
