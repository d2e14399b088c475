//! The kinds of calls that a journal takes.

/// What can be asked of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Journal::append`](crate::Journal::append).
    Append,
    /// [`Journal::read`](crate::Journal::read).
    Read,
    /// [`Shared::follow`](crate::Shared::follow).
    Follow,
    /// [`Shared::announce`](crate::Shared::announce).
    Announce,
    /// [`Shared::put_back`](crate::Shared::put_back).
    PutBack,
    /// [`Shared::raise_epoch`](crate::Shared::raise_epoch).
    RaiseEpoch,
    /// [`Shared::reseed`](crate::Shared::reseed).
    Reseed,
    /// [`Journal::head`](crate::Journal::head).
    Head,
    /// [`Journal::mint_term`](crate::Journal::mint_term).
    MintTerm,
    /// [`Journal::put_piece`](crate::Journal::put_piece).
    PutPiece,
    /// [`Journal::piece`](crate::Journal::piece).
    Piece,
    /// [`Journal::install`](crate::Journal::install).
    Install,
    /// [`Journal::trim`](crate::Journal::trim).
    Trim,
    /// [`Journal::skip`](crate::Journal::skip).
    Skip,
    /// A look at cells and manifests: what another call rests on, or all of one that only reads.
    Look,
    /// [`Shared::leave`](crate::Shared::leave).
    Leave,
    /// [`Shared::report`](crate::Shared::report).
    Report,
}
