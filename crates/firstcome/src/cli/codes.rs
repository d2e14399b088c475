//! `codes`: what a shop and an operator do with the coupon codes of a pool.

mod code;
mod export;
mod file;
mod import;
mod imports;
mod look_up;
mod marks;
mod reissue;
mod steps;

use clap::{Args, Subcommand};

use super::campaign::id_from_text;
use super::complaint::{Complaint, Exit};

/// What can be done with codes.
#[derive(Debug, Subcommand)]
pub(super) enum CodesVerb {
    /// Add the codes of a file: all of them or none.
    Import(import::ImportArgs),
    /// List the imports of a pool.
    Imports(imports::ImportsArgs),
    /// Give up an import that was not finished.
    Discard(imports::DiscardArgs),
    /// Set a use of a code aside for a reference, until a deadline.
    Reserve(steps::ReserveArgs),
    /// Use a code for a reference.
    Redeem(steps::RedeemArgs),
    /// Undo a redemption: the use comes back unless the code has expired.
    RollBack(steps::RollBackArgs),
    /// Give a reservation back.
    Release(steps::ReleaseArgs),
    /// Show codes with their history, by code or by holder.
    LookUp(look_up::LookUpArgs),
    /// Make codes worthless, permanently.
    #[command(
        override_usage = "firstcome codes revoke [OPTIONS] --reason <TEXT>
       <CAMPAIGN> <CODE|--rank <RANK>|--import <IMPORT>>...",
        after_help = "\
A live reservation does not protect a code that is revoked. To give its holder another one, use `reissue` in place of this: it revokes the old one.

`-` reads codes from stdin, one on each line: arguments can be seen by all users of the machine. `--import` revokes all \
codes of an import (`firstcome codes imports`), issued or not.

Examples:
  firstcome codes revoke vouchers --rank 1 --reason 'bought with a stolen card'
  firstcome codes revoke vouchers - --reason 'on a public list' < leaked.txt"
    )]
    Revoke(marks::RevokeArgs),
    /// Stop codes until somebody decides.
    #[command(
        override_usage = "firstcome codes suspend [OPTIONS] --reason <TEXT>
       <CAMPAIGN> <CODE|--rank <RANK>>...",
        after_help = "\
`restore` lets them count again. `-` reads codes from stdin, one on each line.

Example:
  firstcome codes suspend vouchers --rank 1 --rank 2 --reason 'under review'"
    )]
    Suspend(marks::MarkArgs),
    /// Let suspended codes count again.
    #[command(
        override_usage = "firstcome codes restore [OPTIONS] --reason <TEXT>
       <CAMPAIGN> <CODE|--rank <RANK>>...",
        after_help = "\
A code that was revoked stays revoked. `-` reads codes from stdin, one on each line.

Example:
  firstcome codes restore vouchers --rank 1 --rank 2 --reason 'no fraud'"
    )]
    Restore(marks::MarkArgs),
    /// Replace the code of a claim: the old one is revoked.
    Reissue(reissue::ReissueArgs),
    /// Print the current claims with their codes.
    Export(export::ExportArgs),
}

impl CodesVerb {
    /// Says whether nothing can have changed by the time its result is printed.
    pub(super) fn only_looks(&self) -> bool {
        matches!(self, Self::Imports(_) | Self::LookUp(_) | Self::Export(_))
    }
}

/// Which coded pool.
#[derive(Debug, Args)]
struct PoolArgs {
    /// The pool; may be left out if the campaign has one pool with codes.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
}

/// Why, and an id that makes a repeated command happen once.
#[derive(Debug, Args)]
struct WhyArgs {
    /// The reason, stored with the command: 1 to 256 bytes.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The identity of this command: repeated with the same id, it happens once [default: random].
    #[arg(long, value_name = "ID", value_parser = id_from_text)]
    id: Option<String>,
}

impl WhyArgs {
    fn id(&self) -> String {
        self.id.clone().unwrap_or_else(|| format!("cli-{:032x}", fastrand::u128(..)))
    }
}

pub(super) async fn run(verb: CodesVerb, json: bool) -> Result<Exit, Complaint> {
    match verb {
        CodesVerb::Import(args) => import::run(args, json).await,
        CodesVerb::Imports(args) => imports::list(args, json).await,
        CodesVerb::Discard(args) => imports::discard(args, json).await,
        CodesVerb::Reserve(args) => steps::reserve(args, json).await,
        CodesVerb::Redeem(args) => steps::redeem(args, json).await,
        CodesVerb::RollBack(args) => steps::roll_back(args, json).await,
        CodesVerb::Release(args) => steps::release(args, json).await,
        CodesVerb::LookUp(args) => look_up::run(args, json).await,
        CodesVerb::Revoke(args) => marks::revoke(args, json).await,
        CodesVerb::Suspend(args) => marks::suspend(args, json).await,
        CodesVerb::Restore(args) => marks::restore(args, json).await,
        CodesVerb::Reissue(args) => reissue::run(args, json).await,
        CodesVerb::Export(args) => export::run(args, json).await,
    }
}
