//! Checks that a space is written at its level, and raised on an operator's word only.

use super::Broken;
use super::tree::Tree;
use firstcome_core::command::level_of;
use firstcome_core::{Command, LEVEL};

/// Checks the level of every entry that any server ever had.
pub(super) fn check(tree: &Tree<'_>, wrong: &mut Vec<Broken>) {
    let mut raised = LEVEL;
    for (index, (one, commands)) in tree.stored.iter().zip(&tree.commands).enumerate() {
        for command in commands {
            if let Command::Raise { level, .. } = command {
                raised = raised.max(*level);
            }
        }
        let level = level_of(&one.entry.body).unwrap_or_default();
        if !(LEVEL..=raised).contains(&level) {
            let what = format!(
                "{} is of level {level}: the space began at {LEVEL}, and was raised to {raised} by then",
                tree.tell(index)
            );
            wrong.push(Broken::new("level_as_raised", what));
        }
    }
}
