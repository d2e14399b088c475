/// What a subscriber learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Look again now.
    Look,
    /// Look again now: something may have been missed, or will be.
    Missed,
    /// Nothing will follow.
    Closed,
}
