//! What a hold would be answered, without setting anything aside.

use super::Campaign;
use super::hold::ToHold;
use crate::Timestamp;
use crate::command::Command;
use crate::hall::Standing;
use crate::hold::Place;
use crate::outcome::{Outcome, Refusal};
use crate::turn::{Deadlines, Deeds, Turn};

/// What a hold would be answered as of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The answer.
    pub outcome: Outcome,
    /// For how much longer it stands by time alone, in microseconds of service time: until the first deadline it
    /// rests on. None if it rests on none.
    pub for_us: Option<i64>,
}

impl Campaign {
    /// Says what a hold would be answered at a time, if that is not a yes that sets units aside.
    ///
    /// Nothing is said of the best seats, nor of single ones left between others: those are for whoever
    /// chooses. `unit_taken` names every seat that is taken, and is only said if another subject has one of them.
    ///
    /// # Panics
    ///
    /// The command is not a hold.
    pub fn judge_hold(&self, at: Timestamp, service: i64, command: &Command<'_>) -> Option<Judged> {
        let Command::Hold { id, subject, picks, .. } = command else {
            panic!("only a hold is judged");
        };
        let (mut deadlines, mut deeds) = (Deadlines::new(), Deeds::default());
        let turn = Turn { at, service, deadlines: &mut deadlines, deeds: &mut deeds };
        let ask = ToHold { id, subject, picks, content: command.content() };
        let asked = match self.may_hold(&turn, &ask) {
            Ok(asked) => asked,
            Err(outcome) => {
                let mut for_us = None;
                if let Outcome::AlreadyHeld(held) = &outcome {
                    for_us = self.holds.find(&held.hold).map(|hold| hold.deadline - service);
                }
                return Some(Judged { outcome, for_us });
            }
        };
        let taken = self.taken(&asked);
        if !taken.is_empty() {
            // The one that stays taken for longest is enough to refuse.
            let others =
                taken.iter().filter_map(|(pool, seat)| self.is_anothers(*pool, *seat, subject));
            let longest = others.max_by_key(|until| until.unwrap_or(i64::MAX))?;
            let names = taken.iter().map(|(pool, seat)| self.unit_name(*pool, Place::Seat(*seat)));
            let outcome = Outcome::refused_for(Refusal::UnitTaken, names.collect());
            return Some(Judged { outcome, for_us: longest.map(|until| until - service) });
        }
        let few = asked
            .quantities
            .iter()
            .any(|(pool, place, count)| self.pools[usize::from(*pool)].free(*place) < *count);
        few.then(|| Judged { outcome: Refusal::SoldOut.into(), for_us: None })
    }

    /// Says until which service time another subject has a seat, if another has it; none means for good.
    fn is_anothers(&self, pool: u16, seat: u32, subject: &str) -> Option<Option<i64>> {
        let pool = &self.pools[usize::from(pool)];
        match pool.hall()?.standing(seat) {
            Standing::Held(number) => {
                let hold = self.holds.at(number);
                (*hold.subject != *subject).then_some(Some(hold.deadline))
            }
            Standing::Confirmed(rank) => {
                let another = pool.claim(rank).is_some_and(|claim| claim.subject != subject);
                another.then_some(None)
            }
            Standing::Free | Standing::Blocked => None,
        }
    }

    /// Says whether every seat a command names is free, as far as there are such seats.
    ///
    /// # Panics
    ///
    /// The command is not a hold.
    pub fn are_free(&self, command: &Command<'_>) -> bool {
        let Command::Hold { picks, .. } = command else { panic!("only a hold is judged") };
        match self.asked(picks, super::asked::For::Anything) {
            Ok(asked) => self.taken(&asked).is_empty(),
            Err(_) => true,
        }
    }
}
