//! Everything that is linked into the program: its licences with their texts, and its bill of materials.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::program::TARGET;
use crate::commands::{cargo, output};

const HEAD: &str = "\
The program firstcome is licensed under MIT or Apache-2.0, as you choose.
These are the licences of what is linked into it besides its own code.

The standard library of Rust: MIT or Apache-2.0, https://www.rust-lang.org.
The GNU C library: LGPL-2.1-or-later, https://www.gnu.org/software/libc. Its source is the package glibc of the Debian
release on which the program was built. The source of firstcome is public: whoever wants another version of the C
library in the program builds it anew.
SQLite: in the public domain, https://www.sqlite.org/copyright.html.
";

/// Beginnings of the names of files with the text of a licence, in upper case.
const TEXTS: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// A crate that is linked into the program.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Linked {
    name: String,
    licence: String,
    /// Its `Cargo.toml`.
    manifest: String,
}

/// Writes `THIRD-PARTY-LICENSES` into a folder.
pub(super) fn write(folder: &Path) -> Result<(), String> {
    super::write(&folder.join("THIRD-PARTY-LICENSES"), page(&all_linked()?, texts)?)
}

/// Writes the bill of materials of the program into a file, in the form of CycloneDX: the crates of that page, and the two
/// libraries that no crate brings.
pub(crate) fn write_bill(file: &Path, time: u64) -> Result<(), String> {
    let first = |program: &str, args: &[&str]| -> Result<String, String> {
        let said = output(Command::new(program).args(args))?;
        Ok(said.split_whitespace().nth(1).unwrap_or_default().to_owned())
    };
    let libraries = [
        ("glibc", first("getconf", &["GNU_LIBC_VERSION"])?, "LGPL-2.1-or-later"),
        ("rust-std", first("rustc", &["--version"])?, "MIT OR Apache-2.0"),
    ];
    let date = format!("@{time}");
    let date = output(Command::new("date").args(["--utc", "--date", &date, "+%FT%TZ"]))?;
    let bill = bill(&all_linked()?, &libraries, date.trim());
    super::write(file, format!("{bill:#}\n"))
}

fn bill(linked: &BTreeSet<Linked>, libraries: &[(&str, String, &str)], date: &str) -> Value {
    let crates = linked.iter().filter_map(|Linked { name, licence, .. }| {
        let (name, version) = name.split_once(' ')?;
        let url = format!("pkg:cargo/{name}@{version}");
        // As crates wrote it before there were expressions.
        let licence = licence.replace('/', " OR ");
        Some(
            json!({"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url,
            "licenses": [{"expression": licence}]}),
        )
    });
    let others = libraries.iter().map(|(name, version, licence)| {
        json!({"type": "library", "bom-ref": name, "name": name, "version": version,
            "licenses": [{"expression": licence}]})
    });
    let own = json!({"type": "application", "bom-ref": "firstcome", "name": "firstcome",
        "version": env!("CARGO_PKG_VERSION"), "licenses": [{"expression": "MIT OR Apache-2.0"}]});
    json!({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": date, "component": own},
        "components": crates.chain(others).collect::<Vec<_>>()})
}

/// Returns the crates that are linked into the program of this workspace.
fn all_linked() -> Result<BTreeSet<Linked>, String> {
    let mut metadata = cargo(&["metadata", "--format-version=1", "--locked"]);
    let said = output(metadata.args(["--filter-platform", TARGET]))?;
    let metadata: Value = serde_json::from_str(&said).map_err(|why| format!("metadata: {why}"))?;
    linked(&metadata)
}

/// Returns the crates of other people that the program is made of: what it depends on, but not to build or test it.
fn linked(metadata: &Value) -> Result<BTreeSet<Linked>, String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages: HashMap<String, Value> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (text(&package["id"]), package))
        .collect();
    let nodes: HashMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let first = packages.values().find(|package| package["name"] == "firstcome");
    let mut waiting = vec![text(&first.ok_or("there is no package firstcome")?["id"])];
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        for dependency in list(&nodes.get(&id).unwrap_or(&Value::Null)["deps"]) {
            let is_linked =
                list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            if is_linked {
                waiting.push(text(&dependency["pkg"]));
            }
        }
    }
    let others = seen.iter().filter_map(|id| packages.get(id)).filter(|p| !p["source"].is_null());
    let linked = others.map(|package| Linked {
        name: format!("{} {}", text(&package["name"]), text(&package["version"])),
        licence: text(&package["license"]),
        manifest: text(&package["manifest_path"]),
    });
    Ok(linked.collect())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the texts of licences beside a manifest.
fn texts(manifest: &str) -> Result<Vec<String>, String> {
    let folder = Path::new(manifest).parent().unwrap_or(Path::new("."));
    let files = std::fs::read_dir(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let mut paths: Vec<_> = files.flatten().map(|file| file.path()).collect();
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
        path.is_file() && TEXTS.iter().any(|text| name.starts_with(text))
    });
    paths.sort();
    let read = |path| std::fs::read(path).map(|text| String::from_utf8_lossy(&text).into_owned());
    paths
        .iter()
        .map(|path| read(path).map_err(|why| format!("{}: {why}", path.display())))
        .collect()
}

/// Returns the page: each crate with the name of its licence, and each text once, with the crates it is of.
fn page(
    linked: &BTreeSet<Linked>,
    texts: impl Fn(&str) -> Result<Vec<String>, String>,
) -> Result<String, String> {
    let mut page = HEAD.to_owned();
    let mut by_text: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    page.push_str("\nCrates:\n\n");
    for Linked { name, licence, manifest } in linked {
        let texts = texts(manifest)?;
        let note = if texts.is_empty() { " (it comes without the text)" } else { "" };
        writeln!(page, "  {name}: {licence}{note}").map_err(|why| why.to_string())?;
        for text in texts {
            by_text.entry(text.trim().to_owned()).or_default().push(name);
        }
    }
    for (text, names) in by_text {
        let of = names.join(", ");
        write!(page, "\n{}\n{of}\n\n{text}\n", "=".repeat(80)).map_err(|why| why.to_string())?;
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_named_and_a_text_is_there_once() {
        let package = |id: &str, source: Option<&str>| json!({"id": id, "name": id, "version": "1.0.0", "license": "MIT", "source": source, "manifest_path": id});
        let on = |id: &str, kind: Option<&str>| json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [
                package("firstcome", None),
                package("own", None),
                package("a", Some("registry")),
                package("b", Some("registry")),
                package("tested-with", Some("registry")),
                package("built-with", Some("registry")),
            ],
            "resolve": {"nodes": [
                {"id": "firstcome", "deps": [on("own", None), on("tested-with", Some("dev"))]},
                {"id": "own", "deps": [on("a", None), on("built-with", Some("build"))]},
                {"id": "a", "deps": [on("b", None)]},
            ]},
        });
        let linked = linked(&metadata).unwrap();
        let names: Vec<&str> = linked.iter().map(|linked| &*linked.name).collect();
        assert_eq!(names, ["a 1.0.0", "b 1.0.0"]);
        let page = page(&linked, |_| Ok(vec!["Permission is granted\n".to_owned()])).unwrap();
        assert_eq!(page.matches("Permission is granted").count(), 1, "{page}");
        assert!(page.contains("\na 1.0.0, b 1.0.0\n\nPermission"), "{page}");
        let bill = bill(&linked, &[("glibc", "2.36".to_owned(), "LGPL")], "2027-03-01T00:00:00Z");
        let parts = bill["components"].as_array().unwrap();
        assert_eq!((parts.len(), &parts[1]["purl"]), (3, &json!("pkg:cargo/b@1.0.0")));
        assert_eq!(parts[2]["version"], "2.36");
    }
}
