//! The configuration and the unit of the Debian package: this build takes each of their settings and flags.

use serde_json::Value;

use crate::scene::{Said, Scene};

const CONFIGURATION: &str = include_str!("../../debian/firstcome.toml");
const UNIT: &str = include_str!("../../debian/firstcome.service");
const DATA: &str = "data = \"/var/lib/firstcome\"\n";

/// Prints what applies with a configuration file.
fn print(scene: &Scene, configuration: &str) -> Said {
    std::fs::write(scene.path().join("firstcome.toml"), configuration).unwrap();
    scene.run(&["serve", "--config", "firstcome.toml", "--print-config", "--json"])
}

/// Returns the settings that are commented out, each with its line.
fn commented() -> Vec<(&'static str, &'static str)> {
    let plain = CONFIGURATION.split("#[[").next().unwrap();
    let setting = |line: &'static str| {
        let line = line.strip_prefix('#')?;
        let (name, _) = line.split_once(" = ")?;
        let is_name = name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
        is_name.then_some((name, line))
    };
    plain.lines().filter_map(setting).collect()
}

#[test]
fn the_packaged_configuration_shows_every_setting_with_its_default() {
    let scene = Scene::new();
    let shipped = print(&scene, CONFIGURATION);
    let shipped = shipped.json();
    assert_eq!(shipped["data"]["value"], "/var/lib/firstcome");
    assert_eq!(shipped, print(&scene, &format!("{}{DATA}", "\n".repeat(line_of_data()))).json());
    let commented = commented();
    for (name, line) in &commented {
        let said = print(&scene, &format!("{DATA}{line}\n"));
        if line.ends_with("\"\"") {
            assert_eq!(said.code, 2, "{line} has to be filled in: {said:?}");
            continue;
        }
        let value = &said.json()[*name]["value"];
        let is_default = *value == shipped[*name]["value"];
        assert_eq!(is_default, !line.ends_with("  # example"), "{line}: {said:?}");
    }
    let Value::Object(settings) = &shipped else { panic!("{shipped}") };
    let blocks = ["keys", "token_keys", "code_keys", "eligibility"];
    let is_there = |name: &&String| {
        name.as_str() == "data"
            || blocks.contains(&name.as_str())
            || commented.iter().any(|(known, _)| known == name)
    };
    let missing: Vec<&String> = settings.keys().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "not in the packaged configuration: {missing:?}");
}

/// Returns how many lines stand before the one setting that is not commented out.
fn line_of_data() -> usize {
    let set = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('#');
    let mut set = CONFIGURATION.lines().enumerate().filter(set);
    let (at, line) = set.next().unwrap();
    assert_eq!((format!("{line}\n").as_str(), set.next()), (DATA, None));
    at
}

#[test]
fn the_entries_in_the_packaged_configuration_are_taken_once_they_are_filled_in() {
    let scene = Scene::new();
    let blocks = CONFIGURATION.split("\n\n").filter_map(|part| part.split_once("#[["));
    let blocks: Vec<String> =
        blocks.map(|(_, block)| format!("[[{}\n", block.replace("\n#", "\n"))).collect();
    assert_eq!(blocks.len(), 4, "{blocks:?}");
    for block in blocks {
        let filled = block
            .replace("sha256 = \"\"", &format!("sha256 = \"{}\"", "a1".repeat(32)))
            .replace("secret = \"\"", &format!("secret = \"{}\"", "a1".repeat(32)));
        if filled != block {
            assert_eq!(print(&scene, &block).code, 2, "{block}");
        }
        print(&scene, &filled).ends(0);
    }
}

#[test]
fn the_command_of_the_unit_is_one_of_this_build() {
    let scene = Scene::new();
    let command = UNIT.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let arguments = command.strip_prefix("/usr/bin/firstcome ").unwrap();
    std::fs::write(scene.path().join("firstcome.toml"), CONFIGURATION).unwrap();
    let here = arguments.replace("/etc/firstcome/", "");
    assert_ne!(here, arguments, "the unit names the packaged configuration");
    let arguments: Vec<&str> = here.split(' ').chain(["--print-config"]).collect();
    let page = scene.run(&arguments).ends(0);
    assert!(page.contains("data = \"/var/lib/firstcome\""), "{page}");
}
