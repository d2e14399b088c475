//! Checks of what stands around the program: clients in other languages, examples, rules for Prometheus, the chart, the site.
//!
//! Each is a script in the folder of what it checks, which its users can run, too. It gets the program by its path in
//! `FIRSTCOME`, and ends with 0 if all is well.

use crate::commands::{build, root, run};
use std::process::Command;
use std::time::Instant;

/// The name of each, and its script.
const SCRIPTS: [(&str, &str); 9] = [
    ("python", "clients/python/check.sh"),
    ("typescript", "clients/typescript/check.sh"),
    ("java", "clients/java/check.sh"),
    ("spring-shop", "examples/spring-shop/check.sh"),
    ("moving-in", "examples/moving-in/check.sh"),
    ("webhooks", "clients/webhooks/check.py"),
    ("watch", "packaging/watch/check.py"),
    ("chart", "packaging/helm/firstcome/check.py"),
    ("site", "site/check.py"),
];

/// Runs these scripts, all where none is named; gives the exit code. One that fails keeps no other from running.
pub(crate) fn check(named: &[String]) -> u8 {
    let known = |name: &String| SCRIPTS.iter().any(|(known, _)| known == name);
    if let Some(other) = named.iter().find(|name| !known(name)) {
        eprintln!("there is no {other:?}: {}", SCRIPTS.map(|(name, _)| name).join(", "));
        return 2;
    }
    let program = match build("firstcome", &[]) {
        Ok(program) => program,
        Err(why) => {
            eprintln!("{why}");
            return 1;
        }
    };
    let mut failed = Vec::new();
    for (name, script) in SCRIPTS {
        if !named.is_empty() && !named.iter().any(|wanted| wanted == name) {
            continue;
        }
        println!("== {name}: {script}");
        let begun = Instant::now();
        let mut command = Command::new(root().join(script));
        command.env("FIRSTCOME", &program).current_dir(root());
        let code = run(command);
        println!("== {name} ended with {code} after {} s", begun.elapsed().as_secs());
        if code != 0 {
            failed.push(name);
        }
    }
    if failed.is_empty() {
        return 0;
    }
    eprintln!("failed: {}", failed.join(", "));
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn each_script_is_there_and_can_be_run() {
        for (name, script) in SCRIPTS {
            let there = std::fs::metadata(root().join(script));
            let mode = there.unwrap_or_else(|why| panic!("{name}: {script}: {why}")).permissions();
            assert_eq!(mode.mode() & 0o111, 0o111, "{script} is not executable");
        }
    }
}
