//! A server whose scripts are forgotten all the time.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use firstcome_testbed::RedisServer;

use crate::stage::{client_of, ms, take};

/// Somebody flushes the scripts again and again, also between loading one and calling it: no call fails for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_are_flushed_all_the_time_are_loaded_until_they_run() {
    let Some(redis) = RedisServer::start() else { return };
    let (over, flushed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let (port, told, count) = (redis.port(), Arc::clone(&over), Arc::clone(&flushed));
    let flushing = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        while !told.load(Ordering::SeqCst) {
            stream.write_all(b"SCRIPT FLUSH\r\n").unwrap();
            stream.read_exact(&mut [0; 5]).unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    });
    let ann = client_of(&redis).await;
    let me = ann.owner();
    // On a machine with other work, locks may be taken between two flushes.
    for number in 0..10_000 {
        if number >= 100 && flushed.load(Ordering::SeqCst) > 100 {
            break;
        }
        let lock = ann.mutex(&format!("n{number}")).unwrap().owner(&me).lease(ms(60_000));
        let lease = take(&lock).await;
        lease.extend(ms(90_000)).await.unwrap();
        lease.release().await.unwrap();
    }
    over.store(true, Ordering::SeqCst);
    flushing.join().unwrap();
    assert!(flushed.load(Ordering::SeqCst) > 100, "it was flushed often");
}
