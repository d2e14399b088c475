//! Uses of codes over time: what certainly counted at a moment, and what may have counted.

use std::collections::HashMap;
use std::time::Duration;

use super::super::Plan;
use super::super::promised::Promised;
use super::super::record::{Record, Step, Verb};
use crate::people::Found;

/// How much earlier than this side's clock says a reservation may end: clocks do not tick alike.
const EARLIER: Duration = Duration::from_millis(100);

/// One stretch of time, from and to, since the load test began.
type Stretch = (Duration, Duration);

/// What was done with a code under one reference.
#[derive(Debug, Default)]
struct CheckedUse {
    /// When it certainly counted.
    certain: Vec<Stretch>,
    /// When it may have counted.
    possible: Vec<Stretch>,
}

/// Checks that uses never exceed the limit, that reservations hold, and that every refusal was right.
pub(super) fn check(plan: &Plan, record: &Record, found: &mut Found) {
    let mut by_code: HashMap<&str, HashMap<&str, Vec<&Step>>> = HashMap::new();
    for step in &record.answers.steps {
        by_code.entry(&step.code).or_default().entry(&step.reference).or_default().push(step);
    }
    for references in by_code.into_values() {
        let uses = references.into_iter().map(|(reference, mut steps)| {
            steps.sort_by_key(|step| step.sent);
            own_reservation(plan, reference, &steps, found);
            let used = of_reference(plan, &steps);
            (reference, steps, used)
        });
        let uses: Vec<(&str, Vec<&Step>, CheckedUse)> = uses.collect();
        let certain = uses.iter().flat_map(|(_, _, used)| used.certain.iter().copied());
        let most = most_at_once(certain);
        if most > u64::from(plan.visit.uses) {
            let (reference, ..) = uses[0];
            let allowed = plan.visit.uses;
            let evidence = format!(
                "the code of {reference} was used {most} times at once, and {allowed} is the most"
            );
            found.add(Promised::Uses, evidence);
        }
        if !record.incomplete {
            for (reference, steps, _) in &uses {
                refusals(plan, reference, steps, &uses, found);
            }
        }
    }
}

/// Returns when a reference's use counted.
fn of_reference(plan: &Plan, steps: &[&Step]) -> CheckedUse {
    let done = |verb: Verb| steps.iter().find(|step| step.verb == verb && step.is_done());
    let first_sent = |verb: Verb| steps.iter().find(|step| step.verb == verb).map(|step| step.sent);
    let mut used = CheckedUse::default();
    if let Some(redeem) = done(Verb::Redeem) {
        let back = done(Verb::RollBack).filter(|back| !back.expired);
        let until = first_sent(Verb::RollBack).filter(|_| back.is_some());
        used.certain.push((redeem.answered, until.unwrap_or(Duration::MAX)));
        let until = back.map_or(Duration::MAX, |back| back.answered);
        used.possible.push((redeem.sent, until));
    }
    for reserve in steps.iter().filter(|step| step.verb == Verb::Reserve && step.is_done()) {
        let over = reserve.sent + plan.visit.reservation;
        // From the redemption on that counts, and not the reservation.
        let next = steps.iter().find(|step| step.sent > reserve.sent && step.verb != Verb::Reserve);
        // One that is said to be there already may have begun long before.
        let until = match reserve.outcome == "reserved" {
            true => over.saturating_sub(EARLIER),
            false => reserve.answered,
        };
        let until = next.map_or(until, |next| until.min(next.sent));
        used.certain.push((reserve.answered, until));
        let gone = done(Verb::Release).map(|release| release.answered);
        let latest = reserve.answered + plan.visit.reservation + plan.slack;
        used.possible.push((reserve.sent, gone.unwrap_or(latest)));
    }
    used
}

/// Returns how many stretches there are at one moment at most.
fn most_at_once(stretches: impl Iterator<Item = Stretch>) -> u64 {
    let real = stretches.filter(|(from, to)| from < to);
    let mut turns: Vec<(Duration, bool)> =
        real.flat_map(|(from, to)| [(from, true), (to, false)]).collect();
    // Where one ends and another begins at the same moment, they are not there together.
    turns.sort_unstable();
    let (mut now, mut most) = (0_u64, 0);
    for (_, begins) in turns {
        now = if begins { now + 1 } else { now.saturating_sub(1) };
        most = most.max(now);
    }
    most
}

/// A live reservation is redeemed, whatever others do.
fn own_reservation(plan: &Plan, reference: &str, steps: &[&Step], found: &mut Found) {
    let reserved = |step: &&&Step| step.verb == Verb::Reserve && step.is_done();
    for redeem in steps.iter().filter(|step| step.verb == Verb::Redeem && !step.is_done()) {
        let before = steps.iter().filter(|step| step.answered <= redeem.sent);
        let Some(reserve) = before.clone().rfind(reserved) else { continue };
        let ended = before.clone().any(|step| {
            step.sent > reserve.sent && matches!(step.verb, Verb::Release | Verb::RollBack)
        });
        let live = redeem.answered + EARLIER < reserve.sent + plan.visit.reservation;
        let fresh = reserve.outcome == "reserved";
        if live && fresh && !ended {
            let evidence =
                format!("{reference} had a live reservation and was answered {}", redeem.outcome);
            found.add(Promised::Reservations, evidence);
        }
    }
}

/// A refusal says that all uses are gone: then others may have had them at that time.
fn refusals(
    plan: &Plan,
    reference: &str,
    steps: &[&Step],
    uses: &[(&str, Vec<&Step>, CheckedUse)],
    found: &mut Found,
) {
    let gone =
        |step: &&&Step| matches!(&*step.outcome, "code_used" | "code_reserved" | "reused_since");
    for refused in steps.iter().filter(gone) {
        let others = uses.iter().filter(|(other, _, used)| {
            let meanwhile = |(from, to): &Stretch| *from <= refused.answered && *to >= refused.sent;
            *other != reference && used.possible.iter().any(meanwhile)
        });
        let others = others.count();
        if (others as u64) < u64::from(plan.visit.uses) {
            let evidence = format!(
                "{reference} was answered {}, and {others} of {} uses were gone",
                refused.outcome, plan.visit.uses
            );
            found.add(Promised::Refusals, evidence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(from: u64, to: u64) -> Stretch {
        (Duration::from_secs(from), Duration::from_secs(to))
    }

    #[test]
    fn stretches_that_touch_are_not_there_together() {
        assert_eq!(most_at_once([].into_iter()), 0);
        assert_eq!(most_at_once([seconds(1, 2), seconds(2, 3)].into_iter()), 1);
        assert_eq!(most_at_once([seconds(1, 3), seconds(2, 4), seconds(2, 2)].into_iter()), 2);
    }
}
