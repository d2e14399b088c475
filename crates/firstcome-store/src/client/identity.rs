//! Who a client is: the name of its host, and an id that nobody else has.

/// Returns the host's name as the operating system has it; `None` where it says none.
#[must_use]
pub fn host_name() -> Option<String> {
    let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = named.or_else(|| std::env::var("HOSTNAME").ok());
    named.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Makes a random UUID, version 4, of the operating system's random numbers.
///
/// What a process computes by itself would be the same in its copies, as a server that forks for each worker makes them.
///
/// # Panics
///
/// Panics where the operating system has no random numbers.
#[must_use]
pub fn random_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}
