//! Documents that borrow from nothing, under short names.

/// A claim won, now or before.
pub type Won = firstcome_api::claim::Won<'static>;
/// A place on a waitlist.
pub type Waitlisted = firstcome_api::waitlist::Waitlisted<'static>;
/// The end of a wait.
pub type LeftWaitlist = firstcome_api::waitlist::LeftWaitlist<'static>;
/// A subject token.
pub type Minted = firstcome_api::token::Minted<'static>;
/// A ticket, which opens streams of events.
pub type Ticket = firstcome_api::token::Ticket<'static>;
/// Units set aside.
pub type Held = firstcome_api::hold::Held<'static>;
/// A hold that lasts longer.
pub type Extended = firstcome_api::hold::Extended<'static>;
/// Units that are the subject's for good, or not held any more.
pub type Ended = firstcome_api::hold::Ended<'static>;
