//! The Debian package fits together: its files are there, and unit, scripts, configuration and documents agree.
//!
//! `cargo xtask dist --check` installs it and runs it. That the program takes the configuration and the flags of the unit is
//! tested with the program.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::de::{DeTable, DeValue};

const CONFIGURATION: &str = "/etc/firstcome/firstcome.toml";
const STATE: &str = "/var/lib/firstcome";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// Returns the last value of each setting of the unit.
fn unit() -> BTreeMap<String, String> {
    let text = read("crates/firstcome/debian/firstcome.service");
    let settings = text.lines().filter(|line| !line.starts_with('#'));
    let settings = settings.filter_map(|line| line.split_once('='));
    settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns the value of a setting in the packaged configuration, also one that is commented out.
fn setting(name: &str) -> String {
    let text = read("crates/firstcome/debian/firstcome.toml");
    let lines = text.lines().map(|line| line.trim_start_matches('#'));
    let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
    values.next().unwrap_or_else(|| panic!("{name} is not in the configuration")).to_owned()
}

/// Passes the table `package.metadata.deb` on.
fn with_metadata<T>(look: impl FnOnce(&DeTable<'_>) -> T) -> T {
    let manifest = read("crates/firstcome/Cargo.toml");
    let manifest = DeTable::parse(&manifest).expect("TOML");
    let mut table = manifest.get_ref();
    for name in ["package", "metadata", "deb"] {
        table = table.get(name).and_then(|value| value.get_ref().as_table()).expect(name);
    }
    look(table)
}

fn text(value: &DeValue<'_>) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Gives each file of the package: where it comes from, where it goes, and its mode.
fn assets() -> Vec<(String, String, String)> {
    with_metadata(|metadata| {
        let assets = metadata["assets"].get_ref().as_array().expect("a list");
        let asset = |value: &DeValue<'_>| {
            let fields = value.as_array().expect("a list");
            let field = |at: usize| text(fields[at].get_ref());
            let (from, to) = (field(0), field(1));
            let name = if to.ends_with('/') { from.rsplit('/').next() } else { None };
            (from.clone(), format!("/{to}{}", name.unwrap_or_default()), field(2))
        };
        assets.iter().map(|value| asset(value.get_ref())).collect()
    })
}

#[test]
fn every_file_of_the_package_exists_or_is_made() {
    let made: String = ["program", "files", "licences", "debian"]
        .map(|file| read(&format!("crates/xtask/src/dist/{file}.rs")))
        .concat();
    let dist = read("crates/xtask/src/dist.rs") + &made;
    let changelog = with_metadata(|metadata| text(metadata["changelog"].get_ref()));
    let mut sources: Vec<String> = assets().into_iter().map(|(from, ..)| from).collect();
    assert!(sources.len() > 10, "{sources:?}");
    sources.push(changelog);
    for source in sources {
        if let Some(path) = source.strip_prefix("../../target/dist-out/") {
            for part in path.split('/').filter(|part| !part.contains('*')) {
                assert!(dist.contains(&format!("\"{part}\"")), "nothing makes {part} of {source}");
            }
        } else {
            let path = root().join("crates/firstcome").join(&source);
            assert!(path.is_file(), "{source} is not there");
        }
    }
}

#[test]
fn the_unit_runs_what_is_packaged_as_the_user_that_is_made() {
    let (unit, assets) = (unit(), assets());
    let has = |path: &str, mode: &str| assets.iter().any(|(_, to, m)| to == path && m == mode);
    let command: Vec<&str> = unit["ExecStart"].split(' ').collect();
    assert!(has(command[0], "755"), "{command:?} is not packaged");
    assert!(has(CONFIGURATION, "640") && command.contains(&CONFIGURATION), "{command:?}");
    let (postinst, postrm) =
        (read("crates/firstcome/debian/postinst"), read("crates/firstcome/debian/postrm"));
    assert_eq!(unit["User"], unit["Group"]);
    assert!(postinst.contains(&format!("getent passwd {} ", unit["User"])), "{postinst}");
    assert!(postrm.contains(&format!("userdel {}\n", unit["User"])), "{postrm}");
    assert_eq!(format!("/var/lib/{}", unit["StateDirectory"]), STATE);
    assert_eq!(unit["WorkingDirectory"], STATE);
    assert_eq!(setting("data"), format!("\"{STATE}\""));
    for script in [&postinst, &postrm] {
        assert!(script.contains(STATE), "{script}");
        assert!(script.contains("\n#DEBHELPER#\n"), "{script}");
    }
    assert!(postrm.contains("= purge ]"), "{postrm}");
}

#[test]
fn the_service_has_time_to_end_and_files_for_its_connections() {
    let number = |name: &str| setting(name).parse::<u64>().expect(name);
    let unit = unit();
    let seconds: u64 = unit["TimeoutStopSec"].parse().expect("seconds");
    // As docs/reference/configuration.md has it: the two settings, and 10 s.
    assert!(seconds * 1_000 >= number("leave_ms") + number("drain_ms") + 10_000, "{seconds}");
    let files: u64 = unit["LimitNOFILE"].parse().expect("a number");
    assert!(files > number("connections") * 2, "{files}");
    assert_eq!(unit["RestartPreventExitStatus"], "2", "the exit code of a wrong setting");
}

/// `cargo xtask container --check` runs the image; the stores of `compose.yaml` are other people's images.
#[test]
fn the_image_and_its_servers_have_settings_that_there_are() {
    let (image, compose) = (read("Containerfile"), read("compose.yaml"));
    let (both, page) = (format!("{image}{compose}"), read("docs/reference/configuration.md"));
    let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
    let words = both.split(|c| !is_name(c)).filter(|word| word.starts_with("FIRSTCOME_"));
    let named: Vec<&str> = words.collect();
    assert!(named.len() > 10, "{named:?}");
    for name in named {
        assert!(page.contains(&format!("| `{name}` |")), "{name} is no setting");
    }
    let number = |name: &str| setting(name).parse::<u64>().expect(name);
    let (_, grace) = compose.split_once("stop_grace_period: ").expect("a time to end");
    let grace: u64 = grace.split('s').next().unwrap_or_default().parse().expect("seconds");
    assert!(grace * 1_000 >= number("leave_ms") + number("drain_ms") + 10_000, "{grace}");
    // Each group of three has one image, and one address for each.
    for store in ["redis", "postgres", "nats"] {
        for letter in ["a", "b", "c"] {
            let own = format!("FIRSTCOME_ADVERTISE: \"http://{store}-{letter}:8080\"");
            assert_eq!(compose.matches(&own).count(), 1, "{own}");
            assert!(compose.contains(&format!("  {store}-{letter}:\n    <<: *server\n")), "{own}");
        }
    }
    assert!(!image.contains("USER root") && image.contains("\nUSER 65532:65532\n"), "{image}");
}

#[test]
fn scripts_are_shell() {
    for name in ["postinst", "postrm"] {
        let path = root().join("crates/firstcome/debian").join(name);
        let checked = Command::new("sh").arg("-n").arg(&path).output().expect("sh");
        assert!(checked.status.success(), "{name}: {}", String::from_utf8_lossy(&checked.stderr));
    }
}

#[test]
fn the_maintainer_is_the_same_everywhere() {
    let maintainer = with_metadata(|metadata| text(metadata["maintainer"].get_ref()));
    assert!(read("crates/xtask/src/dist/debian.rs").contains(&format!("\"{maintainer}\"")));
}

#[test]
fn documents_name_the_paths_of_the_package() {
    let page = read("docs/how-to/install.md");
    for name in [
        CONFIGURATION,
        STATE,
        "/usr/bin/firstcome",
        "journalctl -u firstcome",
        "cargo install --path crates/firstcome --locked",
        "cargo xtask dist",
        "target/dist-out",
        "THIRD-PARTY-LICENSES",
    ] {
        assert!(page.contains(name), "docs/how-to/install.md does not name {name}");
    }
    for readme in ["README.md", "README.ko.md", "docs/README.md"] {
        let readme = read(readme);
        assert!(readme.contains("how-to/install.md"), "{readme}");
    }
}
