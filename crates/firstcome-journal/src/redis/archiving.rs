//! Has the node's archive take in entries before they are trimmed.

use super::Redis;
use crate::failure::Failure;
use firstcome_core::state::Skip;

impl Redis {
    pub(crate) async fn archive(
        &self,
        first: u64,
        last: u64,
        skips: Vec<Skip>,
    ) -> Result<(), Failure> {
        let journal = self.clone();
        let read = move |after| {
            let journal = journal.clone();
            async move { journal.read(after).await }
        };
        self.inner.archiving.take_in(self.sealer(), first, last, skips, read).await
    }
}
