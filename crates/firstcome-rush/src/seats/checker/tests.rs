use serde_json::json;

use super::*;
use crate::people::PersonResult;
use crate::seats::record::Holds;
use crate::seats::{Seats, Shares};

fn plan() -> Plan {
    Plan {
        servers: Vec::new(),
        key: None,
        campaign: "gala".to_owned(),
        pool: "main".to_owned(),
        people: 2,
        per_second: None,
        think: Duration::ZERO,
        prefix: String::new(),
        connections: 1,
        seed: 1,
        patience: Duration::from_secs(1),
        slack: Duration::ZERO,
        alone: true,
        visit: Seats {
            rows: Vec::new(),
            limit: None,
            hold: Duration::from_secs(2),
            shares: Shares::default(),
            all_pay_after: None,
        },
        cut: 0.0,
    }
}

/// Ann paid for A1 and A2; before that they were bob's, who paid too late and gets a refund.
fn record() -> Record {
    let units = || vec!["A1".to_owned(), "A2".to_owned()];
    let held = |hold: &str, subject: &str, from: u64, end: End| HoldRecord {
        subject: subject.to_owned(),
        hold: hold.to_owned(),
        wanted: Wanted::Best(2),
        units: units(),
        sent: Duration::from_secs(from),
        answered: Duration::from_secs(from),
        late: matches!(end, End::Refund { .. }),
        end,
    };
    let ranked = vec![("A1".to_owned(), 1), ("A2".to_owned(), 2)];
    let paid = End::Confirmed { units: ranked, retaken: false };
    let refund = End::Refund { units: units() };
    let seconds = Duration::from_secs;
    let taken = TakenRefusal {
        subject: "cyd".to_owned(),
        asked: units(),
        named: vec!["A2".to_owned()],
        sent: seconds(1),
        answered: seconds(1),
    };
    let holds = vec![held("h1", "ann", 3, paid), held("h2", "bob", 0, refund)];
    let answers = Holds { holds, taken: vec![taken], ..Holds::default() };
    Record { answers, ..Record::default() }
}

fn result(kind: &str, rank: u64, subject: &str, unit: &str, hold: &str) -> PersonResult {
    let document = json!({
        "number": 1, "kind": kind, "pool": "main", "rank": rank, "subject": subject, "unit": unit, "hold": hold,
    });
    serde_json::from_value(document).unwrap()
}

fn results() -> Vec<PersonResult> {
    vec![
        result("claim", 1, "ann", "A1", "h1"),
        result("claim", 2, "ann", "A2", "h1"),
        result("refund_due", 0, "bob", "A1", "h2"),
        result("refund_due", 0, "bob", "A2", "h2"),
    ]
}

/// Doctors an honest record and its results, and gives the promises that are found to be broken.
fn broken(doctor: &dyn Fn(&mut Record, &mut Vec<PersonResult>)) -> Vec<&'static str> {
    let (mut record, mut results) = (record(), results());
    doctor(&mut record, &mut results);
    let claims = results.iter().filter(|result| result.kind == "claim").count();
    let pools = json!([{"name": "main", "capacity": 4, "left": 4 - claims, "taken": claims}]);
    let counts = serde_json::from_value(json!({"pools": pools})).unwrap();
    let found = check(&plan(), &record, Some(&Read { counts, results }));
    let mut promises: Vec<_> = found.into_iter().map(|violation| violation.promise).collect();
    promises.sort_unstable();
    promises.dedup();
    promises
}

#[test]
fn every_doctored_record_is_found() {
    assert_eq!(broken(&|_, _| {}), [""; 0]);
    let other =
        |_: &mut Record, results: &mut Vec<PersonResult>| "bob".clone_into(&mut results[0].subject);
    assert_eq!(broken(&other), ["kept"]);
    let twice = |_: &mut Record, results: &mut Vec<PersonResult>| {
        "A2".clone_into(results[0].unit.as_mut().unwrap())
    };
    assert_eq!(broken(&twice), ["kept", "seats"]);
    let skipped = |_: &mut Record, results: &mut Vec<PersonResult>| {
        results[1].rank = 3;
    };
    assert_eq!(broken(&skipped), ["kept", "ranks"]);
    let missing = |_: &mut Record, results: &mut Vec<PersonResult>| drop(results.remove(1));
    assert_eq!(broken(&missing), ["baskets", "kept"]);
    let half_refund = |_: &mut Record, results: &mut Vec<PersonResult>| drop(results.pop());
    assert_eq!(broken(&half_refund), ["baskets"]);
    let no_refund = |_: &mut Record, results: &mut Vec<PersonResult>| results.truncate(2);
    assert_eq!(broken(&no_refund), ["late"]);
    let not_told =
        |record: &mut Record, _: &mut Vec<PersonResult>| record.answers.holds[1].end = End::Left;
    assert_eq!(broken(&not_told), ["late"]);
    let strangers = |_: &mut Record, results: &mut Vec<PersonResult>| {
        results.push(result("claim", 3, "dan", "B1", "h9"));
    };
    assert_eq!(broken(&strangers), ["kept"]);
    let strange_refund = |_: &mut Record, results: &mut Vec<PersonResult>| {
        results.push(result("refund_due", 0, "dan", "B1", "h9"));
    };
    assert_eq!(broken(&strange_refund), ["late"]);
    let free = |record: &mut Record, _: &mut Vec<PersonResult>| {
        (record.answers.taken[0].asked, record.answers.taken[0].named) =
            (vec!["B1".into()], vec!["B1".into()]);
    };
    assert_eq!(broken(&free), ["taken"]);
    let changed = |record: &mut Record, _: &mut Vec<PersonResult>| record.changed.push("h1".into());
    assert_eq!(broken(&changed), ["repeats"]);
    let in_time =
        |record: &mut Record, _: &mut Vec<PersonResult>| record.answers.holds[0].late = true;
    assert_eq!(broken(&in_time), ["late"]);
}
