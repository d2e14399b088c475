//! Applying an entry so that a broken rule is an answer, and does not end the caller.

use super::{Stamp, State};
use crate::command::Command;
use crate::outcome::Outcome;
use firstcome_inject::{Mistake, inject};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryEffect {
    /// Its commands ran.
    Ran,
    /// It was a copy of a batch seen before: time moved, its commands did not run.
    Copy,
    /// It is skipped: time moved, its number is remembered, its commands did not run.
    Skipped,
}

/// What is being done to a state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Applying {
    /// Nothing.
    #[default]
    Nothing,
    /// Time passes.
    Time,
    /// A hold of this campaign expires.
    Expiry(u32),
    /// A command runs: its index among those of the entry.
    Command(usize),
}

/// A rule's own invariant did not hold while an entry was applied, which is a bug.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Broke {
    /// The entry.
    pub position: u64,
    /// The campaign it broke in, if it was in one.
    pub campaign: Option<Box<str>>,
    /// Whether it broke while time passed, before the commands: skipping them does not help then.
    pub in_time: bool,
    /// What the rule said.
    pub why: Box<str>,
}

impl std::fmt::Display for Broke {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "entry {} cannot be applied: a rule broke", self.position)?;
        if self.in_time {
            f.write_str(" while time passed")?;
        }
        if let Some(campaign) = &self.campaign {
            write!(f, " in campaign {campaign}")?;
        }
        write!(f, " ({})", self.why)
    }
}

impl Broke {
    /// Says what an operator can do about it.
    pub fn advice(&self) -> String {
        if self.in_time {
            return "it broke before the entry's commands, so skipping them does not help: start a build in \
                    which it is mended"
                .to_owned();
        }
        format!(
            "`firstcome journal skip {} --reason TEXT` goes on without it; with a data folder, stop the \
             server first",
            self.position
        )
    }
}

impl State {
    /// Applies one entry as [`State::apply`] does.
    ///
    /// # Errors
    ///
    /// A rule broke. Position, time and digest are those of the entry before, the campaigns may be half changed: such
    /// a state is good for nothing but to be put together anew.
    ///
    /// # Panics
    ///
    /// Never: the entry that does not follow breaks like a rule.
    pub fn try_apply(
        &mut self,
        stamp: Stamp,
        commands: &[Command<'_>],
        outcomes: &mut Vec<Outcome>,
    ) -> Result<EntryEffect, Broke> {
        let before = (self.stamp, self.service);
        self.applying = Applying::Nothing;
        let applied = caught(|| self.apply(stamp, commands, outcomes));
        applied.map_err(|why| {
            (self.stamp, self.service) = before;
            let campaign = match self.applying {
                Applying::Nothing | Applying::Time => None,
                Applying::Expiry(number) => self.campaigns.get(&number).map(|found| found.name()),
                Applying::Command(index) => commands.get(index).and_then(Command::campaign),
            };
            Broke {
                position: stamp.position,
                campaign: campaign.map(Into::into),
                in_time: !matches!(self.applying, Applying::Command(_)),
                why: why.into(),
            }
        })
    }
}

/// Breaks in a campaign called `poison`, where a test has asked for this mistake.
pub(super) fn break_if(mistake: Mistake, campaign: &str) {
    assert!(!(inject(mistake) && campaign == "poison"), "a rule breaks, as asked for");
}

thread_local! {
    /// Whether an entry is being applied on this thread.
    static APPLYING: Cell<bool> = const { Cell::new(false) };
    /// What the rule that broke last said, and where it stands.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Makes [`Broke`] the only report of a rule that breaks in [`State::try_apply`], with its place in the code: it prints nothing.
///
/// For a program, which calls it once, before it applies anything. Other panics are printed as before.
pub fn silence_broken_rules() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !APPLYING.get() {
                return usual(panic);
            }
            let at = panic.location().map(|at| format!(", at {at}")).unwrap_or_default();
            SAID.set(format!("{}{at}", text_of(panic.payload())));
        }));
    });
}

/// Says whether this thread applies an entry: a panic now is one of a rule, and reported by [`Broke`].
///
/// For a panic hook that is set after [`silence_broken_rules`]: it leaves these to the hook before it.
pub fn is_applying() -> bool {
    APPLYING.get()
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a word")
}

/// Does some work; a panic in it is given back in words.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    APPLYING.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    APPLYING.set(false);
    done.map_err(|payload| match SAID.take() {
        said if said.is_empty() => text_of(&*payload).to_owned(),
        said => said,
    })
}
