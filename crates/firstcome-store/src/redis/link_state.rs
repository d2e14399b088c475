//! The state of the connection for commands, shared by its link and its handles.

use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::sync::{Notify, watch};

use super::error_code;
use super::exchange::Trouble;
use super::reply::RedisReply;
use crate::error::StoreError;
use crate::host::Host;

#[derive(Debug)]
pub(super) struct LinkState {
    pub(super) state: watch::Sender<State>,
    pub(super) generation: watch::Sender<u64>,
    pub(super) place: watch::Sender<Option<Host>>,
    /// A command timed out, or was answered READONLY or MOVED: look at the connection now.
    pub(super) suspect: Notify,
    pub(super) stop: Notify,
    pub(super) name: String,
}

#[derive(Clone)]
pub(super) enum State {
    /// With the number of this connection among those made so far.
    Up(MultiplexedConnection, u64),
    Down(StoreError),
    Closed,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Up(..) => "Up",
            Self::Down(_) => "Down",
            Self::Closed => "Closed",
        })
    }
}

impl LinkState {
    /// Returns the name of the place this goes to, for messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Tells whether the connection of this number is still the one in use.
    pub(super) fn is_up(&self, number: u64) -> bool {
        matches!(&*self.state.borrow(), State::Up(_, now) if *now == number)
    }

    /// Waits until the connection of this number is no longer in use.
    pub(super) async fn left(&self, number: u64) {
        let mut states = self.state.subscribe();
        // The sender lives as long as this does.
        drop(states.wait_for(|state| !matches!(state, State::Up(_, now) if *now == number)).await);
    }

    /// Makes an answer, or a failure, of what came back; checks the connection if that helps.
    pub(super) fn answer(&self, reply: Result<Value, Trouble>) -> Result<RedisReply, StoreError> {
        let place = || self.name.clone();
        match reply {
            Ok(value) => RedisReply::from_value(value),
            Err(Trouble::Lost(reason)) => {
                self.suspect.notify_one();
                Err(StoreError::Unknown { place: place(), reason })
            }
            Err(Trouble::NoScript) => Err(StoreError::UnknownScript),
            Err(Trouble::Said(error)) => {
                let (code, detail) = error_code::read(&error);
                let failure = StoreError::of_redis(&self.name, code, detail);
                if let StoreError::ReadOnly { .. } | StoreError::Moved { .. } = failure {
                    self.suspect.notify_one();
                }
                Err(failure)
            }
        }
    }
}
