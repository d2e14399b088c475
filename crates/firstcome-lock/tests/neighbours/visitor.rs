//! The process in Rust: adds one to a number in a file, again and again, each time under the lock.
//!
//! What shows an overlap is not the lock and needs no clock: a lock of the operating system on the file `door`, which
//! the kernel drops when the process dies, however it dies. It is fcntl's kind, because Java's `FileChannel.tryLock`
//! is; `File::try_lock` of Rust's standard library is flock's, and the two do not see each other.
//!
//! What happened is in a diary, one file for each process, one call of write(2) for each line, so that a kill loses
//! none that was written:
//!
//! - `id UUID`: who it is to the store
//! - `in MS`: it has the lock, and what is left then of the key `marker`, which each sets before it gives the lock
//!   back, to live as long as its lease would have
//! - `overlap`: somebody else is inside
//! - `try N`, `did N`: it is about to write N, it has written N
//! - `lost`: the lock was gone when it was given back
//! - `bye`: it ended when it was told to

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use firstcome_lock::{Locks, RedisOptions, Released};
use firstcome_store::{Command, Redis};
use rustix::fs::{FlockOperation, fcntl_lock};

/// What a visitor is told, in the words of the one in Java: URL LEASE_MS KIND NAME FOLDER ID FIRST_VISIT_MS.
pub(crate) const WORDS: &str = "FIRSTCOME_VISITOR";

/// How long the number in the file is, with its leading zeros: it is written at once or not at all.
pub(crate) const DIGITS: usize = 20;

/// What a visitor does; nothing, in the process that runs the tests.
#[test]
fn a_visitor() {
    let Ok(words) = std::env::var(WORDS) else { return };
    let words: Vec<&str> = words.split(' ').collect();
    let [url, lease, _kind, name, folder, id, first] = words[..] else { panic!("{words:?}") };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let lease = Duration::from_millis(lease.parse().unwrap());
    let visitor = Files::open(Path::new(folder), id);
    runtime.block_on(visit_often(visitor, url, lease, name, first.parse().unwrap()));
}

/// What it has open.
struct Files {
    diary: File,
    number: File,
    door: File,
}

impl Files {
    fn open(folder: &Path, id: &str) -> Self {
        let open = |name: &str| OpenOptions::new().read(true).write(true).open(folder.join(name));
        let diary = folder.join(format!("{id}.diary"));
        let diary = OpenOptions::new().create(true).append(true).open(diary).unwrap();
        Self { diary, number: open("number").unwrap(), door: open("door").unwrap() }
    }

    fn write(&self, line: &str) {
        (&self.diary).write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    async fn visit(&self, ms: u64) {
        let alone = fcntl_lock(&self.door, FlockOperation::NonBlockingLockExclusive).is_ok();
        if !alone {
            self.write("overlap");
        }
        let mut digits = [0; DIGITS];
        self.number.read_exact_at(&mut digits, 0).unwrap();
        let next = std::str::from_utf8(&digits).unwrap().parse::<u64>().unwrap() + 1;
        self.write(&format!("try {next}"));
        tokio::time::sleep(Duration::from_millis(ms)).await;
        self.number.write_all_at(format!("{next:0DIGITS$}").as_bytes(), 0).unwrap();
        tokio::time::sleep(Duration::from_millis(ms)).await;
        self.write(&format!("did {next}"));
        if alone {
            fcntl_lock(&self.door, FlockOperation::NonBlockingUnlock).unwrap();
        }
    }
}

async fn visit_often(files: Files, url: &str, lease: Duration, name: &str, first: u64) {
    let over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&over);
    std::thread::spawn(move || {
        // Nothing is said to it; the end is what counts.
        std::io::stdin().read_to_end(&mut Vec::new()).ok();
        told.store(true, Ordering::SeqCst);
    });
    let locks = Locks::builder().watchdog(lease).connect(RedisOptions::new(url)).await.unwrap();
    let store = Redis::connect(RedisOptions::new(url)).await.unwrap();
    let lock = locks.mutex(name).unwrap();
    let left_of = async |key: &str| {
        store.send(&Command::new("PTTL").arg(key)).await.unwrap().number().unwrap()
    };
    files.write(&format!("id {}", locks.id()));
    let mut visit = first;
    while !over.load(Ordering::SeqCst) {
        let held = lock.lock().await.unwrap();
        files.write(&format!("in {}", left_of("marker").await));
        files.visit(visit).await;
        let lasts = left_of(name).await.max(1);
        let mark = Command::new("SET").arg("marker").arg("1").arg("PX").arg(lasts.to_string());
        store.send(&mark).await.unwrap();
        if held.release().await.unwrap() == Released::AlreadyLost {
            files.write("lost");
        }
        visit = fastrand::u64(..4);
        tokio::time::sleep(Duration::from_millis(fastrand::u64(..10))).await;
    }
    files.write("bye");
    locks.close().await;
}
