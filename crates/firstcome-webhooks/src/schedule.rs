//! When something that failed is tried again: the schedule of the specification, with jitter.

use std::time::Duration;

const SECOND: i64 = 1_000_000;
/// Seconds between one try and the next: ten tries in all, the last after some 75 hours.
const PAUSES: [i64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// How long nothing may have come through until an endpoint is switched off.
pub(crate) const OFF_AFTER: i64 = 5 * 86_400 * SECOND;
/// The longest pause that an endpoint can ask for.
const LONGEST: i64 = 86_400;

/// Returns when it is tried again after so many tries, at least `asked` from now; nothing when it was tried as often as it is.
///
/// A tenth of the pause, more or less, is drawn: endpoints that failed together come back one after the other.
pub(crate) fn next(tries: u32, asked: Option<Duration>, now: i64) -> Option<i64> {
    let pause = *PAUSES.get(tries.saturating_sub(1) as usize)?;
    let drawn = pause * SECOND / 1_000 * fastrand::i64(900..=1_100);
    let asked = asked.map_or(0, |asked| i64::try_from(asked.as_secs()).unwrap_or(LONGEST));
    Some(now + drawn.max(asked.min(LONGEST) * SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_tried_for_three_days_and_not_before_it_was_asked_for() {
        let mut at = 0;
        let mut tries = 1;
        while let Some(next) = super::next(tries, None, at) {
            assert!(next > at);
            (at, tries) = (next, tries + 1);
        }
        assert_eq!(tries, 10);
        let hours = at / SECOND / 3_600;
        assert!((68..=84).contains(&hours), "{hours} hours");
        let asked = Duration::from_secs(7_200);
        assert_eq!(super::next(1, Some(asked), 0), Some(7_200 * SECOND));
        assert_eq!(super::next(1, Some(Duration::MAX), 0), Some(86_400 * SECOND));
    }
}
