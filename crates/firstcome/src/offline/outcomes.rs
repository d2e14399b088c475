//! The outcomes of stored commands: the journal has the commands only, so they are applied again.

use crate::offline::audit::restore;
use firstcome_core::outcome::UnitName;
use firstcome_core::snapshot::Manifest;
use firstcome_core::state::Skip;
use firstcome_core::{Outcome, State};
use firstcome_http::clock_text::rfc3339;
use firstcome_journal::{Entry, Reading};
use serde_json::{Value, json};

/// Applies entries in order, for their outcomes.
#[derive(Debug)]
pub struct Replay {
    state: State,
    /// Whether an entry broke a rule: what follows it has no outcome.
    broke: bool,
}

impl Replay {
    /// Begins before a position: behind the newest snapshot if that is older, else with the first entry. Nothing where
    /// earlier entries are kept nowhere.
    ///
    /// # Errors
    ///
    /// The journal or its newest snapshot cannot be read.
    pub fn before(
        journal: &Reading,
        position: u64,
        skips: Vec<Skip>,
    ) -> anyhow::Result<Option<Self>> {
        let head = journal.head()?;
        let manifest = journal.newest_snapshot()?;
        let manifest = manifest.map(|bytes| Manifest::decode(&bytes)).transpose()?;
        let mut state = match manifest.filter(|manifest| manifest.stamp.position < position) {
            Some(manifest) => restore(journal, &manifest)?,
            None => match journal.start()?.map(|bytes| Manifest::decode(&bytes)).transpose()? {
                Some(start) if start.stamp.position < position => restore(journal, &start)?,
                Some(_) => return Ok(None),
                None => State::new(head.space),
            },
        };
        state.learn_skips(skips);
        Ok(Some(Self { state, broke: false }))
    }

    /// Returns the position of the entry to apply next.
    pub fn next_position(&self) -> u64 {
        self.state.position() + 1
    }

    /// Applies the next entry; gives the outcome of each of its commands. None where they did not run: a copy of a batch
    /// that was sent twice, a skipped entry, one that breaks a rule, and those behind it.
    pub fn apply(&mut self, entry: &Entry) -> Option<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        if self.broke {
            return None;
        }
        let (stamp, body) = entry.open().ok()?;
        let commands = body.commands().ok()?;
        self.broke = self.state.try_apply(stamp, &commands, &mut outcomes).is_err();
        (!self.broke && outcomes.len() == commands.len()).then_some(outcomes)
    }
}

/// Returns an outcome as JSON: its stable string, and what it says beyond the command.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an outcome that says nothing beyond the command is its string"
)]
pub fn to_json(outcome: &Outcome) -> Value {
    let units = |units: &[UnitName]| units.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut value = match outcome {
        Outcome::Won { rank, .. } => json!({"rank": rank}),
        Outcome::AlreadyWon { rank, at, .. } => json!({"rank": rank, "at": rfc3339(*at)}),
        Outcome::Cancelled { by, at } => json!({"by": by.as_str(), "at": rfc3339(*at)}),
        Outcome::Created { version } | Outcome::Unchanged { version } => {
            json!({"version": version})
        }
        Outcome::Changed { version, .. } => json!({"version": version}),
        Outcome::Held(held) | Outcome::AlreadyHeld(held) => {
            json!({"units": units(&held.units), "expires_at": rfc3339(held.expires_at)})
        }
        Outcome::Extended { expires_at } => json!({"expires_at": rfc3339(*expires_at)}),
        Outcome::Released(release) => json!({"units": units(&release.units), "left": release.left}),
        Outcome::Confirmed(confirmation) => {
            let ranks = confirmation.units.iter();
            let ranks = ranks.map(|ranked| format!("{} rank {}", ranked.unit, ranked.rank));
            json!({"units": ranks.collect::<Vec<_>>(), "left": confirmation.left})
        }
        Outcome::RefundDue(refund) => json!({"units": units(&refund.units)}),
        Outcome::Imported { seats, areas } => json!({"seats": seats, "areas": areas}),
        Outcome::Moved(moved) => json!({"rank": moved.rank}),
        Outcome::RefusedFor(refused) => {
            json!({"hold": refused.hold, "units": units(&refused.units)})
        }
        _ => json!({}),
    };
    value["outcome"] = json!(outcome.as_str());
    value
}
