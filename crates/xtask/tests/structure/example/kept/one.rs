use super::Two;

/// Not `crate::Kept`.
pub struct One(Two, &'static str);

const TEXT: &str = "crate::Kept";

#[cfg(test)]
use crate::Kept;
