//! `completions` and `man`: the command line as shells and manuals have it, made from the same description as its help.

use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;

use super::Cli;
use super::complaint::{Complaint, Exit};
use super::terminal::out;

/// Options of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstcome completions bash > firstcome.bash
  firstcome completions zsh > _firstcome
  firstcome completions fish > firstcome.fish

Where shells look for them:
  bash  ~/.local/share/bash-completion/completions/firstcome
  zsh   a folder of $fpath, as _firstcome
  fish  ~/.config/fish/completions/firstcome.fish")]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: ShellName,
}

/// The shells there are completions for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShellName {
    Bash,
    Zsh,
    Fish,
}

/// Options of `man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  firstcome man --out man1")]
pub(super) struct ManArgs {
    /// The folder; it is created if it is missing.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Complaint> {
    let shell = match args.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "firstcome", &mut script);
    out::data(String::from_utf8_lossy(&script).trim_end());
    Ok(Exit::Yes)
}

pub(super) fn man(args: &ManArgs) -> Result<Exit, Complaint> {
    let cannot = |error: std::io::Error| {
        Complaint::own(format!("cannot write man pages into {}: {error}", args.out.display()))
    };
    std::fs::create_dir_all(&args.out).map_err(cannot)?;
    clap_mangen::generate_to(Cli::command(), &args.out).map_err(cannot)?;
    Ok(Exit::Yes)
}
