//! What the dependencies may be, as `deny.toml` has it.

use std::path::Path;
use toml::de::{DeTable, DeValue};

/// What the dependencies may be.
pub(super) struct Rules {
    pub(super) licences: Vec<String>,
    pub(super) registries: Vec<String>,
    /// Packages that may be there beside a newer version: name, and what the version begins with.
    pub(super) excused: Vec<(String, String)>,
}

impl Rules {
    /// Returns the excuse of a version that is there beside another.
    pub(super) fn excuse(&self, name: &str, version: &str) -> Option<&(String, String)> {
        self.excused.iter().find(|(known, of)| known == name && is_of(version, of))
    }
}

/// Says whether a version begins so, number by number.
pub(super) fn is_of(version: &str, begins: &str) -> bool {
    let mut numbers = version.split('.');
    begins.split('.').all(|number| numbers.next() == Some(number))
}

/// Reads `deny.toml`.
pub(super) fn read() -> Result<Rules, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml");
    let text = std::fs::read_to_string(&path).map_err(|why| format!("deny.toml: {why}"))?;
    let table = DeTable::parse(&text).map_err(|why| format!("deny.toml: {why}"))?;
    let list = |section: &str, name: &str| -> Result<Vec<&DeValue<'_>>, String> {
        let section_table =
            table.get_ref().get(section).and_then(|value| value.get_ref().as_table());
        let array = section_table.and_then(|table| table.get(name)?.get_ref().as_array());
        let array = array.ok_or_else(|| format!("deny.toml has no list {name} in [{section}]"))?;
        Ok(array.iter().map(|value| value.get_ref()).collect())
    };
    let text = |value: &&DeValue<'_>| value.as_str().unwrap_or_default().to_owned();
    let mut excused = Vec::new();
    for skip in list("bans", "skip")? {
        let of = |name: &str| Some(skip.as_table()?.get(name)?.get_ref().as_str()?.to_owned());
        let named = of("crate").zip(of("reason"));
        let package = named.as_ref().and_then(|(package, _)| package.split_once('@'));
        let Some((name, version)) = package else {
            return Err("deny.toml: a skip has crate = \"NAME@VERSION\" and a reason".to_owned());
        };
        excused.push((name.to_owned(), version.to_owned()));
    }
    Ok(Rules {
        licences: list("licenses", "allow")?.iter().map(text).collect(),
        registries: list("sources", "allow-registry")?.iter().map(text).collect(),
        excused,
    })
}

#[cfg(test)]
mod tests {
    use super::is_of;

    #[test]
    fn versions_are_compared_number_by_number() {
        assert!(is_of("0.10.9", "0.10") && is_of("2.0.119", "2") && is_of("0.11.1+wasi", "0.11"));
        assert!(!is_of("0.100.1", "0.10") && !is_of("0.2.1", "0.20"));
    }
}
