//! Commands on codes in scripts.
//!
//! ```text
//! 0s op   puts sale: main coded 3; uses 2; each 1; until 10h; valid 60s; holder -> created 1
//! 0s op   puts sale: main imported          -> created 1          # of imported codes
//! 1s ann  claims sale tag 7                 -> won 1              # the tag of a generated code
//! 2s shop reserves sale 1.7 o1 as ann for 60s -> reserved 1 until 62s   # code 1.7 is unit 1 with tag 7, #A imported A
//! 3s shop redeems sale 1.7 o1 as ann        -> redeemed 1
//! 4s shop undoes sale 1.7 o1                -> rolled_back 1
//! 5s shop frees sale 1.7 o1                 -> already_rolled_back
//! 6s op   revokes sale/main 1.7 rank:2 for leak -> codes_marked revoke 2     # or suspends, restores
//! 6s op   withdraws sale/main i1            -> codes_marked revoke 9         # a whole import
//! 7s op   reissues ann sale/main 1 as 2 tag 9 -> reissued 1 as 2
//! 8s op   stages sale/main i1 from 0: A B C -> codes_staged 3
//! 9s op   commits sale/main i1 of 3         -> codes_imported 3 of 3
//! 9s op   discards sale/main i1             -> import_discarded
//!    look code sale 1                       -> issued ann, 1 of 2 used
//! ```

use crate::play::{cut, target, time};
use crate::say::shown_time;
use crate::world::START;
use firstcome_core::campaign::ResultRow;
use firstcome_core::codes::{ALIKE_BYTES, CodeKey, CodeVerdict, UseState};
use firstcome_core::command::{CodeCommand, CodeStep, Order, StagedCode};
use firstcome_core::limits::RESERVATION_TTL_US;
use firstcome_core::settings::{CodeSettings, CodeSource, PoolSettings};
use firstcome_core::{CodeOutcome, CodeRefusal, Command, Settings, State, Timestamp};

const VERBS: [&str; 12] = [
    "reserves",
    "redeems",
    "undoes",
    "frees",
    "revokes",
    "suspends",
    "restores",
    "withdraws",
    "reissues",
    "stages",
    "commits",
    "discards",
];

pub(crate) fn knows(verb: &str) -> bool {
    VERBS.contains(&verb)
}

/// Takes off the tag that a claim brings.
pub(crate) fn tag(said: &str) -> (&str, Option<u64>) {
    match said.rsplit_once(" tag ") {
        Some((said, tag)) => (said, Some(tag.parse().unwrap())),
        None => (said, None),
    }
}

/// The hash of an imported code, as good as any in a script: of `A`, however it is spelled, or of `A/x`, an A spelled x.
pub(crate) fn hash(code: &str) -> [u8; 16] {
    let (looks, spelled) = code.split_once('/').unwrap_or((code, ""));
    let mut hash = [0; 16];
    hash[..looks.len()].copy_from_slice(looks.as_bytes());
    hash[ALIKE_BYTES..][..spelled.len()].copy_from_slice(spelled.as_bytes());
    hash
}

fn key(said: &str) -> CodeKey {
    if let Some(code) = said.strip_prefix('#') {
        return CodeKey::Imported { hash: hash(code) };
    }
    if let Some(rank) = said.strip_prefix("rank:") {
        return CodeKey::Rank(rank.parse().unwrap());
    }
    let (unit, tag) = said.split_once('.').unwrap();
    CodeKey::Generated { unit: unit.parse().unwrap(), tag: tag.parse().unwrap() }
}

/// Every sealed text of a script, which a command only borrows.
fn sealed(code: &str) -> &'static [u8] {
    Vec::leak([&[0; 16], code.as_bytes()].concat())
}

pub(crate) fn command<'a>(verb: &str, said: &'a str, order: Order<'a>) -> Command<'a> {
    let (place, rest) = cut(said);
    let verdict = match verb {
        "revokes" => CodeVerdict::Revoke,
        "suspends" => CodeVerdict::Suspend,
        _ => CodeVerdict::Restore,
    };
    let (campaign, of_pool) = target(place);
    let pool = of_pool.unwrap_or("main");
    let step = |said: &'a str| {
        let (code, reference) = cut(said);
        CodeStep { campaign, pool: of_pool, code: key(code), reference: cut(reference).0 }
    };
    let subject = |said: &'a str| said.split_once(" as ").map(|(_, who)| cut(who).0);
    Command::Code(match verb {
        "reserves" => {
            let ttl_us = rest
                .split_once(" for ")
                .map_or(RESERVATION_TTL_US, |(_, ttl)| time(cut(ttl).0).micros_since(START));
            CodeCommand::Reserve { step: step(rest), subject: subject(rest), ttl_us }
        }
        "redeems" => CodeCommand::Redeem { step: step(rest), subject: subject(rest) },
        "undoes" => CodeCommand::RollBack { step: step(rest) },
        "frees" => CodeCommand::EndReservation { step: step(rest) },
        "revokes" | "suspends" | "restores" => {
            let (list, reason) = rest.split_once(" for ").unwrap_or((rest, ""));
            let codes = list.split_whitespace().map(key).collect();
            CodeCommand::Mark { campaign, pool, codes, verdict, reason, order }
        }
        "withdraws" => {
            let (import, reason) = rest.split_once(" for ").unwrap_or((rest, ""));
            CodeCommand::RevokeImport { campaign, pool, import, reason, order }
        }
        "reissues" => {
            let (subject, rest) = (place, rest);
            let (place, rest) = cut(rest);
            let (campaign, pool) = target(place);
            let (rest, tag) = tag(rest);
            let (rank, issue) = rest.split_once(" as ").unwrap();
            let (rank, issue) = (rank.parse().unwrap(), issue.parse().unwrap());
            let pool = pool.unwrap_or("main");
            CodeCommand::Reissue { campaign, pool, subject, rank, issue, tag, reason: "", order }
        }
        "stages" => {
            let (head, list) = rest.split_once(':').unwrap();
            let (import, first) = head.split_once(" from ").unwrap();
            let staged = |code| StagedCode { hash: hash(code), sealed: sealed(code) };
            let codes = list.split_whitespace().map(staged).collect();
            let first = first.parse().unwrap();
            CodeCommand::Stage { campaign, pool, import, first, codes, order }
        }
        "commits" => {
            let (import, lines) = rest.split_once(" of ").unwrap();
            let lines = lines.parse().unwrap();
            CodeCommand::Commit { campaign, pool, import, lines, order }
        }
        _ => CodeCommand::Discard { campaign, pool, import: rest, order },
    })
}

/// Reads a setting of codes: the pool's own, or one of the last coded pool.
pub(crate) fn setting(settings: &mut Settings, word: &str, rest: &str) -> bool {
    let (kind, capacity) = cut(rest);
    let source = match kind {
        "coded" => CodeSource::Generated,
        "imported" => CodeSource::Imported,
        _ => {
            let pool = settings.pools.last_mut().and_then(|pool| pool.codes.as_deref_mut());
            let Some(codes) = pool else { return false };
            match word {
                "uses" => codes.uses = rest.parse().unwrap(),
                "each" => codes.uses_per_subject = Some(rest.parse().unwrap()),
                "until" => codes.valid_until = Some(time(rest)),
                "valid" => codes.valid_for_us = Some(time(rest).micros_since(START)),
                "holder" => codes.only_by_holder = true,
                _ => return false,
            }
            return true;
        }
    };
    let capacity = if capacity.is_empty() { 0 } else { capacity.parse().unwrap() };
    settings.pools.push(PoolSettings::coded(word, capacity, CodeSettings::new(source, "k1")));
    true
}

/// Writes what a yes about codes carries.
pub(crate) fn shown(outcome: &CodeOutcome, now: Timestamp) -> String {
    let at = |at: &Timestamp| {
        if *at == now { String::new() } else { format!(" at {}", shown_time(*at)) }
    };
    let list = |word: &str, list: &[u32]| {
        if list.is_empty() { String::new() } else { format!(", {word} {list:?}") }
    };
    match outcome {
        CodeOutcome::Reserved { rank, expires_at }
        | CodeOutcome::AlreadyReserved { rank, expires_at } => {
            format!(" {rank} until {}", shown_time(*expires_at))
        }
        CodeOutcome::Redeemed { rank, at: when } => format!(" {rank}{}", at(when)),
        CodeOutcome::RolledBack { rank, at: when, expired } => {
            format!(" {rank}{}{}", at(when), if *expired { " expired" } else { "" })
        }
        CodeOutcome::ReservationEnded { rank } => format!(" {rank}"),
        CodeOutcome::Marked { verdict, changed, unknown } => {
            format!(" {} {changed}{}", verdict.as_str(), list("unknown", unknown))
        }
        CodeOutcome::Reissued { rank, issue } => format!(" {rank} as {issue}"),
        CodeOutcome::Staged { next } => format!(" {next}"),
        CodeOutcome::Committed { lines, added, duplicates } => {
            format!(" {added} of {lines}{}", list("duplicates", duplicates))
        }
        CodeOutcome::Discarded => String::new(),
    }
}

/// Writes what a refusal about codes carries.
pub(crate) fn refused(refusal: CodeRefusal) -> String {
    if let CodeRefusal::ChunkMissing { next: number }
    | CodeRefusal::ImportIncomplete { lines: number } = refusal
    {
        return format!(" {number}");
    }
    if let CodeRefusal::ReissuedSince { issue } = refusal {
        return format!(" {issue}");
    }
    String::new()
}

/// Writes what a result about codes carries.
pub(crate) fn result(row: &ResultRow<'_>) -> String {
    if let Some(used) = row.used {
        return format!(" by {}", used.reference);
    }
    let Some(mark) = row.mark else { return String::new() };
    match (mark.verdict, &*mark.import) {
        (Some(verdict), "") => format!(" {}", verdict.as_str()),
        (Some(verdict), import) => format!("{} {import}", verdict.as_str()),
        (None, _) => format!(" as {}", mark.issue),
    }
}

/// Writes how the code of a rank stands: `look code sale/main 1`.
pub(crate) fn look(state: &State, what: &str) -> String {
    let (place, rank) = cut(what.strip_prefix("code ").unwrap());
    let (campaign, pool) = target(place);
    let campaign = state.campaign(campaign).unwrap();
    let now = (state.at(), state.service());
    let view = match campaign.code(pool, CodeKey::Rank(rank.parse().unwrap()), now) {
        Ok(view) => view,
        Err(refusal) => return refusal.as_str().into(),
    };
    let index = campaign.pools().iter().position(|pool| pool.name() == view.pool).unwrap();
    let uses = campaign.uses_of(index, view.rank).map(|(_, used)| {
        let state = match used.state {
            UseState::Reserved { deadline } if deadline > state.service() => "reserved",
            UseState::Reserved { .. } => "over",
            UseState::Released => "released",
            UseState::Redeemed => "redeemed",
            UseState::RolledBack { expired: false, .. } => "rolled back",
            UseState::RolledBack { expired: true, .. } => "rolled back expired",
        };
        format!(", {} {state}", used.reference)
    });
    let (status, subject) = (view.status.as_str(), view.subject);
    let counts = format!("{} of {} used", view.used, view.uses);
    format!("{status} {subject} issue {}, {counts}{}", view.issue, uses.collect::<String>())
}
