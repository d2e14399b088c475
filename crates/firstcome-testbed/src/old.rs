use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// Something that answers as a Redis 4.0.14 does when it is asked what it is, and to nothing else of use.
///
/// It serves until the process ends.
#[derive(Debug)]
pub struct OldServer {
    port: u16,
}

impl OldServer {
    /// The version it says it is.
    pub const VERSION: &'static str = "4.0.14";

    /// Listens on a free port.
    ///
    /// # Panics
    ///
    /// Panics where no port can be bound.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port is free");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                std::thread::spawn(move || answer(client));
            }
        });
        Self { port }
    }

    /// Returns the URL a client connects to.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

fn answer(mut client: TcpStream) {
    let info = format!("# Server\r\nredis_version:{}\r\n", OldServer::VERSION);
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        let asked = String::from_utf8_lossy(&buffer[..count]).into_owned();
        let reply = if asked.contains("INFO") {
            format!("${}\r\n{info}\r\n", info.len())
        } else {
            "+OK\r\n".to_owned()
        };
        if client.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}
