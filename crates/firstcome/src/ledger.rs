//! stub
use firstcome_core::Timestamp;
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_core::state::ResultRow;
/// r
#[derive(Clone, Debug)]
pub struct Row {
    pub number: u64,
    pub kind: Kind,
    pub campaign: Box<str>,
    pub pool: Box<str>,
    pub rank: u32,
    pub subject: Box<str>,
    pub at: Timestamp,
    pub by: Option<By>,
    pub reason: Option<Box<str>>,
    pub who: Option<Box<str>>,
}
impl Row {
    pub fn is_same_result(&self, o: &Self) -> bool {
        self.number == o.number
    }
}
impl From<ResultRow<'_>> for Row {
    fn from(_: ResultRow<'_>) -> Self {
        panic!()
    }
}
pub struct Batch {
    pub after: u64,
    pub term: u64,
    pub rows: Vec<Row>,
}
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    pub through: u64,
    pub term: u64,
}
#[derive(Debug, thiserror::Error)]
pub enum LedgerFailure {
    #[error("{0}")]
    Unknown(String),
    #[error("{0}")]
    Other(String),
}
#[derive(Clone, Debug)]
pub enum Ledger {
    X,
}
impl Ledger {
    pub async fn mint_term(&self) -> Result<Standing, LedgerFailure> {
        panic!()
    }
    pub async fn standing(&self) -> Result<Standing, LedgerFailure> {
        panic!()
    }
    pub async fn settle(&self, _: Batch) -> Result<Standing, LedgerFailure> {
        panic!()
    }
    pub async fn results(
        &self,
        _: u64,
        _: usize,
        _: Option<&str>,
    ) -> Result<Vec<Row>, LedgerFailure> {
        panic!()
    }
}
impl Ledger {
    pub async fn open_sqlite(
        _: &std::path::Path,
        _: firstcome_core::SpaceId,
        _: u32,
    ) -> anyhow::Result<Self> {
        anyhow::bail!("stub")
    }
    pub async fn close(&self) {}
}
/// r
pub struct Reader;
impl Reader {
    pub fn open(_: &std::path::Path, _: firstcome_core::SpaceId, _: u32) -> anyhow::Result<Self> {
        anyhow::bail!("stub")
    }
    pub fn through(&self) -> anyhow::Result<u64> {
        Ok(0)
    }
    pub fn results(&self, _: u64, _: usize) -> anyhow::Result<Vec<Row>> {
        Ok(vec![])
    }
    pub fn claim_counts(&self, _: &str, _: &str) -> anyhow::Result<(u64, u64)> {
        Ok((0, 0))
    }
}
impl std::fmt::Display for Row {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
