//! One line of a bulk request: read into its command, and written as its answer.

use super::any_ask::AnyAsk;
use crate::answer::problem::Problem;
use crate::claims::delete::CancelAsk;
use crate::claims::post::ClaimAsk;
use crate::holds::HoldAsk;
use crate::holds::steps::{StepAsk, Wanted, named};
use crate::request::auth::Key;
use crate::server::base_path::BasePath;
use crate::waitlist::join::Wanted as WantedUnits;
use crate::waitlist::place::LeaveAsk;
use firstcome_api::bulk::{CommandLine, Do};
use firstcome_core::limits::HOLD_UNITS;
use firstcome_core::names::check_command_id;
use firstcome_core::outcome::By;
use serde::Deserialize;
use std::io::Write;
use std::time::Duration;

/// Bytes of the caller's own name for a line.
pub const REF_BYTES: usize = 255;

/// What a command keeps in memory until it is answered, about, beside its bytes.
const COMMAND_WEIGHT: usize = 512;
/// What each unit of its answer keeps, about.
const UNIT_WEIGHT: usize = 48;

/// A line as it was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) reference: Option<Box<str>>,
    /// The bytes that it keeps in memory until it is answered, about.
    pub(super) weight: usize,
    pub(super) ask: Result<AnyAsk, Problem>,
}

/// Reads a line.
pub(super) fn read(line: &[u8], key: &Key) -> Read {
    let refused = |reference: Option<String>, problem| Read {
        reference: reference.filter(|text| text.len() <= REF_BYTES).map(Into::into),
        weight: COMMAND_WEIGHT,
        ask: Err(problem),
    };
    let mut command: CommandLine = match serde_json::from_slice(line) {
        Ok(command) => command,
        Err(why) => {
            let problem = Problem::invalid(format!("the line is not right: {why}"));
            return refused(reference(line), problem);
        }
    };
    let reference = command.r#ref.take();
    if reference.as_ref().is_some_and(|text| text.len() > REF_BYTES) {
        let problem = Problem::invalid(format!("ref has more than {REF_BYTES} bytes"));
        return refused(None, problem);
    }
    let weight = COMMAND_WEIGHT + line.len() + most_units(command.verb) * UNIT_WEIGHT;
    match ask(command, key) {
        Ok(ask) => Read { reference: reference.map(Into::into), weight, ask: Ok(ask) },
        Err(problem) => refused(reference, problem),
    }
}

/// Returns the caller's name for a line that could not be read, if that can be.
fn reference(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct NamedLine {
        r#ref: Option<String>,
    }
    serde_json::from_slice::<NamedLine>(line).ok()?.r#ref
}

/// Returns how many units an answer may name: groups, areas and what is left of a hold are not in the line.
fn most_units(verb: Do) -> usize {
    match verb {
        Do::Claim | Do::Cancel | Do::Extend | Do::Leave => 0,
        Do::Hold | Do::Confirm | Do::Release => HOLD_UNITS,
    }
}

/// Makes a command of a line.
fn ask(command: CommandLine, key: &Key) -> Result<AnyAsk, Problem> {
    let takes: &[&str] = match command.verb {
        Do::Claim => &["pool", "wait", "quantity", "grade", "channel", "area", "adjacent"],
        Do::Leave => &["pool"],
        Do::Cancel => &["pool", "rank", "by", "reason"],
        Do::Hold => &["id", "picks"],
        Do::Extend => &["hold", "id", "ttl_ms"],
        Do::Confirm => &["hold", "id", "picks", "units", "pool", "late"],
        Do::Release => &["hold", "id", "picks", "units", "pool"],
    };
    let given = [
        ("pool", command.pool.is_some()),
        ("wait", command.wait),
        ("quantity", command.quantity.is_some()),
        ("grade", command.grade.is_some()),
        ("channel", command.channel.is_some()),
        ("area", command.area.is_some()),
        ("adjacent", command.adjacent),
        ("rank", command.rank.is_some()),
        ("by", command.by.is_some()),
        ("reason", command.reason.is_some()),
        ("hold", command.hold.is_some()),
        ("id", command.id.is_some()),
        ("picks", !command.picks.is_empty()),
        ("units", !command.units.is_empty()),
        ("ttl_ms", command.ttl_ms.is_some()),
        ("late", command.late.is_some()),
    ];
    if let Some((name, _)) = given.iter().find(|(name, is)| *is && !takes.contains(name)) {
        let takes = takes.join(", ");
        let detail = format!("`{name}` does not go with this command; it takes {takes}");
        return Err(Problem::invalid(detail));
    }
    let CommandLine { verb, campaign, subject, r#ref: _, pool, .. } = command;
    let (campaign, subject) = (campaign.into(), subject.into());
    let (hold, picks, units) = (command.hold, command.picks, command.units);
    let step = match verb {
        Do::Claim => {
            let wanted = WantedUnits {
                quantity: command.quantity,
                grade: command.grade.map(Into::into),
                channel: command.channel.map(Into::into),
                area: command.area.map(Into::into),
                adjacent: command.adjacent,
            };
            let wanted = wanted.if_it(command.wait)?;
            let pool = pool.map(Into::into);
            return Ok(AnyAsk::Claim(ClaimAsk::new(campaign, pool, subject, wanted)));
        }
        Do::Leave => {
            return Ok(AnyAsk::Leave(LeaveAsk { campaign, pool: pool.map(Into::into), subject }));
        }
        Do::Cancel => {
            return Ok(AnyAsk::Cancel(CancelAsk {
                campaign,
                subject,
                pool: pool.map(Into::into),
                rank: command.rank,
                by: command.by.map(Into::into),
                reason: command.reason.unwrap_or_default().into(),
                who: key.name.clone(),
                decides: By::Subject,
                first_pool: None,
            }));
        }
        Do::Hold => {
            let detail = "id is required: sent again with the same id it is the same hold";
            let id = command.id.ok_or_else(|| Problem::invalid(detail))?.into();
            let (wait, limit) = (Duration::ZERO, None);
            return Ok(AnyAsk::Hold(HoldAsk { campaign, id, subject, picks, wait, limit }));
        }
        Do::Extend => Wanted::Extend(command.ttl_ms),
        Do::Confirm => Wanted::Confirm(named(units, pool, picks), command.late.unwrap_or_default()),
        Do::Release => Wanted::Release(named(units, pool, picks)),
    };
    let hold = hold.ok_or_else(|| Problem::invalid("hold is required: the id of the hold"))?;
    if let Some(id) = &command.id {
        check_command_id(id).map_err(|why| Problem::invalid(format!("the step's id {why}")))?;
    }
    let (hold, id) = (hold.into(), command.id.map(Into::into));
    Ok(AnyAsk::Step(StepAsk { campaign, hold, subject, id, step, limit: None }))
}

/// Writes the answer to a line; the last one may end the answers.
pub(super) fn write(
    (out, base): (&mut Vec<u8>, &BasePath),
    (number, reference): (u32, Option<&str>),
    answer: Result<(u16, &[u8]), Problem>,
    ends: bool,
) {
    let written = "writing into memory does not fail";
    write!(out, "{{\"line\":{number}").expect(written);
    if let Some(reference) = reference {
        out.extend_from_slice(b",\"ref\":");
        serde_json::to_writer(&mut *out, reference).expect(written);
    }
    if ends {
        out.extend_from_slice(b",\"ends\":true");
    }
    let problem;
    let document = match answer {
        Ok((status, document)) => {
            write!(out, ",\"status\":{status}").expect(written);
            document
        }
        // Its status is in its document.
        Err(no) => {
            problem = no.with_retry_after().document(base);
            &problem
        }
    };
    // A document is an object that is not empty.
    out.push(b',');
    out.extend_from_slice(document.get(1..).unwrap_or_default());
    out.push(b'\n');
}
