//! Checks whose codes are: one subject's each, and after a fork nobody's who could use another's.

use super::excuses::Excuses;
use super::replay::Replay;
use super::tree::Tree;
use super::{Broken, Question};
use crate::history::{History, ShownCode};
use firstcome_core::Command;
use firstcome_core::codes::{CodeKey, CodeVerdict};
use firstcome_core::command::CodeCommand;
use firstcome_model::{Event, Issued};
use std::collections::{BTreeMap, BTreeSet};

/// A code of a pool.
type Code<'r> = (&'r str, &'r str, CodeKey);

/// To whom each code was issued, and by which entries.
type Owners<'r> = BTreeMap<Code<'r>, BTreeMap<&'r str, BTreeSet<usize>>>;

/// Checks all codes.
pub(super) fn check(
    history: &History,
    tree: &Tree<'_>,
    replay: &Replay<'_>,
    excuses: &Excuses<'_>,
    wrong: &mut Vec<Broken>,
) {
    let at_the_end = owners(replay, replay.journal.iter().copied());
    let owners = owners(replay, 0..replay.events.len());
    for ((campaign, pool, code), subjects) in &owners {
        if let (CodeKey::Generated { .. }, true) = (code, subjects.len() > 1) {
            wrong.push(of_two(campaign, pool, subjects.keys()));
        }
    }
    for ((campaign, pool, code), subjects) in at_the_end {
        if let (CodeKey::Imported { .. }, true) = (code, subjects.len() > 1) {
            wrong.push(of_two(campaign, pool, subjects.keys()));
        }
    }
    for shown in &history.codes_shown {
        let ShownCode { exchange, campaign, pool, subject, code } = shown;
        let question = || Question(&history.exchanges[*exchange].asked);
        let name = (campaign.as_str(), pool.as_str(), *code);
        let entries = owners.get(&name).and_then(|subjects| subjects.get(subject.as_str()));
        let Some(entries) = entries else {
            let what = format!("{} and was shown a code that is not theirs", question());
            wrong.push(Broken::new("code_is_theirs", what));
            continue;
        };
        let excused =
            entries.iter().any(|entry| excuses.is_final(*entry) || excuses.loss_is_allowed(*entry));
        if matches!(code, CodeKey::Imported { .. })
            && !excused
            && counts_for_another(replay, shown)
            && !is_restored(tree, shown)
        {
            let what =
                format!("{} and was shown a code that counts, and is not theirs now", question());
            wrong.push(Broken::new("code_of_two_rests", what));
        }
    }
}

fn of_two<'s>(campaign: &str, pool: &str, subjects: impl Iterator<Item = &'s &'s str>) -> Broken {
    let subjects: Vec<_> = subjects.collect();
    let what = format!("a code of {campaign}/{pool} was issued to each of {subjects:?}");
    Broken::new("code_has_one_subject", what)
}

fn owners<'r>(replay: &'r Replay<'_>, vertices: impl Iterator<Item = usize>) -> Owners<'r> {
    let mut owners = Owners::new();
    for vertex in vertices {
        for event in &replay.events[vertex] {
            let Event::Issued(Issued { campaign, pool, code, subject }) = event else { continue };
            let subjects = owners.entry((*campaign, &**pool, *code)).or_default();
            subjects.entry(*subject).or_default().extend(replay.vertices[vertex]);
        }
    }
    owners
}

/// Says whether a code that a subject was shown is somebody else's at the end, or will be, and can be used.
fn counts_for_another(replay: &Replay<'_>, shown: &ShownCode) -> bool {
    let campaign = replay.last.campaign(&shown.campaign);
    campaign.is_some_and(|campaign| campaign.counts_code(&shown.pool, shown.code))
}

/// Says whether an operator ever let codes of the pool count again.
fn is_restored(tree: &Tree<'_>, shown: &ShownCode) -> bool {
    tree.commands.iter().flatten().any(|command| {
        let Command::Code(CodeCommand::Mark { campaign, pool, verdict, .. }) = command else {
            return false;
        };
        *verdict == CodeVerdict::Restore && (*campaign, *pool) == (&*shown.campaign, &*shown.pool)
    })
}
