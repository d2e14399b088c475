//! What a test asks one server, and the documents it answers with.

use crate::server::KEY;
use firstcome_api::key::Secret;
use firstcome_client::{Ask, Client, Failure, Reply, Server};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Returns what a server says of itself, for a test that fails.
pub(crate) async fn condition(port: u16) -> String {
    let mut said = format!("[{port}] ");
    for path in ["/readyz", "/metrics"] {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)).await else {
            return said + "gone";
        };
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\nconnection: close\r\n\r\n"
        );
        let mut answer = String::new();
        let read = async {
            stream.write_all(head.as_bytes()).await?;
            stream.read_to_string(&mut answer).await
        };
        drop(timeout(Duration::from_secs(2), read).await);
        let wanted =
            ["{", "firstcome_heals_total ", "firstcome_forks_total ", "firstcome_position"];
        for line in answer.lines().filter(|line| wanted.iter().any(|want| line.starts_with(want))) {
            said.push_str(line);
            said.push(' ');
        }
    }
    said
}

/// One who talks to a server.
pub(crate) struct Talk {
    client: Client,
}

impl Talk {
    pub(crate) fn to(port: u16) -> Self {
        let server = Server::parse(&format!("http://127.0.0.1:{port}")).unwrap();
        let key = Some(Secret::new(KEY).unwrap());
        Self { client: Client::to(server, key, Duration::from_secs(15)) }
    }

    /// Returns the document of the answer, of a yes or of a problem.
    pub(crate) async fn tell(&mut self, ask: Ask) -> Result<Value, Failure> {
        match self.client.ask::<Value>(ask).await {
            Ok(Reply::Yes(said, _)) => Ok(said),
            Ok(Reply::No(problem)) => Ok(problem.raw),
            Err(failure) => match failure.problem() {
                Some(problem) => Ok(problem.raw.clone()),
                None => Err(failure),
            },
        }
    }

    pub(crate) async fn try_get(&mut self, path: &str) -> Result<Value, Failure> {
        if path != "/readyz" {
            return self.tell(Ask::get(path)).await;
        }
        // Its "not ready" is no problem document, which is what the client reads.
        let said = self.client.ask::<Value>(Ask::get(path)).await;
        if said.as_ref().is_err_and(|failure| failure.to_string().contains("503")) {
            return Ok(json!({"status": "not_ready"}));
        }
        match said? {
            Reply::Yes(said, _) => Ok(said),
            Reply::No(problem) => Ok(problem.raw),
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Value {
        self.try_get(path).await.unwrap()
    }

    pub(crate) async fn try_claim(&mut self, campaign: &str, who: &str) -> Result<Value, Failure> {
        self.tell(Ask::claim(campaign, who, None)).await
    }

    pub(crate) async fn claim(&mut self, campaign: &str, who: &str) -> Value {
        self.try_claim(campaign, who).await.unwrap()
    }

    /// Claims at or past a position.
    pub(crate) async fn claim_past(&mut self, campaign: &str, who: &str, min: &str) -> Value {
        let mut ask = Ask::claim(campaign, who, None);
        ask.path.push_str(&format!("?min_position={min}"));
        self.tell(ask).await.unwrap()
    }

    /// Claims until it is decided; gives the rank.
    pub(crate) async fn wins(&mut self, campaign: &str, who: &str) -> u64 {
        let mut last = Value::Null;
        for _ in 0..200 {
            if let Ok(said) = self.try_claim(campaign, who).await {
                if let Some(rank) = said["rank"].as_u64() {
                    return rank;
                }
                last = said;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{who} does not win: {last}");
    }

    pub(crate) async fn put(&mut self, campaign: &str, settings: Value) -> Value {
        let mut ask = Ask::change("PUT", format!("/v1/campaigns/{campaign}"));
        ask.body = Some(settings);
        self.tell(ask).await.unwrap()
    }

    /// Opens a campaign of one pool now.
    pub(crate) async fn open(&mut self, campaign: &str, places: u32) {
        let pools = json!([{"name": "main", "capacity": places}]);
        let said = self.put(campaign, json!({"opens_at": "now", "pools": pools})).await;
        assert_eq!(said["outcome"], "created", "{said}");
    }

    pub(crate) async fn post(&mut self, path: &str, body: Option<Value>) -> Value {
        let mut ask = Ask::change("POST", path);
        ask.body = body;
        self.tell(ask).await.unwrap()
    }

    /// Returns one count of `/metrics`.
    pub(crate) async fn count(&mut self, name: &str) -> u64 {
        let text = self.client.ask_raw(Ask::get("/metrics")).await.unwrap().unwrap();
        let text = String::from_utf8(text).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value = line.and_then(|rest| rest.trim().parse::<f64>().ok());
        value.unwrap_or_else(|| panic!("no {name} in {text}")) as u64
    }

    /// Returns all results of a campaign.
    pub(crate) async fn results(&mut self, campaign: &str) -> Vec<Value> {
        let (mut after, mut all) = (0, Vec::new());
        loop {
            let path = format!("/v1/campaigns/{campaign}/results?after={after}&limit=10000");
            let page = self.get(&path).await;
            let Some(lines) = page["results"].as_array() else { panic!("no results: {page}") };
            all.extend(lines.iter().cloned());
            match page["next"].as_u64() {
                Some(next) => after = next,
                None => return all,
            }
        }
    }
}
