//! A ledger that replaces another takes over its endpoints, each from where both ledgers say the same.

use crate::endpoint::Mark;
use firstcome_node::ledger::{Ledger, LedgerError, StoredWebhook};

/// Results that are read at once.
const PAGE: usize = 1_000;

/// Writes the endpoints of a ledger that was set aside into the one in its place, where they are not there yet.
///
/// Once that one has its results, each endpoint goes on from where both ledgers say the same, with the ids of the new one.
///
/// # Errors
///
/// Those of the database.
pub async fn take_over(of: Vec<StoredWebhook>, ledger: &Ledger) -> Result<(), LedgerError> {
    for row in of {
        ledger.put_webhook(StoredWebhook { version: 1, ..row }).await?;
    }
    Ok(())
}

/// Returns the id of a ledger as endpoints have it.
pub(crate) fn text_of(id: u128) -> String {
    format!("{id:032x}")
}

/// Returns those of an endpoint's marks up to which a ledger has the same results. The first, before which nothing was
/// sent, counts as such.
pub(crate) async fn known(marks: &[Mark], ledger: &Ledger) -> Result<Vec<Mark>, LedgerError> {
    let Some(first) = marks.first().copied() else { return Ok(Vec::new()) };
    let through = ledger.standing().await?.through;
    if first.number > through {
        return Ok(vec![Mark { number: through, sum: 0 }]);
    }
    let (mut known, mut at) = (vec![first], first);
    let mut rest = marks[1..].iter().copied().peekable();
    while rest.peek().is_some() {
        let rows = ledger.results(at.number, PAGE, None).await?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            at = at.over(row);
            // A number that this ledger does not have was dropped on an operator's word.
            while let Some(mark) = rest.next_if(|mark| mark.number <= at.number) {
                if mark != at {
                    return Ok(known);
                }
                known.push(mark);
            }
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstcome_core::results::Kind;
    use firstcome_core::{SpaceId, Timestamp};
    use firstcome_node::ledger::{Batch, MemoryLedger, Row};

    /// A ledger of so many claims; from a number on they are another person's.
    async fn ledger(results: u64, differs_from: u64) -> Ledger {
        let ledger = Ledger::Memory(MemoryLedger::new(SpaceId::default()));
        let term = ledger.mint_term().await.unwrap().term;
        let row = |number: u64| Row {
            number,
            in_campaign: number as u32,
            kind: Kind::Claim,
            campaign: "drop".into(),
            campaign_number: 1,
            pool: "main".into(),
            pool_number: 0,
            rank: number as u32,
            subject: if number < differs_from { "ann" } else { "bob" }.into(),
            at: Timestamp::from_micros(1),
            by: None,
            reason: None,
            who: None,
            unit: None,
            hold: None,
            moved_from: None,
            details: None,
        };
        let rows = (1..=results).map(row).collect();
        ledger.settle(Batch { after: 0, term, rows }).await.unwrap();
        ledger
    }

    #[tokio::test]
    async fn it_goes_on_from_the_last_mark_at_which_both_ledgers_say_the_same() {
        let first = ledger(3_000, u64::MAX).await;
        let mut marks = vec![Mark::default()];
        for row in first.results(0, 3_000, None).await.unwrap() {
            let at = marks.last().unwrap().over(&row);
            // As an endpoint keeps them: each 500 results, and the newest.
            if marks.len() > 1 && (at.number - 1) % 500 != 0 {
                marks.pop();
            }
            marks.push(at);
        }
        assert_eq!(marks.last().unwrap().number, 3_000);
        let last =
            async |other: Ledger| known(&marks, &other).await.unwrap().last().unwrap().number;
        assert_eq!(last(ledger(5_000, u64::MAX).await).await, 3_000);
        for (results, differs_from) in [(3_000, 1_700), (5_000, 2_999), (1_234, u64::MAX), (9, 1)] {
            let other = ledger(results, differs_from).await;
            let same = results.min(differs_from - 1);
            let found = last(other).await;
            assert!(found <= same && found + 501 > same, "{found} of {same}");
        }
        assert_eq!(last(ledger(0, 1).await).await, 0);
    }
}
