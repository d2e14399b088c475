//! A unit of systemd, as far as the service is run here without systemd.

use std::time::Duration;

/// The settings of a unit, in their order.
pub(super) struct SystemdUnit(Vec<(String, String)>);

impl SystemdUnit {
    pub(super) fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let settings = lines.filter_map(|line| line.split_once('='));
        Self(settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Returns all values of a setting.
    pub(super) fn all<'u>(&'u self, name: &str) -> impl Iterator<Item = &'u str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Returns the value of a setting that the unit must have.
    pub(super) fn value(&self, name: &str) -> Result<&str, String> {
        self.all(name).next().ok_or_else(|| format!("the unit has no {name}="))
    }

    /// Returns a time that is written in seconds.
    pub(super) fn seconds(&self, name: &str) -> Result<Duration, String> {
        let value = self.value(name)?;
        let seconds = value.parse().map_err(|_| format!("{name}={value} is no number of seconds"));
        seconds.map(Duration::from_secs)
    }
}
