//! Which authorities are trusted.

/// Which authorities are trusted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trust {
    /// Certificates of authorities, PEM text.
    pub(crate) authorities: Vec<Vec<u8>>,
    /// Whether those of the operating system are not.
    pub(crate) only_these: bool,
}
