//! The list of acts of a campaign: who did what to it, and what came of that.

use super::State;
use crate::acts::Act;
use crate::command::Command;
use crate::limits::ACT_ABOUT_BYTES;
use crate::outcome::Outcome;
use crate::settings::{Opens, Settings};
use firstcome_inject::{Mistake, inject};

impl State {
    /// Adds an operator's command to the acts of its campaign.
    ///
    /// A command on a campaign that is not there, or not any more, is nowhere.
    pub(super) fn note_act(&mut self, command: &Command<'_>, outcome: &Outcome) {
        let changes = std::mem::take(&mut self.changes);
        if inject(Mistake::RefusedActForgotten) && outcome.is_refusal() {
            return;
        }
        let at = self.stamp.at;
        let (Some(asked), Some(name)) = (command.act(), command.campaign()) else { return };
        let Ok(campaign) = self.campaign_mut(name) else { return };
        let mut about = changes;
        command.tell_act(&mut about);
        cut(&mut about, ACT_ABOUT_BYTES);
        campaign.acts.push(Act {
            at,
            who: asked.who.into(),
            deed: asked.deed,
            about: about.into(),
            reason: asked.reason.into(),
            outcome: outcome.as_str().into(),
        });
    }

    /// Keeps what a put changed, until [`State::note_act`].
    pub(super) fn note_changes(&mut self, before: &Settings, after: &Settings) {
        self.changes.clear();
        tell_changes(&mut self.changes, before, after);
    }
}

/// Shortens a text to so many bytes, and shows that something is left out.
fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        let mut end = most - '…'.len_utf8();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
}

/// Names the settings that differ, with the numbers before and after where it is one number.
fn tell_changes(out: &mut String, before: &Settings, after: &Settings) {
    let mut told = |text: &str| {
        // What is longer is cut anyway.
        if out.len() < ACT_ABOUT_BYTES {
            if !out.is_empty() {
                out.push_str(", ");
            }
            out.push_str(text);
        }
    };
    let number = |limit: Option<u32>| limit.map_or("–".to_owned(), |limit| limit.to_string());
    if before.title != after.title {
        told("title");
    }
    if before.opens != after.opens {
        told(if after.opens == Opens::Undecided { "opens_at –" } else { "opens_at" });
    }
    if before.closes_at != after.closes_at {
        told(if after.closes_at.is_none() { "closes_at –" } else { "closes_at" });
    }
    if before.limit != after.limit {
        told(&format!("limits.campaign {} → {}", number(before.limit), number(after.limit)));
    }
    if before.claim_again != after.claim_again {
        told(&format!("claim_again {}", after.claim_again));
    }
    if before.units_return != after.units_return {
        told(&format!("units_return {}", after.units_return));
    }
    if before.public != after.public {
        told(&format!("public {}", after.public));
    }
    if before.holding != after.holding {
        told("holds");
    }
    for (index, pool) in after.pools.iter().enumerate() {
        let name = &pool.name;
        let Some(known) = before.pools.get(index).filter(|known| known.name == pool.name) else {
            told(&format!("+{name} {}", pool.capacity));
            continue;
        };
        if known.capacity != pool.capacity {
            told(&format!("{name}.capacity {} → {}", known.capacity, pool.capacity));
        }
        if known.limit != pool.limit {
            told(&format!("{name}.limit {} → {}", number(known.limit), number(pool.limit)));
        }
        if known.waitlist != pool.waitlist {
            told(&format!("{name}.waitlist"));
        }
        if known.codes != pool.codes {
            told(&format!("{name}.codes"));
        }
    }
    let gone = before.pools.iter().filter(|known| after.pools.iter().all(|p| p.name != known.name));
    gone.for_each(|pool| told(&format!("-{}", pool.name)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        let mut text = "한글".repeat(10);
        cut(&mut text, 20);
        assert_eq!(text, "한글한글한…");
        cut(&mut text, 20);
        assert_eq!(text.len(), 18);
    }
}
