//! What is looked at of a hold before it is asked for.

use super::Campaign;
use super::asked::For;
use crate::command::Command;

impl Campaign {
    /// Says whether every seat a command names is free, as far as there are such seats.
    ///
    /// # Panics
    ///
    /// The command is not a hold.
    pub fn are_free(&self, command: &Command<'_>) -> bool {
        let Command::Hold { picks, .. } = command else { panic!("only a hold is judged") };
        match self.asked(picks, For::Anything) {
            Ok(asked) => self.taken(&asked).is_empty(),
            Err(_) => true,
        }
    }
}
