use std::fs;
use std::time::{Duration, Instant};

use super::RedisServer;

/// How long a save of a small server may take.
const PATIENCE: Duration = Duration::from_secs(30);

impl RedisServer {
    /// Has the server fail to save its file, so that it refuses writes with `MISCONF`; for one without a password.
    ///
    /// # Panics
    ///
    /// Panics where the server goes on saving.
    pub fn fail_saving(&self) {
        // Nothing can be renamed to a folder that has something in it.
        let in_the_way = self.folder.path().join("dump.rdb");
        drop(fs::remove_file(&in_the_way));
        fs::create_dir_all(in_the_way.join("in-the-way")).expect("the folder can be written to");
        assert_eq!(self.ask("CONFIG SET save \"3600 1\""), "+OK");
        self.save_until("err");
    }

    /// Lets it save again.
    ///
    /// # Panics
    ///
    /// Panics where it cannot.
    pub fn mend_saving(&self) {
        fs::remove_dir_all(self.folder.path().join("dump.rdb")).expect("it is there");
        self.save_until("ok");
    }

    fn save_until(&self, status: &str) {
        let begun = Instant::now();
        loop {
            // Refused while one is under way.
            drop(self.ask("BGSAVE"));
            std::thread::sleep(Duration::from_millis(50));
            let said = self.ask("INFO persistence");
            let idle = said.contains("rdb_bgsave_in_progress:0");
            if idle && said.contains(&format!("rdb_last_bgsave_status:{status}")) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "it saves until it is {status}: {said}");
        }
    }
}
