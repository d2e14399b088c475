//! How much memory this process may have: what the machine has, or less where a container gives it less.

use std::fs::read_to_string;
use std::path::Path;

/// Returns the bytes of memory this process may have, if the system says.
///
/// That is the least of what the machine has and of the limits of its control groups, in version 2 and in version 1,
/// from its own group up to the one that is the root here. `processes` is where processes are listed, `groups` where
/// control groups are.
pub(super) fn bytes(processes: &Path, groups: &Path) -> Option<u64> {
    let text = |path: &Path| read_to_string(path).unwrap_or_default();
    let machine = text(&processes.join("meminfo"))
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok())
        .map(|kib| kib << 10);
    let own = text(&processes.join("self/cgroup"));
    let limits = own.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        let (root, file) = if controllers.is_empty() {
            (groups.to_owned(), "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            (groups.join("memory"), "memory.limit_in_bytes")
        } else {
            return None;
        };
        // A path that only the machine outside knows is not there: the root here is the container's own group. Without
        // a limit it says `max`, or a number beyond all memory.
        let limit = |at: &Path| text(&root.join(at).join(file)).trim().parse::<u64>().ok();
        Path::new(group).ancestors().filter_map(limit).min()
    });
    limits.chain(machine).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// Returns the memory a process has on a machine of 64 GiB with these files.
    fn with(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in
            [("proc/meminfo", "MemFree: 9 kB\nMemTotal:       67108864 kB\n")].iter().chain(files)
        {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        bytes(&root.path().join("proc"), &root.path().join("cgroup"))
    }

    #[test]
    fn a_container_has_the_memory_of_its_control_group() {
        assert_eq!(with(&[]), Some(64 * GIB));
        let own = ("proc/self/cgroup", "0::/\n");
        assert_eq!(with(&[own, ("cgroup/memory.max", "1073741824\n")]), Some(GIB));
        assert_eq!(with(&[own, ("cgroup/memory.max", "max\n")]), Some(64 * GIB));
    }

    #[test]
    fn the_least_limit_on_the_way_up_counts() {
        let own = ("proc/self/cgroup", "0::/pods/one\n");
        let limits = [
            own,
            ("cgroup/pods/one/memory.max", "max\n"),
            ("cgroup/pods/memory.max", "2147483648\n"),
            ("cgroup/memory.max", "4294967296\n"),
            ("cgroup/pods/two/memory.max", "1\n"),
        ];
        assert_eq!(with(&limits), Some(2 * GIB));
    }

    #[test]
    fn control_groups_of_version_1_count_as_well() {
        let own = ("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/docker/a1\n0::/\n");
        let unlimited = ("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(with(&[own, unlimited]), Some(64 * GIB));
        let inside = ("cgroup/memory/memory.limit_in_bytes", "1073741824\n");
        assert_eq!(with(&[own, inside]), Some(GIB));
        let outside = ("cgroup/memory/docker/a1/memory.limit_in_bytes", "536870912\n");
        assert_eq!(with(&[own, inside, outside]), Some(GIB / 2));
    }
}
