//! A wall clock for one process that jumps on request, by `libfaketime`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Folder;

/// Finds the library, where Debian puts it.
pub(crate) fn library() -> Option<PathBuf> {
    let machines = std::fs::read_dir("/usr/lib").ok()?;
    let libraries = machines.flatten().map(|machine| machine.path().join("faketime"));
    libraries.map(|folder| folder.join("libfaketimeMT.so.1")).find(|file| file.is_file())
}

/// Lets the process that `command` starts see a wall clock that is so many seconds ahead, or behind; says so and gives
/// `false` where the library is missing.
///
/// # Panics
///
/// Panics where it is missing and `FIRSTCOME_SKIP_MISSING` does not name `faketime`.
#[must_use]
pub fn shift_clock(command: &mut Command, seconds: i64) -> bool {
    let Some(library) = library() else {
        crate::programs::not_installed("faketime", "faketime");
        return false;
    };
    command.env("LD_PRELOAD", library).env("FAKETIME", format!("{seconds:+}"));
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    true
}

/// Lets the process that `command` starts see the clock of `folder`, and not this machine's.
pub(crate) fn movable(command: &mut Command, folder: &Folder) {
    let library = library().expect("it was found before");
    // The server's own allocator asks for the time before the library is ready; the system's does not.
    let preloaded = format!("{}:libc.so.6", library.display());
    command.env("LD_PRELOAD", preloaded);
    command.env("FAKETIME_TIMESTAMP_FILE", file(folder.path()));
    // Looked at each time; and what runs on the monotonic clock goes on running, as it does on a real machine.
    command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
}

/// Moves the clock of `folder`.
pub(crate) fn set(folder: &Folder, ahead: i64) {
    let next = folder.path().join("clock.next");
    // In one step, so that nobody ever reads half of it.
    std::fs::write(&next, format!("{ahead:+}\n")).expect("the folder can be written to");
    std::fs::rename(&next, file(folder.path())).expect("a file can be renamed");
}

fn file(folder: &Path) -> PathBuf {
    folder.join("clock")
}
