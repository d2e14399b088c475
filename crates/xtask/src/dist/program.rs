//! The program: linked statically, without its symbols, and looked at.

use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{quiet, write};
use crate::commands::{built, cargo, output, root};
use crate::shipped::marks;

/// The machines it is for.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// How it is compiled, besides its profile. A static program finds no function by its name at run time, and getrandom looks
/// for that of the C library so; without it, it would read `/dev/urandom`, which a container may not have.
const FLAGS: [&str; 2] =
    ["-Ctarget-feature=+crt-static", "--cfg=getrandom_backend=\"linux_getrandom\""];

const LOOKUP: &str = include_str!("lookup.c");

/// Builds the program with its symbols.
pub(super) fn build() -> Result<PathBuf, String> {
    let mut cargo = cargo(&["rustc", "--locked", "--package", "firstcome", "--bin", "firstcome"]);
    cargo.args(["--profile", "dist", "--target", TARGET]);
    // In place of the flag in `.cargo/config.toml`, which is for the simulation.
    let mut flags = FLAGS.map(str::to_owned).to_vec();
    let mut c_flags = Vec::new();
    for (from, to) in folders()? {
        flags.push(format!("--remap-path-prefix={}={to}", from.display()));
        c_flags.push(format!("-ffile-prefix-map={}={to}", from.display()));
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    cargo.env(format!("CFLAGS_{}", TARGET.replace('-', "_")), c_flags.join(" "));
    let mut linked = OsString::from("-Clink-arg=");
    linked.push(lookup()?);
    built(cargo, "firstcome", &[OsStr::new("--"), &linked])
}

/// Compiles what keeps the program from loading libraries to look up names; gives the object. Its name depends on the source:
/// cargo does not look into what is linked in, and builds the program anew when the name is another.
fn lookup() -> Result<PathBuf, String> {
    let folder = root().join("target/tools");
    std::fs::create_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let mut hasher = DefaultHasher::new();
    LOOKUP.hash(&mut hasher);
    let object = folder.join(format!("lookup-{:016x}.o", hasher.finish()));
    let source = object.with_extension("c");
    write(&source, LOOKUP)?;
    quiet(Command::new("cc").args(["-O2", "-c", "-o"]).args([&object, &source]))?;
    Ok(object)
}

/// Returns the folders of the machine that builds, and what the program and its symbols call them.
fn folders() -> Result<Vec<(PathBuf, String)>, String> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let sources = home.ok_or("neither CARGO_HOME nor HOME is set")?.join("registry/src");
    let registries = std::fs::read_dir(&sources).into_iter().flatten().flatten();
    let registries = registries.map(|entry| (entry.path(), "/registry".to_owned()));
    Ok(registries.chain([(root(), "/firstcome".to_owned())]).collect())
}

/// Writes the program without its symbols, and the symbols alone; debuggers find them by the name of their file.
pub(super) fn split(whole: &Path, program: &Path, symbols: &Path) -> Result<(), String> {
    let mut keep = Command::new("objcopy");
    keep.args(["--only-keep-debug", "--compress-debug-sections=zlib"]);
    quiet(keep.args([whole, symbols]))?;
    quiet(Command::new("chmod").arg("644").arg(symbols))?;
    let mut strip = Command::new("objcopy");
    strip.arg("--strip-all").arg(format!("--add-gnu-debuglink={}", symbols.display()));
    quiet(strip.args([whole, program]))
}

/// Looks that the program needs no library, makes no mistakes on purpose, names no folder of this machine, and runs
/// with nothing in its environment.
pub(super) fn look(program: &Path) -> Result<(), String> {
    let mut readelf = Command::new("readelf");
    readelf.args(["--wide", "--program-headers", "--dynamic"]).arg(program).env("LC_ALL", "C");
    let headers = output(&mut readelf)?;
    if !headers.contains("LOAD") {
        return Err(format!("readelf says nothing of what is loaded: {headers}"));
    }
    if headers.contains("INTERP") || headers.contains("(NEEDED)") {
        return Err(format!("{} is not static:\n{headers}", program.display()));
    }
    let mistakes = marks(program)?;
    if !mistakes.is_empty() {
        return Err(format!("{} can make mistakes on purpose: {mistakes:?}", program.display()));
    }
    let bytes = std::fs::read(program).map_err(|why| format!("{}: {why}", program.display()))?;
    for (folder, _) in folders()? {
        let name = folder.as_os_str().as_encoded_bytes();
        if bytes.windows(name.len()).any(|bytes| bytes == name) {
            return Err(format!("{} names {}", program.display(), folder.display()));
        }
    }
    let version = output(Command::new(program).arg("--version").env_clear())?;
    let should = format!("firstcome {}", env!("CARGO_PKG_VERSION"));
    if version.trim_end() == should { Ok(()) } else { Err(format!("{version:?} is not {should}")) }
}
