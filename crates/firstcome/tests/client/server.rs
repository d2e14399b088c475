//! A real server in a folder of its own, and clients for it.

use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

use firstcome_client::{Answer, CampaignRequest, Client, PoolRequest};

pub(crate) const KEY: &str = "the-key-of-the-tests";

/// A server process on a free port; killed when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Where it says the rest.
    _said: Lines<BufReader<ChildStdout>>,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(&[("FIRSTCOME_ADMIN_KEY", KEY)])
    }

    /// Starts one with these settings, the admin key among them.
    pub(crate) fn start_with(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).env_clear();
        command.env("FIRSTCOME_DATA", folder.path().join("data"));
        command.envs(settings.iter().copied()).env("FIRSTCOME_LEAVE_MS", "0");
        command.env("FIRSTCOME_TOKEN_SECRET", "a-secret-to-sign-tokens-with-0123");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = said.next().unwrap().unwrap();
        let address = address.rsplit('/').next().unwrap().parse().unwrap();
        Self { child, address, _said: said, _folder: folder }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn client(&self) -> Client {
        Client::builder(&self.url()).key(KEY).build().unwrap()
    }
}

/// Returns a yes.
#[track_caller]
pub(crate) fn yes<T>(answer: Result<Answer<T>, firstcome_client::Error>) -> T {
    match answer.unwrap() {
        Answer::Yes(yes) => yes,
        Answer::No(_, problem) => panic!("it is no yes: {problem}"),
    }
}

/// Returns why it is a no.
#[track_caller]
pub(crate) fn no<T>(
    answer: Result<Answer<T>, firstcome_client::Error>,
) -> firstcome_client::Refusal {
    match answer.unwrap() {
        Answer::Yes(_) => panic!("it is no no"),
        Answer::No(refusal, _) => refusal,
    }
}

/// The settings of a campaign of one counted pool that opens now.
pub(crate) fn places(capacity: u32) -> CampaignRequest {
    let pools = vec![PoolRequest::counted("main", capacity)];
    CampaignRequest { opens_at: Some("now".to_owned()), pools, ..CampaignRequest::default() }
}
