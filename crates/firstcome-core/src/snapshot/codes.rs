//! Codes in a snapshot, written and read.

use super::restore::Restore;
use super::service_time;
use crate::codes::{
    CodeMark, CodeVerdict, Codes, Import, IssuedRun, OpenImport, Stock, StockRun, TAG_MOST, Use,
    UseState, Word,
};
use crate::limits::{
    CODE_BYTES, CODE_DUPLICATES_NAMED, CODES_IMPORTED, COMMAND_ID_BYTES, IMPORTS, REASON_BYTES,
    SEAL_BYTES, WHO_BYTES,
};
use crate::names::{check_reference, check_subject, check_text};
use crate::time::Timestamp;
use crate::wire::{Malformed, Reader, Value, Write};

/// A part of the codes of one pool; its first two fields say which pool.
pub(super) mod part {
    pub(in super::super) const STOCK: u32 = 3;
    pub(in super::super) const ISSUED: u32 = 4;
    pub(in super::super) const HEAD: u32 = 5;
    pub(in super::super) const IMPORT: u32 = 6;
    pub(in super::super) const USE: u32 = 7;
    pub(in super::super) const MARK: u32 = 8;
    pub(in super::super) const REPLACED: u32 = 9;
    pub(in super::super) const CAME_BACK: u32 = 10;
}

pub(super) fn stock_rows(out: &mut Vec<u8>, run: &StockRun) {
    for (hash, sealed, rank) in run.rows() {
        out.extend_from_slice(hash);
        out.varint(sealed.len() as u64);
        out.extend_from_slice(sealed);
        out.varint(u64::from(rank));
    }
}

pub(super) fn issued_rows(out: &mut Vec<u8>, run: &IssuedRun) {
    run.words.iter().for_each(|word| out.extend_from_slice(&word.0.to_le_bytes()));
}

/// Writes where the stock stands, and the import under way.
pub(super) fn head_fields(out: &mut Vec<u8>, stock: &Stock) {
    out.number(1, u64::from(stock.committed));
    out.number(2, u64::from(stock.next));
    if let Some(open) = &stock.open {
        out.text(3, &open.id);
        out.signed(4, open.began);
        out.number(5, u64::from(open.lines));
        out.number(6, open.digest);
        out.nested(7, |out| open.duplicates.iter().for_each(|n| out.varint(u64::from(*n))));
    }
}

pub(super) fn import_fields(out: &mut Vec<u8>, import: &Import) {
    out.text(1, &import.id);
    out.number(2, import.digest);
    out.number(3, u64::from(import.lines));
    out.number(4, u64::from(import.added));
    out.nested(5, |out| import.duplicates.iter().for_each(|n| out.varint(u64::from(*n))));
    out.number(6, u64::from(import.first_unit));
    out.time(7, import.at);
    out.text(8, &import.who);
    if import.revoked {
        out.number(9, 1);
    }
}

pub(super) fn use_fields(out: &mut Vec<u8>, number: u32, known: &Use) {
    out.number(1, u64::from(number));
    out.number(2, u64::from(known.rank));
    out.text(3, &known.reference);
    if let Some(user) = &known.user {
        out.text(4, user);
    }
    out.time(5, known.at);
    match known.state {
        UseState::Reserved { deadline } => out.signed(6, deadline),
        UseState::Released => out.number(7, 1),
        UseState::Redeemed => {}
        UseState::RolledBack { redeemed_at, expired } => {
            out.time(8, redeemed_at);
            if expired {
                out.number(9, 1);
            }
        }
    }
}

pub(super) fn mark_fields(out: &mut Vec<u8>, mark: &CodeMark) {
    out.number(1, u64::from(mark.rank));
    if let Some(verdict) = mark.verdict {
        out.number(2, u64::from(verdict.code()));
    }
    out.number(3, u64::from(mark.issue));
    out.text(4, &mark.import);
    out.time(5, mark.at);
    out.text(6, &mark.reason);
    out.text(7, &mark.who);
}

fn text<'a>(value: Value<'a>, most: usize) -> Result<&'a str, Malformed> {
    let text = value.text()?;
    if text.len() > most || check_text(text).is_err() {
        return Err(value.wrong("a text outside its bounds"));
    }
    Ok(text)
}

fn duplicates(value: Value<'_>) -> Result<Vec<u32>, Malformed> {
    let (mut rows, mut read) = (value.nested()?, Vec::new());
    while !rows.is_empty() {
        read.push(u32::try_from(rows.varint()?).map_err(|_| rows.wrong("a line beyond 32 bits"))?);
        if read.len() > CODE_DUPLICATES_NAMED {
            return Err(rows.wrong("more duplicates than are named"));
        }
    }
    Ok(read)
}

impl Restore {
    pub(super) fn codes(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut campaign, mut index, mut part) = (0, 0, None);
        value.nested()?.fields(|field, value| {
            match field {
                1 => campaign = value.number32()?,
                2 => index = value.number32()?,
                3..=10 => part = Some((field, value)),
                _ => return Err(value.wrong("an unknown part of the codes of a pool")),
            }
            Ok(())
        })?;
        let (field, value) = part.ok_or_else(|| value.wrong("a part of codes without content"))?;
        let piece = self.piece;
        let pool = self.pool(campaign, index);
        let pool = pool.ok_or_else(|| value.wrong("codes of an unknown pool"))?;
        let last_rank = pool.last_rank();
        let codes = pool.codes_mut().ok_or_else(|| value.wrong("codes of a pool without any"))?;
        match field {
            part::ISSUED => {
                let first = codes.issued.len();
                issued(codes, value.nested()?)?;
                let run = codes.issued.runs.last();
                if let Some(run) = run.filter(|run| run.is_full() && first % 8_192 == 0) {
                    run.stored.get_or_init(|| piece);
                }
                Ok(())
            }
            part::USE => take_use(codes, last_rank, value),
            part::MARK => mark(codes, last_rank, value),
            part::REPLACED => replaced(codes, value),
            part::CAME_BACK => came_back(codes, value),
            _ => {
                let stock = codes.stock.as_deref_mut();
                let stock = stock.ok_or_else(|| value.wrong("a stock of generated codes"))?;
                match field {
                    part::STOCK => {
                        units(stock, value.nested()?)?;
                        if let Some(run) = stock.runs.last().filter(|run| run.is_full()) {
                            run.stored.get_or_init(|| piece);
                        }
                        Ok(())
                    }
                    part::HEAD => {
                        head(stock, value)?;
                        pool.capacity = pool.stock_committed();
                        Ok(())
                    }
                    _ => import(stock, value),
                }
            }
        }
    }
}

fn issued(codes: &mut Codes, mut rows: Reader<'_>) -> Result<(), Malformed> {
    while !rows.is_empty() {
        let word = Word::of(u64::from_le_bytes(rows.array()?));
        let word = word.ok_or_else(|| rows.wrong("a word of an issued code that is none"))?;
        if codes.stock.as_deref().is_some_and(|stock| word.number() >= u64::from(stock.len())) {
            return Err(rows.wrong("an issued code that is not in stock"));
        }
        codes.issued.push(word);
    }
    Ok(())
}

fn units(stock: &mut Stock, mut rows: Reader<'_>) -> Result<(), Malformed> {
    while !rows.is_empty() {
        let hash = rows.array()?;
        let sealed = rows.take()?;
        let rank =
            u32::try_from(rows.varint()?).map_err(|_| rows.wrong("a rank beyond 32 bits"))?;
        let fits = (SEAL_BYTES + 1..=SEAL_BYTES + CODE_BYTES).contains(&sealed.len());
        if !fits || stock.len() >= CODES_IMPORTED || !stock.push(hash, sealed, rank) {
            return Err(rows.wrong("a code in stock that is outside its bounds"));
        }
    }
    Ok(())
}

fn head(stock: &mut Stock, value: Value<'_>) -> Result<(), Malformed> {
    let (mut committed, mut next, mut id, mut began) = (0, 0, None, 0);
    let (mut lines, mut digest, mut lost) = (0, 0, Vec::new());
    value.nested()?.fields(|field, value| {
        match field {
            1 => committed = value.number32()?,
            2 => next = value.number32()?,
            3 => id = Some(text(value, COMMAND_ID_BYTES)?),
            4 => began = service_time(value)?,
            5 => lines = value.number32()?,
            6 => digest = value.number()?,
            7 => lost = duplicates(value)?,
            _ => return Err(value.wrong("an unknown field of a stock")),
        }
        Ok(())
    })?;
    if committed > stock.len() || next > committed || lines > 2 * CODES_IMPORTED {
        return Err(value.wrong("a stock with more codes than it has"));
    }
    (stock.committed, stock.next) = (committed, next);
    stock.open = id.map(|id| OpenImport { id: id.into(), began, lines, duplicates: lost, digest });
    Ok(())
}

fn import(stock: &mut Stock, value: Value<'_>) -> Result<(), Malformed> {
    let mut read = Import {
        id: "".into(),
        digest: 0,
        lines: 0,
        added: 0,
        duplicates: Vec::new(),
        first_unit: 0,
        at: Timestamp::default(),
        who: "".into(),
        revoked: false,
    };
    value.nested()?.fields(|field, value| {
        match field {
            1 => read.id = text(value, COMMAND_ID_BYTES)?.into(),
            2 => read.digest = value.number()?,
            3 => read.lines = value.number32()?,
            4 => read.added = value.number32()?,
            5 => read.duplicates = duplicates(value)?,
            6 => read.first_unit = value.number32()?,
            7 => read.at = value.time()?,
            8 => read.who = text(value, WHO_BYTES)?.into(),
            9 => read.revoked = value.flag()?,
            _ => return Err(value.wrong("an unknown field of an import")),
        }
        Ok(())
    })?;
    let follows = stock.imports.last().map_or(0, |last| last.first_unit + last.added);
    let end = read.first_unit.checked_add(read.added).filter(|end| *end <= stock.committed);
    if read.first_unit != follows || end.is_none() || stock.imports.len() >= IMPORTS {
        return Err(value.wrong("an import that does not follow the one before it"));
    }
    stock.add_import(read);
    Ok(())
}

fn take_use(codes: &mut Codes, last_rank: u32, value: Value<'_>) -> Result<(), Malformed> {
    let (mut number, mut rank, mut reference, mut user) = (0, 0, "", None);
    let (mut at, mut state, mut expired) = (Timestamp::default(), UseState::Redeemed, false);
    value.nested()?.fields(|field, value| {
        match field {
            1 => number = value.number32()?,
            2 => rank = value.number32()?,
            3 => reference = value.text()?,
            4 => user = Some(value.text()?),
            5 => at = value.time()?,
            6 => state = UseState::Reserved { deadline: service_time(value)? },
            7 if value.flag()? => state = UseState::Released,
            8 => state = UseState::RolledBack { redeemed_at: value.time()?, expired: false },
            9 => expired = value.flag()?,
            _ => return Err(value.wrong("an unknown field of a use")),
        }
        Ok(())
    })?;
    if let UseState::RolledBack { expired: was, .. } = &mut state {
        *was = expired;
    }
    let user_fits = user.is_none_or(|user| check_subject(user).is_ok());
    if check_reference(reference).is_err() || !user_fits {
        return Err(value.wrong("a use with a text outside its bounds"));
    }
    if codes.uses.last.checked_add(1) != Some(number) || !(1..=last_rank).contains(&rank) {
        return Err(value.wrong("a use that does not follow the one before it"));
    }
    let (reference, user) = (reference.into(), user.map(Into::into));
    let code = codes.first_rank(rank);
    codes.uses.put(number, Use { rank, code, reference, user, at, state, earlier: 0 });
    Ok(())
}

fn mark(codes: &mut Codes, last_rank: u32, value: Value<'_>) -> Result<(), Malformed> {
    let mut read = CodeMark {
        rank: 0,
        verdict: None,
        issue: 0,
        import: "".into(),
        at: Timestamp::default(),
        reason: "".into(),
        who: "".into(),
    };
    value.nested()?.fields(|field, value| {
        match field {
            1 => read.rank = value.number32()?,
            2 => {
                let verdict = CodeVerdict::of(value.number()?);
                read.verdict = Some(verdict.ok_or_else(|| value.wrong("an unknown verdict"))?);
            }
            3 => {
                let issue = u16::try_from(value.number()?);
                read.issue =
                    issue.map_err(|_| value.wrong("an issue number outside its bounds"))?;
            }
            4 => read.import = text(value, COMMAND_ID_BYTES)?.into(),
            5 => read.at = value.time()?,
            6 => read.reason = text(value, REASON_BYTES)?.into(),
            7 => read.who = text(value, WHO_BYTES)?.into(),
            _ => return Err(value.wrong("an unknown field of a mark on a code")),
        }
        Ok(())
    })?;
    if read.rank > last_rank {
        return Err(value.wrong("a mark on an unknown code"));
    }
    codes.mark(read);
    Ok(())
}

/// Reads which codes came back, before what was done with them.
fn came_back(codes: &mut Codes, value: Value<'_>) -> Result<(), Malformed> {
    let mut rows = value.nested()?;
    while !rows.is_empty() {
        let (rank, first) = (u32::try_from(rows.varint()?), u32::try_from(rows.varint()?));
        match (rank, first) {
            (Ok(rank), Ok(first)) if first < rank && codes.uses.last == 0 => {
                codes.came_back.insert(rank, first)
            }
            _ => return Err(rows.wrong("a code that came back outside its bounds")),
        };
    }
    Ok(())
}

fn replaced(codes: &mut Codes, value: Value<'_>) -> Result<(), Malformed> {
    let mut rows = value.nested()?;
    while !rows.is_empty() {
        let (rank, tag) = (u32::try_from(rows.varint()?), rows.varint()?);
        match rank {
            Ok(rank) if tag <= TAG_MOST => codes.replaced.insert((rank, tag)),
            _ => return Err(rows.wrong("a replaced code outside its bounds")),
        };
    }
    Ok(())
}
