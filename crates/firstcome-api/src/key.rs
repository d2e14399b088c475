//! The keys of requests, and their roles.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// What a key lets its bearer do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct KeyView {
    /// Its name, which acts of operators record.
    pub name: String,
    /// Its role: `read`, `redeem`, `backend`, `operator` or `admin`.
    pub role: Cow<'static, str>,
    /// What the names of the campaigns begin with that it is for; null for all.
    pub campaigns: Option<String>,
}

/// A secret: its `Debug` and the printed configuration hide it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The fewest characters a key may have.
    pub const SHORTEST: usize = 16;

    /// Takes a key of at least [`Self::SHORTEST`] visible ASCII characters.
    ///
    /// # Errors
    ///
    /// Says what is missing, without repeating the secret.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(
                "must be visible ASCII characters without spaces, as it travels in a header"
                    .to_owned(),
            );
        }
        if text.len() < Self::SHORTEST {
            return Err(format!("must have at least {} characters", Self::SHORTEST));
        }
        Ok(Self(text.to_owned()))
    }

    /// The secret itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// The role of a key; each role also has the rights of the roles before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Read.
    Read,
    /// See, look up, reserve and redeem codes.
    Redeem,
    /// Claim, hold and confirm, and cancel in the name of the subject.
    Backend,
    /// Create, change and control campaigns, and cancel by its own decision.
    Operator,
    /// Everything.
    Admin,
}

impl Role {
    /// Returns the role of a word.
    pub fn from_text(text: &str) -> Option<Self> {
        [Self::Admin, Self::Operator, Self::Backend, Self::Redeem, Self::Read]
            .into_iter()
            .find(|role| role.as_str() == text)
    }

    /// The word the configuration uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::Backend => "backend",
            Self::Redeem => "redeem",
            Self::Read => "read",
        }
    }
}
