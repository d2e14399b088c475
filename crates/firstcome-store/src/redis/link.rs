use std::sync::{Arc, Mutex};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, RedisError, ServerErrorKind, Value};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::address::Host;
use super::dial::{Dialler, Line};
use super::{Command, Pinned, Reply, sentinel};
use crate::Failure;

/// The connection for commands, kept up by a task of its own.
#[derive(Debug)]
pub(crate) struct Link {
    shared: Arc<Shared>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
pub(super) struct Shared {
    state: watch::Sender<State>,
    generation: watch::Sender<u64>,
    place: watch::Sender<Option<Host>>,
    /// A command timed out or was answered READONLY: look at the connection now.
    suspect: Notify,
    stop: Notify,
    name: String,
}

#[derive(Clone)]
enum State {
    /// With the number of this connection among those made so far.
    Up(MultiplexedConnection, u64),
    Down(Failure),
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

impl Link {
    /// Dials once, and keeps the connection up from then on.
    pub(crate) async fn connect(dialler: Arc<Dialler>) -> Result<Self, Failure> {
        let line = dialler.line().await?;
        let shared = Arc::new(Shared {
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

    /// Gives the server that commands go to, and every later one.
    pub(crate) fn place(&self) -> watch::Receiver<Option<Host>> {
        self.shared.place.subscribe()
    }

    /// Waits for a connection and gives a handle to that one alone.
    pub(crate) async fn pin(&self, deadline: Instant) -> Result<Pinned, Failure> {
        let (connection, number) = self.up(deadline).await?;
        Ok(Pinned::new(Arc::clone(&self.shared), connection, number))
    }

    /// Waits for a connection; gives its number, too.
    pub(crate) async fn up(
        &self,
        deadline: Instant,
    ) -> Result<(MultiplexedConnection, u64), Failure> {
        match &*self.shared.state.borrow() {
            State::Up(connection, number) => return Ok((connection.clone(), *number)),
            State::Closed => return Err(Failure::Closed),
            State::Down(_) => {}
        }
        let mut states = self.shared.state.subscribe();
        let settled = states.wait_for(|state| !matches!(state, State::Down(_)));
        let settled = tokio::time::timeout_at(deadline, settled).await;
        if let Ok(Ok(state)) = &settled {
            return match &**state {
                State::Up(connection, number) => Ok((connection.clone(), *number)),
                State::Down(_) | State::Closed => Err(Failure::Closed),
            };
        }
        drop(settled);
        match &*self.shared.state.borrow() {
            State::Up(connection, number) => Ok((connection.clone(), *number)),
            State::Down(failure) => Err(failure.clone()),
            State::Closed => Err(Failure::Closed),
        }
    }

    /// Sends a command once; only a script the server did not know, and so did not run, is called again.
    pub(crate) async fn send(
        &self,
        command: &Command,
        deadline: Instant,
    ) -> Result<Reply, Failure> {
        let (mut connection, _) = self.up(deadline).await?;
        let reply = exchange(&mut connection, &command.words, deadline).await;
        let (Err(Trouble::NoScript), Some(script)) = (&reply, command.script) else {
            return self.shared.answer(reply);
        };
        let mut load = redis::cmd("SCRIPT");
        load.arg("LOAD").arg(script.text());
        match exchange(&mut connection, &load, deadline).await {
            Ok(_) => {}
            // The script was not run, whatever became of its text.
            Err(Trouble::Lost(reason)) => {
                return Err(Failure::Unreachable { place: self.shared.name.clone(), reason });
            }
            failed @ Err(_) => return self.shared.answer(failed),
        }
        let reply = exchange(&mut connection, &command.words, deadline).await;
        self.shared.answer(reply)
    }

    /// Sends commands once, to be carried out together or not at all.
    pub(crate) async fn send_together(
        &self,
        commands: Vec<Command>,
        deadline: Instant,
    ) -> Result<Reply, Failure> {
        let (mut connection, _) = self.up(deadline).await?;
        let count = commands.len();
        let mut words = redis::pipe();
        words.atomic();
        for command in commands {
            words.add_command(command.words);
        }
        // One answer counts, that to EXEC, which comes after those to MULTI and to each command.
        let sent = connection.send_packed_commands(&words, count + 1, 1);
        let reply =
            answered(deadline, sent).await.map(|mut values| values.pop().unwrap_or(Value::Nil));
        self.shared.answer(reply.and_then(said))
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

/// Sends a command over a connection and waits for what comes back.
pub(super) async fn exchange(
    connection: &mut MultiplexedConnection,
    words: &redis::Cmd,
    deadline: Instant,
) -> Result<Value, Trouble> {
    answered(deadline, connection.send_packed_command(words)).await.and_then(said)
}

/// Waits for an answer, but not too long.
async fn answered<T>(
    deadline: Instant,
    sent: impl Future<Output = Result<T, RedisError>>,
) -> Result<T, Trouble> {
    match tokio::time::timeout_at(deadline, sent).await {
        Ok(answer) => answer.map_err(Trouble::from),
        Err(_) => Err(Trouble::Lost("it did not come in time".to_owned())),
    }
}

/// Takes the errors out of an answer.
fn said(value: Value) -> Result<Value, Trouble> {
    value.extract_error().map_err(Trouble::from)
}

impl Shared {
    /// Gives the name of the place this goes to, for messages.
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

    /// Makes an answer, or a failure, of what came back; has the connection looked at where that tells.
    pub(super) fn answer(&self, reply: Result<Value, Trouble>) -> Result<Reply, Failure> {
        let place = || self.name.clone();
        match reply {
            Ok(value) => Reply::from_value(value),
            Err(Trouble::Lost(reason)) => {
                self.suspect.notify_one();
                Err(Failure::Unknown { place: place(), reason })
            }
            Err(Trouble::NoScript) => Err(Failure::UnknownScript),
            Err(Trouble::Said(error)) => {
                let detail = error.to_string();
                // Up to 6.x an error inside a script comes as a general one with the first one's words in it.
                Err(
                    if detail.contains("READONLY")
                        || error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
                    {
                        self.suspect.notify_one();
                        Failure::ReadOnly { place: place() }
                    } else if detail.contains("WRONGTYPE") {
                        Failure::WrongKind { detail }
                    } else if ["NOPERM", "NOAUTH", "WRONGPASS"]
                        .iter()
                        .any(|code| detail.contains(code))
                        || error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
                    {
                        Failure::Denied { detail }
                    } else {
                        Failure::Refused { detail }
                    },
                )
            }
        }
    }
}

/// Why an exchange has no answer.
pub(super) enum Trouble {
    /// The server answered with an error.
    Said(RedisError),
    NoScript,
    /// Sent, perhaps, and no answer.
    Lost(String),
}

/// Gives the error that kept commands sent together from being done, in place of the one that says there was one.
fn first_of(error: RedisError) -> RedisError {
    if error.kind() != ErrorKind::Server(ServerErrorKind::ExecAbort) {
        return error;
    }
    let errors = error.clone().into_server_errors();
    let first = errors.and_then(|errors| errors.first().map(|(_, first)| first.clone()));
    first.map_or(error, RedisError::from)
}

impl From<RedisError> for Trouble {
    fn from(error: RedisError) -> Self {
        let error = first_of(error);
        let kind = error.kind();
        if kind == ErrorKind::Server(ServerErrorKind::NoScript) {
            Self::NoScript
        } else if matches!(kind, ErrorKind::Server(_) | ErrorKind::Extension) {
            Self::Said(error)
        } else {
            Self::Lost(error.to_string())
        }
    }
}

/// How long to pause after so many failed tries: growing to a second, and never the same for two clients.
pub(crate) fn pause(tries: u32) -> Duration {
    let longest = 20_u64 << tries.min(6);
    Duration::from_millis(fastrand::u64(longest / 2..=longest.min(1000)))
}

/// Keeps the connection up until it is told to stop.
async fn keep(shared: Arc<Shared>, dialler: Arc<Dialler>, line: Line) {
    let changed = Notify::new();
    tokio::select! {
        () = shared.stop.notified() => {}
        () = sentinel::watch(&dialler, &changed) => {}
        () = keep_up(&shared, &dialler, line, &changed) => {}
    }
    shared.state.send_replace(State::Closed);
}

async fn keep_up(shared: &Shared, dialler: &Dialler, mut line: Line, changed: &Notify) {
    loop {
        let why = stay(shared, dialler, &mut line, changed).await;
        shared.state.send_replace(State::Down(why));
        // Dropping the driver closes the connection, and everybody who waits on it learns so.
        drop(line);
        line = redial(shared, dialler).await;
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

async fn redial(shared: &Shared, dialler: &Dialler) -> Line {
    let mut tries = 0;
    loop {
        match dialler.line().await {
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
async fn stay(shared: &Shared, dialler: &Dialler, line: &mut Line, changed: &Notify) -> Failure {
    let heartbeat = dialler.options.heartbeat;
    let patience = heartbeat.min(Duration::from_secs(2));
    let left = |reason: String| Failure::Unreachable { place: line.host.to_string(), reason };
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
            match tokio::time::timeout(patience, dialler.host()).await {
                Ok(Ok(host)) if host != line.host => {
                    return left(format!("the master is now {host}"));
                }
                // Where no sentinel answers, the connection that works is kept.
                _ => {}
            }
        }
    };
    tokio::select! {
        why = check => why,
        () = &mut line.driver => left("the server closed the connection".to_owned()),
    }
}
