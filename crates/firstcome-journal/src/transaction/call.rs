//! The kinds of calls that a journal takes.

/// What can be asked of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalCall {
    /// [`Journal::append`](crate::Journal::append).
    Append,
    /// [`Journal::read`](crate::Journal::read).
    Read,
    /// [`Journal::follow`](crate::Journal::follow).
    Follow,
    /// [`Journal::announce`](crate::Journal::announce).
    Announce,
    /// [`Journal::put_back`](crate::Journal::put_back).
    PutBack,
    /// [`Journal::raise_epoch`](crate::Journal::raise_epoch).
    RaiseEpoch,
    /// [`Journal::reseed`](crate::Journal::reseed).
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
    /// [`Journal::leave`](crate::Journal::leave).
    Leave,
    /// [`Journal::report`](crate::Journal::report).
    Report,
    /// [`Journal::mark_emptied`](crate::Journal::mark_emptied) and what looks at its mark.
    Mark,
    /// [`Memory::enter`](crate::memory::Memory::enter): other stores are entered when they are opened.
    Enter,
}
