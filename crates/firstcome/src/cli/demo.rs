//! `demo`.
use super::complaint::{Complaint, Exit};
use clap::Args;
/// x
#[derive(Debug, Args)]
pub(super) struct DemoArgs {}
pub(super) async fn run(_: DemoArgs, _: bool) -> Result<Exit, Complaint> {
    Err(Complaint::own("not in this build"))
}
