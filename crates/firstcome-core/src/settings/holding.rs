//! Settings of holds.

use super::invalid::BadSettings;
use crate::limits::{
    GRADE_LIMITS, HOLD_LEAST_US, HOLD_MAX_US, HOLD_MOST_US, HOLD_TTL_US, HOLDS_PER_HOUR,
    HOLDS_PER_HOUR_MOST, OFFER_US, UNIT_NAME_BYTES,
};
use crate::names::{BadName, check_text};
use crate::wire::{Malformed, Value, Write};

/// How many live holds one subject may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HoldsEach {
    /// One at a time.
    #[default]
    One,
    /// Any number.
    Many,
}

impl HoldsEach {
    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Many => "many",
        }
    }
}

/// How many units of one grade a subject may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GradeLimit {
    /// The grade: 1 to [`UNIT_NAME_BYTES`] bytes without control characters.
    pub grade: Box<str>,
    /// How many units, held and live claims together, over all pools: at least 1.
    pub limit: u32,
}

/// How units of a campaign are held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldSettings {
    /// How long a hold lasts, in microseconds of service time: 1 s to `max_us`.
    pub ttl_us: i64,
    /// How long after its start a hold can be extended to, in microseconds of service time: up to 24 h.
    pub max_us: i64,
    /// How many live holds one subject may have.
    pub each: HoldsEach,
    /// How many holds one subject may start in an hour of service time: 1 to [`HOLDS_PER_HOUR_MOST`].
    pub per_hour: u32,
    /// Whether a hold may leave a single free seat between taken ones.
    pub allow_orphans: bool,
    /// Limits for single grades: at most [`GRADE_LIMITS`].
    pub grades: Vec<GradeLimit>,
    /// How long an offer to somebody on a waitlist lasts, in microseconds of service time: 1 s to 24 h.
    pub offer_us: i64,
}

impl Default for HoldSettings {
    fn default() -> Self {
        Self {
            ttl_us: HOLD_TTL_US,
            max_us: HOLD_MAX_US,
            each: HoldsEach::One,
            per_hour: HOLDS_PER_HOUR,
            allow_orphans: false,
            grades: Vec::new(),
            offer_us: OFFER_US,
        }
    }
}

impl HoldSettings {
    pub(super) fn check(&self) -> Result<(), BadSettings> {
        let Self { ttl_us, max_us, .. } = *self;
        let bounds = HOLD_LEAST_US..=HOLD_MOST_US;
        if !bounds.contains(&ttl_us) || !bounds.contains(&max_us) || ttl_us > max_us {
            return Err(BadSettings::HoldTimes { ttl_us, max_us });
        }
        if !bounds.contains(&self.offer_us) {
            return Err(BadSettings::OfferTime(self.offer_us));
        }
        if !(1..=HOLDS_PER_HOUR_MOST).contains(&self.per_hour) {
            return Err(BadSettings::HoldsPerHour(self.per_hour));
        }
        if self.grades.len() > GRADE_LIMITS {
            return Err(BadSettings::TooManyGrades(self.grades.len()));
        }
        for (i, GradeLimit { grade, limit }) in self.grades.iter().enumerate() {
            match grade.len() {
                0 => return Err(BadSettings::Grade(BadName::Empty)),
                bytes if bytes > UNIT_NAME_BYTES => {
                    let too_long = BadName::TooLong { bytes, most: UNIT_NAME_BYTES };
                    return Err(BadSettings::Grade(too_long));
                }
                _ => check_text(grade).map_err(BadSettings::Grade)?,
            }
            if *limit == 0 || self.grades[..i].iter().any(|earlier| earlier.grade == *grade) {
                return Err(BadSettings::GradeLimit(grade.clone()));
            }
        }
        Ok(())
    }

    /// Writes what is not as it is where nothing is said.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let plain = Self::default();
        if self.ttl_us != plain.ttl_us {
            out.signed(9, self.ttl_us);
        }
        if self.max_us != plain.max_us {
            out.signed(10, self.max_us);
        }
        if self.each == HoldsEach::Many {
            out.number(11, 1);
        }
        if self.per_hour != plain.per_hour {
            out.number(12, u64::from(self.per_hour));
        }
        if self.allow_orphans {
            out.number(13, 1);
        }
        if self.offer_us != plain.offer_us {
            out.signed(39, self.offer_us);
        }
        for GradeLimit { grade, limit } in &self.grades {
            out.nested(14, |out| {
                out.text(1, grade);
                out.number(2, u64::from(*limit));
            });
        }
    }

    pub(super) fn field(&mut self, field: u32, value: Value<'_>) -> Result<(), Malformed> {
        match field {
            9 => self.ttl_us = value.signed()?,
            10 => self.max_us = value.signed()?,
            11 if value.flag()? => self.each = HoldsEach::Many,
            12 => self.per_hour = value.number32()?,
            13 if value.flag()? => self.allow_orphans = true,
            14 => {
                let mut read = GradeLimit { grade: "".into(), limit: 0 };
                value.nested()?.fields(|field, value| {
                    match field {
                        1 => read.grade = value.text()?.into(),
                        2 => read.limit = value.number32()?,
                        _ => return Err(value.wrong("an unknown field of a grade's limit")),
                    }
                    Ok(())
                })?;
                self.grades.push(read);
            }
            39 => self.offer_us = value.signed()?,
            _ => return Err(value.wrong("an unknown field of settings")),
        }
        Ok(())
    }
}
