//! What the rules decided.

use crate::error::Error;
use crate::error::problem::Problem;
use crate::error::refusal::Refusal;

/// What the rules decided: a yes with its document, or a no with its reason.
///
/// Neither is an [`Error`]: whoever asked can rely on both.
#[derive(Debug, Clone)]
#[must_use = "a no is no error: look which of the two it is"]
pub enum Answer<T> {
    /// It is so.
    Yes(T),
    /// The rules say no, and why; then the whole problem document, whose `Display` is a sentence for people.
    No(Refusal, Box<Problem>),
}

impl<T> Answer<T> {
    /// Returns the yes, for whom a no is an error.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] where the answer is a no.
    pub fn yes(self) -> Result<T, Error> {
        match self {
            Self::Yes(yes) => Ok(yes),
            Self::No(_, problem) => Err(Error::Refused(problem)),
        }
    }

    /// Whether it is a yes.
    pub fn is_yes(&self) -> bool {
        matches!(self, Self::Yes(_))
    }

    /// Returns why the rules said no.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Yes(_) => None,
            Self::No(refusal, _) => Some(refusal),
        }
    }

    /// Makes something else of a yes.
    pub fn map<U>(self, with: impl FnOnce(T) -> U) -> Answer<U> {
        match self {
            Self::Yes(yes) => Answer::Yes(with(yes)),
            Self::No(refusal, problem) => Answer::No(refusal, problem),
        }
    }
}
