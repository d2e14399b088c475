//! Raising the level of the space.

use crate::answer::Answer;
use crate::appender::queue::QueuedRequest;
use crate::error::CommandError;
use crate::intake::Intake;
use firstcome_core::command::Encoded;
use firstcome_core::{Command, State, newest_level};
use firstcome_inject::{Mistake, inject};

/// Why the space cannot be raised.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotRaise {
    /// A server that was there in the last ten seconds would stop.
    #[error("server {address} reads up to level {level}, not level {newest}", newest = newest_level())]
    ServerReadsLess {
        /// Where it can be reached, or its identity if it did not say.
        address: Box<str>,
        /// The newest level it reads.
        level: u32,
    },
    /// It has no outcome.
    #[error("it is not known whether it was raised, or it was not")]
    Failed(CommandError),
}

impl Intake {
    /// Raises the space to the newest level this build reads, on the word of a key of this name: for good, everything
    /// that is written from then on is of that level. It changes nothing where the space is there already.
    ///
    /// # Errors
    ///
    /// A server that sent a heartbeat in the last ten seconds reads less: nothing changed. Any
    /// [`CommandError`]; only [`CommandError::Unknown`] may have changed something.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the space may or may not be raised; asking again tells.
    pub async fn raise_level(&self, who: &str) -> Result<Answer, CannotRaise> {
        let level = newest_level();
        self.everybody_reads(level)?;
        let raise = Command::Raise { level, who };
        let encoded = Encoded::new(&raise).map_err(|_| {
            CannotRaise::Failed(CommandError::Malformed("a key's name outside its bounds"))
        })?;
        self.enqueue(QueuedRequest::Raise(encoded)).await.map_err(CannotRaise::Failed)
    }

    fn everybody_reads(&self, level: u32) -> Result<(), CannotRaise> {
        if inject(Mistake::RaiseUnread) {
            return Ok(());
        }
        let membership = self.membership();
        if membership.is_none() && self.health.several() {
            let why = "this server has not heard yet which others there are";
            return Err(CannotRaise::Failed(CommandError::Unavailable(why.into())));
        }
        let nodes = membership.iter().flat_map(|membership| &membership.nodes);
        if let Some((older, _)) = nodes.into_iter().find(|(node, _)| node.level < level) {
            let unnamed = || older.node.to_string().into();
            let address = if older.address.is_empty() { unnamed() } else { older.address.clone() };
            return Err(CannotRaise::ServerReadsLess { address, level: older.level });
        }
        Ok(())
    }

    /// Returns the level of the space as of what this node applied.
    pub fn level(&self) -> u32 {
        self.replica.look(State::level)
    }
}
