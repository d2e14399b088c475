//! The connection for commands, dialled again when it is lost.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::command::Command;
use super::dial::{Dialler, Line};
use super::error_code;
use super::exchange::{Trouble, answered, exchange, said};
use super::link_state::{LinkState, State};
use super::pinned::Pinned;
use super::reply::RedisReply;
use super::sentinel;
use crate::client::pause;
use crate::error::StoreError;
use crate::host::Host;

/// The connection for commands, kept up by a task of its own.
#[derive(Debug)]
pub(crate) struct Link {
    shared: Arc<LinkState>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

impl Link {
    /// Dials once, and keeps the connection up from then on.
    pub(crate) async fn connect(dialler: Arc<Dialler>) -> Result<Self, StoreError> {
        let line = dialler.line(None).await?;
        let shared = Arc::new(LinkState {
            state: watch::Sender::new(State::Up(line.connection.clone(), 1)),
            generation: watch::Sender::new(1),
            place: watch::Sender::new(Some(line.host.clone())),
            suspect: Notify::new(),
            stop: Notify::new(),
            name: dialler.place(),
        });
        let keeper = tokio::spawn(keep(Arc::clone(&shared), dialler, line));
        Ok(Self { shared, keeper: Mutex::new(Some(keeper)) })
    }

    pub(crate) fn generations(&self) -> watch::Receiver<u64> {
        self.shared.generation.subscribe()
    }

    /// Returns the server that commands go to, and every later one.
    pub(crate) fn place(&self) -> watch::Receiver<Option<Host>> {
        self.shared.place.subscribe()
    }

    /// Waits for a connection and gives a handle to that one alone.
    pub(crate) async fn pin(&self, deadline: Instant) -> Result<Pinned, StoreError> {
        let (connection, number) = self.up(deadline).await?;
        Ok(Pinned::new(Arc::clone(&self.shared), connection, number))
    }

    /// Waits for a connection; gives its number, too.
    pub(crate) async fn up(
        &self,
        deadline: Instant,
    ) -> Result<(MultiplexedConnection, u64), StoreError> {
        match &*self.shared.state.borrow() {
            State::Up(connection, number) => return Ok((connection.clone(), *number)),
            State::Closed => return Err(StoreError::Closed),
            State::Down(_) => {}
        }
        let mut states = self.shared.state.subscribe();
        let decided = states.wait_for(|state| !matches!(state, State::Down(_)));
        let decided = tokio::time::timeout_at(deadline, decided).await;
        if let Ok(Ok(state)) = &decided {
            return match &**state {
                State::Up(connection, number) => Ok((connection.clone(), *number)),
                State::Down(_) | State::Closed => Err(StoreError::Closed),
            };
        }
        drop(decided);
        match &*self.shared.state.borrow() {
            State::Up(connection, number) => Ok((connection.clone(), *number)),
            State::Down(failure) => Err(failure.clone()),
            State::Closed => Err(StoreError::Closed),
        }
    }

    /// Sends a command once; only a script the server did not know, and so did not run, is called again.
    pub(crate) async fn send(
        &self,
        command: &Command,
        deadline: Instant,
    ) -> Result<RedisReply, StoreError> {
        let (mut connection, _) = self.up(deadline).await?;
        loop {
            let reply = exchange(&mut connection, &command.words, deadline).await;
            let (Err(Trouble::NoScript), Some(script)) = (&reply, command.script) else {
                return self.shared.answer(reply);
            };
            // It was not run. Another SCRIPT FLUSH may come between this and the next call.
            let mut load = redis::cmd("SCRIPT");
            load.arg("LOAD").arg(script.text());
            match exchange(&mut connection, &load, deadline).await {
                Ok(_) if Instant::now() < deadline => {}
                // The script was not run, whatever became of its text.
                Err(Trouble::Lost(reason)) => {
                    return Err(StoreError::Unreachable {
                        place: self.shared.name.clone(),
                        reason,
                    });
                }
                Ok(_) => return self.shared.answer(reply),
                failed @ Err(_) => return self.shared.answer(failed),
            }
        }
    }

    /// Sends commands once, to be carried out together or not at all.
    pub(crate) async fn send_together(
        &self,
        commands: Vec<Command>,
        deadline: Instant,
    ) -> Result<RedisReply, StoreError> {
        let (mut connection, _) = self.up(deadline).await?;
        let count = commands.len() + 2;
        let mut words = redis::pipe();
        // Not the pipeline's own kind of transaction: that one panics where MULTI is refused.
        words.cmd("MULTI");
        for command in commands {
            words.add_command(command.words);
        }
        words.cmd("EXEC");
        let sent = connection.send_packed_commands(&words, 0, count);
        let reply = answered(deadline, sent).await.and_then(|mut values| {
            let done = values.pop().unwrap_or(Value::Nil);
            // What was refused before says why nothing was carried out.
            for value in values {
                said(value)?;
            }
            said(done)
        });
        self.shared.answer(reply)
    }

    /// Asks of each command whether the user may send it, and gives what the server said to those it denies.
    ///
    /// A server looks at the user's rights when it queues a command of a transaction. This one has a command without its
    /// arguments, so that it is given up and nothing of it is carried out.
    pub(crate) async fn denied(
        &self,
        commands: Vec<Command>,
        deadline: Instant,
    ) -> Result<Vec<Option<String>>, StoreError> {
        let (mut connection, _) = self.up(deadline).await?;
        let mut empty = redis::pipe();
        empty.cmd("MULTI").cmd("EXEC");
        let replies = answered(deadline, connection.send_packed_commands(&empty, 0, 2)).await;
        let replies =
            replies.or_else(|trouble| self.shared.answer(Err(trouble)).map(|_| Vec::new()))?;
        let refused = replies.iter().any(|reply| matches!(reply, Value::ServerError(_)));
        let mut denied: Vec<_> = replies.into_iter().map(no_permission).collect();
        if refused {
            // Outside of a transaction the others would be carried out.
            denied.resize(commands.len() + 2, None);
            return Ok(denied);
        }
        let count = commands.len();
        let mut words = redis::pipe();
        words.cmd("MULTI").cmd("PTTL");
        for command in commands {
            words.add_command(command.words);
        }
        words.cmd("EXEC");
        let replies = connection.send_packed_commands(&words, 0, count + 3);
        let replies = answered(deadline, replies).await;
        let replies =
            replies.or_else(|trouble| self.shared.answer(Err(trouble)).map(|_| Vec::new()))?;
        denied.extend(replies.into_iter().skip(2).take(count).map(no_permission));
        Ok(denied)
    }

    /// Has it looked soon whether the connection still goes to the right server.
    pub(super) fn suspect(&self) {
        self.shared.suspect.notify_one();
    }

    pub(crate) async fn close(&self) {
        self.shared.stop.notify_one();
        let keeper = self.keeper.lock().ok().and_then(|mut keeper| keeper.take());
        if let Some(keeper) = keeper {
            // It ends by itself; a panic in it has been reported already.
            drop(keeper.await);
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.lock().ok().and_then(|mut keeper| keeper.take()) {
            keeper.abort();
        }
    }
}

/// Returns what the server says to a command that the user has no right to; to EXEC it says so in other words.
fn no_permission(value: Value) -> Option<String> {
    let (code, detail) = error_code::read(&value.extract_error().err()?);
    let denied = code == "NOPERM" || code == "EXECABORT" && detail.contains("NOPERM");
    denied.then_some(detail)
}

/// Keeps the connection up until it is stopped.
async fn keep(shared: Arc<LinkState>, dialler: Arc<Dialler>, line: Line) {
    let changed = Notify::new();
    let _ends = Ends(Arc::clone(&shared));
    tokio::select! {
        () = shared.stop.notified() => {}
        () = sentinel::watch(&dialler, &changed) => {}
        () = keep_up(&shared, &dialler, line, &changed) => {}
    }
}

/// Says that the link is closed when its keeper ends, however it ends.
struct Ends(Arc<LinkState>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.state.send_replace(State::Closed);
    }
}

async fn keep_up(shared: &LinkState, dialler: &Dialler, mut line: Line, changed: &Notify) {
    loop {
        let why = stay(shared, dialler, &mut line, changed).await;
        shared.state.send_replace(State::Down(why));
        let left = line.host.clone();
        // Dropping the driver closes the connection, and everybody who waits on it learns so.
        drop(line);
        line = redial(shared, dialler, &left).await;
        shared.place.send_if_modified(|place| {
            let moved = place.as_ref() != Some(&line.host);
            *place = Some(line.host.clone());
            moved
        });
        let number = *shared.generation.borrow() + 1;
        shared.state.send_replace(State::Up(line.connection.clone(), number));
        shared.generation.send_replace(number);
    }
}

async fn redial(shared: &LinkState, dialler: &Dialler, left: &Host) -> Line {
    let mut tries = 0;
    loop {
        match dialler.line(Some(left)).await {
            Ok(line) => return line,
            Err(failure) => {
                shared.state.send_replace(State::Down(failure));
            }
        }
        tokio::time::sleep(pause(tries)).await;
        tries += 1;
    }
}

/// Drives a connection for as long as it answers and goes to the right server; gives the reason to leave it.
async fn stay(
    shared: &LinkState,
    dialler: &Dialler,
    line: &mut Line,
    changed: &Notify,
) -> StoreError {
    let heartbeat = dialler.options.heartbeat;
    let patience = heartbeat.min(Duration::from_secs(2));
    let left = |reason: String| StoreError::Unreachable { place: line.host.to_string(), reason };
    let mut connection = line.connection.clone();
    let check = async {
        loop {
            tokio::select! {
                () = tokio::time::sleep(heartbeat) => {}
                () = shared.suspect.notified() => {}
                () = changed.notified() => {}
            }
            let ping = redis::cmd("ROLE");
            match tokio::time::timeout(patience, connection.send_packed_command(&ping)).await {
                Err(_) => return left(format!("no sign of life within {patience:?}")),
                Ok(Err(error)) if error.is_io_error() => return left(error.to_string()),
                // Denied, or an answer: either way somebody is there.
                Ok(_) => {}
            }
            match tokio::time::timeout(patience, dialler.host(Some(&line.host))).await {
                Ok(Ok(host)) if host != line.host => {
                    return left(format!("the master is now {host}"));
                }
                // Where no sentinel answers, the connection that works is kept.
                _ => {}
            }
        }
    };
    let driver = AssertUnwindSafe(&mut line.driver).catch_unwind();
    tokio::select! {
        why = check => why,
        ended = driver => left(match ended {
            Ok(()) => "the server closed the connection".to_owned(),
            // It has been reported. What is wrong with one connection must not end all that follow.
            Err(_) => "its driver panicked".to_owned(),
        }),
    }
}
