//! Reads the answers of INFO.

/// Returns one field.
pub(super) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim_end))
}

/// Counts the replicas that `INFO replication` names and that keep up.
pub(super) fn replicas(replication: &str) -> u32 {
    let online = |line: &&str| line.starts_with("slave") && line.contains("state=online");
    u32::try_from(replication.lines().filter(online).count()).unwrap_or(u32::MAX)
}

/// Returns the run that a server says it is.
pub(super) fn run_of(info: &str) -> Option<String> {
    info.lines().find_map(|line| line.strip_prefix("run_id:")).map(|run| run.trim().to_owned())
}
