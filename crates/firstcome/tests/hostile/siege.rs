//! A server under attack, and somebody who claims in another campaign meanwhile.

use crate::process::{KEY, Server, serve, verb};
use crate::wire::{Answer, Talk};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Signs subject tokens in every server here.
const SECRET: &str = "a-secret-that-has-thirty-two-bytes";
/// A key of the role operator for `hall` alone, in every server here.
const DESK: &str = "the-key-of-the-desk-of-the-hall";
/// The file that it is in.
const KEYS: &str = "firstcome.toml";
/// The pause between two claims beside an attack.
const PAUSE: Duration = Duration::from_millis(5);

/// A server, the campaigns `hall` (seated) and `beside`, and somebody who claims in `beside` all the time.
pub(crate) struct Siege {
    pub(crate) server: Server,
    pub(crate) folder: TempDir,
    settings: Vec<(String, String)>,
    beside: Beside,
}

/// Somebody who claims in `beside`.
struct Beside {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    claiming: JoinHandle<()>,
}

impl Siege {
    /// Starts a server with these settings.
    pub(crate) fn begin(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_keys(folder.path());
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let secret = [("TOKEN_SECRET", SECRET)];
        let settings: Vec<_> = settings.iter().chain(&secret).map(own).collect();
        let server = start(folder.path(), &settings);
        let mut talk = server.talk();
        let hall = json!({"opens_at": "now", "pools": [{"name": "main", "kind": "seated"}]});
        let beside = json!({"opens_at": "now", "pools": [{"name": "main", "capacity": 1_000_000}]});
        for (campaign, settings) in [("hall", hall), ("beside", beside)] {
            let path = format!("/v1/campaigns/{campaign}");
            let settings = settings.to_string();
            ask(&mut talk, "PUT", &path, &from(1), Some(&settings)).says(201, "created");
        }
        let beside = Beside::begin(&server);
        let siege = Self { server, folder, settings, beside };
        siege.still_answers();
        siege
    }

    pub(crate) fn talk(&self) -> Talk {
        self.server.talk()
    }

    /// Returns a connection of a browser with a token for a subject in `hall`.
    pub(crate) fn browser(&self, subject: &str) -> Talk {
        Talk::to(self.server.address, &self.token(subject, 900)).unwrap()
    }

    /// Returns a connection of an operator whose key is for `hall` alone.
    pub(crate) fn desk(&self) -> Talk {
        Talk::to(self.server.address, DESK).unwrap()
    }

    /// Returns a token for a subject in `hall` that is good for so many seconds.
    pub(crate) fn token(&self, subject: &str, seconds: u32) -> String {
        let body = json!({"subject": subject, "campaign": "hall", "expires_in_s": seconds});
        let body = body.to_string();
        let minted = ask(&mut self.talk(), "POST", "/v1/tokens", &from(2), Some(&body));
        minted.says(201, "minted")["token"].as_str().unwrap().to_owned()
    }

    /// Waits until claims in the other campaign were answered that began after this was called.
    pub(crate) fn still_answers(&self) {
        let before = self.beside.answered.load(Ordering::SeqCst);
        while self.beside.answered.load(Ordering::SeqCst) < before + 2 {
            assert!(!self.beside.claiming.is_finished(), "claims beside are not answered any more");
            thread::sleep(PAUSE);
        }
    }

    /// Asks until the server says that it is ready: a busy disk may keep its journal waiting for a moment.
    pub(crate) fn is_ready(&self) {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let ready = ask(&mut self.server.talk(), "GET", "/readyz", &from(3), None);
            if ready.status == 200 {
                assert_eq!(ready.json()["status"], json!("ready"));
                return;
            }
            assert!(Instant::now() < end, "{}", ready.text());
            thread::sleep(PAUSE);
        }
    }

    /// Ends the attack: the server is ready, stops cleanly, has what it had, and starts again.
    pub(crate) fn ends(self) {
        self.still_answers();
        self.is_ready();
        let won = self.beside.ends();
        self.server.terminate();
        let (ended, said) = self.server.ended();
        assert!(ended.success() && said.contains("stopped cleanly"), "{said}");
        let (code, said, errors) = verb(self.folder.path(), &[], &["audit", "--json"]);
        let said: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{errors}"));
        assert_eq!((code, &said["ok"]), (0, &json!(true)), "{said} {errors}");
        let server = start(self.folder.path(), &self.settings);
        let answer = claim(&mut server.talk(), "after").says(201, "won");
        assert_eq!(answer["rank"], json!(won + 1), "everybody before has what they had");
    }
}

impl Beside {
    fn begin(server: &Server) -> Self {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&answered));
        let mut talk = server.talk();
        let claiming = thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                let number = count.load(Ordering::SeqCst);
                claim(&mut talk, &format!("s{number}")).says(201, "won");
                count.fetch_add(1, Ordering::SeqCst);
                thread::sleep(PAUSE);
            }
        });
        Self { stop, answered, claiming }
    }

    /// Stops claiming; gives how many claims were answered, each with a place.
    fn ends(self) -> u64 {
        self.stop.store(true, Ordering::SeqCst);
        self.claiming.join().unwrap();
        self.answered.load(Ordering::SeqCst)
    }
}

fn start(folder: &Path, settings: &[(String, String)]) -> Server {
    let settings: Vec<_> = settings.iter().map(|(name, value)| (&**name, &**value)).collect();
    let mut command = serve(folder, &settings);
    command.arg("--config").arg(folder.join(KEYS));
    Server::of(command)
}

fn write_keys(folder: &Path) {
    let hash: String = Sha256::digest(DESK).iter().map(|byte| format!("{byte:02x}")).collect();
    let file = folder.join(KEYS);
    let key = "[[keys]]\nname = \"desk\"\nrole = \"operator\"\ncampaigns = \"hall\"\n";
    fs::write(&file, format!("{key}sha256 = \"{hash}\"\n")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
}

/// Claims in `beside`, each subject from an address of its own, where a proxy is believed.
fn claim(talk: &mut Talk, subject: &str) -> Answer {
    let body = json!({ "subject": subject }).to_string();
    let number = subject.bytes().fold(0, |sum: u32, byte| sum.wrapping_mul(31) + u32::from(byte));
    ask(talk, "POST", "/v1/campaigns/beside/claims", &from(number), Some(&body))
}

/// Returns the address that a proxy, where one is believed, says a request is from.
fn from(number: u32) -> [(&'static str, String); 1] {
    let [a, b, c, _] = number.to_le_bytes();
    [("forwarded", format!("for=10.{a}.{b}.{c}"))]
}

/// Asks with headers.
pub(crate) fn ask(
    talk: &mut Talk,
    method: &str,
    path: &str,
    headers: &[(&str, String)],
    body: Option<&str>,
) -> Answer {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let request = talk.request(method, path, &headers, body);
    talk.send(request).unwrap();
    let answer = talk.hear().unwrap();
    crate::documented::check(method, path, &answer);
    answer
}

/// Returns the header of the admin key.
pub(crate) fn key() -> (&'static str, String) {
    ("authorization", format!("Bearer {KEY}"))
}
