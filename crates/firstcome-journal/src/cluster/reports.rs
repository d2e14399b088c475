//! Reports of forks, in any store that several nodes share.

use crate::error::JournalError;
use crate::journal::Journal;
use crate::transaction::call::JournalCall;
use crate::transaction::cell::{Cell, Kind};
use crate::transaction::{Read, Transaction, Write};
use firstcome_core::NodeId;

/// How many reports are kept; beyond it those of the oldest epochs go.
const REPORTS: usize = 64;
/// The longest report, in bytes.
const REPORT_BYTES: usize = 1 << 20;

impl Journal {
    /// Keeps what a node found out about a fork, for operators; at most 1 MiB.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unavailable`] for a longer one; those of the store being out of reach or full.
    pub async fn report(&self, epoch: u32, node: NodeId, text: String) -> Result<(), JournalError> {
        if text.len() > REPORT_BYTES {
            return Err(JournalError::Unavailable("a report has at most 1 MiB".to_owned()));
        }
        let key = format!("{epoch:08x}{node}").into_bytes();
        let report = Cell { kind: Kind::Report, key, value: text.into_bytes() };
        let keep = Transaction::new(JournalCall::Report).write(Write::Put(report));
        let mut keys = self.commit(keep.read(Read::Keys(Kind::Report))).await?.cells;
        if keys.len() > REPORTS {
            keys.sort_by(|one, other| one.key.cmp(&other.key));
            let oldest = keys.drain(..keys.len() - REPORTS);
            let forget = oldest
                .fold(Transaction::new(JournalCall::Report).frees(), |forget, cell| {
                    forget.write(Write::Delete(cell.kind, cell.key))
                });
            // The report itself is there: what stays too long goes with the next one.
            drop(self.commit(forget).await);
        }
        Ok(())
    }

    /// Returns what nodes found out about forks: epoch, node, report.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn reports(&self) -> Result<Vec<(u32, NodeId, String)>, JournalError> {
        let look = Transaction::new(JournalCall::Look).read(Read::Cells(Kind::Report));
        let mut reports: Vec<_> = self.commit(look).await?.cells.iter().filter_map(read).collect();
        reports.sort();
        Ok(reports)
    }
}

/// Reads a report; `None` for what is none.
fn read(cell: &Cell) -> Option<(u32, NodeId, String)> {
    let (epoch, node) = std::str::from_utf8(&cell.key).ok()?.split_at_checked(8)?;
    let epoch = u32::from_str_radix(epoch, 16).ok()?;
    let node = u128::from_str_radix(node, 16).ok()?;
    let text = String::from_utf8_lossy(&cell.value).into_owned();
    Some((epoch, NodeId(node.to_be_bytes()), text))
}
