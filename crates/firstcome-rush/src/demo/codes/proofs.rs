//! The proofs of the demonstration of coupon codes.

use serde_json::Value;

use super::super::proofs::{Proof, equal_ledger, same_digest};
use super::secrecy::Traces;
use crate::codes::{Promised, Report, Totals};
use crate::terminal::thousands;

/// Everything that was found.
pub(super) struct Found<'a> {
    /// By the load test.
    pub(super) report: &'a Report,
    /// Codes of the campaign.
    pub(super) codes: u64,
    /// Codes in stock at the end.
    pub(super) left: u64,
    /// Codes that were offered at the end.
    pub(super) offered: u64,
    /// In the files of the server.
    pub(super) traces: &'a Traces,
    /// By `audit`.
    pub(super) audit: &'a Value,
}

/// Compares everything that was found with what was promised.
pub(super) fn all(found: &Found<'_>) -> Vec<Proof> {
    let Found { report, codes, left, offered, traces, audit } = *found;
    let totals = &report.totals;
    let Totals { issued, cancelled, reserved, redeemed, rolled_back, refused, wrong, .. } = *totals;
    let Totals { repeats, waited, .. } = *totals;
    let live = issued.saturating_sub(cancelled);
    let n = thousands;
    let uncounted = (live + left + offered != codes || issued < codes).then(|| {
        format!(
            "{issued} issued, {cancelled} cancelled, {left} in stock and {offered} offered are not the {codes}"
        )
    });
    let mut proofs = vec![
        Proof::new(
            "issued",
            format!(
                "every code has one subject: {} issued, {} of them came free again, {} in stock, {} offered",
                n(issued),
                n(cancelled),
                n(left),
                n(offered)
            ),
            uncounted.or_else(|| report.evidence(&[Promised::Codes, Promised::Counts])),
        ),
        Proof::new(
            "waitlist",
            format!(
                "what came free went to who was next: {} waited, {} of them were offered a code, {} let it go",
                n(waited),
                n(totals.offered),
                n(totals.let_go)
            ),
            report.evidence(&[Promised::Turns]),
        ),
        Proof::new(
            "ranks",
            format!("ranks are gap-free and nobody shares one: 1 to {}", n(issued)),
            report.evidence(&[Promised::Ranks]),
        ),
        Proof::new(
            "uses",
            format!(
                "no code was used twice: {} redemptions, {} of them rolled back",
                n(redeemed),
                n(rolled_back)
            ),
            report.evidence(&[Promised::Uses]),
        ),
        Proof::new(
            "reservations",
            format!("nobody's own reservation was in their way: {} of them", n(reserved)),
            report.evidence(&[Promised::Reservations]),
        ),
        Proof::new(
            "refusals",
            format!("every code that was refused as used was used: {} refusals", n(refused)),
            report.evidence(&[Promised::Refusals]),
        ),
        Proof::new(
            "wrong",
            format!("none of {} codes was accepted that do not count", n(wrong)),
            report.evidence(&[Promised::Wrong]),
        ),
        Proof::new(
            "repeats",
            format!("all {} repeated answers are identical", n(repeats)),
            report.evidence(&[Promised::Repeats]),
        ),
        Proof::new(
            "kept",
            "what was acknowledged is in the results and in the look-ups, and nothing else"
                .to_owned(),
            report.evidence(&[Promised::Kept, Promised::Ledger]),
        ),
        secrecy(report, traces),
        same_digest(audit),
        equal_ledger(audit),
    ];
    if let Some(reason) = &report.cut_short {
        let words = "everything could be checked".to_owned();
        proofs.push(Proof::new("complete", words, Some(reason.clone())));
    }
    proofs
}

/// No file of the server has one of the codes.
fn secrecy(report: &Report, traces: &Traces) -> Proof {
    let (codes, files) = (thousands(report.totals.codes.len() as u64), traces.files);
    let words = format!("none of {codes} codes stands in the server's {files} files");
    let nothing = (traces.bytes == 0).then(|| "there was no file to look through".to_owned());
    let found = traces.found_in.first().map(|file| format!("{file} has one"));
    Proof::new("secrecy", words, found.or(nothing))
}

#[cfg(test)]
mod tests {
    use super::super::super::proofs::tests::honest_audit;
    use super::*;
    use crate::people::{Promises, Violation};

    /// The names of the proofs that do not hold after something was doctored.
    fn broken(doctor: impl FnOnce(&mut Report, &mut Traces, &mut u64)) -> Vec<&'static str> {
        let totals = Totals { issued: 22, cancelled: 4, redeemed: 10, ..Totals::default() };
        let totals = Totals { waited: 5, offered: 3, ..totals };
        let mut report = Report { totals, ..Report::default() };
        let mut traces = Traces { bytes: 100, files: 2, found_in: Vec::new() };
        let mut left = 1;
        doctor(&mut report, &mut traces, &mut left);
        let audit = honest_audit();
        let (report, traces, audit, offered) = (&report, &traces, &audit, 1);
        let found = Found { report, codes: 20, left, offered, traces, audit };
        let proofs = all(&found).into_iter().filter(|proof| !proof.kept);
        proofs.map(|proof| proof.name).collect()
    }

    #[test]
    fn what_was_doctored_breaks_its_proof() {
        assert_eq!(broken(|_, _, _| {}), [""; 0]);
        assert_eq!(broken(|_, _, left| *left = 2), ["issued"]);
        assert_eq!(broken(|report, _, _| report.totals.issued = 21), ["issued"]);
        let leaked = |_: &mut Report, traces: &mut Traces, _: &mut u64| {
            traces.found_in.push("server.log".to_owned());
        };
        assert_eq!(broken(leaked), ["secrecy"]);
        assert_eq!(broken(|_, traces, _| *traces = Traces::default()), ["secrecy"]);
        let short = |report: &mut Report, _: &mut Traces, _: &mut u64| {
            report.cut_short = Some("no answer".to_owned());
        };
        assert_eq!(broken(short), ["complete"]);
        let names = [
            (Promised::Codes, "issued"),
            (Promised::Counts, "issued"),
            (Promised::Ranks, "ranks"),
            (Promised::Uses, "uses"),
            (Promised::Reservations, "reservations"),
            (Promised::Refusals, "refusals"),
            (Promised::Wrong, "wrong"),
            (Promised::Repeats, "repeats"),
            (Promised::Kept, "kept"),
            (Promised::Turns, "waitlist"),
            (Promised::Ledger, "kept"),
        ];
        assert_eq!(names.len(), Promised::SHOWN.len());
        for (promise, name) in names {
            let doctored = broken(|report, _, _| {
                let evidence = "doctored".to_owned();
                report.violations.push(Violation::new(promise, evidence));
            });
            assert_eq!(doctored, [name], "{promise:?}");
        }
    }
}
