//! Why a load test could not be carried to its end.

/// Why a load test could not be carried to its end.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A request no repeat can help: a wrong key, a campaign that is not there.
    #[error("the server refused the rush itself: {0}")]
    Refused(String),
    /// No server answered for longer than the plan's patience.
    #[error(transparent)]
    NoAnswer(#[from] firstcome_client::Failure),
    /// An answer that is not the HTTP or JSON this program speaks.
    #[error("the answer of {server} cannot be read: {reason}")]
    Strange {
        server: String,
        /// What is wrong with it.
        reason: String,
    },
}
