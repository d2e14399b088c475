use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::sync::Mutex;

/// Ports that the system gives to nobody's outgoing connections: a server that is down for a moment finds
/// its own free when it comes back.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// Returns a loopback port that is free now and that this process has not given away before.
///
/// # Panics
///
/// Panics where the machine has no free port.
#[must_use]
pub fn free_port() -> u16 {
    static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);
    let mut given = GIVEN.lock().expect("nobody panics while holding this");
    let given = given.get_or_insert_default();
    let random = RandomState::new();
    for attempt in 0..10_000 {
        let drawn = random.hash_one(attempt) % u64::from(PORTS.end - PORTS.start);
        let port = PORTS.start + u16::try_from(drawn).expect("it is below the count of ports");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() && given.insert(port) {
            return port;
        }
    }
    panic!("a loopback port is free");
}
