//! The command line: verbs, what they print, and exit codes that scripts can rely on.
//!
//! stdout is the result, stderr is talk. Exit codes: 0 yes, 1 refused, 2 usage, 3 no answer and nothing changed,
//! 4 no answer and it may have happened.

mod audit;
mod bars;
mod campaign;
mod claims;
mod codes;
mod complaint;
mod connect;
mod demo;
mod hold;
mod journal;
mod lock;
mod manual;
mod nodes;
mod refusal;
mod rehearse;
mod results;
mod rush;
mod seats;
mod serve;
mod settle;
mod source;
mod terminal;
mod token;
mod waitlist;
mod winners;

use clap::{Parser, Subcommand};

pub use complaint::{Complaint, Exit};

/// First-come-first-served campaigns: exact ranks, one win per subject, and proofs.
#[derive(Debug, Parser)]
#[command(
    name = "firstcome",
    version,
    // Not that of the terminal: an example is written to fit, and a line that is broken for a narrower one cannot be pasted.
    term_width = terminal::screen::WIDTH,
    after_help = "\
Sixty seconds:
  firstcome demo     500 places, 100,000 claims, and a check of every promise
  firstcome serve    a server on 127.0.0.1:8080, its data in ./firstcome-data
and then, in another terminal in the same folder:
  firstcome campaign create spring --places 500 --opens now
  firstcome claim spring ann

Exit codes:
  0    success
  1    refused
  2    the command line, or a file it names, is wrong
  3    no answer, and nothing changed
  4    no answer, and it may have happened: run the same command again
  130  ended by Ctrl-C
`lock` and `elect` end with the code of their command, and have some of their own.

stdout has the result, stderr has progress, notes and errors."
)]
struct Cli {
    /// Print the result as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Claim 500 places with many requests, kill the server in the middle, and check every promise.
    Demo(demo::DemoArgs),
    /// Run a server.
    Serve(Box<serve::ServeArgs>),
    /// Run a server for your own tests: in memory, with a clock that they move.
    Dev(serve::dev::DevArgs),
    /// Ask a server whether it is ready.
    Health(serve::health::HealthArgs),
    /// Create, show, change and end campaigns.
    #[command(subcommand)]
    Campaign(campaign::CampaignVerb),
    /// Claim a place for a subject.
    Claim(claims::ClaimArgs),
    /// Cancel a subject's claim.
    Cancel(claims::CancelArgs),
    /// Show who waits for units, and leave a waitlist.
    #[command(subcommand)]
    Waitlist(waitlist::WaitlistVerb),
    /// Bar a subject from a campaign: it gets no new units.
    Bar(bars::BarArgs),
    /// Remove a bar.
    Unbar(bars::UnbarArgs),
    /// List the subjects that are barred from a campaign.
    Bars(bars::BarsArgs),
    /// Issue a token: with it a browser acts for one subject.
    Token(token::TokenArgs),
    /// Reserve units, confirm them, release them.
    #[command(subcommand)]
    Hold(Box<hold::HoldVerb>),
    /// Import, draw, block and move the seats of a pool.
    #[command(subcommand)]
    Seats(seats::SeatsVerb),
    /// Import, reserve, redeem and look up coupon codes.
    #[command(subcommand)]
    Codes(Box<codes::CodesVerb>),
    /// Print the current claims, by rank.
    Winners(winners::WinnersArgs),
    /// Print all events of a campaign, in order.
    Results(results::ResultsArgs),
    /// Deliver results to other services.
    #[command(subcommand)]
    Webhooks(results::webhooks::WebhooksVerb),
    /// Compute everything again from the journal, and compare.
    Audit(audit::AuditArgs),
    /// Write a space and its ledger into a file, while its servers run.
    Backup(journal::BackupArgs),
    /// Bring a space back from a backup.
    Restore(journal::RestoreArgs),
    /// Try the settings of a campaign with a made-up crowd, in a space of its own.
    Rehearse(Box<rehearse::RehearseArgs>),
    /// Run a load test on a server and check its promises.
    Rush(Box<rush::RushArgs>),
    /// Read a journal: the one of a data folder, or one in a shared store.
    #[command(subcommand)]
    Journal(journal::JournalVerb),
    /// Show how far results are in the ledger, and repair it.
    #[command(subcommand)]
    Settle(settle::SettleVerb),
    /// Show the servers of the space, and repair a store that lost it.
    Nodes(nodes::NodesArgs),
    /// Run a command under a lock.
    Lock(lock::LockArgs),
    /// Run a command on one of many candidates.
    Elect(lock::ElectArgs),
    /// Show locks, and release them.
    #[command(subcommand)]
    Locks(lock::LocksVerb),
    /// Print the completions for a shell.
    Completions(manual::CompletionsArgs),
    /// Write a man page for each verb into a folder.
    Man(manual::ManArgs),
    /// Supervise a command and kill it when its time is over.
    #[command(hide = true)]
    StandBeside(lock::BesideArgs),
    /// Become a command that ends with its parent.
    #[command(hide = true)]
    RunBeside(lock::ChildArgs),
}

impl Verb {
    /// Says whether nothing can have changed by the time its result is printed.
    fn only_looks(&self) -> bool {
        match self {
            Self::Claim(_) | Self::Cancel(_) | Self::Bar(_) | Self::Unbar(_) => false,
            Self::Backup(_) | Self::Restore(_) => false,
            Self::Waitlist(verb) => !matches!(verb, waitlist::WaitlistVerb::Leave(_)),
            Self::Campaign(verb) => {
                matches!(verb, campaign::CampaignVerb::List(_) | campaign::CampaignVerb::Show(_))
            }
            Self::Hold(verb) => matches!(**verb, hold::HoldVerb::Show(_)),
            Self::Seats(verb) => matches!(verb, seats::SeatsVerb::Show(_)),
            Self::Codes(verb) => verb.only_looks(),
            Self::Settle(verb) => matches!(verb, settle::SettleVerb::Status(_)),
            Self::Journal(verb) => {
                matches!(verb, journal::JournalVerb::Show(_) | journal::JournalVerb::Verify(_))
            }
            Self::Nodes(args) => args.only_looks(),
            Self::Webhooks(verb) => verb.only_looks(),
            Self::Locks(verb) => !matches!(verb, lock::LocksVerb::Release(_)),
            Self::Lock(_) | Self::Elect(_) | Self::StandBeside(_) | Self::RunBeside(_) => true,
            Self::Demo(_)
            | Self::Serve(_)
            | Self::Dev(_)
            | Self::Health(_)
            | Self::Bars(_)
            | Self::Token(_)
            | Self::Winners(_)
            | Self::Results(_)
            | Self::Audit(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Rehearse(_)
            | Self::Rush(_) => true,
        }
    }
}

/// Runs the program with the arguments of this process and returns its exit code.
pub fn main() -> i32 {
    firstcome_core::state::silence_broken_rules();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed terminal must not turn help into a failure.
            drop(error.print());
            return code_of_usage(error.exit_code());
        }
    };
    let json = cli.json;
    match run(cli) {
        Ok(exit) => exit.code(),
        Err(complaint) => complaint.print(json),
    }
}

/// Returns the exit code of a command line that cannot be used: 2 may be a command's own where one is passed on.
fn code_of_usage(code: i32) -> i32 {
    let verb = std::env::args_os().skip(1).find(|word| word != "--json").unwrap_or_default();
    let passes_on = verb == "lock" || verb == "elect";
    if code == Exit::Usage.code() && passes_on { Exit::OwnFailure.code() } else { code }
}

fn run(cli: Cli) -> Result<Exit, Complaint> {
    let json = cli.json;
    if !cli.verb.only_looks() {
        terminal::out::after_a_change();
    }
    match cli.verb {
        Verb::Demo(args) => on_all_cores(demo::run(args, json)),
        Verb::Serve(args) => serve::run(*args, json),
        Verb::Dev(args) => serve::dev::run(args, json),
        Verb::Health(args) => on_one_core(serve::health::run(args, json)),
        Verb::Campaign(verb) => on_one_core(campaign::run(verb, json)),
        Verb::Claim(args) => on_one_core(claims::claim(args, json)),
        Verb::Cancel(args) => on_one_core(claims::cancel(args, json)),
        Verb::Waitlist(verb) => on_one_core(waitlist::run(verb, json)),
        Verb::Bar(args) => on_one_core(bars::bar(args, json)),
        Verb::Unbar(args) => on_one_core(bars::unbar(args, json)),
        Verb::Bars(args) => on_one_core(bars::list(args, json)),
        Verb::Token(args) => on_one_core(token::run(args, json)),
        Verb::Hold(verb) => on_one_core(hold::run(*verb, json)),
        Verb::Seats(verb) => on_one_core(seats::run(verb, json)),
        Verb::Codes(verb) => on_one_core(codes::run(*verb, json)),
        Verb::Winners(args) => on_one_core(winners::run(args, json)),
        Verb::Results(args) => on_one_core(results::run(args, json)),
        Verb::Webhooks(verb) => on_one_core(results::webhooks::run(verb, json)),
        Verb::Audit(args) => audit::run(args, json),
        Verb::Backup(args) => journal::backup(&args, json),
        Verb::Restore(args) => journal::restore(&args, json),
        Verb::Rehearse(args) => on_all_cores(rehearse::run(*args, json)),
        Verb::Rush(args) => on_all_cores(rush::run(*args, json)),
        Verb::Journal(verb) => journal::run(verb, json),
        Verb::Settle(verb) => settle::run(verb, json),
        Verb::Completions(args) => manual::completions(&args),
        Verb::Man(args) => manual::man(&args),
        Verb::Nodes(args) => on_one_core(nodes::run(args, json)),
        Verb::Lock(args) => on_one_core(lock::run(args)),
        Verb::Elect(args) => on_one_core(lock::elect(args)),
        Verb::Locks(verb) => on_one_core(lock::locks(verb, json)),
        Verb::StandBeside(args) => on_one_core(lock::stand_beside(args)),
        Verb::RunBeside(args) => lock::run_child(args),
    }
}

fn on_one_core(verb: impl Future<Output = Result<Exit, Complaint>>) -> Result<Exit, Complaint> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Complaint::own(format!("cannot start: {error}")))?.block_on(verb)
}

fn on_all_cores(verb: impl Future<Output = Result<Exit, Complaint>>) -> Result<Exit, Complaint> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| Complaint::own(format!("cannot start: {error}")))?.block_on(verb)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
