//! Compares a state with the model, which gets the same entries.

use crate::world::{Gave, SPACE, World, apply};
use firstcome_core::codes::{CodeMark, CodeVerdict, Use, UseState};
use firstcome_core::command::Body;
use firstcome_core::results::Kind;
use firstcome_core::{Command, State};
use firstcome_model::{Decision, Event, Model, is_as_listed};

#[derive(Default)]
pub(crate) struct Comparison {
    model: Model<'static>,
    /// What all entries did.
    pub(crate) events: Vec<Event<'static>>,
    entries: usize,
}

impl Comparison {
    /// Gives the model the entry that a state got last: each command must have come to the same.
    pub(crate) fn same_outcomes(
        &mut self,
        state: &State,
        commands: &[Command<'static>],
        gave: &Gave,
    ) {
        let applied = self.model.apply(self.entries, state.stamp(), commands);
        self.entries += 1;
        self.events.extend(applied.events);
        let outcomes = |all: Vec<Decision>| all.into_iter().map(|decision| decision.outcome);
        let ours =
            applied.decisions.map_or(Gave::Copy, |all| Gave::Outcomes(outcomes(all).collect()));
        assert_eq!(*gave, ours, "entry {}: {commands:#?}", state.position());
    }

    /// Compares everything a reader of a state can see.
    pub(crate) fn same_state(&self, state: &State) {
        let model = &self.model;
        assert_eq!(state.last_result(), model.last_result());
        assert_eq!(state.settled(), model.settled());
        self.same_results(state);
        let campaigns: Vec<_> = model.campaigns().filter(|(_, found)| !found.archived).collect();
        assert_eq!(state.campaigns().count(), campaigns.len());
        for (campaign, (name, ours)) in state.campaigns().zip(campaigns) {
            assert_eq!((campaign.name(), campaign.version()), (name, ours.version));
            assert_eq!(campaign.settings(), ours.settings);
            let acts: Vec<_> = campaign.acts().collect();
            assert!(is_as_listed(ours.acts(), &acts), "{name}: {acts:#?}, {:#?}", ours.acts());
            for (index, pool) in campaign.pools().iter().enumerate() {
                assert_eq!(pool.counts(), ours.counts(index), "{name}/{}", pool.name());
                let rows = &ours.pools[index].rows;
                assert_eq!(pool.last_rank() as usize, rows.len());
                for (rank, row) in (1..).zip(rows) {
                    let claim = pool.claim(rank).expect("the model has it");
                    let cancel = claim.cancel.map(|cancel| (cancel.by, cancel.at));
                    let undone = row.undone.map(|undone| (undone.by, undone.at));
                    assert_eq!((claim.subject, claim.at, cancel), (row.subject, row.at, undone));
                }
            }
        }
    }

    /// Compares the results that no ledger has and whose campaign is in memory.
    fn same_results(&self, state: &State) {
        let is_kept = |name: &str| self.model.campaign(name).is_some_and(|found| !found.archived);
        let results = self.events.iter().filter_map(Event::result);
        let ours = results
            .filter(|(_, it)| it.number > self.model.settled() && is_kept(it.campaign))
            .map(|(kind, it)| {
                let of = (it.campaign, &*it.pool, it.subject, it.rank);
                ((it.number, it.in_campaign), kind, of, (it.unit, it.hold, it.from))
            });
        let theirs = state.results_after(0).map(|row| {
            let of = (row.campaign.name(), row.pool, row.claim.subject, row.claim.rank);
            // The model says of a code in the same three places which reference used it, and what an operator decided of it.
            let decided = |mark: &CodeMark| mark.verdict.map_or("reissue", CodeVerdict::as_str);
            let is_over =
                |used: &Use| matches!(used.state, UseState::RolledBack { expired: true, .. });
            let over = row.used.filter(|used| row.kind == Kind::RolledBack && is_over(used));
            let unit = row.unit.or(row.mark.map(decided)).or(over.map(|_| "expired"));
            let hold = row.hold.or(row.used.map(|used| &*used.reference));
            let import = row.mark.map(|mark| &*mark.import).filter(|import| !import.is_empty());
            let number = (row.number, row.in_campaign);
            (number, row.kind, of, (unit, hold, row.moved_from().or(import)))
        });
        assert_eq!(theirs.collect::<Vec<_>>(), ours.collect::<Vec<_>>());
    }
}

/// Gives the model all entries of a world that began empty: it must come to the same.
pub(crate) fn same_as_the_model(world: &World) {
    let (mut state, mut comparison) = (State::new(SPACE), Comparison::default());
    for (stamp, bytes) in &world.journal {
        let bytes: &'static [u8] = bytes.clone().leak();
        let commands = Body::open(bytes).unwrap().commands().unwrap();
        let gave = apply(&mut state, *stamp, bytes);
        comparison.same_outcomes(&state, &commands, &gave);
    }
    comparison.same_state(&state);
}
