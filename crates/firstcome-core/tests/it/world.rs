//! Two replicas that read the same bytes, and must agree after every entry.

use firstcome_core::command::{Body, BodyWriter};
use firstcome_core::names::Name;
use firstcome_core::state::EntryEffect;
use firstcome_core::{Command, NodeId, Outcome, SpaceId, Stamp, State, Timestamp};

pub(crate) const SPACE: SpaceId = SpaceId([7; 16]);
/// When every script begins: an arbitrary moment in 2023.
pub(crate) const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);
pub(crate) const SECOND: i64 = 1_000_000;

/// What an entry gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Gave {
    Outcomes(Vec<Outcome>),
    Copy,
}

pub(crate) struct World {
    pub(crate) state: State,
    twin: State,
    /// The journal: store part and body of every entry.
    pub(crate) journal: Vec<(Stamp, Vec<u8>)>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { state: State::new(SPACE), twin: State::new(SPACE), journal: Vec::new() }
    }

    /// Goes on with a state that comes from elsewhere, and another one that is the same.
    pub(crate) fn of(state: State, twin: State) -> Self {
        assert_eq!(twin.mark(), state.mark());
        Self { state, twin, journal: Vec::new() }
    }

    /// Puts another state in the place of the twin: from now on it must agree with this one.
    pub(crate) fn replace_twin(&mut self, twin: State) {
        assert_eq!(twin.mark(), self.state.mark());
        self.twin = twin;
    }

    /// Stores commands as one entry and lets both replicas read it.
    pub(crate) fn entry(
        &mut self,
        at: Timestamp,
        node: NodeId,
        number: u64,
        commands: &[Command<'_>],
    ) -> Gave {
        self.entry_of((node, number), None, at, commands)
    }

    /// The same, of a batch that was written first under another name.
    pub(crate) fn entry_of(
        &mut self,
        (node, number): (NodeId, u64),
        again_of: Option<Name>,
        at: Timestamp,
        commands: &[Command<'_>],
    ) -> Gave {
        let raise = |command: &Command<'_>| {
            if let Command::Raise { level, .. } = command { *level } else { 1 }
        };
        let level = commands.iter().map(raise).fold(self.state.level(), u32::max);
        let mut body = BodyWriter::at_level(level, node, number, self.state.position());
        if let Some(batch) = again_of {
            body = body.again_of(batch);
        }
        for command in commands {
            assert!(body.push(command), "a small batch has room");
        }
        let position = self.state.position() + 1;
        let stamp = Stamp { position, at, epoch: 0, node, number, again_of, level };
        let bytes = body.finish();
        let gave = apply(&mut self.state, stamp, &bytes);
        self.journal.push((stamp, bytes));
        // The twin gets the commands as they are: what bytes make of them must be the same.
        let mut outcomes = Vec::new();
        let twin = match self.twin.apply(stamp, commands, &mut outcomes) {
            EntryEffect::Ran => Gave::Outcomes(outcomes),
            EntryEffect::Copy | EntryEffect::Skipped => Gave::Copy,
        };
        assert_eq!(gave, twin, "two replicas give the same");
        assert_eq!(self.state.digest(), self.twin.digest(), "two replicas have the same digest");
        gave
    }
}

/// Applies one entry as a replica does: from the bytes of its body.
pub(crate) fn apply(state: &mut State, stamp: Stamp, bytes: &[u8]) -> Gave {
    let body = Body::open(bytes).unwrap();
    assert_eq!((body.head.name(), body.head.batch()), (stamp.name(), stamp.batch()));
    let commands = body.commands().unwrap();
    let mut outcomes = Vec::new();
    match state.apply(stamp, &commands, &mut outcomes) {
        EntryEffect::Ran => Gave::Outcomes(outcomes),
        EntryEffect::Copy | EntryEffect::Skipped => Gave::Copy,
    }
}

/// A node named by one byte.
pub(crate) fn node(name: u8) -> NodeId {
    NodeId([name; 16])
}
