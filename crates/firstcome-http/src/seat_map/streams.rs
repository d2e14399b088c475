//! How many streams of events may be open: of one subject, of one key, and in all.

use crate::answer::Code;
use crate::answer::problem::Problem;
use serde_json::json;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Streams of one subject, whichever of its tokens it shows: a page in a few tabs. Beyond it `too_many_streams`.
pub const STREAMS_OF_SUBJECT: usize = 4;

/// Streams of one key: the servers of a team, which pass on what they hear. Beyond it `too_many_streams`.
pub const STREAMS_OF_KEY: usize = 64;

/// Streams of one server: each change is written to all of them. Beyond it `too_many_streams`.
pub const STREAMS_OF_SERVER: usize = 1_000;

/// Streams of one address without a key or a token: many people may share it. Beyond it `too_many_streams`.
pub const STREAMS_OF_ADDRESS: usize = 64;

/// Streams of one server without a key or a token, so that others find room. Beyond it `too_many_streams`.
pub const STREAMS_OF_ANYBODY: usize = 500;

/// Streams of one server without a key, so that a team's servers and operators find room. Beyond it `too_many_streams`.
pub const STREAMS_WITHOUT_KEY: usize = 900;

/// Whose a stream is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Follower {
    Subject(Box<str>),
    Key(Box<str>),
    /// Anybody at an address, of a public campaign.
    Anybody(IpAddr),
}

/// The streams that are open.
#[derive(Debug, Default)]
pub(super) struct Streams(Arc<Mutex<BTreeMap<Follower, usize>>>);

/// One open stream, given back when this is dropped.
#[derive(Debug)]
pub(super) struct StreamSlot {
    streams: Arc<Mutex<BTreeMap<Follower, usize>>>,
    follower: Follower,
}

fn locked(streams: &Mutex<BTreeMap<Follower, usize>>) -> MutexGuard<'_, BTreeMap<Follower, usize>> {
    streams.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts the streams of some followers.
fn count(streams: &BTreeMap<Follower, usize>, of: impl Fn(&Follower) -> bool) -> usize {
    streams.iter().filter(|(follower, _)| of(follower)).map(|(_, own)| own).sum()
}

impl Streams {
    /// Takes a stream for a client.
    ///
    /// # Errors
    ///
    /// `too_many_streams`, with the limit it is beyond.
    pub(super) fn take(&self, follower: Follower) -> Result<StreamSlot, Problem> {
        let mut streams = locked(&self.0);
        let own = streams.get(&follower).copied().unwrap_or(0);
        let anybody = |of: &Follower| matches!(of, Follower::Anybody(_));
        let without_key = |of: &Follower| !matches!(of, Follower::Key(_));
        let beyond = match &follower {
            Follower::Subject(subject) if own >= STREAMS_OF_SUBJECT => {
                Some(("subject", format!("subject {subject:?} has {own} streams open")))
            }
            Follower::Key(key) if own >= STREAMS_OF_KEY => {
                Some(("key", format!("key {key:?} has {own} streams open")))
            }
            Follower::Anybody(address) if own >= STREAMS_OF_ADDRESS => {
                Some(("address", format!("address {address} has {own} streams open")))
            }
            Follower::Anybody(_) if count(&streams, anybody) >= STREAMS_OF_ANYBODY => {
                let detail =
                    format!("{STREAMS_OF_ANYBODY} streams without a key or a token are open");
                Some(("anybody", detail))
            }
            Follower::Subject(_) | Follower::Anybody(_)
                if count(&streams, without_key) >= STREAMS_WITHOUT_KEY =>
            {
                Some(("server", format!("{STREAMS_WITHOUT_KEY} streams without a key are open")))
            }
            // At most as many entries as there are streams.
            Follower::Subject(_) | Follower::Key(_) | Follower::Anybody(_) => {
                let all: usize = streams.values().sum();
                (all >= STREAMS_OF_SERVER)
                    .then(|| ("server", format!("this server has {all} streams open")))
            }
        };
        if let Some((limit, detail)) = beyond {
            let detail = format!("{detail}, as many as it may: close one, or ask for the map");
            return Err(Problem::new(Code::TooManyStreams, detail).with("limit", json!(limit)));
        }
        streams.insert(follower.clone(), own + 1);
        drop(streams);
        Ok(StreamSlot { streams: Arc::clone(&self.0), follower })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut streams = locked(&self.streams);
        if let Some(own) = streams.get_mut(&self.follower) {
            *own -= 1;
            if *own == 0 {
                streams.remove(&self.follower);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_a_thousand_streams_of_which_some_are_for_keys() {
        let streams = Streams::default();
        let subject = |n: usize| Follower::Subject(format!("s{n}").into());
        let take = |n: usize| streams.take(subject(n / STREAMS_OF_SUBJECT));
        let mut open: Vec<_> = (0..STREAMS_WITHOUT_KEY).map(|n| take(n).unwrap()).collect();
        let refused = take(STREAMS_WITHOUT_KEY).unwrap_err();
        assert!(refused.detail().contains("900 streams without a key are open"));
        let key = |n: usize| streams.take(Follower::Key(format!("k{}", n / STREAMS_OF_KEY).into()));
        open.extend((STREAMS_WITHOUT_KEY..STREAMS_OF_SERVER).map(|n| key(n).unwrap()));
        let refused = key(STREAMS_OF_SERVER).unwrap_err();
        assert!(refused.detail().contains("this server has 1000 streams open"));
        assert_eq!(refused.outcome(), "too_many_streams");
        // Whose share is full is told of that first.
        assert!(take(0).unwrap_err().detail().contains("subject \"s0\" has 4"));
        drop(open);
        let anybody = |n: usize| Follower::Anybody(IpAddr::from([10, 0, 0, n as u8]));
        let take = |n: usize| streams.take(anybody(n / STREAMS_OF_ADDRESS));
        let open: Vec<_> = (0..STREAMS_OF_ANYBODY).map(|n| take(n).unwrap()).collect();
        let refused = take(STREAMS_OF_ANYBODY).unwrap_err();
        assert!(refused.detail().contains("500 streams without a key or a token are open"));
        assert!(take(0).unwrap_err().detail().contains("address 10.0.0.0 has 64"));
        streams.take(subject(1)).unwrap();
        drop(open);
        assert!(locked(&streams.0).is_empty());
        streams.take(Follower::Key("admin".into())).unwrap();
    }
}
