//! A server whose scripts are forgotten all the time.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use firstcome_testbed::RedisServer;

use crate::stage::{client_of, ms, take};

/// Somebody flushes the scripts again and again, also between loading one and calling it: no call fails for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_are_flushed_all_the_time_are_loaded_until_they_run() {
    let Some(redis) = RedisServer::start() else { return };
    let over = Arc::new(AtomicBool::new(false));
    let (port, told) = (redis.port(), Arc::clone(&over));
    let flushing = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut flushed = 0;
        while !told.load(Ordering::SeqCst) {
            stream.write_all(b"SCRIPT FLUSH\r\n").unwrap();
            stream.read_exact(&mut [0; 5]).unwrap();
            flushed += 1;
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        flushed
    });
    let ann = client_of(&redis).await;
    let me = ann.owner();
    for number in 0..100 {
        let lock = ann.mutex(&format!("n{number}")).unwrap().owner(&me).lease(ms(60_000));
        let lease = take(&lock).await;
        lease.extend(ms(90_000)).await.unwrap();
        lease.release().await.unwrap();
    }
    over.store(true, Ordering::SeqCst);
    assert!(flushing.join().unwrap() > 100, "it was flushed often");
}
