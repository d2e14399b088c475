//! A ledger that replaces another takes over its endpoints, each from where both ledgers say the same.

use crate::endpoint::Mark;
use firstcome_node::ledger::{Ledger, LedgerError, StoredWebhook};

/// Results that are read at once.
const PAGE: usize = 1_000;

/// Writes the endpoints of a ledger that was set aside into the one in its place, where they are not there yet.
///
/// Once that one has its results, each endpoint is told from where both ledgers say the same, with the ids of the new one.
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

/// Returns those of an endpoint's marks up to which a ledger has the same results. The first, behind which it was told
/// nothing, counts as such.
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
