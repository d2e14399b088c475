//! A disk without room is an answer, and nothing is half done.

use super::*;
use std::process::{Command, Stdio};

const CHILD: &str = "FIRSTCOME_CHILD";

/// Runs a test again in a process that sees a disk of its own of 2 MiB at `DATA`.
fn on_a_small_disk(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let mount = format!("mount -t tmpfs -o size=2m tmpfs '{data}'");
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]);
        command.stdin(Stdio::null());
        command
    };
    let can = unshare(&mount).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !can {
        let remedy = "run the test where `unshare --mount` may mount a tmpfs, as root";
        return firstcome_testbed::missing("tmpfs", remedy);
    }
    let binary = std::env::current_exe().unwrap();
    let output = unshare(&format!("{mount} && exec \"$0\" \"$@\""))
        .arg(binary)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, test)
        .env("DATA", data)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the child failed: {}\n{text}\n{talk}", output.status);
}

#[test]
fn a_full_disk_settles_nothing_until_there_is_room() {
    if std::env::var_os(CHILD).is_none() {
        let test = "ledger::tests::full_disk::a_full_disk_settles_nothing_until_there_is_room";
        return on_a_small_disk(test);
    }
    let data = PathBuf::from(std::env::var_os("DATA").unwrap());
    let (path, ballast) = (data.join("ledger.sqlite"), data.join("ballast"));
    std::fs::write(&ballast, vec![1; 1 << 20]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let ledger = open(&path).await;
        let term = ledger.mint_term().await.unwrap().term;
        let settle = async |after: u64| {
            let rows = claims(after + 1..=after + 100);
            ledger.settle(Batch { after, term, rows }).await
        };
        let mut through = 0;
        let failure = loop {
            assert!(through < 1_000_000);
            match settle(through).await {
                Ok(standing) => through = standing.through,
                Err(failure) => break failure,
            }
        };
        assert!(matches!(failure, LedgerError::Full(_)), "{failure}");
        assert!(through >= 100, "{through}");
        for _ in 0..3 {
            let failure = settle(through).await.unwrap_err();
            assert!(matches!(failure, LedgerError::Full(_)), "{failure}");
            let standing = ledger.standing().await.unwrap();
            assert_eq!(standing, Standing { through, term });
            let last = ledger.results(through - 1, 10, None).await.unwrap();
            assert_eq!(last.len(), 1, "reading goes on, and nothing is half there");
        }
        std::fs::remove_file(&ballast).unwrap();
        for _ in 0..3 {
            through = settle(through).await.unwrap().through;
        }
        ledger.close().await;
        let ledger = open(&path).await;
        assert_eq!(ledger.standing().await.unwrap(), Standing { through, term });
        assert_eq!(numbers(&path), (1..=through).collect::<Vec<_>>());
    });
}
