/// Something that keeps locks right and that a test can do without, to show that it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// An acquire is sent once, whatever becomes of its answer.
    SingleSend,
    /// An acquire that arrives after its sender gave up is refused by the store's clock.
    NotAfter,
    /// A grant whose answer was lost, or whose caller is gone, is undone.
    Undo,
    /// A lease stops being trusted before the store can give the lock away.
    Trust,
    /// A waiter tries again after its subscription is confirmed.
    TryAfterSubscribe,
    /// A waiter looks again when its subscription is cut, and when it is there again.
    LookWhenCut,
    /// A waiter looks again when the holder's lease should have ended.
    LookAtTheEnd,
    /// A renewal without an answer is asked again while there is trust.
    RenewAgain,
    /// What is held is looked at when requests go over a new connection.
    LookWhenReconnected,
    /// A chain of hand-overs within one process ends after a few, so that others get their turn.
    ShortChain,
    /// A release that is sent again is recognised.
    Latch,
    /// Permits are counted in the very step that gives one.
    CountInStep,
}

/// Which protections are missing; none, outside of tests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Protections(u32);

impl Protections {
    pub(crate) fn lack(self, protection: Protection) -> bool {
        cfg!(feature = "twins") && self.0 & (1 << protection as u32) != 0
    }

    #[cfg(feature = "twins")]
    pub(crate) fn without(self, protection: Protection) -> Self {
        Self(self.0 | (1 << protection as u32))
    }
}
