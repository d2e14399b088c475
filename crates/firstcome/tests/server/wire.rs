//! One connection with control over every byte, and what comes back on it.

use crate::documented;
use firstcome_http::answer::Code;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long a test waits for bytes before it gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// An answer, from the wire or from routes called in this process.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the outcome, of a yes or of a problem.
    pub(crate) fn outcome(&self) -> String {
        self.json()["outcome"].as_str().unwrap_or_default().to_owned()
    }

    /// Expects a yes of this outcome and gives its content.
    #[track_caller]
    pub(crate) fn says(&self, status: u16, outcome: &str) -> Value {
        assert_eq!((self.status, self.outcome().as_str()), (status, outcome), "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        self.json()
    }

    /// Expects the problem document of an outcome, whole, as the table of answers has it.
    ///
    /// Returns the document; `detail` must stand in the sentence for people.
    #[track_caller]
    pub(crate) fn refuses(&self, outcome: &str, detail: &str) -> Value {
        let row = Code::of(outcome).unwrap_or_else(|| panic!("{outcome:?} is no outcome")).row();
        let document = self.json();
        assert_eq!(document["outcome"], json!(outcome), "{document}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.status, row.status.as_u16(), "{document}");
        assert_eq!(document["status"], json!(self.status));
        assert_eq!(document["type"], json!(format!("/problems/{outcome}")));
        assert_eq!(document["title"], json!(row.title));
        assert_eq!(document["retry"], json!(row.retry));
        assert_eq!(document["changed"], json!(row.effect.as_str()));
        let sentence = document["detail"].as_str().unwrap();
        assert!(sentence.contains(detail), "{sentence:?} does not say {detail:?}");
        if [429, 503, 507].contains(&self.status) {
            assert_eq!(self.header("retry-after"), Some("1"), "{document}");
        }
        document
    }
}

/// One connection.
pub(crate) struct Talk {
    stream: BufReader<TcpStream>,
    key: String,
}

impl Talk {
    pub(crate) fn to(address: SocketAddr, key: &str) -> io::Result<Self> {
        Self::over(TcpStream::connect(address)?, key)
    }

    /// Goes on over a connection that is there.
    pub(crate) fn over(stream: TcpStream, key: &str) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream), key: key.to_owned() })
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes.as_ref())
    }

    /// Says that nothing more will be sent.
    pub(crate) fn finish_sending(&mut self) {
        // The peer may be gone already, which is what some tests are about.
        drop(self.stream.get_mut().shutdown(std::net::Shutdown::Write));
    }

    /// Reads one answer.
    pub(crate) fn hear(&mut self) -> io::Result<Answer> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let bad = || io::Error::other(format!("not an answer: {line:?}"));
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(bad)?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let answer = Answer { status, headers, body: Vec::new() };
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body)?;
        Ok(Answer { body, ..answer })
    }

    /// Reads lines until one begins so.
    #[track_caller]
    pub(crate) fn until(&mut self, begin: &str) {
        let mut line = String::new();
        while !line.starts_with(begin) {
            line.clear();
            let read = self.stream.read_line(&mut line).unwrap();
            assert!(read > 0, "it ended before {begin:?}");
        }
    }

    /// Reads to the end; gives everything that came, chunks and all.
    pub(crate) fn rest(&mut self) -> io::Result<String> {
        let mut rest = String::new();
        self.stream.read_to_string(&mut rest)?;
        Ok(rest)
    }

    /// Reads to the end, for `limit` at most; gives everything that came, and whether that was the end.
    pub(crate) fn rest_within(&mut self, limit: Duration) -> (String, bool) {
        let end = Instant::now() + limit;
        self.stream.get_ref().set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let (mut rest, mut piece) = (Vec::new(), vec![0; 65_536]);
        let ended = loop {
            match self.stream.read(&mut piece) {
                Ok(0) => break true,
                Ok(read) => rest.extend_from_slice(&piece[..read]),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break true,
            }
            if Instant::now() > end {
                break false;
            }
        };
        self.stream.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        (String::from_utf8_lossy(&rest).into_owned(), ended)
    }

    /// Reads to the end and says whether nothing more came.
    pub(crate) fn is_hung_up(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => rest.is_empty(),
            Err(why) => why.kind() == io::ErrorKind::ConnectionReset,
        }
    }

    /// Returns a request's bytes.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> String {
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: test\r\n");
        if !headers.iter().any(|(name, _)| *name == "authorization") {
            request += &format!("authorization: Bearer {}\r\n", self.key);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if let Some(body) = body {
            let length = body.len();
            request += &format!(
                "content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            );
        } else {
            request += "\r\n";
        }
        request
    }

    /// Asks, and reads the answer, which must be one that the description of the routes has.
    pub(crate) fn try_ask(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> io::Result<Answer> {
        let body = body.map(Value::to_string);
        let request = self.request(method, path, &[], body.as_deref());
        self.send(request)?;
        let answer = self.hear()?;
        documented::check(method, path, &answer);
        Ok(answer)
    }

    #[track_caller]
    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.try_ask("GET", path, None).unwrap()
    }

    #[track_caller]
    pub(crate) fn put(&mut self, path: &str, body: &Value) -> Answer {
        self.try_ask("PUT", path, Some(body)).unwrap()
    }

    #[track_caller]
    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.try_ask("POST", path, Some(body)).unwrap()
    }

    /// Claims for a subject in a campaign of one pool.
    pub(crate) fn try_claim(&mut self, campaign: &str, subject: &str) -> io::Result<Answer> {
        let path = format!("/v1/campaigns/{campaign}/claims");
        self.try_ask("POST", &path, Some(&json!({ "subject": subject })))
    }

    #[track_caller]
    pub(crate) fn claim(&mut self, campaign: &str, subject: &str) -> Answer {
        self.try_claim(campaign, subject).unwrap()
    }

    /// Opens a campaign of one pool now.
    #[track_caller]
    pub(crate) fn open_campaign(&mut self, campaign: &str, places: u32) {
        let pools = json!([{"name": "main", "capacity": places}]);
        let body = json!({"opens_at": "now", "pools": pools});
        self.put(&format!("/v1/campaigns/{campaign}"), &body).says(201, "created");
    }

    /// Returns one count of `/metrics`.
    pub(crate) fn metric(&mut self, name: &str) -> u64 {
        let text = self.get("/metrics").text();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|rest| rest.trim().parse::<f64>().ok());
        value.unwrap_or_else(|| panic!("no {name} in {text}")) as u64
    }

    /// Returns where the journal stands.
    pub(crate) fn position(&mut self) -> String {
        self.get("/v1/time").json()["position"].as_str().unwrap().to_owned()
    }
}
