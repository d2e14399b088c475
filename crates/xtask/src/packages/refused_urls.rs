//! A program of a user who left features out: which sentence a URL gets that needs one of them.
//!
//! It is a package of its own, because the tests in the workspace have all features.

use std::path::{Path, PathBuf};

use crate::commands::{cargo, run};

/// A URL, and the missing feature that the error must name.
type Lacks = (&'static str, &'static str);

/// Features of firstcome-lock, and what is asked of it.
const CASES: [(&[&str], &[Lacks]); 2] = [
    (
        &[],
        &[
            ("redis://127.0.0.1", "redis"),
            ("postgres://ann@127.0.0.1/shop", "postgres"),
            ("mariadb://ann@127.0.0.1/shop", "mysql"),
            ("sqlite://locks.db", "sqlite"),
        ],
    ),
    (
        &["redis", "postgres", "mysql"],
        &[
            ("rediss://127.0.0.1", "tls"),
            ("postgres://ann@127.0.0.1/shop?sslmode=require", "tls"),
            // Beyond this machine TLS is the default.
            ("postgres://ann@db.invalid/shop", "tls"),
            ("mysql://ann@127.0.0.1/shop?sslmode=require", "tls"),
            ("sqlite://locks.db", "sqlite"),
        ],
    ),
];

const PROGRAM: &str = r#"
#[tokio::main(flavor = "current_thread")]
async fn main() {
    for (url, feature) in URLS {
        let refused = firstcome_lock::Locks::connect(url).await.expect_err(url);
        assert!(refused.to_string().contains(&format!("needs the feature `{feature}`")), "{url}: {refused}");
        assert!(refused.hint().is_some(), "{url}");
    }
}
"#;

/// Builds and runs the program with each set of features; gives the exit code.
pub(super) fn check() -> u8 {
    for (features, urls) in CASES {
        let done = write(features, urls).map_err(|why| why.to_string());
        let folder = match done {
            Ok(folder) => folder,
            Err(why) => {
                eprintln!("cannot write the program of a user: {why}");
                return 1;
            }
        };
        let mut program = cargo(&["run", "--quiet", "--manifest-path"]);
        program.arg(folder.join("Cargo.toml"));
        let code = run(program);
        if code != 0 {
            eprintln!("firstcome-lock with the features {features:?} says something else");
            return code;
        }
    }
    0
}

fn write(features: &[&str], urls: &[Lacks]) -> std::io::Result<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let folder = workspace.join("target/refused-urls");
    std::fs::create_dir_all(folder.join("src"))?;
    let lock = workspace.join("crates/firstcome-lock");
    let manifest = format!(
        "[package]\nname = \"refused-urls\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         firstcome-lock = {{ path = {lock:?}, default-features = false, features = {features:?} }}\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt\"] }}\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    // The same versions as here, which are on this machine.
    std::fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let program = format!("const URLS: &[(&str, &str)] = &{urls:?};\n{PROGRAM}");
    std::fs::write(folder.join("src/main.rs"), program)?;
    Ok(folder)
}
