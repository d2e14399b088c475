//! What the store was asked about one lock, in the order in which it was done, from the store's own `MONITOR`.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;

use firstcome_testbed::Redis;

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
    pub(crate) fn start(redis: &Redis, name: &'static str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", redis.port())).unwrap();
        stream.write_all(b"MONITOR\r\n").unwrap();
        let mut lines = BufReader::new(stream).lines().map(|line| line.unwrap());
        assert_eq!(lines.next().as_deref(), Some("+OK"));
        Self(std::thread::spawn(move || {
            let mut caller = None;
            let seen = lines.take_while(|line| !line.contains(LAST));
            seen.filter_map(|line| step(&line, name, &mut caller)).collect()
        }))
    }

    /// Gives what was seen; the store has nothing more to do by now.
    pub(crate) fn end(self, redis: &Redis) -> Vec<Step> {
        assert!(redis.ask(&format!("ECHO {LAST}")).contains(LAST));
        self.0.join().unwrap()
    }
}

/// Reads one line: that of a script names its owner, and those of what the script does follow it.
fn step(line: &str, name: &str, caller: &mut Option<String>) -> Option<Step> {
    let words: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
    if !line.contains(" lua] ") {
        // The text of a script has quotes of its own, so its owner is looked for by its form.
        *caller = line.split('"').find_map(client_of).map(str::to_owned);
        return None;
    }
    if words.get(1) != Some(&name) {
        return None;
    }
    match (words[0].to_ascii_lowercase().as_str(), words.get(3)) {
        ("hset" | "hincrby", Some(&"1")) => client_of(words[2]).map(|id| Step::Granted(id.into())),
        ("pttl", None) => caller.clone().map(Step::Refused),
        ("del" | "hdel", None) => Some(Step::Freed),
        _ => None,
    }
}

/// Gives the client of an owner: a UUID, a colon, and the number of a thread or of an acquire.
fn client_of(word: &str) -> Option<&str> {
    let (client, number) = word.split_once(':')?;
    let is_uuid = client.len() == 36 && client.bytes().filter(|b| *b == b'-').count() == 4;
    (is_uuid && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
        .then_some(client)
}
