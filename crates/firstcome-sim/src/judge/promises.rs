//! Checks that every acknowledged yes still holds at the end, or is excused.

use super::acknowledged::{Holds, PromiseFate};
use super::answers::HeardAnswer;
use super::excuses::{Excuses, Listed};
use super::replay::Replay;
use super::tree::Tree;
use super::{Broken, Story, Verdict};
use crate::history::{Asked, History, Reply};
use firstcome_core::command::CodeCommand;
use firstcome_core::outcome::Clamped;
use firstcome_core::results::Kind;
use firstcome_core::settings::Opens;
use firstcome_core::{Command, LEVEL, Outcome, Settings};
use firstcome_model::{Event, ModelCampaign, ModelPool};

/// Checks every yes that was true when it was said.
pub(super) fn check(
    history: &History,
    tree: &Tree<'_>,
    replay: &Replay<'_>,
    excuses: &Excuses<'_>,
    true_answers: &[HeardAnswer],
    verdict: &mut Verdict,
    wrong: &mut Vec<Broken>,
) {
    let holds = Holds::of(tree, replay, excuses);
    for heard in true_answers {
        let exchange = &history.exchanges[heard.exchange];
        let Reply::Answer { outcome, .. } = &exchange.reply else { continue };
        match fate(&holds, &exchange.asked, outcome, heard) {
            PromiseFate::Kept => {}
            PromiseFate::Listed if excuses.was_tried(heard.origin, replay) => {
                verdict.ranks_excused += 1
            }
            PromiseFate::Listed => {
                let (story, origin) = (Story(exchange), tree.tell(heard.origin));
                let what =
                    format!("{story}; it rests on {origin}, whose batch never ran in the end");
                wrong.push(Broken::new("orphans_brought", what));
            }
            PromiseFate::Gone(_)
                if excuses.loss_is_allowed(heard.origin)
                    || !must_be_listed(&exchange.asked)
                        && excuses.nobody_could_bring(heard.origin) =>
            {
                verdict.losses_allowed += 1
            }
            PromiseFate::Gone(instead) => {
                let origin = tree.tell(heard.origin);
                let what =
                    format!("{}; it rests on {origin}, but in the end {instead}", Story(exchange));
                wrong.push(Broken::new("acknowledged_kept", what));
            }
        }
    }
}

/// Says whether a fork's list must have what became of this where nobody could bring it: it compares states then, not words.
fn must_be_listed(asked: &Asked) -> bool {
    match asked {
        Asked::Claim { .. } | Asked::Cancel { .. } => true,
        Asked::Put { .. } | Asked::Steer { .. } | Asked::Raise => false,
        Asked::On { command, .. } | Asked::Code { command, .. } => matches!(
            command.command(),
            Command::Claim { .. }
                | Command::Cancel { .. }
                | Command::Hold { .. }
                | Command::Change { .. }
                | Command::Confirm { .. }
                | Command::Code(CodeCommand::Redeem { .. } | CodeCommand::RollBack { .. })
        ),
    }
}

/// Says what came of a yes; a no is kept.
fn fate(holds: &Holds<'_>, asked: &Asked, outcome: &Outcome, heard: &HeardAnswer) -> PromiseFate {
    let (replay, excuses) = (holds.replay, holds.excuses);
    let won = |campaign: &str, pool: Option<&str>, subject: &str, rank: u32| {
        let (has, only) = pool_of_claim(replay, campaign, pool);
        // The pool's name, also where the claim did not say it or the campaign is gone.
        let pool = pool.or(only).or_else(|| pool_of(replay, heard, subject));
        let name = (campaign, pool.unwrap_or_default(), subject);
        let over = holds.undone.contains(&(name.0, name.1, rank, name.2));
        holds.listed(name, rank).unwrap_or_else(|| claim(has, rank, name, over, excuses))
    };
    match (asked, outcome) {
        (
            Asked::Claim { campaign, pool, subject },
            Outcome::Won { rank, .. } | Outcome::AlreadyWon { rank, .. },
        ) => won(campaign, pool.as_deref(), subject, *rank),
        (Asked::Cancel { campaign, pool, subject, rank, .. }, Outcome::Cancelled { .. }) => {
            let (has, only) = pool_of_claim(replay, campaign, pool.as_deref());
            let pool = pool.as_deref().or(only).unwrap_or_default();
            let name = (campaign.as_str(), pool, subject.as_str());
            holds.listed(name, *rank).unwrap_or_else(|| cancel(has, *rank, name, excuses))
        }
        (
            Asked::Put { campaign, .. } | Asked::Steer { campaign, .. },
            Outcome::Created { version }
            | Outcome::Changed { version, .. }
            | Outcome::Unchanged { version },
        ) => {
            let found = replay.last.campaign(campaign);
            // Brought to another history it has done there what it could.
            let brought = heard.entry.is_some_and(|entry| excuses.is_brought(entry, replay));
            let now = found.map(|found| found.version);
            let lower = now.is_none_or(|now| now < *version);
            if lower && excuses.went_back(campaign, now) {
                PromiseFate::Listed
            } else {
                operator(found, asked, *version, clamped(outcome), brought)
            }
        }
        // The level never goes down: see `level_as_raised`.
        (Asked::Raise, _) if replay.last.level() > LEVEL => PromiseFate::Kept,
        (Asked::Raise, _) => {
            PromiseFate::Gone(format!("the space is at level {}", replay.last.level()))
        }
        (Asked::On { .. } | Asked::Code { .. }, _) if outcome.is_refusal() => PromiseFate::Kept,
        (Asked::On { command, .. } | Asked::Code { command, .. }, _) => {
            let command = command.command();
            // As if it had been asked for alone, where it cannot have been brought.
            if let Command::Claim { campaign, pool, subject, .. } = command
                && let Outcome::Won { rank, .. } | Outcome::AlreadyWon { rank, .. } = *outcome
                && excuses.nobody_could_bring(heard.origin)
            {
                return won(campaign, pool, subject, rank);
            }
            holds.fate(&command, outcome, heard)
        }
        (
            Asked::Claim { .. } | Asked::Cancel { .. } | Asked::Put { .. } | Asked::Steer { .. },
            _,
        ) => PromiseFate::Kept,
    }
}

/// Returns the pool that a claim is in at the end, and the name of the first one of its campaign.
fn pool_of_claim<'r>(
    replay: &'r Replay<'_>,
    campaign: &str,
    pool: Option<&str>,
) -> (Option<&'r ModelPool<'r>>, Option<&'r str>) {
    let found = replay.last.campaign(campaign);
    let only = found.and_then(|found| found.settings.pools.first());
    (found.and_then(|found| found.pool(pool)), only.map(|pool| &*pool.name))
}

/// Returns the pool in which the entry a promise rests on gave a subject something.
fn pool_of<'w>(replay: &'w Replay<'_>, heard: &HeardAnswer, subject: &str) -> Option<&'w str> {
    let events =
        replay.events.iter().zip(&replay.vertices).filter(|(_, at)| **at == Some(heard.origin));
    let mut results = events.flat_map(|(events, _)| events).filter_map(Event::result);
    let won = results.find(|(kind, it)| *kind == Kind::Claim && it.subject == subject);
    won.map(|(_, it)| &*it.pool)
}

fn claim(
    has: Option<&ModelPool<'_>>,
    rank: u32,
    name: (&str, &str, &str),
    undone: bool,
    excuses: &Excuses<'_>,
) -> PromiseFate {
    let subject = name.2;
    let is_theirs =
        |rank| has.and_then(|pool| pool.row(rank)).is_some_and(|row| row.subject == subject);
    if is_theirs(rank) {
        return PromiseFate::Kept;
    }
    let live = has.and_then(|pool| pool.live(subject)).map(|(rank, _)| rank);
    let listed = excuses.listed(name);
    if let Listed { lost: true, .. } = listed.after(rank) {
        return PromiseFate::Listed;
    }
    if listed.after(rank).ranks.into_iter().any(is_theirs) {
        return PromiseFate::Listed;
    }
    // What they cancelled themselves is not missed, as long as they were told what they have instead.
    match live {
        None if undone => return PromiseFate::Kept,
        Some(live) if undone && listed.is_named(live) => return PromiseFate::Listed,
        Some(_) | None => {}
    }
    let whose = has.and_then(|pool| pool.row(rank)).map(|row| row.subject);
    let whose = whose.map_or("nobody's".into(), |other| format!("that of {other:?}"));
    let live = live.map_or("nothing".into(), |live| format!("rank {live}"));
    let listed = excuses.tell(name);
    PromiseFate::Gone(format!("rank {rank} is {whose}, {subject:?} has {live}, and {listed}"))
}

fn cancel(
    has: Option<&ModelPool<'_>>,
    rank: u32,
    name: (&str, &str, &str),
    excuses: &Excuses<'_>,
) -> PromiseFate {
    let subject = name.2;
    let row = |rank| has.and_then(|pool| pool.row(rank)).filter(|row| row.subject == subject);
    let is_theirs = |rank| row(rank).is_some();
    let live = has.and_then(|pool| pool.live(subject)).map(|(rank, _)| rank);
    if row(rank).is_some_and(|row| row.undone.is_some()) {
        return PromiseFate::Kept;
    }
    let listed = excuses.listed(name);
    match live {
        // The claim is gone altogether: nothing of it stands.
        None => PromiseFate::Kept,
        // A cancel is void with the rank it undid.
        Some(live) if listed.is_named(live) || listed.after(rank).lost => PromiseFate::Listed,
        // Of what they were told they have instead they may have cancelled that too, and claimed anew.
        Some(_)
            if listed
                .after(rank)
                .ranks
                .into_iter()
                .any(|other| other != rank && is_theirs(other)) =>
        {
            PromiseFate::Listed
        }
        Some(live) => {
            let listed = excuses.tell(name);
            PromiseFate::Gone(format!("{subject:?} has rank {live} all the same, and {listed}"))
        }
    }
}

/// Returns the pools whose capacity could not go down as far as asked.
fn clamped(outcome: &Outcome) -> &[Clamped] {
    if let Outcome::Changed { clamped, .. } = outcome { clamped } else { &[] }
}

fn operator(
    found: Option<&ModelCampaign<'_>>,
    asked: &Asked,
    version: u32,
    clamped: &[Clamped],
    brought: bool,
) -> PromiseFate {
    let Some(found) = found else {
        return PromiseFate::Gone("there is no such campaign".into());
    };
    if brought || found.version > version {
        return PromiseFate::Kept;
    }
    if found.version < version {
        return PromiseFate::Gone(format!("it is at version {}", found.version));
    }
    match asked {
        Asked::Put { settings, .. } if !is_as_asked(&found.settings, settings, clamped) => {
            PromiseFate::Gone(format!("version {version} has {:?}", found.settings))
        }
        Asked::Put { .. }
        | Asked::Steer { .. }
        | Asked::Claim { .. }
        | Asked::Cancel { .. }
        | Asked::Raise
        | Asked::Code { .. }
        | Asked::On { .. } => PromiseFate::Kept,
    }
}

/// Says whether settings are what somebody asked for, with an opening that may have been "now" and
/// the capacities that could not go down all the way.
fn is_as_asked(found: &Settings, asked: &Settings, clamped: &[Clamped]) -> bool {
    let mut asked = asked.clone();
    if asked.opens == Opens::Now {
        asked.opens = found.opens;
    }
    for pool in &mut asked.pools {
        if let Some(clamped) = clamped.iter().find(|clamped| clamped.pool == pool.name) {
            pool.capacity = clamped.capacity;
        }
    }
    *found == asked
}
