use std::collections::HashSet;
use std::net::TcpListener;
use std::sync::Mutex;

/// Gives a loopback port that is free now and that this process has not given away before.
///
/// # Panics
///
/// Panics where the machine has no free port.
#[must_use]
pub fn free_port() -> u16 {
    static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);
    loop {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port is free");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let mut given = GIVEN.lock().expect("nobody panics while holding this");
        if given.get_or_insert_default().insert(port) {
            return port;
        }
    }
}
