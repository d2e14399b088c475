//! What is looked at of a hold before it is asked for.

use super::Campaign;
use super::asked::For;
use crate::command::Command;
use crate::hall::Standing;

impl Campaign {
    /// Gives the service time, in microseconds, from which on every seat a command names is free if nobody does
    /// anything until then: long ago where all are. None where one is somebody's for good, or blocked.
    ///
    /// # Panics
    ///
    /// The command is not a hold.
    pub fn free_from(&self, command: &Command<'_>) -> Option<i64> {
        let Command::Hold { picks, .. } = command else { panic!("only a hold is judged") };
        let Ok(asked) = self.asked(picks, For::Anything) else { return Some(i64::MIN) };
        let mut deadlines = self.taken(&asked).into_iter().map(|(pool, seat)| {
            match self.pools[usize::from(pool)].hall()?.standing(seat) {
                Standing::Held(number) => Some(self.holds.at(number).deadline),
                Standing::Free | Standing::Confirmed(_) | Standing::Blocked => None,
            }
        });
        deadlines.try_fold(i64::MIN, |latest, deadline| Some(latest.max(deadline?)))
    }
}
