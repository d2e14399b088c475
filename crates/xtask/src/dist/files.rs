//! The files beside the program, the archive of all of them, and the checksums.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{copy, quiet};
use crate::commands::{output, root};

/// Files of the tree that users get, too.
const DOCUMENTS: [&str; 6] = [
    "README.md",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "crates/firstcome/debian/firstcome.service",
    "crates/firstcome/debian/firstcome.toml",
];

/// Completions by shell, and the name of the file that the shell looks for.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "firstcome.bash"), ("zsh", "_firstcome"), ("fish", "firstcome.fish")];

/// Returns the time of the last commit in seconds since 1970: the time of every file in an archive, so that the same
/// sources make the same archive.
pub(crate) fn time_of_sources() -> Result<u64, String> {
    let time = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(time) => time,
        Err(_) => {
            output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()))?
        }
    };
    time.trim().parse().map_err(|_| format!("{time:?} is no number of seconds"))
}

/// Has the program write its completions and man pages, and copies the documents.
pub(super) fn write(program: &Path, folder: &Path) -> Result<(), String> {
    let completions = folder.join("completions");
    fs::create_dir_all(&completions).map_err(|why| format!("{}: {why}", completions.display()))?;
    for (shell, name) in COMPLETIONS {
        let script = output(Command::new(program).args(["completions", shell]).env_clear())?;
        super::write(&completions.join(name), script)?;
    }
    let man = folder.join("man");
    quiet(Command::new(program).args(["man", "--out"]).arg(man).env_clear())?;
    for document in DOCUMENTS {
        let from = root().join(document);
        let name = from.file_name().ok_or_else(|| format!("{document} names no file"))?;
        copy(&from, &folder.join(name))?;
    }
    Ok(())
}

/// Packs a folder under a name.
pub(super) fn archive(folder: &Path, name: &str, to: &Path, time: u64) -> Result<(), String> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--mode=u+rw,go+r-w,a+X", "--use-compress-program=gzip --no-name --best"]);
    tar.arg(format!("--mtime=@{time}")).arg(format!("--transform=s,^\\.,{name},"));
    quiet(tar.arg("--file").arg(to).arg("--directory").arg(folder).arg("."))
}

/// Writes the checksums of files in a folder beside them, as `sha256sum --check` reads them.
pub(super) fn checksums(folder: &Path, files: &[impl AsRef<Path>]) -> Result<(), String> {
    let names = files.iter().filter_map(|file| file.as_ref().file_name());
    let sums = output(Command::new("sha256sum").args(names).current_dir(folder))?;
    super::write(&folder.join("SHA256SUMS"), sums)
}
