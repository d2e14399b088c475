//! The crates that are published: each can be packaged, a URL that needs a feature that is off is refused with its name, and
//! each set of features compiles without a warning.

mod refused_urls;

use crate::commands::{cargo, run};

/// The published crates, each after those it depends on.
const PUBLISHED: [&str; 6] = [
    "firstcome-store",
    "firstcome-lock-macros",
    "firstcome-lock",
    "firstcome-shedlock",
    "firstcome-api",
    "firstcome-client",
];

/// Sets of features that are checked, besides all together: each store by itself, and what goes with none or with any.
const FEATURES: [(&str, &str); 22] = [
    ("firstcome-store", ""),
    ("firstcome-store", "redis"),
    ("firstcome-store", "postgres"),
    ("firstcome-store", "mysql"),
    ("firstcome-store", "nats"),
    ("firstcome-store", "sqlite"),
    ("firstcome-store", "tls"),
    ("firstcome-lock", ""),
    ("firstcome-lock", "redis"),
    ("firstcome-lock", "postgres"),
    ("firstcome-lock", "mysql"),
    ("firstcome-lock", "nats"),
    ("firstcome-lock", "sqlite"),
    ("firstcome-lock", "permits"),
    ("firstcome-lock", "permits,sqlite"),
    ("firstcome-lock", "macros,postgres,tls"),
    ("firstcome-shedlock", "redis"),
    ("firstcome-shedlock", "postgres"),
    ("firstcome-shedlock", "mysql,tls"),
    ("firstcome-api", ""),
    ("firstcome-client", ""),
    ("firstcome-client", "tls"),
];

/// Checks all of them, and gives the exit code.
pub(crate) fn check() -> u8 {
    // Those that are not in the registry yet are taken from here.
    let mut package = cargo(&["package", "--locked", "--allow-dirty"]);
    package.args(PUBLISHED.iter().flat_map(|name| ["--package", name]));
    let code = run(package);
    if code != 0 {
        return code;
    }
    let code = refused_urls::check();
    if code != 0 {
        return code;
    }
    let together = PUBLISHED.map(|package| (package, vec!["--all-features"]));
    let sets = FEATURES.map(|(package, features)| {
        (package, vec!["--no-default-features", "--features", features])
    });
    for (package, features) in sets.into_iter().chain(together) {
        if let Err(why) = compiles(package, &features) {
            eprintln!("{package} with {features:?}: {why}");
            return 1;
        }
    }
    0
}

fn compiles(package: &str, features: &[&str]) -> Result<(), String> {
    let mut check = cargo(&["check", "--quiet", "--locked", "--package", package]);
    let output = check.args(features).output().map_err(|why| why.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    // Without an error and without a warning it says nothing.
    if output.status.success() && said.trim().is_empty() { Ok(()) } else { Err(said.into_owned()) }
}
