//! What the service asked of the system, compared with what its unit lets it do: the calls, and the files it writes.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use super::STATE;
use super::unit::SystemdUnit;
use crate::commands::output;

/// What a service with `ProtectSystem=strict` and `PrivateTmp=yes` may write besides its state.
const WRITABLE: [&str; 3] = ["/dev/null", "/tmp/", "/proc/self/"];

/// Calls that change the files they name.
const CHANGING: [&str; 14] = [
    "creat",
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "link",
    "linkat",
    "symlink",
    "truncate",
    "chmod",
];

/// Compares what strace wrote with the unit.
pub(super) fn check(unit: &SystemdUnit, trace: &str) -> Result<(), String> {
    let sets = output(Command::new("systemd-analyze").args(["--no-pager", "syscall-filter"]))?;
    let (sets, mut allowed) = (sets_of(&sets), BTreeSet::new());
    collect("@default", &sets, &mut allowed);
    for filter in unit.all("SystemCallFilter") {
        let mut named = BTreeSet::new();
        for name in filter.trim_start_matches('~').split(' ') {
            collect(name, &sets, &mut named);
        }
        if filter.starts_with('~') {
            allowed.retain(|call| !named.contains(call));
        } else {
            allowed.append(&mut named);
        }
    }
    let program = after_start(trace)?;
    let called: BTreeSet<&str> =
        program.lines().filter_map(|line| call(line).map(|c| c.0)).collect();
    let refused: Vec<&str> =
        called.iter().filter(|call| !allowed.contains(**call)).copied().collect();
    let (outside, other) = (outside(program), other(unit, program));
    let count = refused.len() + outside.len() + other.len();
    println!("  {} kinds of system calls; {count} things that the unit refuses", called.len());
    if count > 0 || called.len() < 20 {
        return Err(format!("the unit refuses {refused:?}, writing {outside:?}, and {other:?}"));
    }
    Ok(())
}

/// Returns what the service did, without what the programs did that started it.
fn after_start(trace: &str) -> Result<&str, String> {
    let start = trace.find("execve(\"/usr/bin/firstcome\"").ok_or("strace saw no start")?;
    let line = trace[start..].find('\n').ok_or("strace saw only the start")?;
    Ok(&trace[start + line..])
}

/// Returns the name of the call in a line of strace, and its arguments.
fn call(line: &str) -> Option<(&str, &str)> {
    let (_pid, rest) = line.trim_start().split_once(' ')?;
    let (name, arguments) = rest.trim_start().split_once('(')?;
    let is_name = name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_') && !name.is_empty();
    is_name.then_some((name, arguments))
}

/// Returns the paths that the service wrote and may not.
fn outside(trace: &str) -> BTreeSet<&str> {
    let writes = trace.lines().filter_map(call).filter(|(name, arguments)| {
        let failed = arguments.contains(") = -1 ");
        let opens = ["open", "openat"].contains(name)
            && ["O_WRONLY", "O_RDWR", "O_CREAT"].iter().any(|flag| arguments.contains(flag));
        !failed && (opens || CHANGING.contains(name))
    });
    let paths = writes.flat_map(|(_, arguments)| arguments.split('"').skip(1).step_by(2));
    let may = |path: &&str| {
        // A path without / begins in the folder of the state.
        let in_state =
            path.strip_prefix(STATE).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        !path.starts_with('/') || in_state || WRITABLE.iter().any(|begin| path.starts_with(begin))
    };
    paths.filter(|path| !may(path)).collect()
}

/// Returns the calls that other settings of the unit refuse: memory that can be written and run, and kinds of sockets.
fn other<'t>(unit: &SystemdUnit, trace: &'t str) -> Vec<&'t str> {
    let families: Vec<&str> =
        unit.all("RestrictAddressFamilies").flat_map(|value| value.split(' ')).collect();
    let refused = |line: &&str| match call(line) {
        Some(("mprotect", arguments)) => arguments.contains("PROT_EXEC"),
        Some(("mmap", arguments)) => {
            arguments.contains("PROT_EXEC") && arguments.contains("PROT_WRITE")
        }
        Some(("socket", arguments)) => {
            arguments.split(',').next().is_none_or(|family| !families.contains(&family))
        }
        Some(_) | None => false,
    };
    trace.lines().filter(refused).collect()
}

/// Reads the sets of calls as `systemd-analyze syscall-filter` prints them.
fn sets_of(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut sets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut last = "";
    for line in text.lines() {
        let word = line.trim();
        if line.starts_with('@') {
            last = word;
        } else if line.starts_with(' ') && !word.starts_with('#') {
            sets.entry(last).or_default().push(word);
        }
    }
    sets
}

/// Adds a call, or all calls of a set and the sets in it.
fn collect<'t>(name: &'t str, sets: &BTreeMap<&str, Vec<&'t str>>, into: &mut BTreeSet<&'t str>) {
    match sets.get(name) {
        Some(names) => names.iter().for_each(|name| collect(name, sets, into)),
        None => drop(into.insert(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_paths_are_read_from_a_trace() {
        let trace = "\
            7 execve(\"/usr/bin/env\", [\"env\"], 0x7f) = 0\n\
            7 execve(\"/usr/bin/firstcome\", [\"serve\"], 0x7f) = 0\n\
            7 openat(AT_FDCWD, \"/etc/hosts\", O_RDONLY|O_CLOEXEC) = 3\n\
            8 openat(AT_FDCWD, \"/var/lib/firstcome/lock\", O_RDWR|O_CREAT, 0600) = 4\n\
            8 openat(AT_FDCWD, \"/var/lib/firstcome-other\", O_RDWR <unfinished ...>\n\
            8 <... openat resumed>) = 5\n\
            8 mkdir(\"/etc/new\", 0700) = -1 EACCES (Permission denied)\n\
            8 rename(\"journal\", \"/srv/journal\") = 0\n\
            8 +++ exited with 0 +++\n";
        let program = after_start(trace).unwrap();
        assert!(!program.contains("env"), "{program}");
        let called: Vec<&str> = program.lines().filter_map(|l| call(l).map(|c| c.0)).collect();
        assert_eq!(called, ["openat", "openat", "openat", "mkdir", "rename"]);
        let outside: Vec<&str> = outside(program).into_iter().collect();
        assert_eq!(outside, ["/srv/journal", "/var/lib/firstcome-other"]);
    }

    #[test]
    fn sockets_and_memory_that_the_unit_refuses_are_found() {
        let unit = SystemdUnit::parse("RestrictAddressFamilies=AF_INET AF_UNIX\n");
        let trace = "\
            7 socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3\n\
            7 socket(AF_PACKET, SOCK_RAW, 768) = -1 EPERM (Operation not permitted)\n\
            7 mmap(NULL, 4096, PROT_READ|PROT_EXEC, MAP_PRIVATE, 3, 0) = 0x7f\n\
            7 mmap(NULL, 4096, PROT_READ|PROT_WRITE|PROT_EXEC, MAP_PRIVATE, 3, 0) = 0x7f\n\
            7 mprotect(0x7f, 4096, PROT_READ) = 0\n";
        let lines: Vec<&str> = trace.lines().collect();
        assert_eq!(other(&unit, trace), [lines[1], lines[3]]);
    }

    #[test]
    fn sets_have_sets_in_them() {
        let sets = "@a\n    # What a does\n    @b\n    read\n\n@b\n    # What b does\n    write\n";
        let mut calls = BTreeSet::new();
        collect("@a", &sets_of(sets), &mut calls);
        assert_eq!(calls, BTreeSet::from(["read", "write"]));
    }
}
