//! A log that takes every message: whether an entry counts is decided when it is read.
//!
//! The other stores refuse an append whose sender had applied something that they do not have. A replicated log orders
//! messages by itself, and a condition on an append has nodes that append at the same time refuse each other. So an entry
//! goes there without one, and says what its sender had applied last: its *ancestor*. Whoever reads the log decides by its
//! messages alone, so that everybody decides the same, wherever they begin to read: an entry counts if its ancestor is in the
//! log, and is the last entry that counts or not more than `REACH` messages before it. Else it is ignored: it takes no position and no time, and its sender
//! sends the same body again.
//!
//! | File | Subject |
//! |---|---|
//! | `cursor` | where a reader stands, and which messages count |
//! | `message` | the bytes of messages |

pub(crate) mod cursor;
pub(crate) mod message;

pub use cursor::Cursor;
pub(crate) use cursor::{REACH, begin_among};
pub(crate) use cursor::{Stuck, TakenMessage};
pub(crate) use message::mark;
pub(crate) use message::{Content, Message, Place, Raw};
