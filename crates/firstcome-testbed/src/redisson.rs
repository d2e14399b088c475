use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::java;

/// Returns a command that runs a program of `interop/redisson`, Java with real Redisson, by the name of its class;
/// `None` where Java or Maven is missing.
///
/// The programs are built once in the life of this process, with Maven, which may fetch what they need.
#[must_use]
pub fn redisson(class: &str) -> Option<Command> {
    Some(java::command(&redisson_class_path()?, class))
}

/// Returns the class path of the programs of `interop/redisson`, for who starts Java by itself; `None` as [`redisson`].
#[must_use]
pub fn redisson_class_path() -> Option<String> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(|| java::built("redisson")).as_deref().map(java::class_path)
}
