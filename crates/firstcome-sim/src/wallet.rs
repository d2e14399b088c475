//! The codes that simulated people were shown, and what they ask with them.

use crate::history::Asked;
use crate::nodes::NodeHandle;
use crate::plan::{CouponStep, CouponWant, PlannedCampaign};
use firstcome_core::State;
use firstcome_core::codes::{ALIKE_BYTES, CodeKey, CodeUnit, IssuedCode};
use firstcome_core::command::{CodeCommand, CodeStep, Command, Encoded, Order, StagedCode};
use firstcome_core::names::Position;
use firstcome_node::intake::{CodeAsk, CodeVerb, Intake, Unread};
use firstcome_node::{Answer, CommandError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Who gives operator commands.
const DESK: Order<'static> = Order { id: None, who: "desk" };

/// A code: as the rules know it, and as people type it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) pool: String,
    pub(crate) code: CodeKey,
    typed: String,
    /// The number of its campaign.
    number: u32,
}

/// By campaign, pool and subject: the codes in the order in which they were shown.
type ShownCodes = HashMap<(String, String, String), Vec<Shown>>;

/// All codes that people were shown. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wallet {
    codes: Arc<Mutex<ShownCodes>>,
}

impl Wallet {
    /// Remembers a code.
    pub(crate) fn put(&self, campaign: &str, subject: &str, shown: Shown) {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let index = (campaign.to_owned(), shown.pool.clone(), subject.to_owned());
        let known = codes.entry(index).or_default();
        if known.last() != Some(&shown) {
            known.push(shown);
        }
    }

    fn get(&self, campaign: &str, pool: &str, subject: u32, before: usize) -> Option<Shown> {
        let codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let index = (campaign.to_owned(), pool.to_owned(), format!("s{subject}"));
        codes.get(&index)?.iter().rev().nth(before).cloned()
    }

    /// Puts what somebody wants into words; none while that cannot be done.
    pub(crate) fn asked(
        &self,
        server: &NodeHandle,
        of: &PlannedCampaign,
        want: &CouponWant,
    ) -> Option<Asked> {
        let (campaign, pool) = (&*of.name, of.pool(want.pool));
        match &want.what {
            CouponStep::Use { subject, before, verb, reference, user } => {
                let Shown { code, typed, number, .. } =
                    self.get(campaign, pool, *subject, *before)?;
                let typed = retyped(code, typed, reference);
                let step = CodeStep { campaign, pool: Some(pool), code, reference };
                let user = user.map(|user| format!("s{user}"));
                Some(typed_step(step, *verb, user.as_deref(), (typed, number)))
            }
            CouponStep::Guess { verb, unit } => {
                let Shown { code, typed, number, .. } =
                    guess(server.intake(), of, want.pool, *unit)?;
                let step = CodeStep { campaign, pool: Some(pool), code, reference: "guess" };
                Some(typed_step(step, *verb, None, (typed, number)))
            }
            CouponStep::Mark { subject, verdict } => {
                let codes = vec![self.get(campaign, pool, *subject, 0)?.code];
                let (verdict, reason, order) = (*verdict, "", DESK);
                on(CodeCommand::Mark { campaign, pool, codes, verdict, reason, order })
            }
            CouponStep::Reissue { subject } => {
                let subject = &*format!("s{subject}");
                let (rank, issue, tag) = next_issue(server.intake(), campaign, pool, subject)?;
                let (reason, order) = ("", DESK);
                on(CodeCommand::Reissue {
                    campaign,
                    pool,
                    subject,
                    rank,
                    issue,
                    tag,
                    reason,
                    order,
                })
            }
            CouponStep::Stage { import, first, lines } => {
                let sealed = seal(server.intake(), of, want.pool, (import, lines))?;
                let codes = sealed.iter().map(|(hash, sealed)| StagedCode { hash: *hash, sealed });
                let codes = codes.collect();
                let (import, first, order) = (&**import, *first, DESK);
                on(CodeCommand::Stage { campaign, pool, import, first, codes, order })
            }
        }
    }
}

/// Types a code as people do, unless its spelling counts: as it is, in small letters with other dashes, or in full width.
fn retyped(code: CodeKey, typed: String, reference: &str) -> String {
    if matches!(code, CodeKey::Imported { hash } if hash[ALIKE_BYTES..] != [0; 16 - ALIKE_BYTES]) {
        return typed;
    }
    let wide = |letter| match letter {
        '!'..='~' => char::from_u32(u32::from(letter) + 0xfee0).unwrap_or(letter),
        _ => letter,
    };
    match reference.bytes().map(u32::from).sum::<u32>() % 3 {
        0 => typed,
        1 => typed.to_lowercase().replace('-', " \u{2013} "),
        _ => typed.chars().map(wide).collect(),
    }
}

fn on(command: CodeCommand<'_>) -> Option<Asked> {
    let command = Encoded::new(&Command::Code(command)).expect("an operator's command fits a body");
    Some(Asked::On { command, wait: Duration::ZERO })
}

fn typed_step(
    step: CodeStep<'_>,
    verb: CodeVerb,
    subject: Option<&str>,
    (typed, number): (String, u32),
) -> Asked {
    let command = Command::Code(match verb {
        CodeVerb::Reserve { ttl_us } => CodeCommand::Reserve { step, subject, ttl_us },
        CodeVerb::Redeem => CodeCommand::Redeem { step, subject },
        CodeVerb::RollBack => CodeCommand::RollBack { step },
        CodeVerb::EndReservation => CodeCommand::EndReservation { step },
    });
    let command = Encoded::new(&command).expect("a step on a code fits a body");
    Asked::Code { command, typed, number }
}

/// Asks a node to do something with a code that is typed.
pub(crate) async fn type_code(
    intake: &Intake,
    command: &Encoded,
    typed: &str,
    min: Option<Position>,
) -> Result<Answer, CommandError> {
    let Command::Code(code) = command.command() else { unreachable!("it is about a code") };
    let (verb, subject) = match code {
        CodeCommand::Reserve { subject, ttl_us, .. } => (CodeVerb::Reserve { ttl_us }, subject),
        CodeCommand::Redeem { subject, .. } => (CodeVerb::Redeem, subject),
        CodeCommand::RollBack { .. } => (CodeVerb::RollBack, None),
        CodeCommand::EndReservation { .. }
        | CodeCommand::Mark { .. }
        | CodeCommand::RevokeImport { .. }
        | CodeCommand::Reissue { .. }
        | CodeCommand::Stage { .. }
        | CodeCommand::Commit { .. }
        | CodeCommand::Discard { .. } => (CodeVerb::EndReservation, None),
    };
    let Some(step) = code.step() else { unreachable!("it is a step on a code") };
    let CodeStep { campaign, pool, reference, .. } = *step;
    let ask = CodeAsk { campaign, pool, code: typed, reference, subject };
    let taken = intake.code(&ask, verb, min).await.map(|(_, answer)| answer);
    taken.or_else(|not| match not {
        Unread::Malformed => Err(CommandError::Malformed("a typing error")),
        Unread::Refused(answer) => Ok(answer),
        Unread::Failed(failure) => Err(failure),
    })
}

/// Returns the code that came with a claim, as a server shows it with its answer.
pub(crate) fn shown(
    intake: &Intake,
    whose: (&str, &str),
    pool: u16,
    code: IssuedCode,
) -> Option<Shown> {
    let typed = intake.write_code(whose, pool, code).ok()??;
    intake.replica.look(|state: &State| {
        let found = state.campaign(whose.0).ok()?;
        let pool = found.pools().get(usize::from(pool))?.name();
        let code = intake.codes.read(state.space(), found, Some(pool), &typed).ok()?.code;
        Some(Shown { pool: pool.to_owned(), code, typed, number: found.number() })
    })
}

/// Makes up a code that nobody has, as somebody may who saw another one.
fn guess(intake: &Intake, of: &PlannedCampaign, pool: usize, unit: u32) -> Option<Shown> {
    intake.replica.look(|state| {
        let found = state.campaign(&of.name).ok()?;
        let cipher = intake.codes.of(state.space(), found, pool).ok()??;
        let (name, number) = (of.pool(pool).to_owned(), found.number());
        if of.codes[pool].as_ref()?.imported {
            let typed = format!("NOBODY-{unit}");
            let hash = cipher.hash(&typed).ok()?;
            let code = CodeKey::Imported { hash };
            return Some(Shown { pool: name, code, typed, number });
        }
        let tag = u64::from(unit) * 1_000_003;
        let typed = cipher.write(CodeUnit::Generated { unit, tag }).ok()?;
        let code = CodeKey::Generated { unit, tag };
        Some(Shown { pool: name, code, typed, number })
    })
}

/// Returns what the next code of a subject's claim is made from: its rank, the issue number and the tag.
fn next_issue(
    intake: &Intake,
    campaign: &str,
    pool: &str,
    subject: &str,
) -> Option<(u32, u16, Option<u64>)> {
    intake.replica.look(|state| {
        let found = state.campaign(campaign).ok()?;
        let index = found.pools().iter().position(|known| known.name() == pool)?;
        let rank = found.pools()[index].latest(subject)?;
        let issue = found.code_at(index, rank, (state.at(), state.service()))?.issue + 1;
        let whose = (found, Some(pool));
        let tag = intake.codes.tag(state.space(), whose, subject, issue).ok()?;
        Some((rank, issue, tag))
    })
}

fn seal(
    intake: &Intake,
    of: &PlannedCampaign,
    pool: usize,
    (import, lines): (&str, &[String]),
) -> Option<Vec<([u8; 16], Vec<u8>)>> {
    intake.replica.look(|state| {
        let found = state.campaign(&of.name).ok()?;
        let cipher = intake.codes.of(state.space(), found, pool).ok()??;
        lines.iter().map(|line| cipher.seal(line, import.starts_with("exact")).ok()).collect()
    })
}
