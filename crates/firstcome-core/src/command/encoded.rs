//! One command in its stored bytes, on its way to a body.

use super::content::{self, CLAIM};
use super::read::command;
use super::{BadCommand, Command};
use crate::codes::TAG_MOST;
use crate::limits::{COMMAND_BYTES, REASON_BYTES, WHO_BYTES};
use crate::names::{check_name, check_subject, check_text};
use crate::wire::Value;
use firstcome_inject::{IS_ACTIVE, Mistake, inject};
use smallvec::SmallVec;
use std::cell::Cell;
use std::fmt;

/// Bytes of a command that need no memory of their own: those of most claims.
const INLINE_BYTES: usize = 64;
/// Bytes that a thread keeps to write commands into.
const BUFFER_BYTES: usize = 4 << 10;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A command in the bytes that a body has of it, owned, and known to be readable.
///
/// A body names campaign and pool once and gives them a number; commands then say that number. It is the body's own, so
/// that it is written by [`BodyWriter::push`](super::BodyWriter::push); here it is 0.
#[derive(Clone, PartialEq, Eq)]
pub struct Encoded {
    /// The number of the field.
    field: u32,
    /// Bytes in the campaign's name; 0 where the command says no number.
    campaign: u8,
    /// Bytes in the pool's name; 0 where the target has no pool.
    pool: u8,
    level: u32,
    /// The campaign's name, the pool's name, and the content of the field.
    bytes: SmallVec<[u8; INLINE_BYTES]>,
}

impl Encoded {
    /// Encodes a command, and checks it: what no replica could read must not get into a journal.
    ///
    /// The few fields of a claim, a cancel and an end of a wait are compared with their bounds. What has more is read back.
    ///
    /// # Errors
    ///
    /// It has more than [`COMMAND_BYTES`] bytes, or something in it is outside its bounds.
    pub fn new(command: &Command<'_>) -> Result<Self, BadCommand> {
        let encoded = Self::unchecked(command);
        if encoded.bytes.len() > COMMAND_BYTES && !inject(Mistake::CommandNotMeasured) {
            return Err(BadCommand::TooLarge { bytes: encoded.bytes.len() });
        }
        if encoded.target() != content::target_of(command) {
            // An empty name of a pool would be read back as no pool at all.
            return Err(encoded.wrong("a name outside its bounds"));
        }
        let Some(checked) = encoded.check_bounds(command) else {
            encoded.read()?;
            return Ok(encoded);
        };
        checked?;
        if cfg!(debug_assertions) || IS_ACTIVE {
            assert_eq!(encoded.read().as_ref(), Ok(command), "it is read back as it was");
        }
        Ok(encoded)
    }

    /// Checks what a claim, a cancel or an end of a wait has against its bounds, in the order in which it would be read; none
    /// of any other command.
    fn check_bounds(&self, command: &Command<'_>) -> Option<Result<(), BadCommand>> {
        let (Command::Claim { campaign, pool, subject, .. }
        | Command::Cancel { campaign, pool, subject, .. }
        | Command::Leave { campaign, pool, subject }) = *command
        else {
            return None;
        };
        let check = |is_good, what| if is_good { Ok(()) } else { Err(self.wrong(what)) };
        let name = |name| check(check_name(name).is_ok(), "a name outside its bounds");
        let text = |text: &str, most| {
            let is_good = text.len() <= most && check_text(text).is_ok();
            check(is_good, "a text outside its bounds")
        };
        Some((|| {
            name(campaign)?;
            pool.map_or(Ok(()), name)?;
            if let Command::Claim { limit, tag, .. } = command {
                check(*limit != Some(0), "a limit of nothing")?;
                check(tag.is_none_or(|tag| tag <= TAG_MOST), "a tag outside its bounds")?;
            }
            if let Command::Cancel { reason, who, .. } = command {
                text(reason, REASON_BYTES)?;
                text(who, WHO_BYTES)?;
            }
            check(check_subject(subject).is_ok(), "a subject outside its bounds")
        })())
    }

    fn wrong(&self, what: &'static str) -> BadCommand {
        Value::of(self.content()).wrong(what).into()
    }

    /// Encodes a command of which nothing is known.
    pub(super) fn unchecked(command: &Command<'_>) -> Self {
        let mut bytes = BUFFER.take();
        let (mut campaign, mut pool) = (0, 0);
        if let Some((of_campaign, of_pool)) = content::target_of(command) {
            let of_pool = of_pool.unwrap_or_default();
            bytes.extend_from_slice(of_campaign.as_bytes());
            bytes.extend_from_slice(of_pool.as_bytes());
            // A name beyond these numbers is not read back, which is noticed.
            campaign = u8::try_from(of_campaign.len()).unwrap_or(u8::MAX);
            pool = u8::try_from(of_pool.len()).unwrap_or(u8::MAX);
        }
        let field = content::content(command, &mut bytes);
        let stored = SmallVec::from_slice(&bytes);
        // What a large command took is given back.
        bytes.clear();
        bytes.shrink_to(BUFFER_BYTES);
        BUFFER.set(bytes);
        Self { field, campaign, pool, level: command.level(), bytes: stored }
    }

    /// Returns the command.
    pub fn command(&self) -> Command<'_> {
        self.read().expect("it was read when it was encoded")
    }

    /// Returns the lowest level of a body that can have it.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Returns how many bytes it takes, about: a body adds at most 16.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    fn read(&self) -> Result<Command<'_>, BadCommand> {
        let content = Value::of(self.content());
        let Some(target @ (campaign, pool)) = self.target() else {
            return Ok(command(self.field, content, &[])?);
        };
        for name in [campaign].into_iter().chain(pool) {
            check_name(name).map_err(|_| content.wrong("a name outside its bounds"))?;
        }
        Ok(command(self.field, content, &[target])?)
    }

    /// Returns the campaign and the pool that the body names for it.
    pub(super) fn target(&self) -> Option<(&str, Option<&str>)> {
        let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
        let (campaign, rest) = self.bytes.split_at_checked(usize::from(self.campaign))?;
        let (pool, _) = rest.split_at_checked(usize::from(self.pool))?;
        let pool = (self.pool > 0).then(|| text(pool));
        (self.campaign > 0).then(|| (text(campaign), pool))
    }

    /// Returns the number of the field.
    pub(super) fn field(&self) -> u32 {
        self.field
    }

    /// Returns the content of the field, in which the target is number 0.
    pub(super) fn content(&self) -> &[u8] {
        let names = usize::from(self.campaign) + usize::from(self.pool);
        self.bytes.get(names..).unwrap_or_default()
    }

    /// Returns where in the content the number of the target stands.
    pub(super) fn target_at(&self) -> usize {
        // A claim begins with it; in the others it is the first field, behind its key.
        usize::from(self.field != CLAIM)
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::By;

    /// What is compared with its bounds is read by nobody before it is in a journal, so the bounds are those of the reader.
    #[test]
    fn what_is_within_its_bounds_can_be_read_and_nothing_else() {
        let long = |bytes: usize| "x".repeat(bytes);
        let texts = [0, 1, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300].map(long);
        let odd = ["a b", "A", "ü", "a\n", "\u{7f}", "a/b", "-a", "a-"].map(str::to_owned);
        let texts: Vec<&str> = texts.iter().chain(&odd).map(String::as_str).collect();
        let long = long(REASON_BYTES + 1);
        let reasons = ["", "why", &long[..WHO_BYTES + 1], &long[..REASON_BYTES], &long, "a\u{0}"];
        let tags = [None, Some(0), Some(TAG_MOST), Some(TAG_MOST + 1), Some(u64::MAX)];
        let mut commands = Vec::new();
        for text in &texts {
            for [campaign, pool, subject] in
                [[text, "main", "ann"], ["spring", text, "ann"], ["spring", "main", text]]
            {
                for pool in [None, Some(pool)] {
                    let (limit, tag) = (None, None);
                    commands.push(Command::Claim { campaign, pool, subject, limit, tag });
                    let (rank, by, reason, who) = (1, By::Operator, "why", "desk");
                    commands.push(Command::Cancel {
                        campaign,
                        pool,
                        subject,
                        rank,
                        by,
                        reason,
                        who,
                    });
                    commands.push(Command::Leave { campaign, pool, subject });
                }
            }
        }
        let (campaign, pool, subject) = ("spring", None, "ann");
        for limit in [None, Some(0), Some(1), Some(u32::MAX)] {
            commands.extend(tags.map(|tag| Command::Claim { campaign, pool, subject, limit, tag }));
        }
        for reason in reasons {
            for who in reasons {
                for rank in [0, 1, u32::MAX] {
                    let by = By::Subject;
                    commands.push(Command::Cancel {
                        campaign,
                        pool,
                        subject,
                        rank,
                        by,
                        reason,
                        who,
                    });
                }
            }
        }
        let (mut accepted, mut refused) = (0, 0);
        for command in &commands {
            let encoded = Encoded::unchecked(command);
            let is_same = encoded.target() == content::target_of(command);
            let is_read = is_same && encoded.read().as_ref() == Ok(command);
            let is_accepted = is_same && encoded.check_bounds(command).unwrap().is_ok();
            assert_eq!(is_accepted, is_read, "{command:?}");
            *if is_accepted { &mut accepted } else { &mut refused } += 1;
        }
        assert!(accepted > 100 && refused > 100, "{accepted} {refused}");
    }
}
