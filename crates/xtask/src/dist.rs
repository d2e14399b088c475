//! What users install: a static program, its symbols, an archive, a Debian package and their checksums, in `target/dist-out`.

mod check;
mod debian;
mod files;
mod licences;
mod program;

pub(crate) use files::time_of_sources;
pub(crate) use licences::write_bill;
pub(crate) use program::TARGET;

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::commands::{output, root};
use std::process::Command;

/// Makes everything, and with `--check` also tries it; gives the exit code.
pub(crate) fn dist(args: &[String]) -> u8 {
    let check = match args {
        [] => false,
        [only] if only == "--check" => true,
        _ => {
            eprintln!("cargo xtask dist knows no option but --check");
            return 2;
        }
    };
    let done = make().and_then(|made| if check { check::check(&made) } else { Ok(()) });
    match done {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("{why}");
            1
        }
    }
}

/// What is made, by its path.
struct Made {
    folder: PathBuf,
    /// The program, as users get it.
    program: PathBuf,
    /// The Debian package.
    package: PathBuf,
}

fn make() -> Result<Made, String> {
    let folder = root().join("target/dist-out");
    let files = folder.join("files");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    }
    std::fs::create_dir_all(&files).map_err(|why| format!("{}: {why}", files.display()))?;
    let built_at = time_of_sources()?;
    let name = name();
    let program = files.join("firstcome");
    let symbols = make_program(&program, &folder)?;
    step("completions, man pages, documents", || files::write(&program, &files))?;
    step("licences of what is linked into it", || licences::write(&files))?;
    let archive = folder.join(format!("{name}.tar.gz"));
    step("archive", || files::archive(&files, &name, &archive, built_at))?;
    let tool = step("have cargo-deb", debian::tool)?;
    let package = step("Debian package", || debian::package(&tool, &folder, built_at))?;
    let all = [&program, &symbols, &archive, &package];
    step("checksums", || files::checksums(&folder, &all[1..]))?;
    println!();
    for path in all {
        println!("{}: {}", path.display(), size(path)?);
    }
    Ok(Made { folder, program, package })
}

/// Returns how the files of this version are called.
fn name() -> String {
    format!("firstcome-{}-{TARGET}", env!("CARGO_PKG_VERSION"))
}

/// Builds the program, static and without its symbols, which are written into a folder; gives their path.
pub(crate) fn make_program(to: &Path, folder: &Path) -> Result<PathBuf, String> {
    let whole = step("build the static program", program::build)?;
    let symbols = folder.join(format!("{}.debug", name()));
    step("separate its symbols", || program::split(&whole, to, &symbols))?;
    step("look at the program", || program::look(to))?;
    Ok(symbols)
}

/// Writes the licences of the program, and of what is linked into it, into a folder.
pub(crate) fn write_licences(folder: &Path) -> Result<(), String> {
    for own in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&root().join(own), &folder.join(own))?;
    }
    licences::write(folder)
}

/// Does a step, and says how long it took.
pub(crate) fn step<T>(name: &str, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let began = Instant::now();
    let done = work();
    let outcome = if done.is_ok() { "✔" } else { "✘" };
    println!("{outcome} {name}: {:.1} s", began.elapsed().as_secs_f64());
    done
}

/// Returns the size of a file as people read it.
fn size(path: &Path) -> Result<String, String> {
    let file = std::fs::metadata(path).map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(format!("{:.1} MiB", file.len() as f64 / f64::from(1 << 20)))
}

/// Copies a file under another name or into another folder.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let copied = std::fs::copy(from, to);
    copied.map(drop).map_err(|why| format!("{} to {}: {why}", from.display(), to.display()))
}

fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
    std::fs::write(path, text).map_err(|why| format!("{}: {why}", path.display()))
}

/// Runs a program whose output nobody needs if it succeeds.
fn quiet(command: &mut Command) -> Result<(), String> {
    output(command).map(drop)
}
