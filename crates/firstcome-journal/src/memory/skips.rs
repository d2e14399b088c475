//! Skipped entries of a journal in memory.

use super::Memory;
use crate::cluster::MEMBER_FOR;
use crate::failure::Failure;
use crate::name::Name;
use firstcome_core::state::Skip;

impl Memory {
    pub(crate) async fn skip(&self, skip: Skip) -> Result<(), Failure> {
        let now = self.clock.now();
        self.with(|state| {
            state.check_there()?;
            let (head, position) = (state.position(), skip.position);
            if position > head {
                return Err(Failure::Behind { head, applied: position });
            }
            let applied = Name { node: skip.node, number: skip.number };
            let found = state.name_at(position).filter(|_| position > state.base.0);
            let found =
                found.ok_or(Failure::Trimmed { wanted: position, first: state.base.0 + 1 })?;
            if found != applied {
                return Err(Failure::Forked { position, found, applied });
            }
            let node = state.nodes.values().find(|(node, seen)| {
                node.position >= position && now.micros_since(*seen) < MEMBER_FOR
            });
            let newest = state.manifests.first().filter(|newest| newest.position >= position);
            let who = match (node, newest) {
                (Some((node, _)), _) => format!("the server at {}", node.address),
                (None, Some(_)) => "whoever wrote the newest snapshot".to_owned(),
                (None, None) => {
                    state.skips.retain(|other| other.position != position);
                    state.skips.push(skip);
                    return Ok(());
                }
            };
            Err(Failure::Applied { position, who })
        })
    }

    pub(crate) async fn skips(&self) -> Result<Vec<Skip>, Failure> {
        Ok(self.with(|state| state.skips.clone()))
    }
}
