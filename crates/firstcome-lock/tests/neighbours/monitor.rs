//! What the store was asked about one lock, in the order in which it was done, from the store's own `MONITOR`.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;

use firstcome_testbed::RedisServer;

/// What ends it: the last thing that is asked.
const LAST: &str = "nothing-more-to-see";

/// Something that happened to the lock.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It was given to a client.
    Granted(String),
    /// A client asked for it in vain.
    Refused(String),
    /// It was given back.
    Freed,
}

/// Watches a store, from its start on.
pub(crate) struct Monitor(JoinHandle<Vec<Step>>);

impl Monitor {
    pub(crate) fn start(redis: &RedisServer, name: &'static str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", redis.port())).unwrap();
        stream.write_all(b"MONITOR\r\n").unwrap();
        let mut lines = BufReader::new(stream).lines().map(|line| line.unwrap());
        assert_eq!(lines.next().as_deref(), Some("+OK"));
        Self(std::thread::spawn(move || {
            let mut seen = Seen::default();
            let lines = lines.take_while(|line| !line.contains(LAST));
            lines.filter_map(|line| seen.step(&line, name)).collect()
        }))
    }

    /// Returns what was seen; the store has nothing more to do by now.
    pub(crate) fn end(self, redis: &RedisServer) -> Vec<Step> {
        assert!(redis.ask(&format!("ECHO {LAST}")).contains(LAST));
        self.0.join().unwrap()
    }
}

/// What the lines so far came to.
#[derive(Default)]
struct Seen {
    /// Whose script runs.
    caller: Option<String>,
    /// Who looked how long the lock is held, and was not given it yet.
    looked: Option<String>,
    /// Who was given it last.
    holder: Option<String>,
}

impl Seen {
    /// Reads one line: that of a script names its owner, and those of what the script does follow it.
    fn step(&mut self, line: &str, name: &str) -> Option<Step> {
        let words: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
        if !line.contains(" lua] ") {
            // The text of a script has quotes of its own, so its owner is looked for by its form.
            self.caller = line.split('"').find_map(client_of).map(str::to_owned);
            // A release that is no script: it frees the lock where its owner has it.
            let [command, at, owner] = words[..] else { return self.refused() };
            let by_holder =
                || client_of(owner).is_some_and(|id| self.holder.as_deref() == Some(id));
            if command.eq_ignore_ascii_case("hdel") && at == name && by_holder() {
                return Some(Step::Freed);
            }
            return self.refused();
        }
        if words.get(1) != Some(&name) {
            return None;
        }
        match (words[0].to_ascii_lowercase().as_str(), words.get(3)) {
            ("hset" | "hincrby", Some(&"1")) => {
                self.looked = None;
                self.holder = client_of(words[2]).map(str::to_owned);
                self.holder.clone().map(Step::Granted)
            }
            // Whether in vain shows in what the script does next.
            ("pttl", None) => {
                self.looked = self.caller.clone();
                None
            }
            ("del" | "hdel", None) => Some(Step::Freed),
            _ => None,
        }
    }

    /// Returns who looked in vain, once the script that looked is over.
    fn refused(&mut self) -> Option<Step> {
        self.looked.take().map(Step::Refused)
    }
}

/// Returns the client of an owner: a UUID, a colon, and the number of a thread or of an acquire.
fn client_of(word: &str) -> Option<&str> {
    let (client, number) = word.split_once(':')?;
    let is_uuid = client.len() == 36 && client.bytes().filter(|b| *b == b'-').count() == 4;
    (is_uuid && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
        .then_some(client)
}
