//! The dependencies: their licences, where they come from, which are there twice, and what is known against them.
//!
//! `deny.toml` says what may be. `cargo-deny` reads it where it is installed; what can be checked without it is checked here
//! in any case, from what cargo itself knows.

mod licence;
mod rules;

use crate::commands::cargo;
use rules::Rules;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What `cargo-deny` says when the list of advisories cannot be had.
const NO_ADVISORIES: &str = "failed to fetch advisory database";

/// Checks the dependencies; gives the exit code.
pub(crate) fn check() -> u8 {
    let wrong = match rules::read().and_then(|rules| Ok(found(&rules, &packages()?))) {
        Ok(wrong) => wrong,
        Err(why) => vec![why],
    };
    for line in &wrong {
        eprintln!("{line}");
    }
    if !wrong.is_empty() {
        return 1;
    }
    println!("licences, sources and duplicates are as deny.toml has them");
    cargo_deny()
}

/// Has `cargo-deny` check the same and the advisories; says so loudly where it cannot.
fn cargo_deny() -> u8 {
    let output = cargo(&["deny", "--all-features", "check"]).output();
    let Ok(output) = output else {
        eprintln!("NOT CHECKED: advisories, because cargo cannot be run");
        return 1;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("no such command") {
        eprintln!(
            "NOT CHECKED: advisories, because cargo-deny is not here (cargo install --locked cargo-deny)"
        );
        return 0;
    }
    if said.contains(NO_ADVISORIES) {
        eprintln!("NOT CHECKED: advisories, because their list cannot be had here");
        return deny_without_advisories();
    }
    eprint!("{said}");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    u8::from(!output.status.success())
}

fn deny_without_advisories() -> u8 {
    let mut deny: Command = cargo(&["deny", "--offline", "--all-features", "check"]);
    deny.args(["bans", "licenses", "sources"]);
    crate::commands::run(deny)
}

/// A package as cargo knows it.
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    /// None for a package of this workspace.
    source: Option<String>,
}

fn packages() -> Result<Vec<Package>, String> {
    let mut cargo = cargo(&["metadata", "--format-version=1", "--all-features", "--locked"]);
    let output = cargo.output().map_err(|why| format!("cannot run {cargo:?}: {why}"))?;
    if !output.status.success() {
        return Err(format!("{cargo:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|why| format!("{cargo:?}: {why}"))?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let package = |package: &Value| Package {
        name: text(&package["name"]).unwrap_or_default(),
        version: text(&package["version"]).unwrap_or_default(),
        licence: text(&package["license"]),
        source: text(&package["source"]),
    };
    Ok(packages.map(package).collect())
}

/// Returns what is not as the rules have it.
fn found(rules: &Rules, packages: &[Package]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Package { name, version, licence, source } in packages {
        versions.entry(name).or_default().insert(version);
        if let Some(source) = source
            && !rules.registries.iter().any(|known| *source == format!("registry+{known}"))
        {
            wrong.push(format!("{name} {version} comes from {source}"));
        }
        match licence {
            Some(licence) if licence::is_allowed(licence, &rules.licences) => {}
            Some(licence) => wrong.push(format!("{name} {version} has the licence {licence}")),
            None => wrong.push(format!("{name} {version} names no licence")),
        }
    }
    for (name, versions) in &versions {
        let excused = |version: &&str| rules.excuse(name, version).is_some();
        let without = versions.iter().filter(|version| !excused(version)).count();
        if without > 1 {
            wrong.push(format!("{name} is there as {versions:?}, without a reason in deny.toml"));
        }
    }
    for (name, version) in &rules.excused {
        let there = versions.get(name.as_str()).is_some_and(|all| {
            all.len() > 1 && all.iter().any(|known| rules::is_of(known, version))
        });
        if !there {
            wrong.push(format!("{name}@{version} is excused in deny.toml and not there twice"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, licence: &str, source: &str) -> Package {
        let [name, version] = [name, version].map(str::to_owned);
        Package {
            name,
            version,
            licence: Some(licence.to_owned()),
            source: Some(source.to_owned()),
        }
    }

    #[test]
    fn what_is_not_as_deny_toml_has_it_is_named() {
        let index = "https://github.com/rust-lang/crates.io-index";
        let registry = format!("registry+{index}");
        let rules = Rules {
            licences: vec!["MIT".to_owned()],
            registries: vec![index.to_owned()],
            excused: vec![("old".to_owned(), "1".to_owned())],
        };
        let good = [
            package("old", "1.2.0", "MIT", &registry),
            package("old", "2.0.0", "MIT OR GPL-3.0", &registry),
        ];
        assert_eq!(found(&rules, &good), [""; 0]);
        let bad = [
            package("a", "1.0.0", "GPL-3.0", &registry),
            package("b", "1.0.0", "MIT", "git+https://example.com/b"),
            package("c", "1.0.0", "MIT", &registry),
            package("c", "2.0.0", "MIT", &registry),
        ];
        let wrong = found(&rules, &bad).join("\n");
        for part in ["a 1.0.0 has the licence", "b 1.0.0 comes from", "c is there as", "old@1"] {
            assert!(wrong.contains(part), "{part}: {wrong}");
        }
    }
}
