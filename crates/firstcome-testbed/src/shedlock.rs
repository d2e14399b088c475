use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::java;

/// Returns a command that runs the program of `interop/shedlock`, Java with real ShedLock, in a time zone such as
/// `Asia/Seoul`; `None` where Java or Maven is missing.
///
/// The program is built once in the life of this process, with Maven, which may fetch what it needs.
#[must_use]
pub fn shedlock(time_zone: &str) -> Option<Command> {
    let mut java = java::command(&shedlock_class_path()?, "ShedLockPeer");
    java.env("JDK_JAVA_OPTIONS", format!("-Duser.timezone={time_zone}"));
    Some(java)
}

/// Returns the class path of the program of `interop/shedlock`, for who starts Java by itself; `None` as [`shedlock`].
#[must_use]
pub fn shedlock_class_path() -> Option<String> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(|| java::built("shedlock")).as_deref().map(java::class_path)
}
