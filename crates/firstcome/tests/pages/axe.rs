//! axe-core, which looks for what keeps people out of a page.
//!
//! It is fetched with npm at a version and a digest that stand here, and kept below `target`: half a megabyte of somebody
//! else's program that only tests need does not belong into the tree.

use firstcome_testbed::{Browser, missing};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const VERSION: &str = "4.10.3";
const SHA256: &str = "0f2b4d7dcdf7d1219df8d1959ad68e565f51d14c3f0d88bb71cd59abeb956292";

/// Returns the script; nothing where it cannot be fetched and the test is skipped for that.
pub(crate) fn script() -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let archive = folder.join(format!("axe-core-{VERSION}.tgz"));
    if !archive.is_file() && fetch(folder).is_none() {
        missing(
            "axe-core",
            &format!("install npm, and let it reach a registry that has axe-core {VERSION}"),
        );
        return None;
    }
    let bytes = std::fs::read(&archive).unwrap();
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes));
    assert_eq!(digest, SHA256, "{} is not what was looked at", archive.display());
    let file = Command::new("tar").arg("-xzOf").arg(&archive).arg("package/axe.min.js").output();
    Some(String::from_utf8(file.unwrap().stdout).unwrap())
}

fn fetch(folder: &Path) -> Option<PathBuf> {
    // In a folder of its own: another test may fetch it at this moment.
    let own = tempfile::tempdir_in(folder).ok()?;
    let mut npm = Command::new("npm");
    npm.args(["pack", &format!("axe-core@{VERSION}"), "--pack-destination"]).arg(own.path());
    let done =
        npm.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    let name = format!("axe-core-{VERSION}.tgz");
    let archive = folder.join(&name);
    (done.success() && std::fs::rename(own.path().join(&name), &archive).is_ok()).then_some(archive)
}

/// Returns what axe has to say against the page: each finding with how bad it is and where.
pub(crate) fn findings(browser: &mut Browser, script: &str) -> Vec<String> {
    browser.evaluate(&format!("{script}; 1")).unwrap();
    let run = "axe.run({resultTypes: ['violations']}).then(all => all.violations.map(one => \
        `${one.impact} ${one.id}: ${one.nodes.map(node => node.target.join(' ')).join(', ')}`))";
    let found = browser.evaluate(run).unwrap();
    found.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
