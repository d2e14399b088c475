//! Reads commands on codes, and the tag of a claim.

use super::{
    COMMIT, CodeCommand, CodeStep, END_RESERVATION, MARK_CODES, MARK_IMPORT, REDEEM, REISSUE,
    RESERVE, ROLL_BACK, STAGE, StagedCode,
};
use crate::codes::{CodeKey, CodeVerdict, TAG_MOST};
use crate::command::field::{Target, at_least_one, bounded, name};
use crate::command::order_field;
use crate::command::{Command, Order};
use crate::limits::{
    CODE_BYTES, CODES_TOGETHER, COMMAND_ID_BYTES, REASON_BYTES, REFERENCE_BYTES,
    RESERVATION_LEAST_US, RESERVATION_MOST_US, SEAL_BYTES,
};
use crate::names::{check_command_id, check_reference, check_subject};
use crate::wire::{Malformed, Reader, Value};

/// Reads a tag.
fn tag(value: Value<'_>) -> Result<u64, Malformed> {
    let tag = value.number()?;
    if tag <= TAG_MOST { Ok(tag) } else { Err(value.wrong("a tag outside its bounds")) }
}

fn code(value: Value<'_>) -> Result<CodeKey, Malformed> {
    let (mut unit, mut of_tag, mut hash, mut rank) = (None, None, None, None);
    value.nested()?.fields(|field, value| {
        match field {
            1 => unit = Some(value.number32()?),
            2 => of_tag = Some(tag(value)?),
            3 => hash = Some(value.id()?),
            4 => rank = Some(value.number32()?),
            _ => return Err(value.wrong("an unknown field of a code")),
        }
        Ok(())
    })?;
    match (unit, of_tag, hash, rank) {
        (Some(unit), Some(tag), None, None) => Ok(CodeKey::Generated { unit, tag }),
        (None, None, Some(hash), None) => Ok(CodeKey::Imported { hash }),
        (None, None, None, Some(rank)) => Ok(CodeKey::Rank(rank)),
        _ => Err(value.wrong("a code that is none of a kind")),
    }
}

fn lines(value: Value<'_>) -> Result<Vec<StagedCode<'_>>, Malformed> {
    let mut rest: Reader<'_> = value.nested()?;
    let mut codes = Vec::new();
    while !rest.is_empty() {
        let hash = rest.array().map_err(|_| value.wrong("a hash that is cut"))?;
        let sealed = rest.take()?;
        if !(SEAL_BYTES + 1..=SEAL_BYTES + CODE_BYTES).contains(&sealed.len()) {
            return Err(rest.wrong("a sealed code outside its bounds"));
        }
        codes.push(StagedCode { hash, sealed });
        if codes.len() > CODES_TOGETHER {
            return Err(rest.wrong("more codes than a command has"));
        }
    }
    Ok(codes)
}

/// Reads a subject.
fn subject(value: Value<'_>) -> Result<&str, Malformed> {
    let text = value.text()?;
    check_subject(text).map_err(|_| value.wrong("a subject outside its bounds"))?;
    Ok(text)
}

/// Reads the command of one of this file's fields.
pub(in crate::command) fn read<'a>(
    command: u32,
    value: Value<'a>,
    targets: &[Target<'a>],
) -> Result<Command<'a>, Malformed> {
    if (RESERVE..=END_RESERVATION).contains(&command) {
        return read_step(command, value, targets);
    }
    let (mut campaign, mut pool, mut text, mut order) = ("", "", None, Order::default());
    let (mut number, mut issue, mut of_tag, mut reason) = (None, None, None, "");
    let (mut codes, mut staged) = (Vec::new(), Vec::new());
    value.nested()?.fields(|field, value| {
        match (field, command) {
            (1, _) => (campaign, pool) = campaign_and_pool(value)?,
            (2, MARK_CODES) => {
                codes.push(code(value)?);
                if codes.len() > CODES_TOGETHER {
                    return Err(value.wrong("more codes than a command has"));
                }
            }
            (2, REISSUE) => text = Some(subject(value)?),
            (2, _) => {
                let id = bounded(value, COMMAND_ID_BYTES)?;
                check_command_id(id).map_err(|_| value.wrong("an id outside its bounds"))?;
                text = Some(id);
            }
            (3, MARK_CODES | REISSUE | STAGE | COMMIT) => number = Some(value.number32()?),
            (4, REISSUE) => {
                let read = u16::try_from(value.number()?);
                issue = Some(read.map_err(|_| value.wrong("an issue number outside its bounds"))?);
            }
            (4, STAGE) => staged = lines(value)?,
            (5, REISSUE) => of_tag = Some(tag(value)?),
            (9, MARK_CODES | MARK_IMPORT | REISSUE) => reason = bounded(value, REASON_BYTES)?,
            _ => return order_field(&mut order, field, value),
        }
        Ok(())
    })?;
    let missing = || value.wrong("a command on codes without a part of it");
    if campaign.is_empty() {
        return Err(missing());
    }
    Ok(Command::Code(match command {
        MARK_CODES => {
            let verdict = CodeVerdict::of(u64::from(number.ok_or_else(missing)?));
            let verdict = verdict.ok_or_else(|| value.wrong("an unknown verdict"))?;
            if codes.is_empty() {
                return Err(missing());
            }
            CodeCommand::Mark { campaign, pool, codes, verdict, reason, order }
        }
        MARK_IMPORT => {
            let import = text.ok_or_else(missing)?;
            CodeCommand::RevokeImport { campaign, pool, import, reason, order }
        }
        REISSUE => {
            let (subject, rank) = (text.ok_or_else(missing)?, number.ok_or_else(missing)?);
            let (issue, tag) = (issue.ok_or_else(missing)?, of_tag);
            CodeCommand::Reissue { campaign, pool, subject, rank, issue, tag, reason, order }
        }
        STAGE => {
            let (import, first) = (text.ok_or_else(missing)?, number.ok_or_else(missing)?);
            if staged.is_empty() {
                return Err(missing());
            }
            CodeCommand::Stage { campaign, pool, import, first, codes: staged, order }
        }
        COMMIT => {
            let (import, lines) = (text.ok_or_else(missing)?, number.ok_or_else(missing)?);
            CodeCommand::Commit { campaign, pool, import, lines, order }
        }
        _ => {
            let import = text.ok_or_else(missing)?;
            CodeCommand::Discard { campaign, pool, import, order }
        }
    }))
}

fn campaign_and_pool(value: Value<'_>) -> Result<(&str, &str), Malformed> {
    let (mut campaign, mut pool) = ("", "");
    value.nested()?.fields(|field, value| {
        match field {
            1 => campaign = name(value)?,
            2 => pool = name(value)?,
            _ => return Err(value.wrong("an unknown field of a pool")),
        }
        Ok(())
    })?;
    if campaign.is_empty() || pool.is_empty() {
        return Err(value.wrong("a pool without its campaign or its name"));
    }
    Ok((campaign, pool))
}

fn read_step<'a>(
    command: u32,
    value: Value<'a>,
    targets: &[Target<'a>],
) -> Result<Command<'a>, Malformed> {
    let (mut target, mut of_code, mut reference) = (None, None, None);
    let (mut who, mut ttl_us) = (None, None);
    value.nested()?.fields(|field, value| {
        match (field, command) {
            (1, _) => target = usize::try_from(value.number()?).ok().and_then(|n| targets.get(n)),
            (2, _) => of_code = Some(code(value)?),
            (3, _) => {
                let text = bounded(value, REFERENCE_BYTES)?;
                let checked = check_reference(text);
                checked.map_err(|_| value.wrong("a reference outside its bounds"))?;
                reference = Some(text);
            }
            (4, RESERVE | REDEEM) => who = Some(subject(value)?),
            (5, RESERVE) => {
                let ttl = value.signed()?;
                if !(RESERVATION_LEAST_US..=RESERVATION_MOST_US).contains(&ttl) {
                    return Err(value.wrong("a time outside its bounds"));
                }
                ttl_us = Some(ttl);
            }
            _ => return Err(value.wrong("an unknown field of a step on a code")),
        }
        Ok(())
    })?;
    let (Some((campaign, pool)), Some(code), Some(reference)) =
        (target.copied(), of_code, reference)
    else {
        return Err(value.wrong("a step without its target, its code or its reference"));
    };
    if let CodeKey::Rank(_) = code {
        return Err(value.wrong("a step on a code that is not said"));
    }
    let step = CodeStep { campaign, pool, code, reference };
    Ok(Command::Code(match (command, ttl_us) {
        (RESERVE, Some(ttl_us)) => CodeCommand::Reserve { step, subject: who, ttl_us },
        (RESERVE, None) => return Err(value.wrong("a reservation without its time")),
        (REDEEM, _) => CodeCommand::Redeem { step, subject: who },
        (ROLL_BACK, _) => CodeCommand::RollBack { step },
        _ => CodeCommand::EndReservation { step },
    }))
}

/// Reads a claim's limit, of which a tag may stand in the place.
pub(in crate::command) fn limit_or_tag(
    (limit, of_tag): (&mut Option<u32>, &mut Option<u64>),
    field: u32,
    value: Value<'_>,
) -> Result<(), Malformed> {
    match field {
        3 => *limit = Some(at_least_one(value)?),
        4 => *of_tag = Some(tag(value)?),
        _ => return Err(value.wrong("an unknown field of a claim")),
    }
    Ok(())
}
