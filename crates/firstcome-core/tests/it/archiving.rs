//! Campaigns that leave memory: what goes with them, and what stays.

use crate::snapshots::{restored, taken};
use crate::world::{Gave, SECOND, START, World, node};
use firstcome_core::command::{Mark, Order, Pick, Steer};
use firstcome_core::settings::{HoldSettings, HoldsEach, Opens, PoolSettings};
use firstcome_core::{Command, Expect, Outcome, Settings, Timestamp};

const OPS: Order<'_> = Order { id: None, who: "ops" };

/// A world whose entries come one after the other.
struct Later(World, Timestamp);

impl Later {
    fn new() -> Self {
        let mut later = Self(World::new(), START);
        for campaign in ["drop", "rush"] {
            let holding = HoldSettings { each: HoldsEach::Many, ..HoldSettings::default() };
            let settings = Settings {
                title: "".into(),
                opens: Opens::Now,
                closes_at: None,
                limit: None,
                claim_again: false,
                units_return: true,
                public: false,
                holding,
                pools: vec![PoolSettings::counted("main", 100_000)],
            };
            later.runs(&[Command::Put {
                campaign,
                settings,
                expect: Expect::Anything,
                order: OPS,
            }]);
        }
        later
    }

    fn runs(&mut self, commands: &[Command<'_>]) -> Vec<Outcome> {
        let number = self.0.state.position() + 1;
        match self.0.entry(self.1, node(1), number, commands) {
            Gave::Outcomes(outcomes) => outcomes,
            Gave::Copy => panic!("it is new"),
        }
    }

    fn claims(&mut self, campaign: &str, many: usize) {
        for first in (0..many).step_by(1_000) {
            let subjects: Vec<String> = (first..first + 1_000).map(|n| format!("s{n}")).collect();
            let claims: Vec<Command<'_>> =
                subjects.iter().map(|subject| Command::claim(campaign, None, subject)).collect();
            self.runs(&claims);
        }
    }

    fn archives(&mut self, campaign: &str) {
        self.runs(&[Command::Steer { campaign, steer: Steer::Close, order: OPS }]);
        let steer = Steer::Archive { drop_unsettled: true };
        let said = self.runs(&[Command::Steer { campaign, steer, order: OPS }]);
        assert!(!said[0].is_refusal(), "{said:?}");
    }
}

#[test]
fn results_of_a_campaign_that_left_memory_take_none_and_wait_for_nobody() {
    let mut later = Later::new();
    later.claims("drop", 20_000);
    later.claims("rush", 2_000);
    let (before, all) = (later.0.state.memory(), later.0.state.last_result());
    assert_eq!((all, later.0.state.waiting()), (22_000, 22_000));
    later.archives("drop");
    let remains = later.0.state.take_remains();
    let state = &later.0.state;
    assert!(remains.memory() > 500_000, "{}", remains.memory());
    assert_eq!(state.memory(), state.walked_memory());
    // Its name and when it was archived stay.
    assert!(before - state.memory() + 256 >= remains.memory(), "what is freed is counted no more");
    assert_eq!((state.last_result(), state.unsettled(), state.waiting()), (all, 22_000, 2_000));
    assert_eq!(state.oldest_waiting().map(|row| row.number), Some(20_001));
    assert_eq!(state.results_after(0).count(), 2_000);

    // What a snapshot has of it is no more, and settles the same.
    let back = restored(&taken(state, true));
    assert_eq!(back.memory(), back.walked_memory());
    assert_eq!((back.last_result(), back.unsettled(), back.waiting()), (all, 22_000, 2_000));
    later.0.replace_twin(back);
    for through in [10_000, 20_500, 22_000] {
        later.runs(&[Command::Settled { through, term: 1, mark: Mark::default() }]);
        let waits = later.0.state.campaign("rush").unwrap().unsettled();
        assert_eq!(waits, (22_000 - through).min(2_000));
        assert_eq!(later.0.state.waiting() as u64, waits);
    }
    assert_eq!(later.0.state.unsettled(), 0);
    assert_eq!(later.0.state.oldest_waiting().map(|row| row.number), None);
}

#[test]
fn deadlines_of_holds_that_went_with_their_campaign_are_nobodys() {
    let mut later = Later::new();
    let ids: Vec<String> = (0..10_000).map(|n| format!("h{n}")).collect();
    let hold = |campaign, id: &'static str| {
        let picks = vec![Pick::quantity("main", 1)];
        Command::Hold { campaign, id, subject: id, picks, limit: None }
    };
    for some in ids.chunks(1_000) {
        let holds: Vec<Command<'_>> = some
            .iter()
            .map(|id| {
                let picks = vec![Pick::quantity("main", 1)];
                Command::Hold { campaign: "drop", id, subject: id, picks, limit: None }
            })
            .collect();
        later.runs(&holds);
    }
    later.runs(&[hold("rush", "other")]);
    assert_eq!(later.0.state.live_holds(), 10_001);
    later.archives("drop");
    assert_eq!(later.0.state.live_holds(), 1);
    // Nobody told the twin: it read a snapshot that has none of them.
    let back = restored(&taken(&later.0.state, true));
    later.0.replace_twin(back);
    later.1 = later.1.plus_micros(SECOND);
    later.runs(&[hold("rush", "second")]);
    assert_eq!(later.0.state.live_holds(), 2);
    let last = |state: &firstcome_core::State| state.next_expiry();
    for _ in 0..40 {
        later.1 = later.1.plus_micros(15 * SECOND);
        later.runs(&[]);
    }
    assert_eq!((later.0.state.live_holds(), last(&later.0.state)), (0, None));
    assert_eq!(later.0.state.memory(), later.0.state.walked_memory());
    let left = |state: &firstcome_core::State| state.campaign("rush").unwrap().pools()[0].left();
    assert_eq!(left(&later.0.state), 100_000, "those of others were over at their time");
}
